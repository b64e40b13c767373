"""The dynamic mixture of finite mixtures: a random number K of components with weights of Dirichlet(c / K).

Reference: Fruehwirth-Schnatter, Malsiner-Walli & Gruen 2021, *Generalized mixtures of finite mixtures and telescoping
sampling*, Bayesian Analysis 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, logsumexp

from ._two_parameter import TwoParameterPrior
from .component_counts import BetaNegativeBinomialCount, ComponentCount, component_count
from .concentration import SizeCounts, check_count
from .crp import CRP
from .finite_dirichlet import FiniteDirichlet
from .hyperpriors import Hyperprior, is_number
from .names import register
from .numerics.component_sums import expected_occupied
from .numerics.ratios import FloatArray, IntArray, log_gamma_ratio

# Sums over K have every term up to this one at least.
_FEWEST_NODES = 128


@register("dynamic-mixture-of-finite")
@dataclass(frozen=True)
class DynamicMixtureOfFinite(TwoParameterPrior):
    r"""Number of components K from `n_components`, then weights from Dirichlet(c / K, ..., c / K) over them.

    .. math::

        p(\text{partition}) = \sum_K p(K) \frac{K!}{(K - t)!} \frac{\Gamma(c)}{\Gamma(c + n)}
        \prod_c \frac{\Gamma(n_c + c / K)}{\Gamma(c / K)}

    The sum is not of Gibbs type, because the Dirichlet parameter c / K depends on K. Given K it is, as
    ``FiniteDirichlet(K, c)``: so K is a learned number of the prior, drawn given the partition, as in the telescoping
    sampler of the reference. Draws have it as ``n_components``. With a large K the prior is that of few clusters among
    many components, where `MixtureOfFinite` fills nearly all of them.

    Parameters
    ----------
    concentration : float, Gamma or None
        The total c over all components, a positive number; or a `Gamma`, from which it is learned; None stands for
        ``Gamma(1, 1)``.
    n_components : int, str, distribution or log probabilities
        Distribution of K on 1, 2, ...: "geometric", "poisson" (shifted by 1), "uniform" or "beta-negative-binomial"
        (the default, BNB(1, 4, 3)); an object such as ``GeometricCount(0.1)``; log probabilities of 1, 2, ...; a
        function or a frozen distribution of scipy that gives them. A whole number fixes K.

    References
    ----------
    Fruehwirth-Schnatter, Malsiner-Walli & Gruen 2021, equations 2.3 and 3.1.

    Examples
    --------
    >>> from countless.priors import DynamicMixtureOfFinite, FiniteDirichlet
    >>> round(DynamicMixtureOfFinite(2.0, "uniform").expected_clusters(1), 9)
    1.0
    >>> same = DynamicMixtureOfFinite(2.0, 3).log_prob([0, 1, 1]), FiniteDirichlet(3, 2.0).log_prob([0, 1, 1])
    >>> abs(same[0] - same[1]) < 1e-12
    True
    """

    learned: ClassVar[tuple[str, ...]] = ("concentration", "n_components")

    concentration: float | Hyperprior | None = None
    n_components: Any = field(default_factory=BetaNegativeBinomialCount)

    def _checked(self, name: str, value: Any) -> Any:
        if name != "n_components":
            return super()._checked(name, value)
        if value is None or not is_number(value):
            return BetaNegativeBinomialCount() if value is None else component_count("n_components", value)
        return check_count("n_components", value)

    @property
    def offset(self) -> float:
        """The part of the concentration that belongs to one component; K is a number."""
        return self._require_number() / self._fixed_components()

    def max_clusters(self, n_rows: int) -> int:
        """The number of components or the largest possible one, or the number of rows if there are fewer."""
        law = self.n_components
        return min(law.last if isinstance(law, ComponentCount) else law, n_rows)

    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        return np.asarray(self.offset * np.maximum(self._fixed_components() - n_clusters, 0.0))

    def _fixed_components(self) -> int:
        if isinstance(self.n_components, ComponentCount):
            raise ValueError(
                f"n_components: a table needs a number, got {self.n_components!r}; use initial() or with_numbers"
            )
        return int(self.n_components)

    # -- sums over K ----------------------------------------------------------------------------------

    def _log_prob(self, sizes: SizeCounts) -> float:
        law = self.n_components
        if not isinstance(law, ComponentCount):
            return super()._log_prob(sizes)
        if sizes.n_rows == 0:
            return 0.0
        t = int(sizes.n_clusters[0])
        if t > law.last:
            return -math.inf
        # Beyond t^2 components the probability given K is nearly that of its limit, and smooth in 1 / K.
        k, weights = law.nodes(max(_FEWEST_NODES, 1 << (2 * t * t - 1).bit_length()))
        logs = self._log_prob_given(sizes, k[t - 1 :])
        return float(logsumexp(logs, b=weights[t - 1 :]))

    def _log_prob_given(self, sizes: SizeCounts, k: FloatArray) -> FloatArray:
        """Log probability of a partition given each number of components."""
        mass, t = self._require_number(), float(sizes.n_clusters[0])
        share = mass / k
        logs = log_gamma_ratio(k - t + 1.0, t) + t * np.log(share) - float(log_gamma_ratio(mass, float(sizes.n_rows)))
        for size, repeats in zip(sizes.distinct, sizes.repeats, strict=True):
            logs = logs + repeats * (gammaln(size + share) - gammaln(1.0 + share))
        return np.asarray(logs)

    def _expected_clusters(self, n: int) -> float:
        mass, law = self._require_number(), self.n_components
        if not isinstance(law, ComponentCount):
            return FiniteDirichlet(law, mass)._expected_clusters(n)
        # Beyond twice the number of clusters of its limit, CRP(c), the mean given K is smooth in 1 / K.
        k, weights = law.nodes(max(_FEWEST_NODES, 1 << math.ceil(2.0 * CRP(mass)._expected_clusters(n)).bit_length()))
        return float(weights @ expected_occupied(n, k, mass / k))

    def _n_clusters_pmf(self, n: int, parts: list[Self], weights: FloatArray) -> FloatArray:
        law = self.n_components
        if not isinstance(law, ComponentCount):
            return super()._n_clusters_pmf(n, parts, weights)
        total = np.zeros(n + 1)
        for k, probability in zip(*law.nodes(_FEWEST_NODES), strict=True):
            given = [FiniteDirichlet(int(k), part._require_number()) for part in parts]
            pmf = given[0]._n_clusters_pmf(n, given, weights)
            total[: pmf.size] += probability * pmf
        return np.maximum(total, 0.0)

    def _sample(self, n: int, rng: np.random.Generator) -> IntArray:
        fixed = self.draw_fixed(rng) if isinstance(self.n_components, ComponentCount) else self
        return TwoParameterPrior._sample(fixed, n, rng)
