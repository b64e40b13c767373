"""The pass over blocks of rows against the same sums written out in NumPy, for every family."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import FAMILIES, Gaussian, verbs
from countless.inference import Problem
from countless.passes import blocks, passes
from countless.passes.passes import Passes
from countless.priors import CRP
from families.cases import suitable_rows

every_family = pytest.mark.parametrize("name", sorted(FAMILIES))


def _problem(name, n_rows, weights=None):
    X = np.ascontiguousarray(suitable_rows(name, (n_rows, 3)), dtype=np.float64)
    return Problem.of(X, FAMILIES[name]().resolve(X), CRP(1.0), weights)


def _statistics(problem):
    out = np.empty((problem.n_rows, problem.layout.statistics))
    for row, written in zip(problem.rows, out, strict=True):
        verbs.row_statistics(problem.hyper, row, written)
    return out


def _by_hand(statistics, natural, weights):
    scores = statistics @ natural.T
    top = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - top)
    totals = exponentials.sum(axis=1, keepdims=True)
    shares = exponentials / totals * weights[:, None]
    log_totals = (top + np.log(totals))[:, 0]
    without = np.array(
        [
            weights @ (np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1) - log_totals)
            for k in range(len(natural))
        ]
    )
    return shares.T @ statistics, weights @ log_totals, without


def _some_natural(problem, rng, n_components=4):
    """Expected natural parameters of components that hold a few rows each."""
    clusters = problem.family.allocate(n_components)
    natural = np.empty((n_components, problem.layout.statistics))
    for k in range(n_components):
        for row in problem.rows[rng.choice(problem.n_rows, 5)]:
            verbs.add(problem.hyper, clusters.statistics, clusters.cache, k, row, clusters.work)
        verbs.expected_natural(problem.hyper, clusters.statistics, clusters.cache, k, natural[k])
    natural[:, 0] += np.log(rng.dirichlet(np.ones(n_components)))
    return natural


@every_family
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities(name, weighted, rng):
    weights = rng.exponential(size=200) if weighted else None
    problem = _problem(name, 200, weights)
    natural = _some_natural(problem, rng)
    sums, log_total, without = _by_hand(_statistics(problem), natural, np.ones(200) if weights is None else weights)
    with Passes(problem) as rows:
        soft = rows.soften(natural, deletions=True)
    np.testing.assert_allclose(soft.sums, sums, rtol=1e-9, atol=1e-9)
    assert soft.log_total == pytest.approx(log_total, rel=1e-12)
    np.testing.assert_allclose(soft.without, without, rtol=1e-7, atol=1e-9)


def test_blocks_and_threads_do_not_matter(rng, monkeypatch):
    """Statistics kept or made anew for each block, weights sparse or not, one thread or three."""
    X = np.concatenate([rng.normal(0.0, 1.0, (4000, 3)), rng.normal(30.0, 1.0, (3333, 3))])
    problem = Problem.of(X, Gaussian().resolve(X), CRP(1.0))
    natural = _some_natural(problem, rng)
    found = []
    for kept, threads, sparse in [(32e6, 1, 0.2), (0.0, 1, 0.2), (0.0, 3, 0.2), (0.0, 2, 0.0), (0.0, 2, 2.0)]:
        monkeypatch.setattr(passes, "KEEP_BELOW", kept)
        monkeypatch.setattr(blocks, "SPARSE_BELOW", sparse)
        with Passes(problem, n_threads=threads) as rows:
            found.append((rows.soften(natural, deletions=True), rows.best(natural), rows.draws(natural, rng, 1)))
    first = found[0][0]
    for soft, best, _ in found[1:]:
        np.testing.assert_allclose(soft.sums, first.sums, rtol=1e-10, atol=1e-8)
        assert soft.log_total == pytest.approx(first.log_total, rel=1e-12)
        np.testing.assert_array_equal(best.labels, found[0][1].labels)
    # With the same settings the number of threads changes nothing at all.
    np.testing.assert_array_equal(found[1][0].sums, found[2][0].sums)


def test_labels_are_drawn_with_the_probabilities_of_the_components(rng):
    problem = _problem("poisson", 300)
    natural = _some_natural(problem, rng)
    scores = _statistics(problem) @ natural.T
    shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    n_draws = 2000
    with Passes(problem) as rows:
        many = rows.draws(natural, rng, n_draws)
        one = np.stack([rows.draw(natural, rng).labels for _ in range(200)])
        hard = rows.draw(natural, rng)
        again = rows.sums_of(hard.labels, len(natural))
    np.testing.assert_array_equal(hard.sums, again)
    for drawn in (many, one):
        frequencies = np.stack([(drawn == k).mean(axis=0) for k in range(len(natural))], axis=1)
        z = (frequencies - shares) / np.sqrt(np.maximum(shares * (1 - shares), 1e-4) / len(drawn))
        # Mean square of 900 standardised frequencies: 1 with a deviation of about 0.06.
        assert np.mean(z**2) < 1.4
        assert np.abs(frequencies.mean(axis=0) - shares.mean(axis=0)).max() < 5 * 0.5 / np.sqrt(drawn.size)


def test_blas_threads_come_back(rng):
    from threadpoolctl import threadpool_info

    def numbers():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = numbers()
    problem = _problem("poisson", 50)
    with Passes(problem), Passes(problem):
        assert set(numbers()) <= {1}
    assert numbers() == before
