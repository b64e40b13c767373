"""DP-means: J against enumeration, joins against Ward's method, K-means against scikit-learn, and J never rises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import ward
from scipy.special import xlogy
from sklearn.cluster import KMeans

import countless as cl
from countless.families import FAMILIES
from countless.models.dp_means.divergences import Measure, family_pass
from countless.models.dp_means.partition import BLOCK, Objective, Partition, Table, threads
from countless.models.dp_means.search import (
    SAMPLE,
    _from_labels,
    _heights,
    distinct_rows,
    middle,
    penalty_window,
    search,
    solve,
    suggest_penalty,
)
from exact.enumeration import partitions


def _table(X, weights=None, family=None):
    X = np.ascontiguousarray(X, dtype=np.float64)
    family = None if family is None else family.resolve(X)
    measure = Measure.of(family, X)
    return Table(measure, measure.local(X), np.ones(len(X)) if weights is None else weights)


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
        self.table = _table(rows, self.weights, family)
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
        found = solve(problem.table, rng, penalty=problem.penalty, count_weight=problem.count_weight).partition
        assert found.value() == pytest.approx(problem.value(found.labels), rel=1e-10)
        missed += found.value() > best * (1 + 1e-9)
        bare = _from_labels(
            problem.table, Objective(problem.penalty, problem.count_weight), np.zeros(7, dtype=np.int64)
        )
        bare.settle(100, 0.0, opening=True)
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
    table = _table(X, rng.uniform(0.5, 1.5, len(X)), KINDS[kind][2])
    found, penalty, count_weight = solve(table, rng, **SETTINGS[name])
    labels, weights = found.labels, table.weights
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
    import countless.models.dp_means.partition as module

    table = _table(_blobs(rng, 60, 4, 2, 4.0))
    part = _from_labels(table, Objective(1e3), np.arange(60) % 4)
    real = module.agglomerate

    def wrong(hyper, sums, n_statistics, count_weight, total, limit, target, parent, heights):
        return real(hyper, sums, n_statistics, count_weight, total, np.inf, target, parent, heights)

    monkeypatch.setattr(module, "agglomerate", wrong)
    part.aim = Objective(1e-3)
    before = part.value()
    part.join(1e-3, 1)
    assert part.value() > before


def test_joins_are_wards(rng):
    """The rise of the sum of squares is half the squared height of scipy's dendrogram."""
    X = rng.normal(size=(60, 3))
    np.testing.assert_allclose(_heights(_table(X)), ward(X)[:, 2] ** 2 / 2, rtol=1e-9)


@pytest.mark.parametrize(("k", "d", "spread"), [(5, 2, 4.0), (12, 4, 2.0), (25, 2, 6.0)])
def test_a_given_number_is_no_worse_than_scikit_learns_kmeans(k, d, spread, rng):
    X = _blobs(rng, 600, k, d, spread)
    found = search(_table(X), Objective(n_clusters=k), rng, restarts=4)
    assert found.n_clusters == k
    assert found.within <= KMeans(k, n_init=10, random_state=0).fit(X).inertia_ * 1.002


def test_every_number_comes_out(rng):
    X = np.concatenate([rng.normal(size=(9, 2)), np.zeros((4, 2))])
    table, place = distinct_rows(Measure.of(None, X), X, np.ones(13))
    assert len(table.rows) == 10
    assert table.weights.max() == 4.0
    np.testing.assert_array_equal(table.rows[place], X)
    for k in range(1, 11):
        for splits in (True, False):
            found = solve(table, rng, n_clusters=k, splits=splits)
            assert found.partition.n_clusters == k
            assert len(np.unique(found.partition.labels)) == k
    with pytest.raises(ValueError, match="n_clusters is 11, but X has 10 different rows"):
        distinct_rows(Measure.of(None, X), X, np.ones(13), 11)


def test_the_penalty_found_for_a_number_gives_that_number(rng):
    X = _blobs(rng, 400, 5, 2, 8.0)
    for k in (1, 2, 5):
        penalty = solve(_table(X), rng, n_clusters=k).penalty
        assert solve(_table(X), rng, penalty=penalty).partition.n_clusters == k


def test_the_window_of_a_clustering(rng):
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    part = _from_labels(_table(X), Objective(n_clusters=2), np.array([0, 0, 1, 1]))
    assert penalty_window(part, rng) == pytest.approx((0.5, 100.0))
    assert middle((0.5, 100.0)) == pytest.approx(np.sqrt(50.0))
    one = _from_labels(_table(X), Objective(n_clusters=1), np.zeros(4, dtype=np.int64))
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
            table = _table(X)
            part = solve(table, rng, penalty=suggest_penalty(table, rng), restarts=2).partition
            found.append(part.n_clusters == k)
    assert sum(found) >= 20


@pytest.mark.parametrize("splits", [True, False])
def test_many_rows_start_from_a_sample_and_threads_change_nothing(splits, rng):
    X = _blobs(rng, 2 * BLOCK + 100, 6, 3, 8.0)
    assert len(X) > SAMPLE
    results = []
    for n_threads in (1, 3):
        table = _table(X)
        with threads(n_threads) as table.run:
            penalty = 0.1 * len(X) if splits else 60.0
            results.append(solve(table, np.random.default_rng(0), penalty=penalty, splits=splits).partition)
    one, three = results
    np.testing.assert_array_equal(one.labels, three.labels)
    np.testing.assert_array_equal(one.sums, three.sums)
    assert one.trace == three.trace
    assert one.value() == pytest.approx(
        sum(_squared(X[one.labels == k], np.ones((one.labels == k).sum())) for k in range(one.n_clusters))
        + one.aim.penalty * one.n_clusters,
        rel=1e-10,
    )


def test_bounds_skip_no_row_that_would_move(rng):
    """Passes with bounds, with openings on the way, give the labels of passes that compare everything."""
    X = _blobs(rng, 1500, 8, 3, 1.5)
    parts = []
    for kernel in (None, family_pass):
        table = _table(X)
        table.kernel = kernel or table.kernel
        part = Partition(table, Objective(14.0, splits=False), np.full(len(X), -1), table.sums(np.arange(1500) % 3, 3))
        part.labels = part.labels.astype(np.int64)
        part.settle(200, 0.0, opening=True)
        parts.append(part)
    assert parts[0].n_clusters > 3
    np.testing.assert_array_equal(parts[0].labels, parts[1].labels)
    assert parts[0].trace == pytest.approx(parts[1].trace, rel=1e-10)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) & {"gaussian", "multinomial"}))
def test_other_families(name, rng):
    if name == "multinomial":
        shares = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
        X = np.stack([rng.multinomial(30, shares[i % 2]) for i in range(40)]).astype(float)
    else:
        X = np.arange(40)[:, None] % 2 * 12.0 + rng.normal(size=(40, 2))
    found = solve(_table(X, family=FAMILIES[name]()), rng, n_clusters=2).partition
    assert (found.labels[::2] == found.labels[0]).all()
    assert (found.labels[1::2] != found.labels[0]).all()
