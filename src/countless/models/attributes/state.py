"""The state of latent attributes, everything that a chain draws: attributes with clusters and weights, and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from ...chains.contract import Frozen
from ...core.validate import by_first_appearance
from .kernels.blocks import Blocks, FloatArray, IntArray, Pairs, add_attribute, empty_blocks
from .kernels.sweep import Seating
from .laws import LEARNED, log_seating

if TYPE_CHECKING:
    from .problem import Problem

NUMBERS = (*LEARNED, "bias")
# Clusters that an attribute may gain before its blocks are laid out anew.
SPARE = 8


@dataclass
class Attribute:
    """One attribute: who has it, in which cluster, and the weights between clusters.

    Attributes
    ----------
    labels : array of int (object,)
        Cluster of each object, -1 where it does not have the attribute.
    weights : array (cluster, cluster)
    """

    labels: IntArray
    weights: FloatArray

    @property
    def n_clusters(self) -> int:
        return len(self.weights)

    @property
    def n_members(self) -> int:
        return int(np.count_nonzero(self.labels >= 0))

    def sizes(self) -> IntArray:
        """Objects in each cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters).astype(np.int64)

    def copy(self) -> Attribute:
        """An independent copy."""
        return Attribute(self.labels.copy(), self.weights.copy())

    def tidy(self) -> Attribute:
        """The same with clusters numbered by first appearance."""
        inside = self.labels >= 0
        order = np.unique(self.labels[inside], return_index=True)
        old = order[0][np.argsort(order[1], kind="stable")]
        number = np.full(max(self.n_clusters, 1), -1, dtype=np.int64)
        number[old] = np.arange(len(old))
        labels = np.where(inside, number[self.labels], -1)
        return Attribute(labels, np.ascontiguousarray(self.weights[np.ix_(old, old)]))


class State:
    """Attributes and numbers, with what they leave of the matrix.

    Attributes
    ----------
    problem : Problem
    attributes : list of Attribute
        Those that are known first.
    concentration, cluster_concentration, weight_variance, noise, bias : float
    pull, rest : arrays (object, object)
        As in ``kernels.blocks.Pairs``; derived, and made anew when a round begins.
    heat : float
        Factor of the log likelihood; 1 but for starts.
    """

    concentration: float
    cluster_concentration: float
    weight_variance: float
    noise: float
    bias: float

    def __init__(self, problem: Problem, attributes: list[Attribute], numbers: dict[str, float]) -> None:
        self.problem = problem
        self.attributes = attributes
        for name in NUMBERS:
            setattr(self, name, float(numbers[name]))
        self.heat = 1.0
        self.pull = problem.observed
        self.rest = np.empty_like(problem.observed)
        self.rebuild()

    # --- what it leaves of the matrix --------------------------------------------------------------------------------

    @property
    def n_known(self) -> int:
        """Attributes that are known for some objects: the first ones."""
        return self.problem.n_known

    @property
    def free(self) -> list[Attribute]:
        """Attributes of the buffet."""
        return self.attributes[self.n_known :]

    def sums(self) -> FloatArray:
        """What bias and attributes add up to for each pair: T of von Looz (2013)."""
        total = np.full_like(self.problem.observed, self.bias)
        everywhere = self._pairs(total, np.ones_like(total), 1.0)
        for attribute in self.attributes:
            add_attribute(everywhere, attribute.labels, attribute.weights, -1.0)
        return total

    def rebuild(self) -> None:
        """Compute what is left of each pair, free of rounding; for binary links at the present precisions."""
        self.rest = self.problem.target - self.pull * self.sums()

    def pairs(self) -> Pairs:
        """The matrix as an attribute sees it that is not taken out of it yet."""
        scale = self.heat if self.problem.binary else self.heat / self.noise
        return self._pairs(self.rest, self.pull, scale)

    def _pairs(self, rest: FloatArray, pull: FloatArray, scale: float) -> Pairs:
        return Pairs(rest, pull, scale, self.problem.laws.weight_mean, self.weight_variance, self.problem.directed)

    def take_out(self, attribute: Attribute) -> None:
        """Let the rest have what an attribute explains."""
        add_attribute(self.pairs(), attribute.labels, attribute.weights, -1.0)

    def put_in(self, attribute: Attribute) -> None:
        """Take what an attribute explains out of the rest."""
        add_attribute(self.pairs(), attribute.labels, attribute.weights, 1.0)

    def set_bias(self, bias: float) -> None:
        """Use another bias from now on."""
        self.rest -= self.pull * (bias - self.bias)
        self.bias = float(bias)

    def blocks(self, n_clusters: int, labels: IntArray | None = None) -> Blocks:
        """Blocks with some room to spare, and labels where there are any."""
        n = self.problem.n_objects
        blocks = empty_blocks(n, min(n, n_clusters + SPARE) + 2)
        if labels is not None:
            blocks.labels[:] = labels
        return blocks

    def seating(self, number: int) -> Seating:
        """How objects come to an attribute, by its number."""
        laws = self.problem.laws
        if number < self.n_known:
            return Seating(1.0 if self.problem.may_lack[number] else -1.0, 1.0, True)
        return Seating(self.problem.n_objects + laws.breadth - 1.0, self.cluster_concentration, False)

    # --- densities ---------------------------------------------------------------------------------------------------

    def log_likelihood(self) -> float:
        """Log probability of the matrix given everything."""
        problem = self.problem
        if problem.binary:
            sums = self.sums()
            values = problem.observed * (problem.filled * sums - np.logaddexp(0.0, sums))
            return problem.over_pairs(values)
        squares = problem.over_pairs(self.rest * self.rest)
        return -0.5 * (squares / self.noise + problem.n_pairs * math.log(2.0 * math.pi * self.noise))

    def log_prior(self) -> float:
        """Log density of everything that is drawn; attributes are a set, learned numbers on their log."""
        laws, n = self.problem.laws, self.problem.n_objects
        value = sum(laws.log_density(name, getattr(self, name)) for name in LEARNED)
        value -= 0.5 * ((self.bias - laws.bias_mean) ** 2 / laws.bias_variance + _log_turn(laws.bias_variance))
        value -= self.concentration * laws.dishes(n)
        for attribute in self.free:
            sizes = attribute.sizes()
            value += float(laws.log_rate(sizes.sum(), n, self.concentration))
            value += log_seating(sizes, self.cluster_concentration)
        for number, attribute in enumerate(self.attributes[: self.n_known]):
            value += self._log_known(number, attribute)
        weights = self.all_weights()
        squares = float(((weights - laws.weight_mean) ** 2).sum())
        return value - 0.5 * (squares / self.weight_variance + len(weights) * _log_turn(self.weight_variance))

    def _log_known(self, number: int, attribute: Attribute) -> float:
        """A known attribute: each object falls into one of the groups, which count as one object more each."""
        counts = attribute.sizes().astype(np.float64)
        if self.problem.may_lack[number]:
            counts = np.append(counts, self.problem.n_objects - counts.sum())
        total = float(counts.sum())
        return float(gammaln(counts + 1.0).sum() + gammaln(len(counts)) - gammaln(total + len(counts)))

    def all_weights(self) -> FloatArray:
        """Different weights of all attributes, one after the other."""
        parts = [self.own_weights(attribute) for attribute in self.attributes]
        return np.concatenate(parts) if parts else np.empty(0)

    def own_weights(self, attribute: Attribute) -> FloatArray:
        """Different weights of one attribute: all of them, or those of c <= d."""
        if self.problem.directed:
            return attribute.weights.reshape(-1)
        return attribute.weights[np.tril_indices(attribute.n_clusters)]

    # --- the contract of a state -------------------------------------------------------------------------------------

    def log_joint(self) -> float:
        """Log density of the matrix and of everything that is drawn, in the user's units."""
        return self.log_likelihood() + self.log_prior()

    def draw(self) -> dict[str, Any]:
        """All attributes, the largest first, each with its clusters by first appearance, and all numbers."""
        known = [each.tidy() for each in self.attributes[: self.n_known]]
        free = sorted((each.tidy() for each in self.free), key=lambda each: (-each.n_members, tuple(-each.labels)))
        shown = [*known, *free]
        n = self.problem.n_objects
        labels = np.array([each.labels for each in shown], dtype=np.int64).reshape(len(shown), n)
        groups, absent = encode(labels)
        counts = np.array([each.n_clusters for each in shown], dtype=np.int64)
        weights = [each.weights.reshape(-1) for each in shown]
        sizes = counts * counts
        return {
            "log_joint": np.float64(self.log_joint()),
            "n_attributes": np.int64(len(shown)),
            "n_weights": np.int64(sizes.sum()),
            "n_shared": np.int64(sum(each.n_members > 1 for each in free)),
            "groups": groups,
            "absent": absent,
            "sizes": counts,
            "weights": np.concatenate(weights).astype(np.float32) if weights else np.empty(0, dtype=np.float32),
            **{name: np.float64(getattr(self, name)) for name in NUMBERS},
        }

    def freeze(self) -> Frozen:
        """Everything that the rest of a chain depends on, copied."""
        n = self.problem.n_objects
        labels = np.array([each.labels for each in self.attributes], dtype=np.int64).reshape(-1, n)
        sizes = np.array([each.n_clusters for each in self.attributes], dtype=np.int64)
        weights = [each.weights.reshape(-1) for each in self.attributes]
        arrays = {
            "labels": labels,
            "sizes": sizes,
            "weights": np.concatenate(weights) if weights else np.empty(0),
            "numbers": np.array([getattr(self, name) for name in NUMBERS]),
        }
        return Frozen({}, arrays)

    def status(self) -> str:
        """Attributes with more than one object."""
        return f"{sum(each.n_members > 1 for each in self.attributes)} attributes"

    def copy(self) -> State:
        """An independent copy."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        twin = State(self.problem, [each.copy() for each in self.attributes], numbers)
        twin.pull, twin.heat = self.pull, self.heat
        twin.rebuild()
        return twin


def encode(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Labels with -1 as partitions, those without the attribute being one group more, and the number of that group."""
    groups = np.empty_like(labels)
    absent = np.full(len(labels), -1, dtype=np.int64)
    for number, line in enumerate(labels):
        groups[number] = by_first_appearance(line)
        if (line < 0).any():
            absent[number] = groups[number, int((line < 0).argmax())]
    return groups, absent


def decode(groups: Any, absent: Any) -> IntArray:
    """Labels with -1 from what ``encode`` gave; clusters keep their order."""
    labels = np.asarray(groups, dtype=np.int64)
    left = np.asarray(absent, dtype=np.int64)[:, None]
    found = labels - ((left >= 0) & (labels > left))
    found[labels == left] = -1
    return found


def _log_turn(variance: float) -> float:
    return math.log(2.0 * math.pi * variance)
