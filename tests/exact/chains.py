"""Chains over partitions, run by the moves themselves, and the criterion by which they are judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countless.chains import Move, Schedule
from countless.inference import Problem, State
from countless.partitions.proposals.propose import propose_splits_and_merges

from .enumeration import expected_total_variation, frequencies, total_variation

N_DRAWS = 20_000
WARMUP = 50
# Total variation allowed, in units of what independent draws show on average.
LIMIT = 1.5


class Draws(NamedTuple):
    """Labels (draw, row) and learned numbers of the prior (draw) by name that a chain kept."""

    labels: NDArray[np.int64]
    numbers: dict[str, NDArray[np.float64]]

    @property
    def concentration(self) -> NDArray[np.float64]:
        return self.numbers["concentration"]


class Rarely:
    """A move that is made once in ``every`` rounds."""

    def __init__(self, move: Move, every: int) -> None:
        self.name = move.name
        self._move = move
        self._every = every
        self._rounds = 0

    def step(self, rng: np.random.Generator, state: State) -> None:
        self._rounds += 1
        if self._rounds % self._every == 0:
            self._move.step(rng, state)


class Proposals:
    """Proposals of the two kinds, so many of each."""

    name = "proposals"

    def __init__(self, n_halves: int, n_parts: int) -> None:
        self._counts = n_halves, n_parts

    def step(self, rng: np.random.Generator, state: State) -> None:
        propose_splits_and_merges(rng, state, *self._counts)


def run_chain(
    problem: Problem, moves: Sequence[Move], rng: np.random.Generator, thin: int = 1, n_draws: int = N_DRAWS
) -> Draws:
    """One chain from a single cluster; every ``thin``-th round is kept."""
    state = State(problem, np.zeros(problem.n_rows, dtype=np.int64), problem.prior.initial())
    schedule = Schedule(moves)
    names = {"concentration", *problem.prior.learned_names}
    kept = Draws(np.empty((n_draws, problem.n_rows), dtype=np.int64), {name: np.empty(n_draws) for name in names})
    for _ in range(WARMUP):
        schedule.step(rng, state)
    for draw in range(n_draws):
        for _ in range(thin):
            schedule.step(rng, state)
        kept.labels[draw] = state.labels
        for name, value in {"concentration": state.concentration, **state.seats.numbers}.items():
            kept.numbers[name][draw] = value
    return kept


def excess(labels: NDArray[np.int64], posterior: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Total variation between draws and posterior, in units of what as many independent draws would show."""
    shown = total_variation(frequencies(labels), posterior)
    return shown / expected_total_variation(posterior, len(labels), rng)
