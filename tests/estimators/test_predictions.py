"""Predictions for new rows against hand-made mixtures, integrals and Monte Carlo error."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import countless as cl
from countless.inference import CollapsedGibbs

from .cases import GIBBS, REAL, SEARCH, model, two_groups

FAR = 1e3


def _line(n: int = 12) -> np.ndarray:
    rng = np.random.default_rng(99)
    return np.concatenate([rng.normal(-3.0, 1.0, n), rng.normal(2.0, 0.7, n)])[:, None]


def _student(family: cl.families.Gaussian, members: np.ndarray) -> stats.rv_continuous:
    """Predictive of a one-column normal-inverse-Wishart cluster (Murphy 2007, section 9), from the rows."""
    mean, strength = float(np.ravel(family.mean)[0]), family.mean_strength
    n = len(members)
    centre = members.mean() if n else 0.0
    scatter = ((members - centre) ** 2).sum() if n else 0.0
    posterior_mean = (strength * mean + n * centre) / (strength + n)
    spread = float(np.ravel(family.scale)[0]) + scatter + strength * n / (strength + n) * (centre - mean) ** 2
    dof = family.dof + n
    return stats.t(dof, posterior_mean, np.sqrt(spread * (strength + n + 1) / ((strength + n) * dof)))


def _mixture(family, labels, concentration, X, x):
    """Chinese restaurant weights times predictives, one column per cluster and one for a new cluster."""
    labels = np.asarray(labels)
    parts = [
        (labels == k).sum() * _student(family, X[labels == k, 0]).pdf(x[:, 0]) for k in range(int(labels.max()) + 1)
    ]
    parts.append(concentration * _student(family, X[:0, 0]).pdf(x[:, 0]))
    return np.stack(parts, axis=1) / (len(X) + concentration)


@pytest.mark.parametrize("draws", [20, 150], ids=["all-draws", "thinned"])
def test_the_density_is_the_average_over_draws(draws):
    X, new = _line(), np.linspace(-9.0, 9.0, 31)[:, None]
    fitted = model(inference=CollapsedGibbs(chains=1, draws=draws, warmup=20, n_threads=1), tune=None).fit(X)
    posterior = fitted.posterior_
    assert len(np.unique(posterior.n_clusters)) > 1, "draws that are all alike would test nothing"
    # Beyond 100 draws an evenly spaced subset stands for all.
    picked = np.linspace(0, draws - 1, min(draws, 100)).astype(int)
    expected = np.mean(
        [
            _mixture(fitted.family_, posterior.labels[0, t], posterior.concentration[0, t], X, new).sum(axis=1)
            for t in picked
        ],
        axis=0,
    )
    np.testing.assert_allclose(fitted.score_samples(new), np.log(expected), rtol=1e-9)
    assert fitted.score(new) == pytest.approx(float(np.mean(np.log(expected))), rel=1e-9)


@pytest.mark.parametrize("engine", [GIBBS, SEARCH], ids=["gibbs", "map"])
def test_probabilities_are_those_of_the_consensus_clustering(engine):
    X, new = _line(), np.linspace(-9.0, 9.0, 31)[:, None]
    fitted = model(inference=engine).fit(X)
    parts = _mixture(fitted.family_, fitted.labels_, fitted.concentration_, X, new)
    probabilities = fitted.predict_proba(new)
    assert probabilities.shape == (31, fitted.n_clusters_ + 1)
    np.testing.assert_allclose(probabilities, parts / parts.sum(axis=1, keepdims=True), rtol=1e-8)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(new), parts[:, :-1].argmax(axis=1))


@pytest.mark.parametrize("name", REAL)
def test_a_row_far_from_all_clusters_is_a_new_one(name):
    X = two_groups(name)
    fitted = model(name).fit(X)
    far = np.full((1, 2), FAR)
    assert fitted.predict(far, new_clusters=True).tolist() == [-1]
    assert fitted.predict(far).tolist()[0] in (0, 1)
    assert fitted.predict_proba(far)[0, -1] > 0.5
    np.testing.assert_array_equal(fitted.predict(X, new_clusters=True), fitted.labels_)


def test_a_row_at_any_distance_still_has_probabilities():
    fitted = model("spherical-gaussian").fit(two_groups("spherical-gaussian"))
    for distance in (1e3, 1e6, 1e9, 1e12):
        probabilities = fitted.predict_proba(np.full((1, 2), distance))
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(), 1.0, rtol=1e-12)
        assert np.isfinite(fitted.score_samples(np.full((1, 2), distance))).all()


@pytest.mark.parametrize("name", REAL)
def test_a_row_whose_squares_overflow(name):
    fitted = model(name).fit(two_groups(name))
    for method in ("predict", "predict_proba", "score_samples", "score"):
        with pytest.raises(ValueError, match=r"^X: column 1 holds 1e\+200, too large to be squared; use other units"):
            getattr(fitted, method)([[0.0, 1e200]])


def test_predictions_do_not_depend_on_the_other_rows_asked_for():
    X = two_groups("gaussian")
    fitted = model().fit(X)
    together = fitted.score_samples(X)
    np.testing.assert_array_equal(together, [fitted.score_samples(X[i : i + 1])[0] for i in range(len(X))])


@pytest.mark.parametrize("name", REAL)
def test_the_density_integrates_to_one_over_the_line(name):
    X = _line()
    fitted = model(name, tune=None).fit(X)
    # Midpoints in the angle u of x = 3 tan(u): the tails, t with three degrees of freedom or lighter, are in reach.
    angles = (np.arange(40_000) + 0.5) / 40_000 * np.pi - np.pi / 2
    density = np.exp(fitted.score_samples(3.0 * np.tan(angles)[:, None]))
    integral = np.sum(density * 3.0 / np.cos(angles) ** 2) * np.pi / 40_000
    assert integral == pytest.approx(1.0, abs=1e-7)


def test_the_density_of_durations_integrates_to_one():
    fitted = model(cl.families.Exponential(shape=3.0, rate=2.0)).fit(np.abs(_line()))
    share = (np.arange(40_000) + 0.5) / 40_000
    density = np.exp(fitted.score_samples((share / (1 - share))[:, None]))
    assert np.sum(density / (1 - share) ** 2) / 40_000 == pytest.approx(1.0, abs=1e-7)


def _histograms(total: int, columns: int) -> list[tuple[int, ...]]:
    return [cells for cells in product(range(total + 1), repeat=columns) if sum(cells) == total]


@pytest.mark.parametrize(
    ("family", "rows", "support"),
    [
        ("bernoulli", [[0, 1], [1, 1], [0, 0], [0, 1]], list(product(range(2), repeat=2))),
        ("categorical", [[0, 2], [1, 1], [0, 0], [1, 2]], list(product(range(2), range(3)))),
        ("binomial", [[0, 5], [4, 1], [1, 4], [3, 0]], list(product(range(5), range(6)))),
        ("multinomial", [[4, 0, 0], [0, 1, 3], [3, 1, 0], [0, 0, 4]], _histograms(4, 3)),
        ("poisson", [[0], [9], [1], [12]], [(x,) for x in range(30_000)]),
        (cl.families.Geometric(a=6.0, b=2.0), [[0], [9], [1], [12]], [(x,) for x in range(30_000)]),
    ],
    ids=["bernoulli", "categorical", "binomial", "multinomial", "poisson", "geometric"],
)
def test_probabilities_of_all_possible_counts_sum_to_one(family, rows, support):
    fitted = model(family).fit(rows)
    assert np.exp(fitted.score_samples(support)).sum() == pytest.approx(1.0, abs=1e-9)


def test_samples_have_the_moments_of_the_consensus_predictive():
    X = _line()
    fitted = model(cl.families.Gaussian(dof=8.0), prior=cl.priors.CRP(4.0)).fit(X)
    n = 4000
    rows, labels = fitted.sample(n)
    assert rows.shape == (n, 1)
    assert labels.shape == (n,)
    assert labels.dtype.kind == "i"
    clusters = [*range(fitted.n_clusters_), -1]
    weights = np.append(np.bincount(fitted.labels_), 4.0) / (len(X) + 4.0)
    for k, weight in zip(clusters, weights, strict=True):
        mine = rows[labels == k, 0]
        assert abs(len(mine) / n - weight) < 4.5 * np.sqrt(weight * (1 - weight) / n)
        law = _student(fitted.family_, X[fitted.labels_ == k, 0])
        mean, variance, kurtosis = law.stats("mvk")
        assert abs(mine.mean() - mean) < 4.5 * np.sqrt(variance / len(mine))
        assert abs(mine.var() - variance) < 4.5 * variance * np.sqrt((kurtosis + 2) / len(mine))
        assert stats.kstest(mine, law.cdf).pvalue > 1e-4


def test_samples_depend_on_the_seed_alone():
    X = two_groups("poisson")
    fitted = model("poisson").fit(X)
    one, other = fitted.sample(7), fitted.sample(7)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])
    fitted.set_params(random_state=np.random.default_rng(1))
    assert not np.array_equal(fitted.sample(7)[0], fitted.sample(7)[0])
    assert fitted.sample()[0].shape == (1, 2)
