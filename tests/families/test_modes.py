"""Modes: ``estimate`` against a search by scipy.optimize and closed forms, ``log_prior`` against scipy's densities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from countless.core.jit import kernel
from countless.families import FAMILIES, verbs
from countless.families.base import SMALLEST

from .cases import CASES, EXAMPLES, every, statistics_of
from .oracles import ORACLES, precision_of

WITH_ORACLE = [case for case in CASES if type(case.family).__name__ in ORACLES]


@kernel
def _compiled(family, statistics, cache, prior_weight, parameters):
    held = verbs.estimate(family, statistics, cache, 0, prior_weight, parameters)
    return held, verbs.log_prior(family, parameters, 0)


def _weighted(case):
    """Rows with uneven weights, as EM hands them in."""
    weights = np.random.default_rng(3).uniform(0.1, 1.5, len(case.rows))
    hyper, clusters = case.filled()
    clusters.statistics[0] = weights @ statistics_of(hyper, case.rows, clusters.statistics.shape[1])
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters, weights


def _estimate(hyper, clusters, prior_weight, width):
    parameters = np.full((1, width), np.nan)
    held = verbs.estimate(hyper, clusters.statistics, clusters.cache, 0, prior_weight, parameters)
    return held, parameters


# --- free coordinates: any vector is a parameter, so that a search needs no bounds ---------------------------------


def _pack(matrix):
    return np.concatenate([matrix[j:, j] for j in range(len(matrix))])


def _gaussian(family, free):
    d = np.size(family.mean)
    factor = np.zeros((d, d))
    factor[np.tril_indices(d)] = free[d:]
    factor[np.diag_indices(d)] = np.exp(np.diag(factor))
    return np.concatenate([free[:d], _pack(factor)])


def _columns(sizes, free):
    parts = np.split(free, np.cumsum([size - 1 for size in sizes])[:-1])
    return np.concatenate([special.softmax(np.append(part, 0.0)) for part in parts])


FREE = {
    "Gaussian": (_gaussian, lambda f: np.size(f.mean) * (np.size(f.mean) + 3) // 2),
    "DiagonalGaussian": (
        lambda f, u: np.concatenate([u[: len(u) // 2], np.exp(u[len(u) // 2 :])]),
        lambda f: 2 * np.size(f.mean),
    ),
    "GaussianKnownCovariance": (lambda f, u: u, lambda f: np.size(f.mean)),
    "SphericalGaussian": (lambda f, u: u, lambda f: np.size(f.mean)),
    "Multinomial": (lambda f, u: _columns([np.size(f.concentration)], u), lambda f: np.size(f.concentration) - 1),
    "Categorical": (lambda f, u: _columns(f.n_levels, u), lambda f: sum(f.n_levels) - len(f.n_levels)),
    "Bernoulli": (lambda f, u: _columns([2] * np.size(f.a), u), lambda f: np.size(f.a)),
    "Binomial": (lambda f, u: special.expit(u), lambda f: np.size(f.a)),
    "Geometric": (lambda f, u: special.expit(u), lambda f: np.size(f.a)),
    "Poisson": (lambda f, u: np.exp(u), lambda f: np.size(f.shape)),
    "Exponential": (lambda f, u: np.exp(u), lambda f: np.size(f.shape)),
}


# --- the prior by scipy, with the logarithm of the Jacobian of the basis -------------------------------------------


def _beta(a, b, p):
    return np.sum(stats.beta.logpdf(p, a, b) + np.log(p) + np.log1p(-p))


def _gamma(shape, rate, value):
    return np.sum(stats.gamma.logpdf(value, shape, scale=1 / np.asarray(rate)) + np.log(value))


def _dirichlet(concentrations, parameters):
    total, at = 0.0, 0
    for concentration in concentrations:
        p = parameters[at : at + len(concentration)]
        total += stats.dirichlet.logpdf(p / p.sum(), concentration) + np.log(p).sum()
        at += len(concentration)
    return total


def _normal_inverse_wishart(family, parameters):
    d = np.size(family.mean)
    covariance = np.linalg.inv(precision_of(parameters, d))
    return (
        stats.invwishart.logpdf(covariance, family.dof, np.asarray(family.scale))
        + stats.multivariate_normal.logpdf(parameters[:d], family.mean, covariance / family.mean_strength)
        + 0.5 * (d + 1) * np.linalg.slogdet(covariance)[1]
    )


def _normal_inverse_gamma(family, parameters):
    mean, variance = np.split(parameters, 2)
    variance = 1 / variance
    return np.sum(
        stats.invgamma.logpdf(variance, np.asarray(family.dof) / 2, scale=np.asarray(family.scale) / 2)
        + np.log(variance)
        + stats.norm.logpdf(mean, family.mean, np.sqrt(variance / np.asarray(family.mean_strength)))
    )


def _known(family, parameters):
    whitener = family.prepare().whitener
    spread = whitener @ np.asarray(family.mean_covariance) @ whitener.T
    return stats.multivariate_normal.logpdf(parameters, whitener @ np.asarray(family.mean), spread)


PRIORS = {
    "Gaussian": _normal_inverse_wishart,
    "DiagonalGaussian": _normal_inverse_gamma,
    "GaussianKnownCovariance": _known,
    "SphericalGaussian": lambda f, p: stats.norm.logpdf(p, f.mean, np.sqrt(f.mean_variance)).sum(),
    "Multinomial": lambda f, p: _dirichlet([f.concentration], p),
    "Categorical": lambda f, p: _dirichlet(f.concentration, p),
    "Bernoulli": lambda f, p: _beta(f.a, f.b, p[1::2]),
    "Binomial": lambda f, p: _beta(f.a, f.b, p),
    "Geometric": lambda f, p: _beta(f.a, f.b, p),
    "Poisson": lambda f, p: _gamma(f.shape, f.rate, p),
    "Exponential": lambda f, p: _gamma(f.shape, f.rate, p),
}


def test_every_family_has_an_oracle():
    names = {cls.__name__ for cls in FAMILIES.values() if cls.__module__.startswith("countless.")}
    assert names == set(FREE) == set(PRIORS)


@every(WITH_ORACLE)
def test_log_prior_is_scipys_density_in_the_free_basis(case):
    family = case.resolved()
    for seed in range(5):
        parameters = family.draw_parameters(seed, case.rows[:2])
        expected = PRIORS[type(family).__name__](family, parameters)
        assert verbs.log_prior(family.prepare(), parameters[None], 0) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def _objective(case, weights, prior_weight, parameters):
    family = case.resolved()
    density = ORACLES[type(family).__name__].density
    likelihood = sum(w * density(family, parameters, row) for w, row in zip(weights, case.rows, strict=True))
    return likelihood + prior_weight * (PRIORS[type(family).__name__](family, parameters) if prior_weight else 0.0)


@every(WITH_ORACLE)
@pytest.mark.parametrize("prior_weight", [0.0, 1.0, 0.4])
def test_estimate_is_what_a_search_finds(case, prior_weight):
    hyper, clusters, weights = _weighted(case)
    family = case.resolved()
    to_parameters, size = FREE[type(family).__name__]
    held, parameters = _estimate(hyper, clusters, prior_weight, family.layout().parameters)
    assert not held
    best = _objective(case, weights, prior_weight, parameters[0])

    def loss(free):
        return -_objective(case, weights, prior_weight, to_parameters(family, free))

    found = optimize.minimize(loss, np.zeros(size(family)), method="BFGS", options={"gtol": 1e-5})
    assert best == pytest.approx(-found.fun, abs=2e-6 * (1 + abs(best)))
    assert best >= -found.fun - 1e-7 * (1 + abs(best))


@every(WITH_ORACLE)
def test_the_search_notices_another_mode(case):
    """Negative control: the mode of likelihood alone is not that of the posterior, nor the other way round."""
    hyper, clusters, weights = _weighted(case)
    width = case.resolved().layout().parameters
    values = np.array(
        [
            [
                _objective(case, weights, prior_weight, _estimate(hyper, clusters, used, width)[1][0])
                for used in (0.0, 1.0)
            ]
            for prior_weight in (0.0, 1.0)
        ]
    )
    assert values[0, 0] > values[0, 1] + 1e-4
    assert values[1, 1] > values[1, 0] + 1e-4


@pytest.mark.parametrize("label", ["gaussian-3d", "diagonal-3d"])
def test_maximum_likelihood_of_a_gaussian_is_the_sample_mean_and_covariance(label):
    case = next(case for case in CASES if case.label == label)
    hyper, clusters, weights = _weighted(case)
    _, parameters = _estimate(hyper, clusters, 0.0, case.resolved().layout().parameters)
    mean = np.average(case.rows, axis=0, weights=weights)
    covariance = np.cov(case.rows, rowvar=False, aweights=weights, ddof=0)
    np.testing.assert_allclose(parameters[0, :3], mean, rtol=1e-10)
    if label == "gaussian-3d":
        np.testing.assert_allclose(np.linalg.inv(precision_of(parameters[0], 3)), covariance, rtol=1e-8)
    else:
        np.testing.assert_allclose(1 / parameters[0, 3:], np.diag(covariance), rtol=1e-10)


@every()
def test_a_cluster_without_rows_takes_the_mode_of_the_prior_and_says_so(case):
    hyper, clusters = case.filled(case.rows[:0])
    width = case.resolved().layout().parameters
    held, parameters = _estimate(hyper, clusters, 0.0, width)
    assert held
    held, same = _estimate(hyper, clusters, 1.0, width)
    assert held
    np.testing.assert_array_equal(parameters, same)
    assert np.isfinite(verbs.log_prior(hyper, parameters, 0))


@every()
def test_compiled_and_plain_agree(case):
    hyper, clusters, _ = _weighted(case)
    width = case.resolved().layout().parameters
    for prior_weight in (0.0, 1.0):
        parameters = np.full((1, width), np.nan)
        held, log_prior = _compiled(hyper, clusters.statistics, clusters.cache, prior_weight, parameters)
        expected_held, expected = _estimate(hyper, clusters, prior_weight, width)
        assert held == expected_held
        np.testing.assert_allclose(parameters, expected, rtol=1e-10)
        assert log_prior == pytest.approx(verbs.log_prior(hyper, expected, 0), rel=1e-9, abs=1e-9)


def _clusters(name, rows, **options):
    family = FAMILIES[name](**options).resolve(rows)
    hyper, clusters = family.prepare(), family.allocate(1)
    clusters.statistics[0] = statistics_of(hyper, rows, clusters.statistics.shape[1]).sum(axis=0)
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters, family.layout().parameters


def test_a_flat_gaussian_is_held_at_the_floor_and_nowhere_else():
    """Of all covariances with no eigenvalue below the floor, the one with lifted eigenvalues is the most likely."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 3))
    hyper, clusters, width = _clusters("gaussian", rows)
    held, parameters = _estimate(hyper, clusters, 0.0, width)
    assert held
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False, bias=True))
    expected = vectors * np.maximum(values, SMALLEST) @ vectors.T
    np.testing.assert_allclose(np.linalg.inv(precision_of(parameters[0], 3)), expected, rtol=1e-5, atol=1e-9)
    held, parameters = _estimate(hyper, clusters, 1.0, width)
    assert not held


@pytest.mark.parametrize(("name", "value"), [("gaussian", 0.7), ("diagonal-gaussian", 0.7), ("exponential", 0.0)])
def test_equal_rows_are_held_and_reported(name, value):
    hyper, clusters, width = _clusters(name, np.full((4, 1), value))
    held, parameters = _estimate(hyper, clusters, 0.0, width)
    assert held
    spread = 1 / parameters[0, -1] if name != "gaussian" else parameters[0, -1] ** -2
    assert spread == pytest.approx(SMALLEST, rel=1e-9)
    assert not _estimate(hyper, clusters, 1.0, width)[0]


@pytest.mark.parametrize("name", ["poisson", "geometric", "binomial", "bernoulli", "categorical", "multinomial"])
def test_counts_that_are_all_zero_have_a_finite_likelihood(name):
    options = {"trials": 2} if name == "binomial" else {"n_levels": 2} if name == "categorical" else {}
    rows = np.zeros((4, 2))
    hyper, clusters, width = _clusters(name, rows, **options)
    held, parameters = _estimate(hyper, clusters, 0.0, width)
    assert not held
    value = verbs.log_likelihood(hyper, parameters, 0, rows[0], clusters.work)
    assert value == pytest.approx(0.0, abs=1e-12)


def test_the_mode_on_the_simplex_is_another_one():
    """Negative control for the basis: pseudo-counts less one, the mode in the probabilities, loses here."""
    case = EXAMPLES["multinomial"][-1]
    hyper, clusters, weights = _weighted(case)
    counts = clusters.statistics[0, 1:-1] + np.asarray(case.resolved().concentration)
    _, parameters = _estimate(hyper, clusters, 1.0, len(counts))
    np.testing.assert_allclose(parameters[0], counts / counts.sum(), rtol=1e-12)
    simplex = (counts - 1) / (counts - 1).sum()
    assert _objective(case, weights, 1.0, parameters[0]) > _objective(case, weights, 1.0, simplex) + 1e-4


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("gaussian-3d", 9),
        ("diagonal-3d", 6),
        ("known-3d", 3),
        ("spherical-3d", 3),
        ("multinomial-4", 3),
        ("categorical-3", 1 + 2 + 4),
        ("bernoulli-3", 3),
        ("binomial-3", 3),
        ("poisson-3", 3),
        ("geometric-2", 2),
        ("exponential-2", 2),
    ],
)
def test_free_parameters_are_counted(label, expected):
    case = next(case for case in CASES if case.label == label)
    assert case.resolved().n_parameters() == expected
