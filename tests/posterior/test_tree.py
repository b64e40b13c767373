"""The tree of clusters: overlaps against quadrature, joins against shares added up by hand, groups of known shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import countless as cl
from countless.posterior.partition.tree import OVERLAP, ClusterTree

CHAINS = cl.inference.CollapsedGibbs(chains=2, draws=60, warmup=60)


def _overlap(apart, weight):
    """E[t1 t2] / min(w1, w2) of two Gaussians with variance 1."""

    def together(x):
        one, other = weight * stats.norm.pdf(x), (1.0 - weight) * stats.norm.pdf(x, apart)
        return one * other / (one + other)

    return quad(together, -10.0, apart + 10.0, limit=200)[0] / min(weight, 1.0 - weight)


@pytest.mark.parametrize(("apart", "weight"), [(0.0, 0.5), (2.0, 0.5), (3.2, 0.5), (2.0, 0.9)])
def test_overlap_of_two_gaussians_is_that_of_quadrature(apart, weight):
    rng = np.random.default_rng(0)
    n = 20_000
    x = rng.normal(np.where(rng.random(n) < weight, 0.0, apart))
    densities = np.column_stack([weight * stats.norm.pdf(x), (1.0 - weight) * stats.norm.pdf(x, apart)])
    shares = densities / densities.sum(axis=1, keepdims=True)
    tree = ClusterTree.of(shares)
    products, smaller = shares.prod(axis=1), shares[:, 1]
    # Standard error of a ratio of means.
    ratio = products.mean() / smaller.mean()
    error = np.std(products - ratio * smaller) / smaller.mean() / np.sqrt(n)
    assert abs(tree.overlaps[0] - _overlap(apart, weight)) < 4.0 * error + 1e-9
    np.testing.assert_allclose(tree.weights, [weight, 1.0 - weight], atol=4.0 * shares[:, 0].std() / np.sqrt(n) + 1e-9)


def test_the_default_joins_the_halves_of_a_flat_stretch():
    """Each half has a standard deviation of its length over 12^(1/2), and the centres are one length apart."""
    assert _overlap(12.0**0.5, 0.5) == pytest.approx(0.062, abs=0.001)
    assert _overlap(4.0, 0.5) < OVERLAP < _overlap(12.0**0.5, 0.5)


def test_joins_are_those_of_shares_that_are_added_up():
    shares = np.random.default_rng(1).dirichlet(np.full(7, 0.2), size=400)
    tree = ClusterTree.of(shares)
    columns = dict(enumerate(shares.T))
    for step, (i, j) in enumerate(tree.joins.tolist()):
        overlaps = {
            (a, b): (columns[a] * columns[b]).mean() / min(columns[a].mean(), columns[b].mean())
            for a in columns
            for b in columns
            if a < b
        }
        assert max(overlaps, key=lambda pair: overlaps[pair]) == (i, j)
        assert tree.overlaps[step] == pytest.approx(overlaps[i, j])
        columns[7 + step] = columns.pop(i) + columns.pop(j)
    assert np.all(np.diff(tree.levels) >= 0.0)
    for n in range(1, 8):
        assert tree.groups(n).max() + 1 == n
    assert tree.linkage()[-1, 3] == 7


def test_groups_are_numbered_by_weight_and_nested():
    shares = np.random.default_rng(2).dirichlet([0.1, 0.2, 0.3, 0.4, 0.5], size=300)
    tree = ClusterTree.of(shares)
    for n in range(1, 6):
        groups = tree.groups(n)
        weights = np.bincount(groups, tree.weights)
        assert np.all(np.diff(weights) <= 0.0)
        if n > 1:
            coarser = tree.groups(n - 1)
            assert all(len(set(coarser[groups == g])) == 1 for g in range(n))


def _uniform(rng, centre):
    return rng.uniform(-1.0, 1.0, size=(200, 2)) + centre


@pytest.mark.parametrize("inference", [CHAINS, "map", "variational"])
def test_flat_clouds_are_groups_however_many_clusters_tile_them(inference):
    rng = np.random.default_rng(3)
    X = np.concatenate([_uniform(rng, 0.0), _uniform(rng, 6.0)])
    model = cl.DPMixture(inference=inference, random_state=0).fit(X)
    groups = model.merge()
    np.testing.assert_array_equal(groups, np.repeat([groups[0], 1 - groups[0]], 200))
    np.testing.assert_array_equal(model.merge(1), np.zeros(400))


def test_clusters_that_are_apart_stay():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2)) + 5.0 * (np.arange(400) % 2)[:, None] * np.array([1.0, 0.0])
    model = cl.DPMixture(inference=CHAINS, random_state=0).fit(X)
    np.testing.assert_array_equal(model.merge(), model.labels_)
    tree = model.posterior_.tree(model.labels_)
    assert tree.n_groups() == model.n_clusters_ == 2


def test_components_of_a_finite_mixture_merge():
    X = np.random.default_rng(5).uniform(size=(300, 1))
    model = cl.FiniteMixture(4, random_state=0).fit(X)
    assert model.merge().max() == 0
    assert model.merge(2).max() == 1


def test_one_cluster_is_one_group():
    X = np.random.default_rng(6).normal(size=(100, 2))
    model = cl.DPMixture(inference="map", random_state=0).fit(X)
    assert model.posterior_.tree().n_groups() == 1
    assert not model.merge().any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_groups": 9}, r"^n_groups: there are 2 clusters to make groups of, got 9$"),
        ({"n_groups": 0}, r"^n_groups must be a whole number of at least 1, got 0$"),
        ({"overlap": 0.0}, r"^overlap must be above 0 and at most 1, got 0\.0$"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, message):
    model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    with pytest.raises(ValueError, match=message):
        model.merge(**arguments)


def test_labels_of_a_tree_must_fit():
    model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    with pytest.raises(ValueError, match=r"^labels must hold 6 labels"):
        model.posterior_.tree([0, 1])


def test_what_samples_draw_is_the_same_compiled_or_not(monkeypatch):
    """Rows with parameters of their own: few are drawn in Python, many by a kernel, from the same random numbers."""
    from countless.partitions import parameter_sweep

    model = cl.DPMixture(inference="map", random_state=0).fit(np.random.default_rng(7).normal(size=(50, 2)))
    slow = model.sample(100)[0]
    monkeypatch.setattr(parameter_sweep, "MANY_DRAWS", 1)
    np.testing.assert_allclose(model.sample(100)[0], slow, rtol=1e-9)
