"""The contract of a partition prior: what engines and users may ask.

All priors here are of Gibbs type (Gnedin & Pitman 2006, *Exchangeable Gibbs partitions and Stirling
triangles*). A new prior is one file that defines `offset` and `_log_v` and registers its name.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from ..core.random import as_generator
from . import _counts
from ._math import FloatArray, IntArray
from .concentration import Gamma, SizeCounts, check_count, log_expectation, mode_of_log, slice_step, solve_for_clusters

__all__ = ["PartitionTable", "Prior"]


class PartitionTable(NamedTuple):
    r"""A partition prior as engines see it: numbers, no names.

    .. math:: p(\text{partition}) = V_n(t) \prod_c \frac{\Gamma(n_c + o)}{\Gamma(1 + o)}

    so that an existing cluster of size m weighs ``m + offset`` and a new one, when there are t clusters,
    ``exp(log_v[t + 1] - log_v[t])``. The table belongs to one number of rows n, the row in hand included.

    Parameters
    ----------
    offset : float
        The number o, greater than -1.
    log_v : array of shape (max_clusters + 2,)
        log V_n(t) for t = 0 ... max_clusters + 1; minus infinity where t clusters are impossible.
    """

    offset: float
    log_v: FloatArray


class Prior(ABC):
    """How rows fall into clusters before any data are seen.

    Subclasses are frozen dataclasses with a field `concentration`: a number, a `Gamma` (then it is
    learned), or None for the default. They define `offset` and `_log_v`; everything else follows.
    """

    concentration: float | Gamma | None

    # Gamma(1, 1): one decade either side of 1 is likely, so that data of any size decide; mean 1 keeps the
    # prior count of clusters near log(n). A fixed value would decide the number of clusters by itself.
    _default_concentration: ClassVar[float | Gamma] = Gamma(1.0, 1.0)

    # -- what a prior must define ---------------------------------------------------------------------

    @property
    @abstractmethod
    def offset(self) -> float:
        """What is added to the size of a cluster in its weight; needs a numeric concentration."""

    @abstractmethod
    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        """log V_n(t) for each t of `n_clusters`; needs a numeric concentration."""

    # -- what a prior may define better ---------------------------------------------------------------

    def max_clusters(self, n_rows: int) -> int:
        """Largest number of clusters that can occur among n_rows rows."""
        return n_rows

    @property
    def has_sticks(self) -> bool:
        """Whether the prior has a stick-breaking form."""
        return type(self).stick_shapes is not Prior.stick_shapes

    def stick_shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """The two parameters of the beta law of each stick, for engines that keep explicit weights.

        The last stick of a truncated set takes what is left. Given cluster sizes, add the size of cluster
        k to the first and the sizes of all later clusters to the second.
        """
        raise ValueError(
            f"prior: {type(self).__name__} has no stick-breaking form; choose CRP, PitmanYor or FiniteDirichlet, "
            "or an inference that needs none"
        )

    def _expected_clusters(self, n: int) -> float:
        law = self._n_clusters_pmf(n, [self], np.ones(1))
        return float(np.arange(law.size) @ law)

    def _n_clusters_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        """Law of the count under a mixture of fixed priors."""
        total = np.zeros(1)
        for part, weight in zip(parts, weights, strict=True):
            offset = part.offset

            def log_v(n_clusters: IntArray, part: Self = part) -> FloatArray:
                return part._log_v(n, n_clusters)

            law = weight * _counts.stirling_pmf(n, offset, log_v, part.max_clusters(n))
            longer, shorter = (law, total) if law.size > total.size else (total, law)
            longer[: shorter.size] += shorter
            total = longer
        return total

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        def new_weight(n_seated: int, n_clusters: int) -> float:
            log_v = self._log_v(n_seated + 1, np.array([n_clusters, n_clusters + 1]))
            return math.exp(log_v[1] - log_v[0])

        return _counts.seat(n, self.offset, new_weight, rng)

    def _lowest_concentration(self) -> float:
        return 0.0

    # -- the concentration ----------------------------------------------------------------------------

    def resolve(self, n_rows: int) -> Self:
        """Return the prior with a concentration of None replaced by the default.

        The default is Gamma(1, 1), learned, unless the class says otherwise: the number of clusters
        depends strongly on the concentration, so that it should not be guessed.
        """
        return self if self.concentration is not None else self._replace(self._default_concentration)

    @property
    def is_learned(self) -> bool:
        """Whether the concentration has a gamma law and is inferred with the partition."""
        return isinstance(self.resolve(1).concentration, Gamma)

    def with_concentration(self, value: float) -> Self:
        """Return the same prior with a fixed concentration."""
        return self._replace(float(value))

    def initial(self) -> Self:
        """Return the prior with a learned concentration set to its prior mean: where a chain starts."""
        gamma = self.resolve(1).concentration
        return self._replace(gamma.mean if isinstance(gamma, Gamma) else gamma)

    def log_concentration_prior(self, value: float) -> float:
        """Log density of the *log* concentration at `value`; zero if it is fixed.

        With respect to the log, so that log p(partition | c) + log_concentration_prior(c) is the
        objective whose mode `mode_concentration` returns: a MAP engine that adds this term never sees its
        objective fall.
        """
        gamma = self.resolve(1).concentration
        return gamma.log_density_of_log(value) if isinstance(gamma, Gamma) else 0.0

    def draw_concentration(self, rng: Any, current: float, sizes: ArrayLike) -> float:
        """Draw from a transition that leaves p(concentration | cluster sizes) invariant.

        A slice-sampling step on the log of the concentration (Neal 2003). `sizes` are the cluster sizes;
        zeros are ignored. A fixed concentration is returned as it is.
        """
        if not self.is_learned:
            return float(current)
        log_target = self._log_posterior(sizes)
        return math.exp(slice_step(log_target, math.log(current), as_generator(rng)))

    def draw_concentration_of_components(self, rng: Any, current: float, counts: ArrayLike) -> float:
        """Draw from a transition that leaves p(concentration | labels of truncated sticks) invariant.

        `counts` are the numbers of rows of all components in the order of the sticks, zeros included. The sticks are
        integrated out (`log_prob_components`), so that this is right for the truncated prior, where the law of the
        cluster sizes is not that of `draw_concentration`, and for every prior with sticks.
        """
        if not self.is_learned:
            return float(current)
        rows = np.asarray(counts)

        def log_target(log_value: float) -> float:
            value = math.exp(log_value)
            if value == 0.0:
                return -math.inf
            return self.with_concentration(value).log_prob_components(rows) + self.log_concentration_prior(value)

        return math.exp(slice_step(log_target, math.log(current), as_generator(rng)))

    def mode_concentration(self, sizes: ArrayLike) -> float:
        """Mode of p(log concentration | cluster sizes), as in Raykov et al. 2016, app. A.

        The mode of the *log* is also where a gradient step in log space stops; it exceeds the mode in
        the concentration itself. A fixed concentration is returned as it is.
        """
        gamma = self.resolve(1).concentration
        if not isinstance(gamma, Gamma):
            return float(gamma)  # type: ignore[arg-type]
        return math.exp(mode_of_log(self._log_posterior(sizes), gamma))

    @classmethod
    def expecting(cls, n_clusters: float, n_rows: int, **others: Any) -> Self:
        """Build the prior whose expected number of clusters among n_rows rows is n_clusters.

        Parameters
        ----------
        n_clusters : float
            Expected number of clusters; it need not be whole.
        n_rows : int
            Number of rows.
        **others
            The other fields of the class, e.g. ``discount=0.5``.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> round(CRP.expecting(5, 100).expected_clusters(100), 6)
        5.0
        """
        n = check_count("n_rows", n_rows)
        make: Callable[..., Self] = cls
        lowest = make(**others)._lowest_concentration()
        value = solve_for_clusters(
            lambda distance: make(concentration=lowest + distance, **others).expected_clusters(n),
            float(n_clusters),
            f"{n} rows under {cls.__name__}",
        )
        return make(concentration=lowest + value, **others)

    # -- answers for engines and users ----------------------------------------------------------------

    def table(self, n_rows: int, max_clusters: int) -> PartitionTable:
        """Offset and log V_n(t), t = 0 ... max_clusters + 1, for engines; needs a numeric concentration."""
        self._require_number()
        log_v = self._log_v(n_rows, np.arange(max_clusters + 2, dtype=np.int64))
        return PartitionTable(float(self.offset), np.ascontiguousarray(log_v, dtype=np.float64))

    def log_prob(self, labels: ArrayLike) -> float:
        """Log prior probability of the partition that `labels` describe; the names of labels do not matter.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> round(CRP(1.0).log_prob([0, 0, 1]), 6)   # log(1/2 * 1/3)
        -1.791759
        """
        values = np.asarray(labels)
        if values.ndim != 1:
            raise ValueError(f"labels must be one-dimensional, got an array of shape {values.shape}")
        return self.log_prob_sizes(np.unique(values, return_counts=True)[1])

    def log_prob_sizes(self, sizes: ArrayLike) -> float:
        """Log prior probability of any one partition with these cluster sizes; zeros are ignored.

        A learned concentration is integrated over its gamma law by quadrature in log space.
        """
        counts = SizeCounts.of(sizes)
        ready = self.resolve(counts.n_rows)
        if isinstance(ready.concentration, Gamma):
            return log_expectation(lambda value: ready.with_concentration(value)._log_prob(counts), ready.concentration)
        return ready._log_prob(counts)

    def log_prob_components(self, counts: ArrayLike) -> float:
        r"""Log probability of labels whose T components, in the order of truncated sticks, have these counts.

        .. math::

            p(z) = \prod_{k<T} \frac{B(a_k + n_k, b_k + n_{>k})}{B(a_k, b_k)}

        with the shapes (a_k, b_k) of `stick_shapes`, n_k the count of component k and n_{>k} those of all later
        ones; the last stick takes what is left. Needs a numeric concentration.

        References
        ----------
        Ishwaran & James 2001, *Gibbs sampling methods for stick-breaking priors*, section 5.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> round(CRP(1.0).log_prob_components([2, 0]), 6)  # E[v^2] = 1/3
        -1.098612
        """
        rows = np.asarray(counts, dtype=np.float64)
        a, b = self.stick_shapes(rows.size)
        if rows[a.size :].any():  # more components than the prior has sticks
            return -math.inf
        a, b, here = a[:-1], b[:-1], rows[: a.size - 1]
        later = rows.sum() - np.cumsum(here)
        return float(np.sum(betaln(a + here, b + later) - betaln(a, b)))

    def truncation_bound(self, n_rows: int, n_sticks: int) -> float:
        """Bound 4 n E[what the first T - 1 sticks leave] on what truncation at T = n_sticks sticks can change.

        It bounds the distance (integral of absolute differences) between the laws of n rows under the prior and
        under its truncation: rows differ only where one of them falls beyond the first T - 1 sticks. Needs a numeric
        concentration.

        References
        ----------
        Ishwaran & James 2001, theorem 2, with 1 - (1 - r)^n <= n r.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> CRP(1.0).truncation_bound(1000, 31) == 4 * 1000 * 0.5**30
        True
        """
        a, b = self.stick_shapes(n_sticks)
        if a.size < n_sticks or (b.size and b[-1] == 0.0):
            return 0.0  # all the sticks that there are
        return float(4.0 * n_rows * np.prod(b[:-1] / (a[:-1] + b[:-1])))

    def truncation_formula(self, n_rows: int, n_sticks: int) -> float:
        """The bound as the literature writes it for the prior; by default `truncation_bound`."""
        return self.truncation_bound(n_rows, n_sticks)

    def sample(self, n: int, rng: Any = None) -> IntArray:
        """Draw a partition of n rows as labels numbered by first appearance.

        A learned concentration is drawn first.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> CRP(1.0).sample(6, rng=0).shape
        (6,)
        """
        n = check_count("n", n, at_least=0)
        generator = as_generator(rng)
        ready = self.resolve(n)
        if isinstance(ready.concentration, Gamma):
            ready = ready.with_concentration(ready.concentration.sample(generator))
        return ready._sample(n, generator)

    def expected_clusters(self, n: int) -> float:
        """Expected number of clusters among n rows; a learned concentration is integrated out.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> CRP(1.0).expected_clusters(2)
        1.5
        """
        n = check_count("n", n, at_least=0)
        if n == 0:
            return 0.0
        parts, weights = self._parts(n)
        return float(weights @ [part._expected_clusters(n) for part in parts])

    def n_clusters_pmf(self, n: int) -> FloatArray:
        """Probability of t clusters among n rows, for t = 0 ... t_max.

        The array ends at t_max, beyond which the total probability is below 1e-12.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> CRP(1.0).n_clusters_pmf(2)
        array([0. , 0.5, 0.5])
        """
        n = check_count("n", n, at_least=0)
        return _counts.trim(self._n_clusters_pmf(n, *self._parts(n))) if n > 0 else np.ones(1)

    # -- shared steps ---------------------------------------------------------------------------------

    def _parts(self, n: int) -> tuple[list[Self], FloatArray]:
        """The prior as a mixture of priors with a fixed concentration."""
        ready = self.resolve(n)
        if not isinstance(ready.concentration, Gamma):
            return [ready], np.ones(1)
        nodes, weights = ready.concentration.quadrature(n)
        return [ready.with_concentration(float(node)) for node in nodes], weights

    def _log_prob(self, sizes: SizeCounts) -> float:
        if sizes.n_rows == 0:
            return 0.0
        offset = self.offset
        log_v = self._log_v(sizes.n_rows, sizes.n_clusters)[0]
        log_clusters = gammaln(sizes.distinct + offset) - math.lgamma(1.0 + offset)
        return float(log_v + sizes.repeats @ log_clusters)

    def _log_posterior(self, sizes: ArrayLike) -> Callable[[float], float]:
        """Log density, up to a constant, of the log concentration given the cluster sizes."""
        counts = SizeCounts.of(sizes)

        def log_target(log_value: float) -> float:
            value = math.exp(log_value)
            if value == 0.0:  # below the smallest double, where a gamma law of tiny shape may lead
                return -math.inf
            return self.with_concentration(value)._log_prob(counts) + self.log_concentration_prior(value)

        return log_target

    def _require_number(self) -> float:
        if not isinstance(self.concentration, float):
            raise ValueError(
                f"concentration: a table needs a number, got {self.concentration!r}; "
                "use initial() or with_concentration(value)"
            )
        return self.concentration

    def _replace(self, concentration: float | Gamma | None) -> Self:
        return dataclasses.replace(self, concentration=concentration)  # type: ignore[type-var]
