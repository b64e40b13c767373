"""Small studies of mixed effects with exact answers, from scipy's normal laws in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import gamma, multivariate_normal

import countless as cl
from countless.chains import Schedule
from exact.enumeration import _blocks, log_priors, partitions

N_SUBJECTS = 6
VISITS = np.array([1, 2, 3, 4, 2, 1])


def visits(seed: int = 3, n_subjects: int = N_SUBJECTS) -> tuple[Any, Any, Any, Any]:
    """X, y, subjects and a fixed column; unbalanced, far from zero, in units of its own."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(n_subjects), VISITS[:n_subjects])
    time = rng.uniform(20.0, 24.0, len(subject))
    effects = np.array([50.0, 2.0]) + rng.normal(size=(n_subjects, 2)) * [6.0, 0.3]
    effects[n_subjects // 2 :, 0] += 15.0
    shared = rng.normal(size=len(subject))
    y = effects[subject, 0] + effects[subject, 1] * time + 1.5 * shared + 3.0 * rng.normal(size=len(subject))
    return np.column_stack([np.ones(len(subject)), time]), y, subject, shared[:, None]


def problem_of(family: Any, prior: Any, noise: Any, with_fixed: bool = False, **settings: Any) -> Any:
    """The problem of the small study."""
    X, y, subject, shared = visits()
    model = cl.MixedEffects(family, prior, noise, **settings)
    return model._read(X, y, subject, shared if with_fixed else None).problem()


def log_normal(y: Any, X: Any, subject: Any, mean: Any, within: Any, between: Any, noise: float) -> float:
    """Log density of the visits of the subjects of one cluster: covariances within it and of its mean are given."""
    same = subject[:, None] == subject[None, :]
    covariance = noise * np.eye(len(y)) + same * (X @ within @ X.T) + X @ between @ X.T
    return float(multivariate_normal(X @ mean, covariance).logpdf(y))


def evidence_of_sets(family: Any, noise: float) -> dict[tuple[int, ...], float]:
    """Log evidence of every set of subjects as one cluster, for a family of known covariance."""
    X, y, subject, _ = visits()
    d = X.shape[1]
    if isinstance(family, cl.families.SphericalGaussian):
        within, between = family.variance * np.eye(d), family.mean_variance * np.eye(d)
    else:
        within, between = np.asarray(family.covariance), np.asarray(family.mean_covariance)
    found = {}
    for rows in _blocks(N_SUBJECTS)[0]:
        here = np.isin(subject, rows)
        found[tuple(rows)] = log_normal(y[here], X[here], subject[here], family.mean, within, between, noise)
    return found


def evidence_by_cluster(variance: float, mean: float, between: float, noise: Any, X: Any, y: Any, subject: Any) -> Any:
    """The same for one effect of known variance and a noise of each cluster, its precision on a grid of logarithms."""
    grid = np.linspace(-9.0, 4.0, 260)
    law = gamma(noise.shape, scale=1.0 / noise.rate).logpdf(np.exp(grid)) + grid
    found = {}
    for rows in _blocks(N_SUBJECTS)[0]:
        here = np.isin(subject, rows)
        values = [
            log_normal(y[here], X[here], subject[here], [mean], [[variance]], [[between]], np.exp(-place)) + log_law
            for place, log_law in zip(grid, law, strict=True)
        ]
        found[tuple(rows)] = float(np.logaddexp.reduce(values) + np.log(grid[1] - grid[0]))
    return found


def posterior_of(evidence: dict[tuple[int, ...], float], prior: Any, n: int = N_SUBJECTS) -> Any:
    """Posterior probability of each partition of n subjects."""
    values = [
        sum(evidence[tuple(np.flatnonzero(labels == k).tolist())] for k in range(labels.max() + 1))
        for labels in partitions(n)
    ]
    log_joint = log_priors(prior, n) + np.array(values)
    return np.exp(log_joint - logsumexp(log_joint))


def log_inverse_gamma(value: Any, dof: float, scale: float) -> Any:
    """Log density of log s for s ~ IG(dof / 2, scale / 2)."""
    shape, rate = 0.5 * dof, 0.5 * scale
    return shape * np.log(rate) - gammaln(shape) - shape * np.log(value) - rate / value


def run(problem: Any, moves: Any, rng: Any, n_draws: int, thin: int = 1, warmup: int = 50) -> Any:
    """Labels (draw, subject) of one chain."""
    state = problem.start("one", 0, rng)
    schedule = Schedule(moves)
    labels = np.empty((n_draws, problem.n_subjects), dtype=np.int64)
    for _ in range(warmup):
        schedule.step(rng, state)
    for draw in range(n_draws):
        for _ in range(thin):
            schedule.step(rng, state)
        labels[draw] = state.partition()
    return labels
