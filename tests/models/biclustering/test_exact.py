"""Moves draw every pair of partitions of small matrices as often as the exact posterior says, for every model.

4 x 4 and 3 x 5 matrices, one of them for each model; the other one, and each move of every model on its own, with
``-m slow``. Frequencies of 20,000 draws may differ from the posterior by 1.5 times the total variation that independent
draws show on average. Draws are as far apart as those of exact Gibbs sweeps have to be (``oracles.thinning``).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import countless as cl
from countless.models.biclustering.block_models import Asymmetric, Factorized, Symmetric
from countless.models.biclustering.cells import as_matrix
from countless.models.biclustering.moves.items import Concentrations, ForgetConcentrations, SplitMerge, Sweeps
from countless.models.biclustering.problem import Problem
from exact.enumeration import expected_total_variation, partitions, total_variation
from exact.enumeration import frequencies as _frequencies

from .oracles import CASES, COUNTS, RELATION, WIDE, exact_posterior, thinning

N_DRAWS, LIMIT = 20_000, 1.5
PRIOR = cl.priors.CRP(1.0)
MATRICES = {"square": COUNTS, "wide": WIDE}
TIED = {"relation": RELATION}
MOVES = {"sweep": [Sweeps()], "split-merge": [SplitMerge(4)], "both": [Sweeps(), SplitMerge(3)]}


def _problem(name, shape, tied=False, prior=PRIOR):
    model, evidence, cells = CASES[name]
    X = cells((MATRICES | TIED)[shape])
    matrix = as_matrix(X)
    model.check(matrix)
    priors = [prior.resolve(n) for n in X.shape[: 1 if tied else 2]]
    return Problem.of(matrix, model.resolve(matrix), *priors), evidence, X


def _start(problem):
    return problem.state(*[np.zeros(n, dtype=np.int64) for n in problem.shape[: len(problem.priors)]])


def _pair_frequencies(rows, columns):
    """Share of each pair of partitions among draws."""
    found = np.zeros((len(partitions(rows.shape[1])), len(partitions(columns.shape[1]))))
    one, other = (_numbers(labels) for labels in (rows, columns))
    np.add.at(found, (one, other), 1.0)
    return found.ravel() / len(rows)


def _numbers(labels):
    """The number of each partition."""
    unique, inverse = np.unique(labels, axis=0, return_inverse=True)
    numbers = np.array([np.argmax(_frequencies(each[None])) for each in unique])
    return numbers[inverse.ravel()]


def _excess(problem, moves, posterior, rng, thin=1, n_draws=N_DRAWS):
    state = _start(problem)
    rows, columns = (np.empty((n_draws, n), dtype=np.int64) for n in problem.shape)
    for draw in range(-50, n_draws):
        for _ in range(thin):
            for move in moves:
                move.step(rng, state)
        rows[draw], columns[draw] = state.seats[0].labels, state.seats[1].labels
    shares = _frequencies(rows) if problem.tied else _pair_frequencies(rows, columns)
    blocks = state.blocks.copy()
    state.rebuild()
    np.testing.assert_allclose(state.blocks, blocks, atol=1e-9)
    return total_variation(shares, posterior) / expected_total_variation(posterior, n_draws, rng)


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("name", CASES)
def test_log_joint(name, shape, rng):
    """The log joint of the state is the evidence written down by hand, for any pair of partitions."""
    problem, evidence, X = _problem(name, shape)
    for _ in range(20):
        labels = [PRIOR.sample(n, rng) for n in X.shape]
        expected = evidence(X, *labels) + sum(PRIOR.log_prob(part) for part in labels)
        assert problem.state(*labels).log_joint() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", [Symmetric(0.4), Symmetric(0.4, True, 0.8), Asymmetric(0.4), Factorized(0.4)])
def test_evidences_add_up_to_one(model):
    """Over all 2 x 3 matrices of four counts (of two counts in each row), whatever the partitions."""
    columns = np.array([0, 1, 0])
    for rows in (np.array([0, 0]), np.array([0, 1])):
        total = 0.0
        for cells in product(range(5), repeat=6):
            X = np.array(cells, dtype=float).reshape(2, 3)
            if X.sum() != 4 or (isinstance(model, Asymmetric) and np.any(X.sum(axis=1) != 2)):
                continue
            matrix = as_matrix(X)
            priors = [PRIOR.resolve(n) for n in X.shape]
            state = Problem.of(matrix, model.resolve(matrix), *priors).state(rows, columns)
            total += np.exp(state.log_evidence() + state.log_outside)
        assert total == pytest.approx(1.0, rel=1e-10)


# Cases whose every move is tested on its own without ``-m slow``.
ALONE = ("symmetric-popular",)
# Cases whose moves are tested together.
TOGETHER = ("symmetric", "asymmetric-popular", "missing", "frequency")


def _cases(quick):
    """Every case with each matrix; quick with one matrix, in turn, for some of the cases."""
    return [
        pytest.param(name, shape, marks=() if name in quick and at % 2 == where else pytest.mark.slow)
        for at, name in enumerate(CASES)
        for where, shape in enumerate(MATRICES)
    ]


@pytest.mark.parametrize(("name", "shape"), _cases(ALONE))
def test_sweep(name, shape, rng):
    problem, evidence, X = _problem(name, shape)
    posterior = exact_posterior(evidence, X, PRIOR)
    assert _excess(problem, MOVES["sweep"], posterior, rng, thin=thinning(posterior, *X.shape)) <= LIMIT


@pytest.mark.parametrize(("name", "shape"), _cases(ALONE))
def test_split_merge_alone(name, shape, rng):
    problem, evidence, X = _problem(name, shape)
    assert _excess(problem, MOVES["split-merge"], exact_posterior(evidence, X, PRIOR), rng, thin=2) <= LIMIT


@pytest.mark.parametrize(("name", "shape"), _cases(TOGETHER))
def test_sweep_and_split_merge(name, shape, rng):
    problem, evidence, X = _problem(name, shape)
    posterior = exact_posterior(evidence, X, PRIOR)
    assert _excess(problem, MOVES["both"], posterior, rng, thin=thinning(posterior, *X.shape)) <= LIMIT


@pytest.mark.parametrize("name", CASES)
def test_log_joint_of_tied_sides(name, rng):
    """One partition for both sides, whose clusters may weigh more as rows than as columns."""
    problem, evidence, X = _problem(name, "relation", tied=True)
    for _ in range(10):
        labels = PRIOR.sample(6, rng)
        expected = evidence(X, labels, labels) + PRIOR.log_prob(labels)
        assert problem.state(labels).log_joint() == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Tied sides that are tested without ``-m slow``: one model of counts, and one that weighs its items.
TIED_CASES = ("symmetric",)


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in TIED_CASES else pytest.mark.slow) for n in CASES])
def test_tied(name, moves, rng):
    """One partition for both sides: its frequencies.

    A cluster that is half dissolved is improbable here, so that even exact Gibbs sweeps have a memory, which shows most
    by the frequency model. Draws are as far apart as its exact sweeps must be.
    """
    problem, evidence, X = _problem(name, "relation", tied=True)
    posterior = exact_posterior(evidence, X, PRIOR, tied=True)
    assert _excess(problem, MOVES[moves], posterior, rng, thin=max(3, thinning(posterior, len(X)))) <= LIMIT


def test_sparse_and_dense_views_agree(rng):
    """Evidences of items of zeros that are kept give the same log joint and the same draws as those that are not."""
    X = rng.poisson(0.05, (40, 30)).astype(float)
    X[0, 0] = 1.0
    for model in (Symmetric(0.3, True, 0.7), CASES["poisson"][0], CASES["gaussian"][0]):
        matrix, draws = as_matrix(X), []
        for kept in (True, False):
            problem = Problem.of(matrix, model.resolve(matrix), *[PRIOR.resolve(n) for n in X.shape])
            vars(problem)["is_sparse"] = kept
            state = problem.state(np.arange(40) % 5, np.arange(30) % 4)
            stream = np.random.default_rng(3)
            for _ in range(20):
                for move in MOVES["both"]:
                    move.step(stream, state)
            draws.append((state.seats[0].labels.copy(), state.seats[1].labels.copy(), state.log_joint()))
        np.testing.assert_array_equal(draws[0][0], draws[1][0])
        np.testing.assert_array_equal(draws[0][1], draws[1][1])
        assert draws[0][2] == pytest.approx(draws[1][2], abs=1e-8)


@pytest.mark.parametrize(
    "prior",
    [
        pytest.param(cl.priors.PitmanYor(0.8, 0.3), marks=pytest.mark.slow),
        cl.priors.CRP(cl.priors.Gamma(2.0, 1.0)),
    ],
)
def test_other_priors(prior, rng):
    """A learned concentration is integrated out in the oracle."""
    problem, evidence, X = _problem("bernoulli", "wide", prior=prior)
    posterior = exact_posterior(evidence, X, prior.resolve(4))
    moves = [ForgetConcentrations(), Sweeps(), SplitMerge(2), Concentrations()]
    assert _excess(problem, moves, posterior, rng, thin=2) <= LIMIT


class _WrongSide(Sweeps):
    """Forgets what the prior says of the sizes of clusters."""

    def step(self, rng, state):
        for seats in state.seats:
            right = seats.arrays
            seats.arrays = right._replace(offset=right.offset + 1.0)
        super().step(rng, state)
        for seats in state.seats:
            seats.arrays = seats.arrays._replace(offset=0.0)


def test_a_broken_move_fails(rng):
    problem, evidence, X = _problem("symmetric", "square")
    posterior = exact_posterior(evidence, X, PRIOR)
    assert _excess(problem, [_WrongSide()], posterior, rng) > LIMIT + 1.0


def test_a_wrong_spread_is_noticed():
    """The oracle with the wrong power of the sizes differs: the evidences above are not the same by accident."""
    problem, evidence, X = _problem("symmetric", "square")
    labels = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    state = problem.state(*labels)
    wrong = evidence(X, *labels) + X.sum() * np.log(2.0) + sum(PRIOR.log_prob(part) for part in labels)
    assert abs(state.log_joint() - wrong) > 1.0
