"""The two-parameter family: priors under which the weight of a new cluster does not depend on the number of rows.

They are the Gibbs-type priors with new weight = mass - offset * t (Pitman 2006, theorem 3.2): Pitman-Yor,
the Chinese restaurant and the finite symmetric Dirichlet. This file has what the three share.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Self

import numpy as np

from .numerics import counts as _counts
from .numerics.ratios import FloatArray, IntArray, log_gamma_ratio
from .verbs import Prior

# Priors whose distributions are computed together: more need more memory.
_TOGETHER = 4096


class TwoParameterPrior(Prior):
    """A prior defined by its concentration and by the weight of a new cluster given the number of clusters."""

    @abstractmethod
    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        """Weight of a new cluster for each number of existing clusters."""

    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        mass = self._require_number()
        counts = np.asarray(n_clusters)
        later = np.arange(1, max(int(counts.max(initial=1)), 1), dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._new_weights(later))
        # Extended precision where the machine has it: a long table adds up a million logs.
        log_products = np.cumsum(np.concatenate([[0.0, 0.0], log_weights]), dtype=np.longdouble)
        # V_n(0): the weight of a first cluster is the concentration. Pitman-Yor allows one that is not positive;
        # any number serves then, because the first row has no alternative.
        if mass > 0.0:
            log_products[0] = -math.log(mass)
        log_total = log_gamma_ratio(mass + 1.0, n_rows - 1.0) if n_rows > 0 else -np.log(mass)
        return np.asarray(log_products[counts] - log_total, dtype=np.float64)

    def _n_clusters_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        offsets = np.array([part.offset for part in parts])
        if len(parts) > 1 and np.ptp(offsets) == 0.0:
            # All concentrations share one set of Stirling numbers.
            return self._shared_offset_pmf(n, parts, weights)
        total = np.zeros(n + 1)
        for begin in range(0, len(parts), _TOGETHER):
            some = parts[begin : begin + _TOGETHER]
            pmf = _chain_pmf(n, some, self.max_clusters(n))
            total[: pmf.shape[1]] += weights[begin : begin + _TOGETHER] @ pmf
        return total

    def _shared_offset_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        log_weights = np.log(weights)[:, None]

        def log_v(counts: IntArray) -> FloatArray:
            logs = log_weights + np.array([part._log_v(n, counts) for part in parts])
            return np.asarray(np.logaddexp.reduce(logs, axis=0))

        return _counts.stirling_pmf(n, parts[0].offset, log_v, self.max_clusters(n))

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        @cache
        def weight(n_clusters: int) -> float:
            return float(self._new_weights(np.array([float(n_clusters)]))[0])

        return _counts.seat(n, self.offset, lambda _, n_clusters: weight(n_clusters), rng)


def _chain_pmf(n: int, parts: Sequence[TwoParameterPrior], max_clusters: int) -> FloatArray:
    """Distributions of the number of clusters of several fixed priors, one line each."""
    offsets = np.array([part.offset for part in parts])
    masses = np.array([part._require_number() for part in parts])

    def new_weights(counts: IntArray) -> FloatArray:
        return np.array([part._new_weights(counts.astype(np.float64)) for part in parts])

    return _counts.chain_pmf(n, offsets, masses, new_weights, max_clusters)
