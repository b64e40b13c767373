"""The contract of a partition prior: what a prior defines, and what engines and users may ask of it.

All priors here are of Gibbs type (Gnedin & Pitman 2006, *Exchangeable Gibbs partitions and Stirling
triangles*). The docstring of `Prior` is the contract.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from ..core.random import as_generator
from .concentration import SizeCounts, check_count
from .learnable import Learnable
from .numerics import counts as _counts
from .numerics.integrated import MOST_NUMBERS, Integrated, grid_of
from .numerics.line import STEP, log_expectation
from .numerics.ratios import FloatArray, IntArray


class PartitionTable(NamedTuple):
    r"""A partition prior as engines see it: numbers, no names.

    .. math:: p(\text{partition}) = V_n(t) \prod_c \frac{\Gamma(n_c + o)}{\Gamma(1 + o)}

    so that an existing cluster of size m weighs ``m + offset`` and a new one, when there are t clusters,
    ``exp(log_v[t + 1] - log_v[t])``. The table belongs to one number of rows n, which counts the row being placed.

    Parameters
    ----------
    offset : float
        The number o, greater than -1.
    log_v : array of shape (max_clusters + 2,)
        log V_n(t) for t = 0 ... max_clusters + 1; minus infinity where t clusters are impossible.
    """

    offset: float
    log_v: FloatArray


class Prior(Learnable):
    r"""How rows fall into clusters before any data are seen.

    A prior is one file with a frozen dataclass under ``@register("name")``. It defines `offset` and `_log_v` of

    .. math:: p(\text{partition}) = V_n(t) \prod_{c=1}^{t} \frac{\Gamma(n_c + o)}{\Gamma(1 + o)}

    for n rows in t clusters of sizes n_c; everything else follows. `check_prior` verifies the result.

    Notes
    -----
    **What a prior must define**

    ``offset``
        The number o, greater than -1: a cluster of size m weighs m + o. A property, or a plain class attribute where
        it is constant.
    ``_log_v(n_rows, n_clusters)``
        Array of log V_n(t), one for each t of the integer array `n_clusters`, which may hold any numbers from 0 to
        ``max_clusters(n_rows) + 1`` in any order. Minus infinity where t clusters are impossible. Probabilities add up
        to one exactly if V_1(1) = 1 and V_n(t) = (n + o t) V_{n+1}(t) + V_{n+1}(t + 1).

        V_n(0) belongs to no partition, but engines divide by it: V_n(1) / V_n(0) is the weight of a new cluster when
        there is none. Its value does not matter, because the first row has no alternative; it must be **finite**, or
        the ratio is not a number. ``np.maximum(n_clusters, 1)`` in the formula is enough.

    **What it may define**

    ``learned``
        Name of the field that is learned, ``"concentration"`` by default, or a tuple of names where there are several,
        with independent hyperpriors. A field holds a number, a hyperprior (`Gamma`, or `Beta` for parameters below 1),
        or None for its default. Whatever its name, engines read the first as ``prior.concentration`` and set it with
        ``with_concentration``; a prior with another first field therefore cannot have a field called
        ``concentration`` as well. Draws have the others under their own names.
    ``_bounds``
        Open interval of valid numbers for the first learned field: positive numbers by default. The constructor checks
        it, in ``__post_init__``; a prior with a ``__post_init__`` of its own calls ``super().__post_init__()``.
    ``_default``
        What None stands for: `Gamma(1, 1)` or, for parameters below 1, `Beta(1, 1)`.
    ``_checked(name, value)``, ``_default_of(name)``
        The same for every learned field by name, where there are several; by default by ``_bounds`` and ``_default``.
    ``max_clusters(n_rows)``
        Largest number of clusters of n_rows rows, `n_rows` by default; less where the number of components is bounded.
    ``stick_shapes(n_sticks)``
        Two arrays a, b of shape (n_sticks,): the prior draws v_k ~ Beta(a_k, b_k) independently and gives component k
        the weight v_k (1 - v_1) ... (1 - v_{k-1}). Partitions of draws from these weights must have the probabilities
        above. A prior with at most K components returns min(n_sticks, K) sticks, with b_K = 0. Only blocked Gibbs
        sampling and variational inference need it; without it they refuse the prior.
    ``_expected_clusters(n)``, ``_sample(n, rng)``
        Faster forms of what follows from V_n(t) for a fixed learned parameter.

    In `offset`, `_log_v` and `stick_shapes` the learned fields are numbers; ``self._require_number()`` returns the
    first, ``self._require_number(name)`` any.
    """

    # -- what a prior must define ---------------------------------------------------------------------

    @property
    @abstractmethod
    def offset(self) -> float:
        """What is added to the size of a cluster in its weight; needs a numeric learned parameter."""

    @abstractmethod
    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        """log V_n(t) for each t of `n_clusters`; needs a numeric learned parameter."""

    # -- what a prior may define ----------------------------------------------------------------------

    def max_clusters(self, n_rows: int) -> int:
        """Largest number of clusters that can occur among n_rows rows."""
        return n_rows

    @property
    def has_sticks(self) -> bool:
        """Whether the prior has a stick-breaking form."""
        return type(self).stick_shapes is not Prior.stick_shapes

    def stick_shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """The two parameters of the beta distribution of each stick, for engines that keep explicit weights.

        The last stick of a truncated set takes what is left. Given cluster sizes, add the size of cluster
        k to the first and the sizes of all later clusters to the second.
        """
        raise ValueError(
            f"prior: {type(self).__name__} has no stick-breaking form; choose CRP, PitmanYor or FiniteDirichlet, "
            "or an inference that needs none"
        )

    def _expected_clusters(self, n: int) -> float:
        pmf = self._n_clusters_pmf(n, [self], np.ones(1))
        return float(np.arange(pmf.size) @ pmf)

    def _n_clusters_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        """Distribution of the number of clusters under a mixture of priors whose learned parameter is fixed."""
        total = np.zeros(1)
        for part, weight in zip(parts, weights, strict=True):
            offset = part.offset

            def log_v(n_clusters: IntArray, part: Self = part) -> FloatArray:
                return part._checked_log_v(n, n_clusters)

            pmf = weight * _counts.stirling_pmf(n, offset, log_v, part.max_clusters(n))
            longer, shorter = (pmf, total) if pmf.size > total.size else (total, pmf)
            longer[: shorter.size] += shorter
            total = longer
        return total

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        def new_weight(n_seated: int, n_clusters: int) -> float:
            log_v = self._checked_log_v(n_seated + 1, np.array([n_clusters, n_clusters + 1]))
            return math.exp(log_v[1] - log_v[0])

        return _counts.seat(n, self.offset, new_weight, rng)

    # -- answers for engines and users ----------------------------------------------------------------

    def table(self, n_rows: int, max_clusters: int) -> PartitionTable:
        """Offset and log V_n(t), t = 0 ... max_clusters + 1, for engines; needs a numeric learned parameter."""
        self._require_number()
        log_v = self._checked_log_v(n_rows, np.arange(max_clusters + 2, dtype=np.int64))
        if not np.isfinite(log_v[0]):
            raise ValueError(
                f"prior: _log_v of {type(self).__name__} returned {log_v[0]} for 0 clusters; return any finite number, "
                "because engines divide by V_n(0)"
            )
        return PartitionTable(float(self.offset), np.ascontiguousarray(log_v, dtype=np.float64))

    def log_v(self, n_rows: int, n_clusters: int) -> float:
        """log V_n(t) for one t; needs a numeric learned parameter."""
        return float(self._checked_log_v(n_rows, np.array([n_clusters]))[0])

    def integrated(self, n_rows: int, max_clusters: int) -> Integrated | None:
        """The table with the learned number integrated out; None where that gives no prior of Gibbs type.

        Moves that use it need no concentration, which would hold the number of clusters back: each tells the other to
        stay where it is.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.priors import CRP, Gamma
        >>> prior = CRP(Gamma(2.0, 1.0))
        >>> bool(np.isclose(prior.integrated(3, 3).log_v[2], prior.log_prob([0, 0, 1])))  # V is all that varies
        True
        """
        ready = self.resolve(n_rows)
        laws = ready._hyperpriors()
        if len(ready._laws()) != 1 or len(laws) != 1:
            return None
        ((name, law),) = laws.items()
        points = grid_of(law)
        # A law with a noticeable part next to zero has no grid.
        if len(points) * max_clusters > MOST_NUMBERS or law.cdf(law.from_line(float(points[0]))) > 1e-12:
            return None
        offsets = {ready._with_law(name, law.from_line(float(point))).offset for point in points}
        return Integrated(ready, name, law, n_rows, max_clusters) if len(offsets) == 1 else None

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

        Learned numbers are integrated over their hyperpriors by quadrature.
        """
        counts = SizeCounts.of(sizes)
        ready = self.resolve(counts.n_rows)
        laws = ready._hyperpriors()
        if not laws:
            return ready._log_prob(counts)

        def log_prob(*values: float) -> float:
            return ready._replace(dict(zip(laws, values, strict=True)))._log_prob(counts)

        return log_expectation(log_prob, list(laws.values()))

    def log_prob_components(self, counts: ArrayLike) -> float:
        r"""Log probability of labels whose T components, in the order of truncated sticks, have these counts.

        .. math::

            p(z) = \prod_{k<T} \frac{B(a_k + n_k, b_k + n_{>k})}{B(a_k, b_k)}

        with the shapes (a_k, b_k) of `stick_shapes`, n_k the count of component k and n_{>k} those of all later
        ones; the last stick takes what is left. Needs a numeric learned parameter.

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
        """Bound 4 n E[what the first T - 1 sticks leave] on the error of truncation at T = n_sticks sticks.

        It bounds the L1 distance between the distributions of n rows under the prior and under its truncation: the two
        differ only where a row falls beyond the first T - 1 sticks. Needs a numeric learned parameter.

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
        """The bound in the form that the literature gives for this prior; by default `truncation_bound`."""
        return self.truncation_bound(n_rows, n_sticks)

    def sample(self, n: int, rng: Any = None) -> IntArray:
        """Draw a partition of n rows as labels numbered by first appearance.

        Learned numbers are drawn from their hyperpriors first.

        Examples
        --------
        >>> from countless.priors import CRP
        >>> CRP(1.0).sample(6, rng=0).shape
        (6,)
        """
        n = check_count("n", n, at_least=0)
        generator = as_generator(rng)
        return self.draw_fixed(generator)._sample(n, generator)

    def draw_fixed(self, rng: Any = None) -> Self:
        """The prior with every learned number drawn from its hyperprior."""
        generator = as_generator(rng)
        ready = self.resolve(1)
        return ready._replace({name: law.sample(generator) for name, law in ready._laws().items()})

    def expected_clusters(self, n: int) -> float:
        """Expected number of clusters among n rows; a learned parameter is integrated out.

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
        """The prior as a mixture of priors whose learned real numbers are fixed."""
        return self.resolve(n).nodes(n, STEP, 1e-14)

    def nodes(self, n: int, step: float, tail: float) -> tuple[list[Self], FloatArray]:
        """Fixed priors and weights whose mixture stands for the prior, for expectations over partitions of n rows.

        One learned real number has the nodes of its hyperprior's quadrature; several have the product of their grids,
        of `step` and `tail` as in `Hyperprior.grid`.
        """
        laws = self._hyperpriors()
        if len(laws) == 1:
            (name, law), *_ = laws.items()
            nodes, weights = law.quadrature(n)
            return [self._replace({name: float(node)}) for node in nodes], weights
        grids = [law.grid(step, tail) for law in laws.values()]
        parts, masses = [], []
        for chosen in product(*(zip(*grid, strict=True) for grid in grids)):
            mass = math.prod(float(weight) for _, weight in chosen)
            if mass > 1e-4 * tail:
                parts.append(self._replace({name: float(value) for name, (value, _) in zip(laws, chosen, strict=True)}))
                masses.append(mass)
        weights = np.array(masses)
        return parts, weights / weights.sum()

    def _checked_log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        log_v = np.asarray(self._log_v(n_rows, n_clusters))
        if log_v.shape != n_clusters.shape or np.isnan(log_v).any():
            wrong = f"shape {log_v.shape}" if log_v.shape != n_clusters.shape else "NaN among them"
            raise ValueError(
                f"prior: _log_v of {type(self).__name__} must return one log V_n(t) for each of {n_clusters.size} "
                f"numbers of clusters, got {wrong}"
            )
        return log_v

    def _log_prob(self, sizes: SizeCounts) -> float:
        if sizes.n_rows == 0:
            return 0.0
        offset = self.offset
        log_v = self._checked_log_v(sizes.n_rows, sizes.n_clusters)[0]
        log_clusters = gammaln(sizes.distinct + offset) - math.lgamma(1.0 + offset)
        return float(log_v + sizes.repeats @ log_clusters)
