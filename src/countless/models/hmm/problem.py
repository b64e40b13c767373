"""The problem of a hidden Markov model: sequences of rows with their family and transition law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...chains.fields import Field
from ...core.validate import as_labels, choose
from ...families.base import Family
from ...partitions.partition import Partition
from ...partitions.seats import FloatArray, IntArray
from ...partitions.starts import sequential
from ...partitions.sums import row_statistics_of
from ...priors.crp import CRP
from ...transitions import Transitions
from ...transitions.contract import first_steps
from ..family_problem import FamilyProblem

if TYPE_CHECKING:
    from .state import State

N_STATES = "n_states"
# Statistics of all rows are kept where they take no more than this many bytes.
KEEP_BELOW = 64e6
# Rows of sequences longer than this that a start is made from; the others join the nearest of its clusters.
MOST_STARTING = 3000
# Stretches that the part of long sequences is made of.
STRETCHES = 20
STARTS = ("one", "sequential", "greedy", "prior")
DISPERSED = ("one", "sequential", "prior", "greedy")


@dataclass(frozen=True)
class Problem(FamilyProblem):
    """Sequences, family and transition law; immutable, shared by all chains.

    Attributes
    ----------
    transitions : Transitions
        Resolved.
    lengths : array of int (sequence,)
    row_weight : float
        Power that the density of each row is raised to, see ``row_weight``.
    """

    transitions: Transitions = None  # type: ignore[assignment]  # set by ``of``: fields of the base have defaults
    lengths: IntArray = None  # type: ignore[assignment]
    row_weight: float = 1.0

    @classmethod
    def of(
        cls,
        X: FloatArray,
        lengths: IntArray,
        family: Family,
        transitions: Transitions,
        left_open: tuple[str, ...] = (),
        row_weight: float = 1.0,
    ) -> Problem:
        """Prepare rows ``X`` of sequences of these lengths for a resolved family."""
        lengths, law = np.asarray(lengths, dtype=np.int64), transitions.resolve()
        return cls.prepared(X, family, None, left_open, transitions=law, lengths=lengths, row_weight=row_weight)

    def under(self, transitions: Transitions) -> Problem:
        """The same sequences under another transition law."""
        return replace(self, transitions=transitions.resolve())

    def sequences(self, which: slice) -> Problem:
        """Some of the steps, as one sequence after the other; ``which`` has no step."""
        begins = np.flatnonzero(np.append(self.first[which], True))
        if begins[0] != 0:
            begins = np.append(0, begins)
        return replace(self.some(which), lengths=np.diff(begins))

    def stretches(self, n_steps: int, rng: np.random.Generator) -> Problem:
        """About so many steps, in some stretches of long sequences; short sequences as they are."""
        n = self.n_rows
        if n <= 1.2 * n_steps:
            return self
        length = n_steps // STRETCHES
        begins = np.arange(STRETCHES) * (n // STRETCHES) + rng.integers(0, n // STRETCHES - length, size=STRETCHES)
        steps = (begins[:, None] + np.arange(length)).ravel()
        first = self.first[steps]
        first[::length] = True
        return replace(self.some(steps), lengths=np.diff(np.append(np.flatnonzero(first), len(steps))))

    # --- the contract of a problem -----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        """Steps, and the missing cells that are drawn."""
        return {"step": self.n_rows, "missing": len(self.missing.rows) if self.draws_missing else 0}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw consists of; parts that only some engines have are optional."""
        return (
            Field("labels", "labels", ("step",), of=N_STATES),
            Field(N_STATES, "count", words="number of states"),
            Field("log_joint", "number"),
            *(Field(name, "number") for name in self.transitions.laws),
            Field("base_weights", "number", per=N_STATES),
            Field("log_factors/*", "number", None, optional=True, compared=False),
            Field("missing", "number", ("missing",), optional=True, single=True),
            Field("objective", "number", ("pass",), once=True, optional=True),
            Field("mode", "labels", ("step",), once=True, optional=True),
            Field("approximation/*", "number", None, once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """A state in one of ``STARTS``, 'dispersed' for each in turn, or in labels that are given."""
        from .state import State

        if not isinstance(kind, str):
            labels = as_labels(kind, "start", self.n_rows)
            most = self.transitions.most
            if most is not None and labels.max() >= most:
                raise ValueError(f"start has {labels.max() + 1} states, but the transitions allow at most {most}")
            return State(self, labels)
        if kind == "dispersed":
            kind = DISPERSED[number % len(DISPERSED)]
        choose("start", kind, dict.fromkeys((*STARTS, "dispersed")), "an array of labels")
        return State(self, self._start_labels(kind, rng))

    def _start_labels(self, kind: str, rng: np.random.Generator) -> IntArray:
        n = self.n_rows
        if kind == "one":
            return np.zeros(n, dtype=np.int64)
        most = self.transitions.most or n
        if kind == "prior":
            drawn = (
                self.transitions.initial().sample(self.lengths, rng) if n <= MOST_STARTING else rng.integers(8, size=n)
            )
            return np.asarray(drawn % most, dtype=np.int64)
        from ...partitions.scores import log_predictives_of

        some = np.sort(rng.choice(n, min(n, MOST_STARTING), replace=False))
        rows = np.ascontiguousarray(self.rows[some])
        prior = CRP(1.0)
        partition = Partition(rows, self.untuned, prior, np.zeros(len(some), dtype=np.int64), prior)
        labels = sequential(partition, rng, greedy=kind == "greedy") % most
        if len(some) == n:
            return labels
        partition.relabel(labels)
        slots = partition.slots()
        arrays, out = partition.clusters.arrays, np.empty((n, len(slots)))
        statistics, cache = (np.ascontiguousarray(each[slots]) for each in (arrays.statistics, arrays.cache))
        log_predictives_of(partition.hyper, statistics, cache, arrays.work, self.rows, out)
        return np.argmax(out, axis=1)

    @property
    def log_jacobian(self) -> float:
        """What turns a log density of all cells that were seen, in local units, into one in the user's."""
        return self.row_weight * self.table.log_jacobian

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .state import State

        return State.thawed(self, frozen)

    # --- steps --------------------------------------------------------------------------------------------------------

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which steps begin a sequence."""
        return first_steps(self.lengths, self.n_rows)

    @cached_property
    def _statistics(self) -> FloatArray | None:
        if self.draws_missing or 8.0 * self.n_rows * self.layout.statistics > KEEP_BELOW:
            return None
        return self.statistics_of(self.rows)

    def statistics_of(self, rows: FloatArray) -> FloatArray:
        """Statistics of rows as kernels take them, times the weight of a row."""
        out = np.empty((len(rows), self.layout.statistics))
        row_statistics_of(self.base, rows, out)
        if self.row_weight != 1.0:
            out *= self.row_weight
        return out

    def statistics(self, which: slice, rows: FloatArray | None = None) -> FloatArray:
        """Statistics of some steps, which hold ``rows`` where cells are drawn."""
        kept = self._statistics
        return self.statistics_of((self.rows if rows is None else rows)[which]) if kept is None else kept[which]

    def statistics_at(self, steps: IntArray, rows: FloatArray) -> FloatArray:
        """The same for steps by their numbers."""
        kept = self._statistics
        return self.statistics_of(rows[steps]) if kept is None else kept[steps]
