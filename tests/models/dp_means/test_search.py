"""DP-means: J against enumeration, joins against Ward's method, K-means against scikit-learn, and J never rises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import ward
from scipy.special import xlogy
from sklearn.cluster import KMeans

import countless as cl
from countless.families import FAMILIES
from countless.models.dp_means import descent
from countless.models.dp_means.assignment import assign
from countless.models.dp_means.clustering import HardClustering, Objective
from countless.models.dp_means.divergences import Measure
from countless.models.dp_means.penalty import join_heights, middle, penalty_window, suggest_penalty
from countless.models.dp_means.rows import BLOCK, WeightedRows, distinct_rows, threads
from countless.models.dp_means.search import SAMPLE, search, solve
from countless.models.dp_means.settle import settle
from exact.enumeration import partitions


def _weighted(X, weights=None, family=None):
    X = np.ascontiguousarray(X, dtype=np.float64)
    family = None if family is None else family.resolve(X)
    measure = Measure.of(family, X)
    return WeightedRows(measure, measure.local(X), np.ones(len(X)) if weights is None else weights)


def _blobs(rng, n, k, d, spread):
    return (rng.normal(size=(k, d)) * spread)[rng.integers(k, size=n)] + rng.normal(size=(n, d))


# --- divergences in plain NumPy, as oracles ------------------------------------------------------------------


def _squared(rows, weights):
    mean = np.average(rows, axis=0, weights=weights)
    return weights @ ((rows - mean) ** 2).sum(axis=1)


def _poisson(rows, weights):
    mean = np.average(rows, axis=0, weights=weights)
    return weights @ (xlogy(rows, rows) - xlogy(rows, mean) - rows + mean).sum(axis=1)


def _categorical(rows, weights):
    total = 0.0
    for column in rows.T:
        shares = np.bincount(column.astype(int), weights) / weights.sum()
        total -= weights @ np.log(shares[column.astype(int)])
    return total


KINDS = {
    "squared": (_squared, lambda rng: rng.normal(size=(7, 2)) * rng.choice([1, 1, 4], size=(7, 1)), None),
    "poisson": (_poisson, lambda rng: rng.poisson(rng.choice([1, 6, 20], (7, 1)), (7, 2)), cl.families.Poisson()),
    "categorical": (_categorical, lambda rng: rng.integers(0, 3, (7, 4)), cl.families.Categorical(n_levels=3)),
}


class Problem:
    """Seven rows, their weights, a penalty, and the exact J of any partition."""

    def __init__(self, kind, rng):
        cost, draw, family = KINDS[kind]
        self.weights = rng.uniform(0.5, 2.0, 7)
        rows = draw(rng).astype(np.float64)
        self.data = _weighted(rows, self.weights, family)
        masks = [np.flatnonzero((code >> np.arange(7)) & 1) for code in range(128)]
        self.cost = np.array([cost(rows[m], self.weights[m]) if len(m) else 0.0 for m in masks])
        self.size = np.array([self.weights[m].sum() for m in masks])
        self.penalty = self.cost[-1] * np.exp(rng.uniform(np.log(0.02), np.log(0.6)))
        self.count_weight = float(rng.choice([0.0, 0.1 * self.cost[-1] / 7]))

    def value(self, labels):
        codes = [int(((labels == k) << np.arange(7)).sum()) for k in range(labels.max() + 1)]
        counts = xlogy(self.size[codes], self.size[codes] / self.weights.sum()).sum()
        return self.cost[codes].sum() + self.penalty * len(codes) - self.count_weight * counts

    def best(self):
        return min(self.value(labels) for labels in partitions(7))


@pytest.mark.parametrize(
    ("kind", "n_problems", "allowed"), [("squared", 40, 1), ("poisson", 20, 1), ("categorical", 20, 2)]
)
def test_the_best_of_all_partitions_is_found(kind, n_problems, allowed, rng):
    """Local search may miss; measured on hundreds: 0 of 200, 0 of 100, 2 of 100. A single start of bare passes misses
    far more often, so that this test can tell."""
    missed = missed_by_passes = 0
    for _ in range(n_problems):
        problem = Problem(kind, rng)
        best = problem.best()
        found = solve(problem.data, rng, penalty=problem.penalty, count_weight=problem.count_weight).clustering
        assert found.value() == pytest.approx(problem.value(found.labels), rel=1e-10)
        missed += found.value() > best * (1 + 1e-9)
        objective = Objective(problem.penalty, problem.count_weight)
        bare = HardClustering.of_labels(problem.data, objective, np.zeros(7, dtype=np.int64))
        settle(bare, 100, 0.0, opening=True)
        assert bare.value() == pytest.approx(problem.value(bare.labels), rel=1e-10)
        missed_by_passes += bare.value() > best * (1 + 1e-9)
    assert missed <= allowed
    assert missed_by_passes > n_problems / 4


SETTINGS = {
    "penalty": {"penalty": 40.0},
    "radius": {"penalty": 12.0, "splits": False},
    "counts": {"penalty": 40.0, "count_weight": None},
    "number": {"n_clusters": 9},
    "number and counts": {"n_clusters": 9, "count_weight": 1.5},
    "suggested": {},
    "suggested radius": {"splits": False},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", ["squared", "poisson"])
def test_the_objective_never_rises_and_is_what_it_says(name, kind, rng):
    X = _blobs(rng, 150, 6, 2, 3.0)
    X = np.round(np.exp(0.3 * X)) if kind == "poisson" else X
    data = _weighted(X, rng.uniform(0.5, 1.5, len(X)), KINDS[kind][2])
    found, penalty, count_weight = solve(data, rng, **SETTINGS[name])
    labels, weights = found.labels, data.weights
    trace = np.array(found.trace)
    assert (np.diff(trace) <= 1e-10 * np.abs(trace[0])).all()
    clusters = [labels == k for k in range(labels.max() + 1)]
    sizes = np.array([weights[members].sum() for members in clusters])
    expected = sum(KINDS[kind][0](X[members], weights[members]) for members in clusters) + penalty * len(clusters)
    expected -= count_weight * xlogy(sizes, sizes / sizes.sum()).sum()
    assert found.value() == pytest.approx(expected, rel=1e-10)
    assert trace[-1] == pytest.approx(expected, rel=1e-10)


def test_a_wrong_price_would_be_seen(rng, monkeypatch):
    """Negative control: joins that cost nothing make J rise."""
    clustering = HardClustering.of_labels(_weighted(_blobs(rng, 60, 4, 2, 4.0)), Objective(1e-3), np.arange(60) % 4)
    real = descent.agglomerate

    def wrong(divergence, sums, price, limit, *rest):
        return real(divergence, sums, price, np.inf, *rest)

    monkeypatch.setattr(descent, "agglomerate", wrong)
    before = clustering.value()
    descent.join(clustering, 1e-3, 1)
    assert clustering.value() > before


def test_joins_are_wards(rng):
    """The rise of the sum of squares is half the squared height of scipy's dendrogram."""
    X = rng.normal(size=(60, 3))
    np.testing.assert_allclose(join_heights(_weighted(X)), ward(X)[:, 2] ** 2 / 2, rtol=1e-9)


@pytest.mark.parametrize(("k", "d", "spread"), [(5, 2, 4.0), (12, 4, 2.0), (25, 2, 6.0)])
def test_a_given_number_is_no_worse_than_scikit_learns_kmeans(k, d, spread, rng):
    X = _blobs(rng, 600, k, d, spread)
    found = search(_weighted(X), Objective(n_clusters=k), rng, restarts=4)
    assert found.n_clusters == k
    assert found.within <= KMeans(k, n_init=10, random_state=0).fit(X).inertia_ * 1.002


def test_every_number_comes_out(rng):
    X = np.concatenate([rng.normal(size=(9, 2)), np.zeros((4, 2))])
    data, place = distinct_rows(Measure.of(None, X), X, np.ones(13))
    assert len(data) == 10
    assert data.weights.max() == 4.0
    np.testing.assert_array_equal(data.rows[place], X)
    for k in range(1, 11):
        for splits in (True, False):
            found = solve(data, rng, n_clusters=k, splits=splits)
            assert found.clustering.n_clusters == k
            assert len(np.unique(found.clustering.labels)) == k
    with pytest.raises(ValueError, match="n_clusters is 11, but X has 10 different rows"):
        distinct_rows(Measure.of(None, X), X, np.ones(13), 11)


def test_the_penalty_found_for_a_number_gives_that_number(rng):
    X = _blobs(rng, 400, 5, 2, 8.0)
    for k in (1, 2, 5):
        penalty = solve(_weighted(X), rng, n_clusters=k).penalty
        assert solve(_weighted(X), rng, penalty=penalty).clustering.n_clusters == k


def test_the_window_of_a_clustering(rng):
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    two = HardClustering.of_labels(_weighted(X), Objective(n_clusters=2), np.array([0, 0, 1, 1]))
    assert penalty_window(two, rng) == pytest.approx((0.5, 100.0))
    assert middle((0.5, 100.0)) == pytest.approx(np.sqrt(50.0))
    one = HardClustering.of_labels(_weighted(X), Objective(n_clusters=1), np.zeros(4, dtype=np.int64))
    assert penalty_window(one, rng) == pytest.approx((100.0, np.inf))
    assert middle((100.0, np.inf)) == 200.0
    assert middle((0.0, 0.0)) == 1.0


def test_the_suggested_penalty_finds_clear_groups():
    """Centres on a line or a grid, so that no draw makes two of them overlap; and one group stays one."""
    found = []
    for k in range(1, 8):
        for d in (1, 2, 8):
            rng = np.random.default_rng([k, d])
            centres = np.zeros((k, d))
            centres[:, 0] = 9.0 * np.arange(k)
            X = centres[np.arange(300) % k] + rng.normal(size=(300, d))
            data = _weighted(X)
            clustering = solve(data, rng, penalty=suggest_penalty(data, rng), restarts=2).clustering
            found.append(clustering.n_clusters == k)
    assert sum(found) >= 20


@pytest.mark.parametrize("splits", [True, False])
def test_many_rows_start_from_a_sample_and_threads_change_nothing(splits, rng):
    X = _blobs(rng, 2 * BLOCK + 100, 6, 3, 8.0)
    assert len(X) > SAMPLE
    results = []
    for n_threads in (1, 3):
        data = _weighted(X)
        with threads(n_threads) as data.run:
            penalty = 0.1 * len(X) if splits else 60.0
            results.append(solve(data, np.random.default_rng(0), penalty=penalty, splits=splits).clustering)
    one, three = results
    np.testing.assert_array_equal(one.labels, three.labels)
    np.testing.assert_array_equal(one.sums, three.sums)
    assert one.trace == three.trace
    assert one.value() == pytest.approx(
        sum(_squared(X[one.labels == k], np.ones((one.labels == k).sum())) for k in range(one.n_clusters))
        + one.objective.penalty * one.n_clusters,
        rel=1e-10,
    )


def test_bounds_skip_no_row_that_would_move(rng):
    """Passes with bounds, with openings on the way, give the labels of passes that compare everything."""
    X = _blobs(rng, 1500, 8, 3, 1.5)
    found = []
    for kernel in (None, assign):
        data = _weighted(X)
        data.kernel = kernel or data.kernel
        centres = data.sums(np.arange(1500) % 3, 3)
        clustering = HardClustering.of_sums(data, Objective(14.0, splits=False), centres)
        settle(clustering, 200, 0.0, opening=True)
        found.append(clustering)
    bounded, plain = found
    assert bounded.n_clusters > 3
    np.testing.assert_array_equal(bounded.labels, plain.labels)
    assert bounded.trace == pytest.approx(plain.trace, rel=1e-10)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) & {"gaussian", "multinomial"}))
def test_other_families(name, rng):
    if name == "multinomial":
        shares = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
        X = np.stack([rng.multinomial(30, shares[i % 2]) for i in range(40)]).astype(float)
    else:
        X = np.arange(40)[:, None] % 2 * 12.0 + rng.normal(size=(40, 2))
    found = solve(_weighted(X, family=FAMILIES[name]()), rng, n_clusters=2).clustering
    assert (found.labels[::2] == found.labels[0]).all()
    assert (found.labels[1::2] != found.labels[0]).all()
