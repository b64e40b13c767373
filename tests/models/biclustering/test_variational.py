"""The variational engine: its bound against sums over all labels and all partitions of small matrices; its answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax
from sklearn.metrics import adjusted_rand_score

import countless as cl
from countless.models.biclustering.block_models import Symmetric
from countless.models.biclustering.block_models.expected import SoftSide
from countless.models.biclustering.cells import as_matrix
from countless.models.biclustering.engines.mean_field import Field, Terms, climb
from countless.models.biclustering.problem import Problem
from exact.enumeration import partitions

from .oracles import BETA, CASES, COUNTS, WIDE, symmetric

PRIOR = cl.priors.CRP(1.0)
SERVED = ("symmetric", "frequency", "bernoulli", "poisson", "gaussian", "categorical", "missing")
MATRICES = {"square": COUNTS, "wide": WIDE}


def _terms(name, shape="wide", prior=PRIOR):
    model, evidence, cells = CASES[name]
    X = cells(MATRICES[shape])
    matrix = as_matrix(X)
    return Terms(Problem.of(matrix, model.resolve(matrix), *[prior.resolve(n) for n in X.shape])), evidence, X


def _field(terms, rng, spread=2.0, n_clusters=2):
    """Shares drawn at random, from almost uniform ones to almost certain ones."""
    problem = terms.problem
    field = Field.of(terms, [np.arange(n) % n_clusters for n in problem.shape], np.zeros(len(problem.law.spreads)))
    for side, n in enumerate(problem.shape):
        field = field.with_shares(side, softmax(spread * rng.normal(size=(n, n_clusters)), axis=1))
    return field.with_sticks()


def _expected_log_evidence(field, evidence, X):
    """E log p(X | z, w) under the shares, by a sum over all labels of all items."""
    rows, columns = (side.shares for side in field.sides)
    total = 0.0
    for z in product(range(rows.shape[1]), repeat=len(rows)):
        p_z = np.prod(rows[np.arange(len(rows)), z])
        for w in product(range(columns.shape[1]), repeat=len(columns)):
            p_w = np.prod(columns[np.arange(len(columns)), w])
            packed = [np.unique(part, return_inverse=True)[1] for part in (z, w)]
            total += p_z * p_w * evidence(X, *packed)
    return total


@pytest.mark.parametrize("name", SERVED)
def test_bound_of_the_cells(name, rng):
    """It is below the expected log evidence, for any shares, and equal to it where they are certain."""
    terms, evidence, X = _terms(name, "wide")
    outside = terms.problem.log_outside(np.zeros(len(terms.problem.law.spreads)))
    field = _field(terms, rng, spread=1.5)
    exact = _expected_log_evidence(field, evidence, X)
    assert field.slopes.value + outside < exact
    certain = _field(terms, rng, spread=1e4)
    labels = certain.labels()
    assert certain.slopes.value + outside == pytest.approx(evidence(X, *labels), rel=1e-9, abs=1e-8)
    for part, side in zip(labels, certain.sides, strict=True):
        assert len(set(part)) <= side.shares.shape[1]


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("name", SERVED)
def test_bound_below_the_evidence(name, shape, rng):
    """Below the sum over all pairs of partitions, at every pass of every climb; and passes never lower it."""
    terms, evidence, X = _terms(name, shape)
    parts = [partitions(n) for n in X.shape]
    priors = [[PRIOR.log_prob(part) for part in each] for each in parts]
    logs = [
        evidence(X, one, other) + p + q
        for one, p in zip(parts[0], priors[0], strict=True)
        for other, q in zip(parts[1], priors[1], strict=True)
    ]
    whole = logsumexp(logs)
    for n_clusters in (1, 2, 3):
        field, trace = climb(_field(terms, rng, n_clusters=n_clusters), 1e-9, 100)
        assert max(trace) < whole
        assert np.all(np.diff(trace) >= -1e-9)
        assert trace[-1] > whole - 8.0
        assert field.bound == pytest.approx(trace[-1])


@pytest.mark.parametrize("name", ["symmetric", "frequency", "bernoulli"])
def test_slopes(name, rng):
    """Scores are the derivatives of the bound by shares: exact where it is linear in them, near to it elsewhere."""
    terms, _, _ = _terms(name)
    field = _field(terms, rng, spread=3.0)
    side, step = 0, 1e-5
    scores = field.scores(side)
    for i in range(3):
        values = []
        for sign in (1.0, -1.0):
            shares = field.sides[side].shares.copy()
            shares[i] += sign * step * np.array([1.0, -1.0])
            moved = field.with_shares(side, shares)
            values.append(moved.bound - moved.sides[side].entropy)
        slope = (values[0] - values[1]) / (2.0 * step)
        assert scores[i, 0] - scores[i, 1] == pytest.approx(slope, abs=0.3 if name == "symmetric" else 1e-3)


def test_size_law(rng):
    """Laws of the sizes are those of independent events, summed by hand."""
    shares = softmax(2.0 * rng.normal(size=(6, 2)), axis=1)
    shares[0] = [1.0, 0.0]
    side = SoftSide(shares, np.ones(6))
    found = np.zeros(7)
    for each in product((0, 1), repeat=6):
        found[sum(each)] += np.prod(np.where(each, shares[:, 0], 1.0 - shares[:, 0]))
    np.testing.assert_allclose(side.size_law[0], found, atol=1e-14)
    np.testing.assert_allclose(side.chance, 1.0 - np.prod(1.0 - shares, axis=0))
    alone = [np.prod(np.delete(1.0 - shares[:, 1], i)) for i in range(6)]
    np.testing.assert_allclose(side.chance_of_no_other()[:, 1], alone)


def test_sizes_at_their_means_fail():
    """Jensen goes the wrong way for sizes: with equal cells and sizes at their means the bound would not be one."""
    X = np.ones((4, 3))
    matrix = as_matrix(X)
    model, evidence = Symmetric(BETA), symmetric(None)
    terms = Terms(Problem.of(matrix, model.resolve(matrix), *[PRIOR.resolve(n) for n in X.shape]))
    half = np.array([0.5, 0.5])
    field = Field.of(terms, [np.arange(n) % 2 for n in X.shape], np.zeros(0))
    for side, n in enumerate(X.shape):  # neither cluster can be empty
        field = field.with_shares(side, np.vstack([np.eye(2), np.tile(half, (n - 2, 1))]))
    outside = terms.problem.log_outside(np.zeros(0))
    exact = _expected_log_evidence(field, evidence, X)
    cells, counts = np.outer(field.sides[0].mass, field.sides[1].mass), field.soft.blocks[:, :, 0]
    at_means = gammaln(BETA * cells + counts) - gammaln(BETA * cells) - counts * np.log(cells)
    assert float(at_means.sum()) + outside > exact + 1e-3
    assert field.slopes.value + outside < exact


def _blocks(seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(np.arange(24) % 2), rng.permutation(np.arange(18) % 3)
    rates = np.array([[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]])
    return rng.poisson(rates[np.ix_(rows, columns)]).astype(float), rows, columns


@pytest.mark.parametrize("model", ["symmetric", "frequency", "relational"])
def test_answers(model, tmp_path):
    X, rows, columns = _blocks()
    fit = cl.InfiniteBiclustering(model, inference="variational", random_state=0).fit(X)
    assert adjusted_rand_score(rows, fit.row_labels_) == 1.0
    assert adjusted_rand_score(columns, fit.column_labels_) == 1.0
    assert np.all(np.diff(fit.posterior_.objective) >= -1e-6)
    assert fit.posterior_.kind.name == "approximation"
    twin = cl.load(fit.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(twin.posterior_.row_labels, fit.posterior_.row_labels)
    np.testing.assert_array_equal(twin.row_labels_, fit.row_labels_)


def test_noise_is_one_block():
    X = np.random.default_rng(0).poisson(0.3, (60, 30))
    for model in ("symmetric", "frequency"):
        assert cl.InfiniteBiclustering(model, inference="variational", random_state=0).fit(X).n_clusters_ == (1, 1)


@pytest.mark.parametrize(
    "settings", [{"model": "asymmetric"}, {"model": Symmetric(degree_corrected=True)}, {"tied": True}]
)
def test_not_served_is_one_sentence(settings):
    X = np.random.default_rng(0).poisson(1.0, (12, 12))
    with pytest.raises(ValueError, match="choose inference='map' or 'gibbs'"):
        cl.InfiniteBiclustering(inference="variational", **settings).fit(X)
