"""One component against MixedLM of statsmodels: the same likelihood, and the pull of the prior alone between them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma, invwishart, multivariate_normal, multivariate_t

import countless as cl
from countless.models.mixed_effects.engines.gibbs import MixedEffectsGibbs
from countless.priors import FiniteDirichlet, Gamma
from helpers import batch_error, z_limit

DATA = [folder / "shared" / "data" for folder in Path(__file__).resolve().parents]
# Of the prior: strength of the mean, degrees of freedom, weight of the noise; all as vague as they may be.
STRENGTH, DOF, SHAPE = 1e-4, 3.0, 1e-2


def _simulated():
    rng = np.random.default_rng(4)
    subject, time = np.repeat(np.arange(50), 6), np.tile(np.arange(6.0), 50)
    effects = rng.multivariate_normal([10.0, 2.0], [[4.0, 0.5], [0.5, 1.0]], size=50)
    y = effects[subject, 0] + effects[subject, 1] * time + 1.5 * rng.normal(size=300)
    return np.column_stack([np.ones(300), time]), y, subject


def _real(name, column, outcome):
    found = [folder / f"{name}.csv" for folder in DATA if (folder / f"{name}.csv").is_file()]
    if not found:
        pytest.skip(f"{name}.csv is not here")
    frame = pd.read_csv(found[0])
    # About the mean: an intercept far outside the visits would hang on the slope, and on the prior of both.
    X = np.column_stack([np.ones(len(frame)), frame[column] - frame[column].mean()])
    return X, frame[outcome].to_numpy(dtype=float), frame["subject"].to_numpy()


SETS = {
    "simulated": _simulated,
    "sleepstudy": lambda: _real("sleepstudy", "days", "reaction"),
    "orthodont": lambda: _real("orthodont", "age", "distance"),
}


def _theirs(X, y, subject):
    linear = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return linear.MixedLM(y, X, subject, exog_re=X).fit(reml=False)


def _ours(X, y, subject, theirs, inference):
    """One component; the scale of the prior weighs as much as one subject of MixedLM's covariance."""
    scale = np.asarray(theirs.cov_re) + 1e-3 * np.diag(np.diag(theirs.cov_re))
    family = cl.families.Gaussian([0.0, 0.0], STRENGTH, scale, DOF)
    noise = Gamma(SHAPE, SHAPE * theirs.scale)
    model = cl.MixedEffects(family, FiniteDirichlet(1), noise, inference, random_state=0)
    return model.fit(X, y, subject), scale


class Posterior:
    """Log posterior of one population in plain Python; every subject has the same visits.

    A point holds the mean, the factor of the covariance and log noise, in units of MixedLM's answer, which is zero.
    """

    def __init__(self, X, y, subject, theirs, scale):
        visits = np.sum(subject == subject[0])
        self.outcomes, self.design = y.reshape(-1, visits), X[:visits]
        self.theirs, self.scale, self.root = theirs, scale, np.linalg.cholesky(scale)

    def log_likelihood(self, mean, covariance, noise):
        spread = self.design @ covariance @ self.design.T + noise * np.eye(len(self.design))
        return float(multivariate_normal(self.design @ mean, spread).logpdf(self.outcomes).sum())

    def at(self, point):
        """Mean, covariance and noise."""
        factor = self.root @ np.array([[np.exp(point[2]), 0.0], [point[3], np.exp(point[4])]])
        return self.theirs.fe_params + self.root @ point[:2], factor @ factor.T, self.theirs.scale * np.exp(point[5])

    def point(self, mean, covariance, noise):
        """The point of these."""
        inner = np.linalg.cholesky(np.linalg.solve(self.root, np.linalg.solve(self.root, covariance).T))
        first = np.linalg.solve(self.root, mean - self.theirs.fe_params)
        logs = np.log([inner[0, 0], inner[1, 1], noise / self.theirs.scale])
        return np.array([*first, logs[0], inner[1, 0], logs[1], logs[2]])

    def log_density(self, point):
        """With respect to the mean, |Sigma|^-3/2 dSigma and log noise."""
        mean, covariance, noise = self.at(point)
        total = self.log_likelihood(mean, covariance, noise)
        total += invwishart(DOF, self.scale).logpdf(covariance) + 1.5 * np.linalg.slogdet(covariance)[1]
        total += multivariate_normal(np.zeros(2), covariance / STRENGTH).logpdf(mean)
        return total + gamma(SHAPE, scale=1.0 / (SHAPE * self.theirs.scale)).logpdf(1.0 / noise) - np.log(noise)


@pytest.mark.parametrize("name", SETS)
def test_the_mode_is_that_of_their_likelihood_and_the_prior(name):
    X, y, subject = SETS[name]()
    theirs = _theirs(X, y, subject)
    model, scale = _ours(X, y, subject, theirs, "map")
    posterior = Posterior(X, y, subject, theirs, scale)
    at_theirs = posterior.log_likelihood(theirs.fe_params, np.asarray(theirs.cov_re), theirs.scale)
    assert at_theirs == pytest.approx(theirs.llf, abs=1e-6 * abs(theirs.llf))
    found = model.posterior_.parameters
    ours = posterior.point(found["mean"][0], found["covariance"][0], model.noise_)
    best = minimize(lambda point: -posterior.log_density(point), ours, method="Nelder-Mead", options={"fatol": 1e-4})
    assert -best.fun - posterior.log_density(ours) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
def test_means_and_variances_are_those_of_their_likelihood_and_the_prior(name, rng):
    """Posterior means of all six numbers by importance sampling, within Monte Carlo error."""
    X, y, subject = SETS[name]()
    theirs = _theirs(X, y, subject)
    model, scale = _ours(X, y, subject, theirs, MixedEffectsGibbs(chains=1, draws=8000, warmup=300))
    posterior, found = Posterior(X, y, subject, theirs, scale), model.posterior_.parameters
    parts = zip(found["mean"], found["covariance"], model.posterior_.noise.reshape(-1), strict=True)
    ours = np.array([posterior.point(*part) for part in parts])
    law = multivariate_t(ours.mean(axis=0), 1.2 * np.cov(ours.T), df=6, seed=rng)
    points = law.rvs(20_000)
    # The measure of the covariance, in the entries of its factor, is that of log a, c and log b over b.
    logs = np.array([posterior.log_density(point) - point[4] for point in points]) - law.logpdf(points)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    exact = weights @ points
    error = np.sqrt(np.sum(weights[:, None] ** 2 * (points - exact) ** 2, axis=0))
    errors = np.hypot(error, [batch_error(column) for column in ours.T])
    assert np.all(np.abs(ours.mean(axis=0) - exact) < z_limit(18) * errors)
    assert abs(exact[0]) < 0.05 * ours[:, 0].std() + z_limit(18) * errors[0]
