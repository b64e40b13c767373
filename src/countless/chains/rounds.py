"""When chains are done: a fixed number of draws, or rounds that double the draws until these suffice.

With ``draws="auto"`` chains meet after 250, 500, 1000, ... draws, and the draws alone decide whether there is another
round: never the clock, threads or the order in which chains end. So the same seed gives the same length, and a run that
was stopped and continued decides as one that never was. ``tests/chains/test_rounds.py`` holds this to its word.

Draws suffice where rank-normalised split R-hat of all label-free quantities is below 1.05, and where these quantities,
and whether pairs of items are together, have 125 effective draws. A pair is an event with a probability p, and what
counts is the accuracy of p (``core.convergence.event_effective``). Pairs are always the same random choice, so that the
draws in a file can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.convergence import effective, event_effective, rank_rhat
from .draws import partition_fields, quantities
from .fields import Field, field_of
from .trace import Trace

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Draws of each chain in the first round, and in the longest run that a chain decides on by itself.
FIRST, LONGEST = 250, 32_000
# Draws of a chain that stay in memory, as long as their labels are not more than so many numbers, and in any case.
MOST_HELD, MOST_LABELS, FEWEST_HELD = 1000, 40_000_000, 250
# Numbers that all chains together may touch, where problems say what a sweep costs: a few minutes on two cores.
WORK = 2.5e9
# When draws suffice. A fit may be called settled with fewer (``posterior.diagnostics``): this leaves room.
LARGEST_RHAT = 1.05
ENOUGH = 125
# Draws of a chain without which nothing can be said.
SHORTEST = 8
# Pairs of items whose togetherness is followed.
PAIRS = 50


class Agreement(NamedTuple):
    """How well chains agree: the largest R-hat, and the fewest effective draws."""

    rhat: float
    effective: float

    @property
    def suffices(self) -> bool:
        """Whether no further draws are needed."""
        return self.rhat < LARGEST_RHAT and self.effective >= ENOUGH

    def __str__(self) -> str:
        return f"{self.effective:.0f} effective draws, R-hat {self.rhat:.2f}"


@dataclass(frozen=True)
class Rounds:
    """Rounds that double the draws of a chain; what was kept is thinned so that memory stays bounded.

    A draw has a *time*, 1, 2, 3, ... after the warm-up. In a round whose end is more than ``most_held``, only every
    second, fourth, ... draw is kept, and so are those of earlier rounds.

    Attributes
    ----------
    last : int
        The last round, counted from 0, that the budget allows.
    most_held : int
        Draws that stay in memory.
    """

    last: int
    most_held: int = MOST_HELD

    def end(self, number: int) -> int:
        """Draws of each chain at the end of a round."""
        return FIRST << number

    def step(self, number: int) -> int:
        """In this round every so many draws are kept."""
        return max(1, self.end(number) // self.most_held)

    def number_of(self, time: int) -> int:
        """The round that a draw belongs to; those that are still to come belong to the first."""
        return max(0, -(-time // FIRST) - 1).bit_length()

    def keeps(self, time: int) -> bool:
        """Whether the draw of this time is kept when it is made."""
        return time % self.step(self.number_of(time)) == 0

    def times(self, n_kept: int) -> IntArray:
        """Times of the first so many draws that are ever kept."""
        parts, number, begin, total = [np.empty(0, dtype=np.int64)], 0, 0, 0
        while total < n_kept:
            step = self.step(number)
            parts.append(np.arange(begin + step, self.end(number) + 1, step))
            total += len(parts[-1])
            begin, number = self.end(number), number + 1
        return np.concatenate(parts)[:n_kept]

    def kept_until(self, time: int) -> int:
        """Draws that are kept up to a time."""
        total, begin = 0, 0
        for number in range(self.number_of(time) + 1):
            total += (min(time, self.end(number)) - begin) // self.step(number)
            begin = self.end(number)
        return total

    def is_over(self, number: int, found: Agreement, n_draws: int) -> bool:
        """Whether a round was the last: its draws suffice or the budget is spent, and there are ``n_draws``."""
        return self.end(number) >= n_draws and (found.suffices or number >= self.last)

    def thin(self, traces: Sequence[Trace], number: int) -> None:
        """Leave in traces what a round keeps of the draws so far."""
        for trace in traces:
            trace.select(trace.times % self.step(number) == 0)

    def align(self, traces: Sequence[Trace]) -> int:
        """Cut traces of chains that may have come differently far to the same times; returns the last time."""
        ends = [int(trace.times[-1]) for trace in traces]
        self.thin(traces, self.number_of(max(ends)))
        last = min(int(trace.times[-1]) if trace.held else 0 for trace in traces)
        for trace in traces:
            trace.select(trace.times <= last)
        return last


def rounds_for(n_sweeps: int, thin: int, cost: float, items: int) -> Rounds:
    """Rounds for a problem.

    Parameters
    ----------
    n_sweeps : int
        Sweeps before the first draw.
    thin : int
        Sweeps per draw.
    cost : float
        Numbers that a sweep touches, over all chains.
    items : int
        Length of the axes of a draw.
    """
    last = 0
    while FIRST << (last + 1) <= LONGEST and (n_sweeps + thin * (FIRST << (last + 1))) * cost <= WORK:
        last += 1
    held = MOST_HELD
    while held > FEWEST_HELD and held * items > MOST_LABELS:
        held //= 2
    return Rounds(last, held)


class Followed(NamedTuple):
    """What is followed of each draw: label-free numbers by name, and whether pairs of items are together."""

    numbers: dict[str, FloatArray]
    together: NDArray[np.bool_]


def followed(arrays: Mapping[str, NDArray[Any]], fields: Sequence[Field]) -> Followed:
    """Numbers and pairs of draws of one chain or of all chains: results have the same leading axes."""
    numbers = quantities(arrays, fields)
    for name, array in arrays.items():
        field = field_of(fields, name)
        if field is None:
            continue
        if field.is_scalar and field.kind == "number":
            # Also numbers that a model compares in other units: ranks are the same.
            numbers[name] = np.asarray(array, dtype=np.float64)
        elif field.watched and field.axes:
            flat = array.reshape(*array.shape[: array.ndim - len(field.axes)], -1)
            numbers |= {f"{name} {i}": np.asarray(flat[..., i], dtype=np.float64) for i in range(flat.shape[-1])}
    lead = next(iter(numbers.values())).shape
    pairs = [np.empty((*lead, 0), dtype=np.bool_)]
    for field in partition_fields(arrays, fields):
        labels = arrays[field.name]
        one, other = _pairs(labels.shape[-1])
        pairs.append(labels[..., one] == labels[..., other])
    return Followed(numbers, np.concatenate(pairs, axis=-1))


def agreement(found: Followed) -> Agreement:
    """Of what is followed over all chains, (chain, draw)."""
    varying = [values for values in found.numbers.values() if np.ptp(values) > 0.0]
    pairs = np.moveaxis(found.together, -1, 0)
    shape = found.together.shape
    counts = [effective(values) for values in varying] + [event_effective(pair) for pair in pairs]
    return Agreement(max(map(rank_rhat, varying), default=1.0), min(counts, default=float(shape[0] * shape[1])))


def followed_traces(traces: Sequence[Trace], fields: Sequence[Field], late: bool = False) -> Followed:
    """What is followed of chains of the same length; of their last half where it is ``late``. No draw is copied."""
    chains = []
    for trace in traces:
        parts = [followed(segment, fields) for segment in trace.segments()]
        first = trace.held // 2 if late else 0
        numbers = {name: np.concatenate([part.numbers[name] for part in parts])[first:] for name in parts[0].numbers}
        chains.append(Followed(numbers, np.concatenate([part.together for part in parts])[first:]))
    names = chains[0].numbers
    return Followed(
        {name: np.stack([chain.numbers[name] for chain in chains]) for name in names},
        np.stack([chain.together for chain in chains]),
    )


def judged(traces: Sequence[Trace], fields: Sequence[Field], may_drop: bool) -> tuple[Agreement, bool]:
    """How well chains of the same length agree, and whether that is about their last half only.

    Where chains have not met over all draws and it ``may_drop`` some, the first half counts as further warm-up, if the
    last half agrees better.
    """
    if traces[0].held < SHORTEST:
        return Agreement(np.inf, 0.0), False
    whole = agreement(followed_traces(traces, fields))
    if whole.rhat < LARGEST_RHAT or not may_drop or traces[0].times[-1] <= FIRST:
        return whole, False
    late = agreement(followed_traces(traces, fields, late=True))
    return (late, True) if late.rhat < whole.rhat else (whole, False)


def _pairs(n_items: int) -> tuple[IntArray, IntArray]:
    """The pairs of so many items that are followed: always the same random choice."""
    if n_items < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(20180611)
    one = rng.integers(n_items, size=PAIRS)
    return one, (one + rng.integers(1, n_items, size=PAIRS)) % n_items
