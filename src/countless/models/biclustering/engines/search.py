"""A search for the most probable pair of partitions: greedy sweeps, joins and divisions until none of them helps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..moves.climb import divide_side, join_side
from ..moves.hyperparameters import climb_hyperparameters
from ..moves.items import sweep_side
from ..problem import Problem
from ..state import State
from .starts import spectral_labels

# Gain of the log joint below which a search ends.
LEAST_GAIN = 1e-2
# Evidences of blocks: a sixth of these in one greedy pass from a start are many, and in large matrices a sixtieth; then
# the start is not improved as it is, and there is one spectral start instead of two.
MOST_WORK = 3e8
# In matrices with more rows and columns greedy passes open no clusters: thousands of single items would.
LARGE = 2_000
# Passes before clusters are joined and divided, fewer where a pass moves only this share of the items.
SWEEPS, FEW_MOVES, FEW_MOVES_OF_LARGE = 4, 1 / 200, 1 / 10
# Nats per item that a round must gain: what a large matrix gains beyond is much work for little.
GAIN_PER_ITEM, GAIN_PER_ITEM_OF_LARGE = 1e-4, 0.1
# Rounds of a large matrix that at most go by between two attempts to join clusters, where these gain nothing.
LONGEST_PAUSE = 8


def to_mode(state: State) -> None:
    """Set learned numbers of the priors to their mode given the partitions."""
    for side in state.sides:
        seats = state.seats[side]
        if seats.prior.is_learned:
            seats.set_fixed(seats.prior.mode_learned(seats.fixed, seats.cluster_sizes()))


def improve(
    rng: np.random.Generator, state: State, most_rounds: int = 30, stopped: Callable[[], bool] = lambda: False
) -> list[float]:
    """Climb, join and divide until the log joint stands still; returns it after each round."""
    steps, items = [state.log_joint()], sum(state.problem.shape)
    large = items > LARGE
    few = sum(state.seats[s].n_items for s in state.sides) * (FEW_MOVES_OF_LARGE if large else FEW_MOVES)
    least = max(LEAST_GAIN, items * (GAIN_PER_ITEM_OF_LARGE if large else GAIN_PER_ITEM))
    pause, left = 1, 0
    for _ in range(most_rounds):
        for _ in range(SWEEPS):
            orders = [rng.permutation(state.seats[s].n_items) for s in state.sides]
            moved = sum(sweep_side(rng, state, s, orders[s], True, large) for s in state.sides)
            if moved <= few:
                break
        left -= 1
        if left <= 0:
            gain = sum(join_side(state, side) for side in state.sides)
            pause = min(2 * pause, LONGEST_PAUSE) if large and gain < least else 1
            left = pause
        for side in state.sides:
            divide_side(rng, state, side, tries=3)
        to_mode(state)
        climb_hyperparameters(state)
        steps.append(state.log_joint())
        if steps[-1] < steps[-2] + least or stopped():
            break
    if left < pause and sum(join_side(state, side) for side in state.sides) > 0.0:
        steps[-1] = state.log_joint()
    return steps


def greedy_work(state: State) -> float:
    """Evidences of blocks that a pass over all items costs."""
    rows, columns = state.shape
    return float(sum(state.problem.shape) * rows * columns)


def from_spectrum(rng: np.random.Generator, state: State, at_most: int) -> State:
    """Another state, from singular vectors, with as many clusters as its log joint likes."""
    problem = state.problem
    trial = problem.state(*spectral_labels(problem, rng, at_most), offsets=state.offsets)
    for _ in range(2):
        for side in trial.sides:
            join_side(trial, side)
        climb_hyperparameters(trial)
    return trial


def settle(rng: np.random.Generator, state: State, stopped: Callable[[], bool] = lambda: False) -> State:
    """The best of what the state, a spectral start and one cluster lead to."""
    found: list[tuple[float, State]] = []
    items = sum(state.problem.shape)
    if greedy_work(state) <= MOST_WORK / (6.0 if items <= LARGE else 60.0):
        own = state.copy()
        found.append((improve(rng, own, stopped=stopped)[-1], own))
    for at_most in (25, 80) if items * 80.0**2 <= MOST_WORK / 6.0 else (40,):
        if not stopped():
            trial = from_spectrum(rng, state, at_most)
            found.append((improve(rng, trial, stopped=stopped)[-1], trial))
    one = state.problem.state(*[np.zeros(seats.n_items, dtype=np.int64) for seats in state.seats[: len(state.sides)]])
    to_mode(one)
    climb_hyperparameters(one)
    found.append((one.log_joint(), one))
    return max(found, key=lambda pair: pair[0])[1]


def usual_rounds(problem: Problem) -> int:
    """Rounds of ``search`` that are worth their time."""
    return int(max(0, min(10, 2e6 // problem.sweep_cost())))


def search(
    rng: np.random.Generator,
    state: State,
    rounds: int,
    stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[State, float], None] = lambda state, value: None,
) -> State:
    """Settle; then rounds in which a few clusters are dealt out again, and what comes of it is kept if it is better.

    ``tell`` is told the best state and its log joint after each round.
    """
    state = settle(rng, state, stopped)
    best = state.log_joint()
    tell(state, best)
    for _ in range(rounds):
        if stopped():
            break
        trial = state.copy()
        _disturb(rng, trial)
        improve(rng, trial, stopped=stopped)
        value = trial.log_joint()
        if value > best:
            state, best = trial, value
        tell(state, best)
    return state


def _disturb(rng: np.random.Generator, state: State) -> None:
    """Pool one to three clusters of one side and deal their members out again, into as many or one more."""
    side = int(rng.integers(len(state.sides)))
    seats = state.seats[side]
    labels, count = seats.labels.copy(), seats.n_clusters
    chosen = rng.choice(count, size=min(count, 1 + int(rng.integers(3))), replace=False)
    items = np.flatnonzero(np.isin(labels, chosen))
    most = seats.prior.max_clusters(seats.n_items)
    parts = max(1, min(len(chosen) + int(rng.integers(-1, 2)), most - count + len(chosen)))
    labels[items] = count + rng.integers(parts, size=len(items))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    state.relabel(side, labels)
