"""The state of a biclustering, everything that a chain draws: two partitions, or one, and hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...partitions.hyperparameters import FARTHEST
from ...partitions.seats import SPARE_SLOTS, FloatArray, IntArray, Seats, slots_for
from .block_models.base import BlockCounts
from .cells import mass_by_label
from .moves.view import View, fill_blocks, gaps_room, renew_all, sum_sides
from .problem import SIDES, Problem


class State:
    """Partitions of rows and columns with the statistics of all blocks.

    Between two moves slots are numbered 0, 1, 2, ... on both sides, and ``blocks`` has no room for more.

    Attributes
    ----------
    problem : Problem
    seats : list of Seats
        Of rows and of columns; the same object twice where sides are tied.
    blocks : array (row cluster, column cluster, S)
    offsets : array
        Of learned hyperparameters, in the order of the problem's law.
    hyper : NamedTuple
        Hyperparameters as kernels receive them.
    """

    def __init__(self, problem: Problem, labels: Any, offsets: FloatArray | None = None, at: Any = None) -> None:
        self.problem = problem
        fixed = at or [prior.initial(int(part.max()) + 1) for prior, part in zip(problem.priors, labels, strict=True)]
        own = [Seats(prior, part, where) for prior, part, where in zip(problem.priors, labels, fixed, strict=True)]
        self.seats = own * 2 if problem.tied else own
        self.set_offsets(np.zeros(len(problem.law.spreads)) if offsets is None else offsets)
        self.rebuild()

    @property
    def sides(self) -> range:
        """Sides that have seats of their own."""
        return range(1 if self.problem.tied else 2)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of row and of column clusters."""
        return self.seats[0].n_clusters, self.seats[1].n_clusters

    def set_offsets(self, offsets: FloatArray) -> None:
        """Use hyperparameters at these offsets from now on."""
        self.offsets = np.array(offsets, dtype=np.float64)
        self.hyper = self.problem.model.hyper_at(self.problem.law, self.offsets)
        self.log_outside = self.problem.log_outside(self.offsets)

    def partitions(self) -> list[IntArray]:
        """Labels of each side that has seats of its own, numbered by first appearance."""
        return [self.seats[side].partition() for side in self.sides]

    def relabel(self, side: int, labels: IntArray) -> None:
        """Give the items of one side these labels."""
        seats, count = self.seats[side], int(labels.max()) + 1
        if count + SPARE_SLOTS > seats.capacity:
            seats.enlarge(count + SPARE_SLOTS)
        seats.seat(labels)
        self.rebuild()

    # --- one side at a time -------------------------------------------------------------------------------------------

    def view(self, side: int, room: int = SPARE_SLOTS) -> View:
        """One side, with free slots for so many new clusters, and every evidence current."""
        problem, table, tied = self.problem, self.problem.table, self.problem.tied
        seats, facing = self.seats[side], self.seats[1 - side]
        wanted = min(seats.n_items, seats.n_clusters + room) + SPARE_SLOTS
        if seats.capacity < wanted:
            seats.enlarge(max(wanted, slots_for(seats.n_items, seats.n_clusters)))
        used, capacity, width = seats.n_clusters, seats.capacity, len(table.prepared.zero)
        n_others = capacity if tied else facing.n_clusters
        blocks = np.zeros((capacity, n_others, width))
        turned = self.blocks if side == 0 else self.blocks.transpose(1, 0, 2)
        blocks[:used, : turned.shape[1]] = turned
        margins = np.stack([table.prepared.margins[side], table.prepared.margins[1]][: 1 + tied])
        if not tied:
            margins = np.vstack([margins, np.zeros_like(margins)])
        labels, weights = seats.labels, table.prepared.weights[side]
        mass = mass_by_label(labels, weights, capacity)
        facing_mass = mass_by_label(facing.labels, table.prepared.weights[1 - side], n_others)
        view = View(
            side,
            tied,
            table.cells[side],
            table.cells[1 - side],
            table.prepared.zero,
            table.has_zero,
            weights,
            table.prepared.weights[1] if tied else weights,
            margins,
            labels,
            seats.arrays.sizes,
            mass,
            np.stack([mass_by_label(labels, part, capacity) for part in margins]),
            np.zeros(capacity),
            facing.labels,
            facing_mass,
            seats.arrays.active if tied else np.arange(n_others, dtype=np.int64),
            blocks,
            np.zeros((capacity, n_others)),
            np.zeros((n_others, width)),
            np.zeros((n_others, width)),
            np.zeros(width),
            problem.model.work(),
            gaps_room(problem.is_sparse, capacity, n_others),
        )
        renew_all(self.hyper, view, seats.arrays.active, used)
        return view

    def absorb(self, view: View, n_clusters: int) -> None:
        """Take over what a move has made of a view."""
        seats = self.seats[view.side]
        seats.n_clusters = int(n_clusters)
        order = seats.slots_by_use.copy()
        used = order[: seats.n_clusters]
        blocks = view.blocks[used][:, used] if view.tied else view.blocks[used]
        self.blocks = np.ascontiguousarray(blocks if view.side == 0 else blocks.transpose(1, 0, 2))
        seats.renumber(order)

    def log_evidence(self) -> float:
        """Sum over blocks and clusters."""
        return self.evidence()(self.hyper)

    def evidence(self) -> Callable[[Any], float]:
        """Sum over blocks and clusters as a function of hyperparameters, as kernels receive them."""
        view, seats = self.view(0, 0), self.seats[0]
        active, n_clusters = seats.arrays.active, seats.n_clusters
        if self.problem.tied:
            return lambda hyper: float(renew_all(hyper, view, active, n_clusters))
        sizes, totals = self.seats[1].cluster_sizes().astype(np.float64), self.totals(1)
        return lambda hyper: float(renew_all(hyper, view, active, n_clusters) + sum_sides(hyper, 1, totals, sizes))

    def totals(self, side: int) -> FloatArray:
        """Totals of the clusters of one side."""
        return mass_by_label(
            self.seats[side].labels, self.problem.table.prepared.margins[side], self.seats[side].n_clusters
        )

    def counts(self) -> BlockCounts:
        """Blocks and clusters, in the order of their slots."""
        prepared, sides = self.problem.table.prepared, (0, 1)
        return BlockCounts(
            self.blocks,
            tuple(mass_by_label(self.seats[s].labels, prepared.weights[s], self.shape[s]) for s in sides),  # type: ignore[arg-type]
            tuple(self.seats[s].cluster_sizes().astype(np.float64) for s in sides),  # type: ignore[arg-type]
            tuple(self.totals(s) for s in sides),  # type: ignore[arg-type]
        )

    # --- the contract of a state ------------------------------------------------------------------------------------

    def log_joint(self) -> float:
        """Log density of the matrix, both partitions and everything that is learned, in the user's units."""
        value = self.log_evidence() + self.log_outside + self.problem.law.log_density(self.offsets)
        return value + sum(self.seats[side].log_prior() for side in self.sides)

    def draw(self) -> dict[str, Any]:
        """Labels, numbers of clusters, numbers of the priors and of the model."""
        found: dict[str, Any] = {"log_joint": np.float64(self.log_joint())}
        for side in self.sides:
            seats, prior = self.seats[side], self.problem.priors[side]
            found[f"{SIDES[side]}_labels"] = seats.partition()
            found[f"n_{SIDES[side]}_clusters"] = np.int64(seats.n_clusters)
            found[f"{SIDES[side]}_concentration"] = np.float64(seats.concentration)
            for name, value in seats.numbers.items():
                kind = np.int64 if prior.law_of(name).is_count else np.float64
                found[f"{SIDES[side]}_{name}"] = kind(value)
        if len(self.offsets):
            found["offsets"] = self.offsets.copy()
        return found

    def status(self) -> str:
        """The numbers of clusters."""
        rows, columns = self.shape
        return f"{rows} clusters" if self.problem.tied else f"{rows} x {columns} clusters"

    def rebuild(self) -> None:
        """Compute the statistics of all blocks from the cells."""
        table = self.problem.table
        for side in self.sides:
            self.seats[side].renumber(self.seats[side].slots_by_use.copy())
        labels, prepared = [seats.labels for seats in self.seats], table.prepared
        mass = [mass_by_label(labels[s], prepared.weights[s], self.shape[s]) for s in (0, 1)]
        self.blocks = np.zeros((*self.shape, len(prepared.zero)))
        fill_blocks(table.cells[0], prepared.zero, table.has_zero, labels[0], labels[1], mass[0], mass[1], self.blocks)

    def copy(self) -> State:
        """An independent copy."""
        twin = State.__new__(State)
        twin.problem, twin.blocks, twin.offsets = self.problem, self.blocks.copy(), self.offsets.copy()
        twin.hyper, twin.log_outside = self.hyper, self.log_outside
        own = [self.seats[side].copy() for side in self.sides]
        twin.seats = own * 2 if self.problem.tied else own
        return twin

    def freeze(self) -> Frozen:
        """Everything that the rest of a chain depends on, copied."""
        numbers: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {"blocks": self.blocks.copy(), "offsets": self.offsets.copy()}
        for side in self.sides:
            kept, parts = self.seats[side].freeze()
            numbers[SIDES[side]] = kept
            arrays |= {f"{SIDES[side]}_{name}": part for name, part in parts.items()}
        return Frozen(numbers, arrays)

    @classmethod
    def thawed(cls, problem: Problem, frozen: Frozen) -> State:
        """The state that ``freeze`` gave; ValueError where it is none of this problem."""
        state = cls.__new__(cls)
        state.problem = problem
        own = [_thawed_seats(problem, side, frozen) for side in range(len(problem.priors))]
        state.seats = own * 2 if problem.tied else own
        offsets, spreads = frozen.arrays["offsets"], problem.law.spreads
        if offsets.shape != spreads.shape or offsets.dtype != np.float64 or not np.isfinite(offsets).all():
            raise ValueError("the state of a chain holds hyperparameters of the wrong shape or type")
        if np.any(np.abs(offsets) > FARTHEST * problem.law.deviations):
            raise ValueError("the state of a chain holds hyperparameters that are not possible")
        state.set_offsets(offsets)
        blocks = frozen.arrays["blocks"]
        if blocks.dtype != np.float64 or blocks.shape != (*state.shape, len(problem.table.prepared.zero)):
            raise ValueError("the state of a chain holds blocks of the wrong shape or type")
        state.rebuild()
        if not np.allclose(state.blocks, blocks, rtol=1e-6, atol=1e-6 * max(1.0, float(np.abs(state.blocks).max()))):
            raise ValueError("the state of a chain holds blocks of a different matrix")
        state.blocks = blocks.copy()
        return state


def _thawed_seats(problem: Problem, side: int, frozen: Frozen) -> Seats:
    numbers: Mapping[str, Any] = frozen.numbers[SIDES[side]]
    prefix = f"{SIDES[side]}_"
    arrays = {name.removeprefix(prefix): part for name, part in frozen.arrays.items() if name.startswith(prefix)}
    seats = Seats.thaw(problem.priors[side], problem.shape[side], numbers, arrays)
    if not np.array_equal(np.sort(seats.in_use), np.arange(seats.n_clusters)):
        raise ValueError("the state of a chain holds labels that do not agree with its clusters")
    return seats
