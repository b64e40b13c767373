"""The Chinese restaurant process: the partition prior of the Dirichlet process.

References: Blackwell & MacQueen 1973; Pitman 2006, section 3.1; Escobar & West 1995 for the concentration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import as_generator
from ._two_parameter import TwoParameterPrior
from .concentration import SizeCounts
from .hyperpriors import Gamma, Hyperprior
from .names import register
from .numerics.ratios import FloatArray, digamma_difference, log_gamma_ratio


@register("crp")
@dataclass(frozen=True)
class CRP(TwoParameterPrior):
    r"""Chinese restaurant process: an existing cluster weighs its size, a new one the concentration.

    .. math:: p(\text{partition}) = \frac{\alpha^t \Gamma(\alpha)}{\Gamma(\alpha + n)} \prod_c \Gamma(n_c)

    Parameters
    ----------
    concentration : float, Gamma or None
        A positive number; or a `Gamma`, from which it is learned; None stands for ``Gamma(1/4, 1)``.

    References
    ----------
    Pitman 2006, *Combinatorial stochastic processes*, section 3.1.

    Examples
    --------
    >>> from countless.priors import CRP
    >>> round(CRP(1.0).expected_clusters(1000), 3)
    7.485
    """

    # One cluster has a probability of 0.64, 0.59 and 0.51 among 100, 1,000 and a million rows: about even odds that
    # there is nothing to find; where there is, the rows decide how much (docs/mathematics.md, 'The concentration').
    _default: ClassVar[Any] = Gamma(0.25, 1.0)

    concentration: float | Hyperprior | None = None

    @property
    def offset(self) -> float:
        """Zero: an existing cluster weighs its size."""
        return 0.0

    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        return np.full(n_clusters.shape, self._require_number())

    def log_v(self, n_rows: int, n_clusters: int) -> float:
        """log V_n(t) for one t, without a table."""
        concentration = self._require_number()
        return (n_clusters - 1) * math.log(concentration) - float(log_gamma_ratio(concentration + 1.0, n_rows - 1.0))

    def _expected_clusters(self, n: int) -> float:
        # Row i opens a cluster with probability a / (a + i), whatever the earlier rows did.
        concentration = self._require_number()
        return concentration * digamma_difference(concentration, n)

    def stick_shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """Each stick is Beta(1, concentration) (Sethuraman 1994)."""
        return np.ones(n_sticks), np.full(n_sticks, self._require_number())

    def truncation_formula(self, n_rows: int, n_sticks: int) -> float:
        """4 n exp(-(T - 1) / concentration) (Ishwaran & James 2001, section 3.2).

        An approximation of `truncation_bound` = 4 n (c / (1 + c))^(T - 1) for large concentrations c. It is always
        smaller: by a factor of 300 for c = 1 and T = 20.
        """
        return float(4.0 * n_rows * np.exp(-(n_sticks - 1.0) / self._require_number()))

    def draw_concentration(self, rng: Any, current: float, sizes: ArrayLike | SizeCounts) -> float:
        r"""Draw the concentration given the cluster sizes by Escobar & West's auxiliary variable.

        .. math::

            \eta \sim \text{Beta}(\alpha + 1, n), \qquad
            \alpha \mid \eta \sim \pi\, \text{Gamma}(a + t, b - \log\eta)
            + (1 - \pi)\, \text{Gamma}(a + t - 1, b - \log\eta), \qquad
            \frac{\pi}{1 - \pi} = \frac{a + t - 1}{n (b - \log\eta)}

        References
        ----------
        Escobar & West 1995, equations 13 and 14.
        """
        counts = SizeCounts.of(sizes)
        gamma = self._laws().get("concentration")
        if not isinstance(gamma, Gamma):  # fixed, or with a hyperprior that is not conjugate
            return super().draw_concentration(rng, current, sizes)
        generator = as_generator(rng)
        n = counts.n_rows
        if n == 0:
            return gamma.sample(generator)
        rate = gamma.rate - math.log(generator.beta(current + 1.0, n))
        shape = gamma.shape + int(counts.n_clusters[0])
        odds = (shape - 1.0) / (n * rate)
        if generator.random() * (1.0 + odds) >= odds:
            shape -= 1.0
        # A very small shape can underflow to zero, which is not a positive parameter.
        return max(float(generator.gamma(shape, 1.0 / rate)), float(np.finfo(np.float64).tiny))
