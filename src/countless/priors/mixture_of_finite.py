"""The mixture of finite mixtures: a symmetric Dirichlet mixture whose number of components is random.

Reference: Miller & Harrison 2018, *Mixture models with a prior on the number of components*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .component_counts import GeometricCount, component_count
from .finite_dirichlet import FiniteDirichlet
from .hyperpriors import Hyperprior
from .names import register
from .numerics.component_sums import expected_occupied, log_component_sums, log_direct_sums, mean_over_components
from .numerics.ratios import FloatArray, IntArray
from .verbs import Prior


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
    components : str, distribution or log probabilities
        Distribution of the number of components on 1, 2, ...: "geometric", "poisson" (shifted by 1), "uniform" or
        "beta-negative-binomial"; an object such as ``GeometricCount(0.1)``; log probabilities of 1, 2, ... components;
        a function or a frozen distribution of scipy that gives them.

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
    components: Any = field(default_factory=GeometricCount)

    _default: ClassVar[float | Hyperprior | None] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "components", component_count("components", self.components))

    @property
    def offset(self) -> float:
        """The Dirichlet parameter of each component."""
        return self._require_number()

    def max_clusters(self, n_rows: int) -> int:
        """The largest number of components, or of rows if there are fewer."""
        return n_rows if self.components.is_log_concave else min(self.components.last, n_rows)

    def _log_v(self, n_rows: int, n_clusters: IntArray) -> FloatArray:
        gamma = self._require_number()
        counts, where = np.unique(n_clusters, return_inverse=True)
        law, numbers = self.components, counts.astype(np.float64)
        if law.is_log_concave:
            sums = log_component_sums(n_rows, numbers, gamma, law.log_pmf)
        else:
            sums = log_direct_sums(n_rows, numbers, gamma, law)
        # Gamma(n_c + gamma) / Gamma(gamma) has one more factor gamma than the form of the table.
        return np.asarray((sums + counts * math.log(gamma))[where.ravel()])

    def _expected_clusters(self, n: int) -> float:
        gamma = self._require_number()
        return mean_over_components(self.components, n, lambda k: expected_occupied(n, k, gamma))

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        n_components = self.components.sample(rng)
        total = self._require_number() * n_components
        return FiniteDirichlet(n_components, total)._sample(n, rng)
