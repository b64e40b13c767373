"""The finite symmetric Dirichlet prior: a given number of components, some of which may be empty.

References: Pletscher 2007, section 2.6.4; Green & Richardson 2001; Ishwaran & Zarepour 2002 for the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._two_parameter import TwoParameterPrior
from .concentration import check_count
from .hyperpriors import Hyperprior
from .names import register
from .numerics.ratios import FloatArray, log_gamma_ratio


@register("finite-dirichlet")
@dataclass(frozen=True)
class FiniteDirichlet(TwoParameterPrior):
    r"""Weights from Dirichlet(concentration / K, ..., concentration / K) over K = n_components components.

    .. math::

        p(\text{partition}) = \frac{K!}{(K - t)!} \frac{\Gamma(\alpha)}{\Gamma(\alpha + n)}
        \prod_c \frac{\Gamma(n_c + \alpha / K)}{\Gamma(\alpha / K)}

    The concentration is the total over the components, so that the limit of large K is ``CRP(concentration)``.
    Clusters are the components that have rows; there may be fewer than K.

    Parameters
    ----------
    n_components : int
        Number of components, at least 1. The default, 10, is an upper limit for a first look at the data, not
        a guess at the number of clusters.
    concentration : float, Gamma or None
        The total, a positive number; or a `Gamma`, from which it is learned; None stands for ``Gamma(1, 1)``.

    References
    ----------
    Pletscher 2007, section 2.6.4; Green & Richardson 2001.

    Examples
    --------
    >>> from countless.priors import FiniteDirichlet
    >>> FiniteDirichlet(2, concentration=2.0).n_clusters_pmf(2).round(4)
    array([0.    , 0.6667, 0.3333])
    """

    n_components: int = 10
    concentration: float | Hyperprior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_components", check_count("n_components", self.n_components))
        super().__post_init__()

    @property
    def offset(self) -> float:
        """The part of the concentration that belongs to one component, concentration / n_components."""
        return self._require_number() / self.n_components

    def max_clusters(self, n_rows: int) -> int:
        """The number of components, or of rows if there are fewer."""
        return min(self.n_components, n_rows)

    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        return np.asarray(self.offset * np.maximum(self.n_components - n_clusters, 0.0))

    def _expected_clusters(self, n: int) -> float:
        if self.n_components == 1:
            return 1.0
        share, others = self.offset, self._require_number() * (1.0 - 1.0 / self.n_components)
        log_empty = log_gamma_ratio(others, share) - log_gamma_ratio(others + n, share)
        return float(-self.n_components * np.expm1(log_empty))

    def stick_shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """Stick k = 1, 2, ... is Beta(a, a (K - k)), a = concentration / K; at most K sticks are returned.

        The components have no special order: these sticks are exactly the symmetric Dirichlet distribution.
        """
        k = np.arange(1.0, min(n_sticks, self.n_components) + 1.0)
        return np.full(k.size, self.offset), self.offset * (self.n_components - k)
