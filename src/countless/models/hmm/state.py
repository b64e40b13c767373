"""The state of a hidden Markov model: the path, base weights, numbers of the law, hyperparameters, missing cells.

Parameters of states and transition probabilities are integrated out; moves that need them draw them and forget them.
States are slots 0, 1, 2, ... between moves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...core.jit import kernel
from ...core.validate import by_first_appearance
from ...families import verbs
from ...partitions.clusters import Clusters, own_hyper, refresh_slots
from ...partitions.hyperparameters import install
from ...partitions.partition import log_evidence, log_prior_predictives
from ...partitions.seats import FloatArray, IntArray
from ...partitions.sums import NO_WEIGHTS, add_known_by_label
from ...transitions import Transitions
from ...transitions.paths import count_transitions
from ..learned import LearnedState
from .problem import Problem

# Slots beyond those in use at the start of a sweep.
SPARE = 8
BLOCK = 4096


class PathArrays(NamedTuple):
    """The path as the kernel of a sweep receives it; row 0 of ``counts`` are beginnings of sequences."""

    labels: IntArray
    sizes: IntArray
    counts: FloatArray
    totals: FloatArray
    weights: FloatArray
    rest: FloatArray
    openings: FloatArray
    concentration: float
    stay: float
    log_weights: FloatArray


class State(LearnedState):
    """Everything that a chain draws.

    Parameters
    ----------
    problem : Problem
    labels : array of int (step,)
        Any numbers.
    fixed : Transitions, optional
        The law with its numbers fixed; default, where chains begin.

    Attributes
    ----------
    labels : array of int (step,)
    n_states : int
    counts : array (1 + state, state)
        Numbers of transitions; row 0 are the beginnings of sequences.
    weights, rest : array (state,), float
        Base weights, and what is left for states that are not in use.
    fixed : Transitions
    """

    def __init__(self, problem: Problem, labels: IntArray, fixed: Transitions | None = None) -> None:
        self.problem = problem
        self.rows = problem.rows.copy() if problem.draws_missing else problem.rows
        self.fixed = problem.transitions.initial() if fixed is None else fixed
        self.log_factors: dict[str, Any] = dict(problem.log_factors)
        self.log_hyperprior = problem.log_hyperprior
        self.offsets = problem.offsets.copy()
        labels = by_first_appearance(labels)
        family = problem.family if problem.law is None else problem.untuned
        self.clusters = Clusters(family, int(labels.max()) + 1 + SPARE)
        if problem.law is not None:
            self.clusters.set_hyper(own_hyper(problem.base))
            install(self.hyper, problem.base, problem.law, self.offsets)
        self.log_new = problem.log_new if problem.law is None else log_prior_predictives(family, self.hyper, self.rows)
        self.set_path(labels)

    # --- what it holds -----------------------------------------------------------------------------------------------

    @property
    def hyper(self) -> Any:
        """Hyperparameters of the family as kernels receive them."""
        return self.clusters.hyper

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> IntArray:
        """Number of steps in each state."""
        return np.bincount(self.labels, minlength=self.n_states)

    def slots_in_use(self) -> IntArray:
        """All states."""
        return np.arange(self.n_states)

    def partition(self) -> IntArray:
        """Labels numbered by first appearance."""
        return by_first_appearance(self.labels)

    def statistics(self, which: slice) -> FloatArray:
        """Statistics of some steps."""
        return self.problem.statistics(which, self.rows)

    # --- changes -----------------------------------------------------------------------------------------------------

    def set_path(self, labels: IntArray, weights: FloatArray | None = None, rest: float = 0.0) -> None:
        """Use another path from now on; everything that depends on it follows.

        ``weights`` are the base weights of the labels, ``rest`` what they leave; labels that have no step give theirs
        back. Without weights they are set by the sizes.
        """
        sizes = np.bincount(labels)
        used = np.flatnonzero(sizes)
        number = np.full(len(sizes), -1)
        number[used] = np.arange(len(used))
        self.labels = number[labels]
        self.n_states = len(used)
        self.counts = count_transitions(self.labels, self.problem.first, self.n_states)
        if weights is None:
            self.weights, self.rest = start_weights(self.fixed, sizes[used])
        else:
            kept = np.zeros(len(weights), dtype=np.bool_)
            kept[used] = True
            self.weights, self.rest = weights[used].copy(), rest + float(weights[~kept].sum())
        self.rebuild()

    def rebuild(self) -> None:
        """Recompute statistics and caches from the rows."""
        self.reserve(self.n_states)
        arrays = self.clusters.arrays
        arrays.statistics[:] = 0.0
        for start in range(0, self.n_rows, BLOCK):
            which = slice(start, min(start + BLOCK, self.n_rows))
            add_known_by_label(self.statistics(which), NO_WEIGHTS, self.labels[which], arrays.statistics)
        refresh_slots(self.hyper, arrays, self.slots_in_use())

    def reserve(self, n_states: int) -> None:
        """Make room for so many states and some more."""
        capacity = len(self.clusters.arrays.statistics)
        if capacity < n_states + SPARE // 2:
            self.clusters.enlarge(n_states + max(SPARE, n_states // 2))

    def refresh(self) -> None:
        """Bring up to date what depends on hyperparameters that were changed in place; statistics stay."""
        refresh_slots(self.hyper, self.clusters.arrays, self.slots_in_use())
        self.log_new = log_prior_predictives(self.clusters.family, self.hyper, self.rows)

    def arrays(self) -> PathArrays:
        """The path as the kernel of a sweep takes it, copied; ``take`` accepts what it has become."""
        k, capacity = self.n_states, len(self.clusters.arrays.statistics)
        counts, weights = np.zeros((capacity + 1, capacity)), np.zeros(capacity)
        sizes = np.bincount(self.labels, minlength=capacity)
        counts[: k + 1, :k] = self.counts
        weights[:k] = self.weights
        fixed = self.fixed
        return PathArrays(
            self.labels,
            sizes,
            counts,
            counts.sum(axis=1),
            weights,
            np.array([self.rest]),
            fixed.openings(capacity),
            float(fixed.concentration),
            float(fixed.stay),
            np.empty(capacity + 1),
        )

    def take(self, path: PathArrays) -> None:
        """Accept what a kernel has made of ``arrays()``; slots become 0, 1, 2, ... again."""
        order = np.argsort(path.sizes == 0, kind="stable")
        used = order[: int(np.count_nonzero(path.sizes))]
        if not np.array_equal(used, np.arange(len(used))):
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            self.labels = place[path.labels]
            self.clusters.renumber(order)
        else:
            self.labels = path.labels
        self.n_states = len(used)
        self.weights, self.rest = path.weights[used].copy(), float(path.rest[0])
        self.counts = path.counts[np.append(0, used + 1)][:, used]

    # --- the contract of a state -------------------------------------------------------------------------------------

    def log_path(self) -> float:
        """Log density of the path and of its base weights, given the numbers of the law."""
        return self.fixed.log_rows(self.counts, self.weights) + self.fixed.log_base(self.weights, self.rest)

    def log_rows(self) -> float:
        """Log evidence of the rows given the path, in local units."""
        return float(log_evidence(self.hyper, self.clusters.arrays, self.slots_in_use()))

    def log_joint(self) -> float:
        """Log density of the rows and of everything that is drawn, in the user's units.

        Base weights and learned numbers count with the density of their logs.
        """
        problem = self.problem
        fixed = self.fixed
        value = self.log_rows() + problem.transitions.log_hyperprior(fixed)
        value += fixed.log_rows(self.counts, self.weights) + fixed.log_base(self.weights, self.rest, on_line=True)
        value += self.log_hyperprior + problem.log_jacobian
        if problem.draws_missing:
            value -= float(np.log(problem.scale[problem.missing.columns]).sum())
        return value

    def draw(self) -> dict[str, Any]:
        """The path and everything else that is drawn, in the user's units."""
        labels = self.partition()
        order = first_places(self.labels, self.n_states)
        draw: dict[str, Any] = {
            "labels": labels,
            "n_states": np.int64(self.n_states),
            "log_joint": np.float64(self.log_joint()),
            "base_weights": self.weights[order],
        }
        numbers = self.problem.transitions.numbers_of(self.fixed)
        draw |= {name: np.float64(value) for name, value in numbers.items()}
        for name, value in self.log_factors.items():
            draw[f"log_factors/{name}"] = np.array(value, dtype=np.float64)
        if self.problem.draws_missing:
            rows, columns, places = self.problem.missing
            values = self.rows[rows, places] * self.problem.scale[columns] + self.problem.shift[columns]
            draw["missing"] = values.astype(np.float32)
        return draw

    def status(self) -> str:
        """The number of states."""
        return f"{self.n_states} states"

    def freeze(self) -> Frozen:
        """Everything that the rest of a chain depends on, copied."""
        numbers = {name: float(value) for name, value in self.problem.transitions.numbers_of(self.fixed).items()}
        arrays = {
            "labels": self.labels.copy(),
            "weights": self.weights.copy(),
            "rest": np.array([self.rest]),
            **self.clusters.freeze(),
        }
        if self.problem.law is not None:
            arrays["offsets"] = self.offsets.copy()
        if self.problem.draws_missing:
            rows, _, places = self.problem.missing
            arrays["missing"] = self.rows[rows, places]
        return Frozen({"numbers": numbers}, arrays)

    @classmethod
    def thawed(cls, problem: Problem, frozen: Frozen) -> State:
        """The state that ``freeze`` gave; ValueError where it is none of this problem."""
        numbers, arrays = frozen
        labels, weights, rest = (arrays[name] for name in ("labels", "weights", "rest"))
        if labels.shape != (problem.n_rows,) or labels.dtype != np.int64 or labels.min() < 0:
            raise ValueError("the state of a chain holds labels of the wrong shape or type")
        n_states = int(labels.max()) + 1
        if n_states > len(labels) or len(np.unique(labels)) != n_states:
            raise ValueError("the state of a chain holds labels that do not agree with its states")
        _check_weights(weights, rest, n_states)
        state = cls.__new__(cls)
        state.problem, state.labels, state.n_states = problem, labels.copy(), n_states
        state.fixed = _thawed_law(problem.transitions, numbers["numbers"])
        state.weights, state.rest = weights.copy(), float(rest[0])
        state.counts = count_transitions(state.labels, problem.first, n_states)
        state.log_factors, state.log_hyperprior = dict(problem.log_factors), problem.log_hyperprior
        state.offsets = np.empty(0)
        state.rows = problem.rows
        if problem.draws_missing:
            state.rows = problem.with_missing(arrays["missing"])
        family = problem.family if problem.law is None else problem.untuned
        capacity = len(arrays["statistics"])
        if not n_states <= capacity <= 2 * n_states + len(labels) + 2 * SPARE:
            raise ValueError("the state of a chain holds statistics of the wrong shape or type")
        state.clusters = Clusters.thaw(family, capacity, arrays)
        if not np.isfinite(state.clusters.arrays.statistics[:n_states]).all():
            raise ValueError("the state of a chain holds statistics that are not finite")
        state.log_new = problem.log_new
        if problem.law is not None:
            state._thaw_offsets(problem, arrays["offsets"])
            state.clusters.set_hyper(own_hyper(problem.base))
            install(state.hyper, problem.base, problem.law, state.offsets)
            state.log_new = log_prior_predictives(family, state.hyper, state.rows)
        return state

    def copy(self) -> State:
        """An independent copy."""
        twin = State.__new__(State)
        vars(twin).update(vars(self))
        twin.labels, twin.weights, twin.counts = self.labels.copy(), self.weights.copy(), self.counts.copy()
        twin.log_factors, twin.offsets = dict(self.log_factors), self.offsets.copy()
        twin.rows = self.rows.copy() if self.problem.draws_missing else self.rows
        twin.clusters = self.clusters.copy()
        return twin


def start_weights(fixed: Transitions, sizes: IntArray) -> tuple[FloatArray, float]:
    """Base weights of states of these sizes, where a chain begins."""
    shapes = fixed.base_shapes(len(sizes))
    if shapes is None:
        return fixed.open_weights(np.random.default_rng(0), 0, 1.0, len(sizes))
    shares = np.append(np.sqrt(sizes), 0.0) / np.sqrt(sizes).sum() * len(sizes)
    shares[-1] = shapes[1]
    shares /= shares.sum()
    return shares[:-1], float(shares[-1])


def first_places(labels: IntArray, n_states: int) -> IntArray:
    """States in the order in which they first appear."""
    where = np.full(n_states, len(labels))
    where[labels[::-1]] = np.arange(len(labels))[::-1]
    return np.argsort(where, kind="stable")


def _check_weights(weights: NDArray[Any], rest: NDArray[Any], n_states: int) -> None:
    right = weights.shape == (n_states,) and rest.shape == (1,)
    if not right or weights.dtype != np.float64 or rest.dtype != np.float64:
        raise ValueError("the state of a chain holds base weights of the wrong shape or type")
    if not (np.all(weights > 0.0) and rest[0] >= 0.0 and abs(weights.sum() + rest[0] - 1.0) < 1e-6):
        raise ValueError("the state of a chain holds base weights that are not possible")


def _thawed_law(law: Transitions, numbers: Any) -> Transitions:
    known = law.laws
    if not isinstance(numbers, dict) or set(numbers) != set(known):
        raise ValueError("the state of a chain holds numbers of another transition law")
    for name, value in numbers.items():
        if type(value) is not float or not known[name].log_density_on_line(value) > -math.inf:
            raise ValueError(f"the state of a chain holds the {name} {value}")
    return law.with_numbers(numbers)


@kernel
def naturals_of_slots(family, rng, clusters, n_slots, naturals):
    """Draw parameters of slots 0 ... n_slots - 1 from their posterior; their natural parameters."""
    for k in range(n_slots):
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, k, rng, clusters.parameters)
        verbs.natural(family, clusters.parameters, k, naturals[k])
