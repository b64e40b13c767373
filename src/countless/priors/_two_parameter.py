"""Priors whose weight of a new cluster does not depend on the number of rows: the two-parameter family.

They are the Gibbs-type priors with new weight = mass - offset * t (Pitman 2006, theorem 3.2): Pitman-Yor,
the Chinese restaurant and the finite symmetric Dirichlet. What the three share is here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cache
from typing import Self

import numpy as np

from . import _counts
from ._math import FloatArray, IntArray, log_gamma_ratio
from .verbs import Prior


class TwoParameterPrior(Prior):
    """A prior that is known from its concentration and the weight of a new cluster given their number."""

    @abstractmethod
    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        """Weight of a new cluster when there are already so many."""

    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        mass = self._require_number()
        counts = np.asarray(n_clusters)
        later = np.arange(1, max(int(counts.max(initial=1)), 1), dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._new_weights(later))
        # Extended precision where there is one: a long table adds up a million logs.
        log_products = np.cumsum(np.concatenate([[0.0, 0.0], log_weights]), dtype=np.longdouble)
        # The first row opens a cluster for certain; a concentration that is not positive has no weight to
        # say so (Pitman-Yor allows one), and then any number will do.
        if mass > 0.0:
            log_products[0] = -math.log(mass)
        log_total = log_gamma_ratio(mass + 1.0, n_rows - 1.0) if n_rows > 0 else -np.log(mass)
        return np.asarray(log_products[counts] - log_total, dtype=np.float64)

    def _n_clusters_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        offsets = np.array([part.offset for part in parts])
        if len(parts) > 1 and np.ptp(offsets) == 0.0:
            # One set of Stirling numbers serves every concentration.
            return self._shared_offset_pmf(n, parts, weights)
        masses = np.array([part._require_number() for part in parts])

        def new_weights(counts: IntArray) -> FloatArray:
            return np.array([part._new_weights(counts.astype(np.float64)) for part in parts])

        return np.asarray(weights @ _counts.chain_pmf(n, offsets, masses, new_weights, self.max_clusters(n)))

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
