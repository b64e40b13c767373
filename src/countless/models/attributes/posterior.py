"""The posterior of latent attributes: draws of attributes with clusters and weights, and of numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...chains.draws import Draws, flat
from ...posterior.posterior import FloatArray, IntArray, Posterior
from .data import AttributesData
from .kernels.blocks import Pairs, add_attribute
from .state import decode


class Solution(NamedTuple):
    """Attributes with clusters and weights, and the numbers that belong to them.

    Attributes
    ----------
    labels : array (attribute, object)
        Cluster of each object, -1 where it does not have the attribute.
    weights : list of arrays (cluster, cluster)
    bias, noise : float
    """

    labels: IntArray
    weights: list[FloatArray]
    bias: float
    noise: float

    def sums(self) -> FloatArray:
        """What bias and attributes add up to for each pair."""
        n = self.labels.shape[1]
        total = np.full((n, n), self.bias)
        everywhere = Pairs(total, np.ones((n, n)), 1.0, 0.0, 1.0, False)
        for line, square in zip(self.labels, self.weights, strict=True):
            add_attribute(everywhere, np.ascontiguousarray(line), np.ascontiguousarray(square), -1.0)
        return total


class AttributesPosterior(Posterior):
    """Draws of attributes; ``solution(number)`` is one of them as a whole.

    Attributes
    ----------
    n_attributes : array (chain, draw)
        Attributes that any object has; those that one object has alone among them.
    n_shared : array (chain, draw)
        Attributes of at least two objects.
    log_joint, bias, noise, concentration, cluster_concentration, weight_variance : arrays (chain, draw)
    data : AttributesData

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(20, random_state=0)
    >>> engine = cl.inference.AttributesGibbs(chains=2, draws=50, warmup=20)
    >>> model = cl.LatentAttributes(inference=engine, random_state=0).fit(truth.R)
    >>> model.posterior_.solution(0).labels.shape[1]
    20
    """

    data: AttributesData

    def __init__(self, draws: Draws, data: AttributesData) -> None:
        super().__init__(draws, data)
        sizes = draws["sizes"]
        groups = draws["groups"]
        held = groups.max(axis=1, initial=-1) + 1 - (draws["absent"] >= 0) if len(groups) else sizes
        if not np.array_equal(held, sizes) or self._weight_ends[-1] != len(draws["weights"]):
            raise ValueError("its attributes do not agree with their weights")

    @cached_property
    def _ends(self) -> IntArray:
        """Where the attributes of each draw end, one chain after the other."""
        return np.concatenate([[0], np.cumsum(self.draws["n_attributes"].reshape(-1))])

    @cached_property
    def _weight_ends(self) -> IntArray:
        """Where the weights of each attribute end."""
        return np.concatenate([[0], np.cumsum(self.draws["sizes"] ** 2)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.__dict__.get("draws", {}):
            raise AttributeError(f"this posterior has no {name!r}")
        return self.draws[name]

    def labels(self, number: int) -> IntArray:
        """Labels (attribute, object) of one draw, counted over all chains; known attributes come first."""
        first, last = self._ends[number], self._ends[number + 1]
        return decode(self.draws["groups"][first:last], self.draws["absent"][first:last])

    def solution(self, number: int) -> Solution:
        """One draw, counted over all chains."""
        first, last = int(self._ends[number]), int(self._ends[number + 1])
        weights = []
        for at in range(first, last):
            size = int(self.draws["sizes"][at])
            part = self.draws["weights"][self._weight_ends[at] : self._weight_ends[at + 1]]
            weights.append(part.astype(np.float64).reshape(size, size))
        numbers = [float(flat(self.draws, name)[number]) for name in ("bias", "noise")]
        return Solution(self.labels(number), weights, *numbers)

    def best(self) -> int:
        """The draw with the largest log joint, counted over all chains."""
        return int(np.argmax(self.log_joint))

    def aggregate(self, thresholds: str | tuple[float, float] = (0.5, 0.5), at_most: int = 200) -> Solution:
        """One solution as von Looz (2013, 4.3) has it: representatives of classes, averaged and collapsed.

        Parameters
        ----------
        thresholds : (float, float) or "calibrated"
            Share of draws in which an object must have an attribute, and in which two must be in one cluster of it; or
            those that give concentrations nearest to their posterior means.
        at_most : int
            Draws that are averaged.
        """
        from .aggregate.average import average, calibrated, collapse, common_form
        from .aggregate.classes import representative

        which = self.spaced(at_most)
        form = average(common_form(representative(self.solution(int(number)))) for number in which)
        if thresholds == "calibrated":
            names = ("concentration", "cluster_concentration")
            found = calibrated(form, *(float(self.draws[name].mean()) for name in names))
        elif isinstance(thresholds, str):
            raise ValueError(f"thresholds must be two shares or 'calibrated', got {thresholds!r}")
        else:
            found = collapse(form, *thresholds)
        return found._replace(bias=float(self.draws["bias"].mean()), noise=float(self.draws["noise"].mean()))

    def mean_sums(self, at_most: int = 200) -> FloatArray:
        """Posterior mean of what bias and attributes add up to for each pair."""
        which = self.spaced(at_most)
        return np.asarray(sum(self.solution(int(number)).sums() for number in which) / len(which))
