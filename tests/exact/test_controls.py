"""Moves that are wrong on purpose must fail the criterion that the right ones pass."""

from __future__ import annotations

import math

import numpy as np
import pytest

from countless.inference import Problem
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.partitions.proposals import carve, propose, split_merge
from countless.priors import PitmanYor

from .chains import LIMIT, N_DRAWS, Proposals, excess, run_chain
from .enumeration import exact_posterior
from .problems import PRIORS, example


class WithTable:
    """A move that is given a table which is not the prior's."""

    def __init__(self, move, change):
        self.name = move.name
        self._move = move
        self._change = change

    def step(self, rng, state):
        right = state.seats.arrays
        state.seats.arrays = self._change(right)
        self._move.step(rng, state)
        state.seats.arrays = state.seats.arrays._replace(offset=right.offset, log_v=right.log_v)


def _half_a_row_more(table):
    return table._replace(offset=table.offset + 0.5)


def _clusters_too_cheap(table):
    return table._replace(log_v=table.log_v + 0.3 * np.arange(len(table.log_v)))


CHANGES = {"offset": _half_a_row_more, "log_v": _clusters_too_cheap}
every_change = pytest.mark.parametrize(
    ("prior", "change"),
    [
        ("crp", "offset"),
        ("finite-dirichlet", "log_v"),
        pytest.param("crp", "log_v", marks=pytest.mark.slow),
        pytest.param("finite-dirichlet", "offset", marks=pytest.mark.slow),
    ],
)


@every_change
def test_a_sweep_with_a_wrong_table_fails(prior, change, rng):
    family, X = example("gaussian")
    problem = Problem.of(X, family, PRIORS[prior])
    draws = run_chain(problem, [WithTable(GibbsSweep(), CHANGES[change])], rng)
    assert excess(draws.labels, exact_posterior(family, X, PRIORS[prior]), rng) > LIMIT


@every_change
def test_a_split_merge_with_a_wrong_table_fails(prior, change, rng):
    family, X = example("gaussian")
    problem = Problem.of(X, family, PRIORS[prior])
    draws = run_chain(problem, [WithTable(SplitMerge(10), CHANGES[change])], rng)
    assert excess(draws.labels, exact_posterior(family, X, PRIORS[prior]), rng) > LIMIT


def test_a_right_sweep_does_not_hide_a_wrong_split_merge(rng):
    family, X = example("gaussian")
    problem = Problem.of(X, family, PRIORS["crp"])
    moves = [GibbsSweep(), WithTable(SplitMerge(5), _clusters_too_cheap)]
    draws = run_chain(problem, moves, rng)
    assert excess(draws.labels, exact_posterior(family, X, PRIORS["crp"]), rng) > LIMIT


def test_split_merge_without_the_odds_of_choosing_the_pair_fails(rng, monkeypatch):
    """The proposals' code in plain Python, with one term of the acceptance ratio left out."""
    _in_plain_python(monkeypatch, split_merge, "split_or_merge", "_split", "_merge")
    monkeypatch.setattr(split_merge, "_log_merge_choice", lambda *args: 0.0)
    _proposals_fail(Proposals(2, 0), rng)


@pytest.mark.parametrize("term", ["partner_chance", "_scan"])
def test_carving_without_a_term_of_its_ratio_fails(term, rng, monkeypatch):
    """Neither the odds of choosing the partner nor those of the rows that follow may be left out."""
    _in_plain_python(monkeypatch, carve, "carve_or_absorb", "_carve", "_absorb", "_scan")
    right = getattr(carve, term)
    monkeypatch.setattr(carve, term, lambda *args: 0.0 * right(*args) if term == "_scan" else 1.0)
    _proposals_fail(Proposals(0, 2), rng)


def _in_plain_python(monkeypatch, module, entry, *others):
    plain = {name: getattr(getattr(module, name), "py_func", getattr(module, name)) for name in (entry, *others)}
    for name, function in plain.items():
        monkeypatch.setattr(module, name, function)
    monkeypatch.setattr(propose, entry, plain[entry])
    monkeypatch.setattr(propose, "_propose", getattr(propose._propose, "py_func", propose._propose))


def _proposals_fail(move, rng):
    family, X = example("poisson")
    problem = Problem.of(X, family, PRIORS["crp"])
    draws = run_chain(problem, [move], rng, n_draws=5_000)
    assert excess(draws.labels, exact_posterior(family, X, PRIORS["crp"]), rng) > LIMIT


@pytest.mark.parametrize("take_out", [True, False], ids=["taken-out", "left-in"])
def test_a_sweep_that_leaves_the_row_in_its_cluster_fails(take_out, rng):
    """A sweep written out in plain Python passes; where the row predicts itself, the same sweep fails."""
    family, X = example("gaussian")
    prior = PitmanYor(0.8, 0.3)
    draws = _python_chain(family, X, prior, take_out, rng)
    passes = excess(draws, exact_posterior(family, X, prior), rng) <= LIMIT
    assert passes == take_out


def _python_chain(family, X, prior, take_out, rng):
    """Clusters as sets of rows, coded as bits; predictives looked up by set and row."""
    n = len(X)
    predictives = np.empty((1 << n, n))
    for code in range(1 << n):
        members = [i for i in range(n) if code >> i & 1]
        predictives[code] = family.log_predictive(X, X[members] if members else None)
    offset, log_v = prior.table(n, n)
    new_weight = np.exp(np.diff(log_v)).tolist()
    predictive = np.exp(predictives).tolist()
    labels = np.zeros((N_DRAWS, n), dtype=np.int64)
    clusters = [(1 << n) - 1]
    for draw in range(N_DRAWS):
        for i, uniform in enumerate(rng.random(n).tolist()):
            bit = 1 << i
            rest = [code & ~bit for code in clusters]
            seen = [code for code in (rest if take_out else clusters) if code & ~bit]
            weights = [(code.bit_count() + offset) * predictive[code][i] for code in seen]
            weights.append(new_weight[len(seen)] * predictive[0][i])
            chosen = int(np.searchsorted(np.cumsum(weights), uniform * math.fsum(weights)))
            clusters = [code & ~bit for code in seen] + [0]
            clusters[min(chosen, len(seen))] |= bit
            clusters = [code for code in clusters if code]
        for k, code in enumerate(clusters):
            for i in range(n):
                if code >> i & 1:
                    labels[draw, i] = k
    return labels
