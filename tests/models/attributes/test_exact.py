"""Moves draw every set of attributes of three objects as often as the exact posterior says.

States with at most four attributes, which hold all but a thousandth of the prior; weights and bias are integrated out
by normal algebra in the oracle. Frequencies of 20,000 draws (5,000 without ``-m slow``) may differ from the posterior
by 1.5 times the total variation that independent draws show on average.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from countless.models.attributes.engines.gibbs import AttributesGibbs
from countless.models.attributes.engines.starts import start
from countless.models.attributes.laws import Laws
from countless.models.attributes.linear import log_evidence
from countless.models.attributes.moves.alone import Alone
from countless.models.attributes.moves.births import Births, Regrowths
from countless.models.attributes.moves.combine import Combine
from countless.models.attributes.moves.enlarge import Enlarge
from countless.models.attributes.moves.exchange import Exchanges
from countless.models.attributes.moves.factors import Factors
from countless.models.attributes.moves.numbers import Numbers
from countless.models.attributes.moves.refresh import Refresh
from countless.models.attributes.moves.split_merge import SplitMerge
from countless.models.attributes.moves.sweeps import Sweeps
from countless.models.attributes.moves.weights import JointWeights
from countless.models.attributes.problem import Problem
from exact.chains import Rarely
from exact.enumeration import expected_total_variation

from .oracles import MOST, canonical, covariance, exact_posterior, exact_posterior_of_links, pairs_of

N_DRAWS, QUICK_DRAWS, LIMIT = 20_000, 5_000, 1.5
MATRIX = np.array([[1.6, 1.1, -0.4], [1.1, 0.2, 0.7], [-0.4, 0.7, 0.5]])
ONE_WAY = np.array([[1.6, 1.1, -0.4], [-0.3, 0.2, 0.7], [0.6, 1.3, 0.5]])
PLAIN = Laws(0.5, 0.8, 1.0, 0.5, 1.0, 0.0, 1.0, 0.5)
CASES = {
    "plain": (Problem(MATRIX, PLAIN), {}),
    "no-diagonal": (Problem(MATRIX, PLAIN, diagonal=False), {"diagonal": False}),
    "directed": (Problem(ONE_WAY, PLAIN, directed=True), {"directed": True}),
    "two-parameters": (Problem(MATRIX, Laws(0.4, 0.8, 2.5, 0.5, 1.0, 0.0, 1.0, 0.5)), {}),
    "missing": (Problem(np.where(np.eye(3)[::-1] + 0 * MATRIX == 1, np.nan, MATRIX), PLAIN), {}),
}
REST = [JointWeights(), Numbers()]
MOVES = {
    "sweep": [Refresh(), Sweeps(), Alone(), *REST],
    "births": [Refresh(), Births(6), Rarely(Sweeps(), 5), Alone(), *REST],
    "regrowths": [Refresh(), Regrowths(3), Rarely(Sweeps(), 10), Rarely(Births(2), 2), Alone(), *REST],
    "split-merge": [Refresh(), SplitMerge(), Rarely(Sweeps(), 5), Alone(), *REST],
    "exchanges": [Refresh(), Exchanges(4), Rarely(Sweeps(), 5), Alone(), *REST],
    "combine": [Refresh(), Combine(3), Rarely(Sweeps(), 5), Alone(), *REST],
    "enlarge": [Refresh(), Enlarge(3), Rarely(Sweeps(), 5), Alone(), *REST],
    "factors": [Refresh(), Factors(4), Rarely(Sweeps(), 5), Rarely(Births(2), 2), Alone(), *REST],
    "together": AttributesGibbs(proposals=2).moves(),
}


def key(state, alone=True):
    return tuple(sorted(canonical(each.labels) for each in state.attributes if alone or each.n_members > 1))


def _excess(problem, moves, posterior, rng, n_draws=N_DRAWS, thin=3):
    states, probabilities = posterior
    numbers = {each: at for at, each in enumerate(states)}
    state = start(problem, "empty", 0, rng)
    counts = np.zeros(len(states))
    for draw in range(-50, n_draws):
        for _ in range(thin):
            for move in moves:
                move.step(rng, state)
        found = key(state, not problem.binary)
        if draw >= 0 and len(found) <= MOST:
            counts[numbers[found]] += 1
    assert counts.sum() > 0.98 * n_draws
    shares = counts / counts.sum()
    distance = 0.5 * np.abs(shares - probabilities).sum()
    return distance / expected_total_variation(probabilities, int(counts.sum()), rng)


class _Posteriors(dict):
    """Each is found when it is first asked for."""

    def __missing__(self, name):
        problem, how = CASES[name]
        self[name] = exact_posterior(problem.matrix, problem.laws, **how)
        return self[name]


@pytest.fixture(scope="module")
def posteriors():
    return _Posteriors()


def test_the_rest_of_the_prior():
    for problem, _ in CASES.values():
        assert poisson.sf(MOST, problem.laws.concentration * problem.laws.dishes(3)) < 3e-3


@pytest.mark.parametrize("name", CASES)
def test_evidence(name, rng):
    """The evidence of the library is that of a normal law whose covariance is written down pair by pair."""
    problem, how = CASES[name]
    cells = pairs_of(3, how.get("diagonal", True), how.get("directed", False))
    values = problem.matrix[cells[:, 0], cells[:, 1]]
    cells, values = cells[~np.isnan(values)], values[~np.isnan(values)]
    from scipy.stats import multivariate_normal

    for attributes in ([], [(0, 0, 1)], [(0, -1, 0), (0, 1, 1)], [(0, 1, 2), (-1, 0, -1), (0, 0, 0)]):
        found, mean = covariance(attributes, cells, problem.laws, 0.5, how.get("directed", False))
        labels = np.array(attributes, dtype=np.int64).reshape(-1, 3)
        sizes = np.array([max(each) + 1 for each in attributes], dtype=np.int64)
        expected = multivariate_normal.logpdf(values, mean, found)
        assert log_evidence(problem, labels, sizes, 0.5, 1.0) == pytest.approx(expected, rel=1e-10, abs=1e-9)


QUICK = [("plain", "together"), ("plain", "factors"), ("directed", "factors")]


@pytest.mark.parametrize(("case", "moves"), QUICK)
def test_moves_with_fewer_draws(case, moves, posteriors, rng):
    assert _excess(CASES[case][0], MOVES[moves], posteriors[case], rng, QUICK_DRAWS, 2) <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("moves", MOVES)
def test_moves(case, moves, posteriors, rng):
    assert _excess(CASES[case][0], MOVES[moves], posteriors[case], rng) <= LIMIT


LINKS = Problem(
    np.array([[np.nan, 1, 1], [1, np.nan, 0], [1, 0, np.nan]]),
    Laws(1.0, 0.8, 1.0, 0.5, 4.0, -0.5, 1.0, 1.0),
    True,
    False,
)


@pytest.mark.parametrize("moves", [pytest.param("sweep", marks=pytest.mark.slow), "together"])
def test_links(moves, rng):
    """Precisions are drawn, and drop out of the frequencies of attributes."""
    posterior = exact_posterior_of_links(LINKS.matrix, LINKS.laws)
    assert _excess(LINKS, MOVES[moves], posterior, rng, QUICK_DRAWS, 3) <= LIMIT


class _Certain(Sweeps):
    """Forgets that an object may leave an attribute that it would join by the buffet alone."""

    def step(self, rng, state):
        laws = state.problem.laws
        object.__setattr__(laws, "breadth", laws.breadth + 1.0)
        super().step(rng, state)
        object.__setattr__(laws, "breadth", laws.breadth - 1.0)


def test_a_broken_move_fails(posteriors, rng):
    problem = Problem(MATRIX, Laws(0.5, 0.8, 1.0, 0.5, 1.0, 0.0, 1.0, 0.5))
    assert (
        _excess(problem, [Refresh(), _Certain(), Alone(), *REST], posteriors["plain"], rng, QUICK_DRAWS, 2)
        > LIMIT + 0.5
    )
