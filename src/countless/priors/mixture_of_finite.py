"""The mixture of finite mixtures: a symmetric Dirichlet mixture whose number of components is random.

Reference: Miller & Harrison 2018, *Mixture models with a prior on the number of components*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ._component_sums import log_component_sums
from ._math import FloatArray, IntArray, log_gamma_ratio
from .finite_dirichlet import FiniteDirichlet
from .hyperpriors import Hyperprior, is_number
from .names import register
from .verbs import Prior


class ComponentCount(Protocol):
    """A distribution of the number of components, on 1, 2, ...; its probabilities must be log-concave."""

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a number of components."""


@dataclass(frozen=True)
class GeometricCount:
    r"""Geometric distribution of the number of components, :math:`p(k) = s (1 - s)^{k-1}`, k = 1, 2, ...

    Parameters
    ----------
    success : float
        Between 0 and 1; the mean is 1 / success.

    Examples
    --------
    >>> from countless.priors import GeometricCount
    >>> round(float(GeometricCount(0.5).log_pmf(1)), 6)
    -0.693147
    """

    success: float = 0.1

    def __post_init__(self) -> None:
        if not is_number(self.success) or not 0.0 < self.success < 1.0:
            raise ValueError(f"success must be a number between 0 and 1, got {self.success!r}")

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        logs = math.log(self.success) + (count - 1.0) * math.log1p(-self.success)
        return np.where(count >= 1.0, logs, -np.inf)

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a number of components."""
        return int(rng.geometric(self.success))


@dataclass(frozen=True)
class PoissonCount:
    r"""Shifted Poisson distribution of the number of components, :math:`k - 1 \sim \text{Poisson}(\text{rate})`.

    Parameters
    ----------
    rate : float
        Positive; the mean is 1 + rate.

    Examples
    --------
    >>> from countless.priors import PoissonCount
    >>> float(PoissonCount(2.0).log_pmf(1))
    -2.0
    """

    rate: float = 9.0

    def __post_init__(self) -> None:
        if not is_number(self.rate) or not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate must be a positive finite number, got {self.rate!r}")

    def log_pmf(self, k: ArrayLike) -> FloatArray:
        """Log probability of k components."""
        count = np.asarray(k, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            logs = (count - 1.0) * math.log(self.rate) - self.rate - gammaln(count)
        return np.where(count >= 1.0, logs, -np.inf)

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a number of components."""
        return 1 + int(rng.poisson(self.rate))


@register("mixture-of-finite")
@dataclass(frozen=True)
class MixtureOfFinite(Prior):
    r"""Number of components K from `components`, then weights from Dirichlet(gamma, ..., gamma) over them.

    .. math::

        p(\text{partition}) = V_n(t) \prod_c \frac{\Gamma(n_c + \gamma)}{\Gamma(\gamma)}, \qquad
        V_n(t) = \sum_k \frac{k_{(t)}}{(\gamma k)^{(n)}} p_K(k)

    with :math:`x_{(m)} = x (x-1) \cdots (x-m+1)` and :math:`x^{(m)} = x (x+1) \cdots (x+m-1)`.

    Unlike under the Chinese restaurant process, the posterior number of clusters converges to the true number of
    components as rows are added, if there are finitely many and the family is right.

    Parameters
    ----------
    concentration : float, Gamma or None
        The Dirichlet parameter gamma *of each component* (not the total). The default, also for None, is 1, fixed,
        as in the paper; with a `Gamma` it is learned. Then `n_clusters_pmf` computes a few hundred distributions and
        takes minutes beyond some 10,000 rows.
    components : GeometricCount or PoissonCount
        Distribution of the number of components: any object with `log_pmf` and `sample` whose probabilities are
        log-concave.

    References
    ----------
    Miller & Harrison 2018, equations 3.1 to 3.3.

    Examples
    --------
    >>> from countless.priors import GeometricCount, MixtureOfFinite
    >>> prior = MixtureOfFinite(1.0, components=GeometricCount(0.5))
    >>> round(prior.expected_clusters(1000), 2)
    2.0
    """

    concentration: float | Hyperprior | None = 1.0
    components: ComponentCount = GeometricCount(0.1)

    _default: ClassVar[float | Hyperprior | None] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (hasattr(self.components, "log_pmf") and hasattr(self.components, "sample")):
            raise ValueError(
                f"components must be GeometricCount(success), PoissonCount(rate) or an object with log_pmf "
                f"and sample, got {self.components!r}"
            )

    @property
    def offset(self) -> float:
        """The Dirichlet parameter of each component."""
        return self._require_number()

    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        gamma = self._require_number()
        counts, where = np.unique(n_clusters, return_inverse=True)
        sums = log_component_sums(n_rows, counts.astype(np.float64), gamma, self.components.log_pmf)
        # Gamma(n_c + gamma) / Gamma(gamma) has one more factor gamma than the form of the table.
        return np.asarray((sums + counts * math.log(gamma))[where.ravel()])

    def _expected_clusters(self, n: int) -> float:
        # Given k components, each is empty with a probability that is a ratio of gamma functions; then the mean over k.
        gamma = self._require_number()
        expected, start, size = 0.0, 1, 1024
        while True:
            k = np.arange(start, start + size, dtype=np.float64)
            share = np.exp(self.components.log_pmf(k))
            others = gamma * np.maximum(k - 1.0, 0.5)
            log_empty = log_gamma_ratio(others, gamma) - log_gamma_ratio(others + n, gamma)
            occupied = np.where(k == 1.0, 1.0, -k * np.expm1(log_empty))
            expected += float(share @ occupied)
            # Log-concave: from here the probabilities fall at least as fast as the last two.
            ratio = share[-1] / share[-2] if share[-2] > 0.0 else 0.0
            if ratio < 1.0 and min(n, k[-1]) * share[-1] / (1.0 - ratio) ** 2 < 1e-16 and share.sum() < 0.5:
                return expected
            start, size = start + size, min(2 * size, 1 << 20)

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        n_components = self.components.sample(rng)
        total = self._require_number() * n_components
        return FiniteDirichlet(n_components, total)._sample(n, rng)
