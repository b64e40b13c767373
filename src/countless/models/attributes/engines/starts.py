"""Where chains begin: the three initialisations of von Looz (2013, 4.2.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....core.validate import choose
from ..moves.alone import Alone
from ..moves.numbers import Numbers
from ..moves.refresh import Refresh
from ..moves.sweeps import Sweeps
from ..problem import UNKNOWN, Problem
from ..sampling import sample_attributes
from ..state import NUMBERS, Attribute, State

STARTS = ("empty", "prior", "sequential")
DISPERSED = ("empty", "prior", "sequential", "prior")
# Passes between two additions of objects, and about how many additions there are.
PASSES, STEPS = 3, 6
# Attributes of a draw from the prior with which a chain begins at most.
MOST_ATTRIBUTES = 30


def start(problem: Problem, kind: Any, number: int, rng: np.random.Generator) -> State:
    """Where chain ``number`` begins."""
    if kind is None or kind == "dispersed":
        kind = DISPERSED[number % len(DISPERSED)]
    choose("start", kind, dict.fromkeys((*STARTS, "dispersed")))
    laws = problem.laws
    numbers = {name: laws.initial(name) for name in NUMBERS if name != "bias"} | {"bias": laws.bias_mean}
    known = known_attributes(problem, rng)
    if kind == "sequential":
        return _sequential(problem, State(problem, known, numbers), rng)
    if kind == "prior":
        numbers["concentration"] = min(
            laws.sampled("concentration", rng), MOST_ATTRIBUTES / laws.dishes(len(problem.matrix))
        )
        numbers["cluster_concentration"] = laws.sampled("cluster_concentration", rng)
        known += sample_attributes(problem, numbers, rng)[:MOST_ATTRIBUTES]
    return State(problem, known, numbers)


def known_attributes(problem: Problem, rng: np.random.Generator) -> list[Attribute]:
    """Known attributes, objects whose cluster is unknown in a random one of those there are."""
    found = []
    for number in range(problem.n_known):
        labels = problem.known[:, number].copy()  # type: ignore[index]
        there = labels[labels != UNKNOWN]
        unknown = problem.open_objects[number]
        labels[unknown] = rng.choice(there, len(unknown))
        count = int(there.max()) + 1
        found.append(Attribute(labels, np.full((count, count), problem.laws.weight_mean)))
    return found


def _sequential(problem: Problem, state: State, rng: np.random.Generator) -> State:
    """A few objects first; the others are added step by step, with passes over all in between."""
    n = problem.n_objects
    order = rng.permutation(n)
    moves: list[Any] = [Refresh(), Sweeps(), Alone(), Numbers()]
    for size in np.unique(np.geomspace(min(n, 5), n, STEPS).astype(np.int64)):
        matrix = problem.matrix.copy()
        later = order[size:]
        matrix[later] = np.nan
        matrix[:, later] = np.nan
        part = State(
            replace(problem, matrix=matrix), state.attributes, {name: getattr(state, name) for name in NUMBERS}
        )
        for _ in range(PASSES):
            for move in moves:
                move.step(rng, part)
        state = part
    return State(problem, state.attributes, {name: getattr(state, name) for name in NUMBERS})
