"""The Pitman-Yor process: the number of clusters grows as a power of the number of rows.

References: Pitman & Yor 1997; Pitman 2006, sections 3.2 and 3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._two_parameter import TwoParameterPrior
from .hyperpriors import Beta, Hyperprior, is_number
from .names import register
from .numerics.ratios import FloatArray, digamma_difference, log_gamma_ratio


@register("pitman-yor")
@dataclass(frozen=True)
class PitmanYor(TwoParameterPrior):
    r"""Pitman-Yor process: a cluster of size m weighs m - discount, a new one concentration + discount * t.

    .. math::

        p(\text{partition}) = \frac{\prod_{i=1}^{t-1} (\alpha + i d)}{(\alpha + 1)^{(n-1)}}
        \prod_c \frac{\Gamma(n_c - d)}{\Gamma(1 - d)}

    with :math:`x^{(m)} = x (x+1) \cdots (x+m-1)`. A discount of zero is the Chinese restaurant process.

    Parameters
    ----------
    concentration : float, Gamma or None
        A number greater than -discount, or positive where the discount is learned; or a `Gamma`, from which it is
        learned and then positive; None stands for ``Gamma(1, 1)``.
    discount : float, Beta or None
        A number of at least 0 and less than 1: larger values give more small clusters. Or a `Beta`, from which it is
        learned; None stands for ``Beta(1, 3)``, with mean 1/4: few rows say little about the discount.

    References
    ----------
    Pitman & Yor 1997, *The two-parameter Poisson-Dirichlet distribution derived from a stable subordinator*.

    Examples
    --------
    >>> from countless.priors import PitmanYor
    >>> round(PitmanYor(1.0, discount=0.5).expected_clusters(1000), 2)
    69.39
    """

    learned: ClassVar[tuple[str, ...]] = ("concentration", "discount")

    concentration: float | Hyperprior | None = None
    discount: float | Hyperprior | None = None

    @property
    def offset(self) -> float:
        """Minus the discount."""
        return -self._require_number("discount")

    @property
    def _bounds(self) -> tuple[float, float]:
        discount: Any = self.discount
        return (-discount or 0.0) if is_number(discount) else 0.0, math.inf

    def _checked(self, name: str, value: Any) -> Any:
        if name != "discount":
            return super()._checked(name, value)
        if value is None or (isinstance(value, Hyperprior) and value.below <= 1.0):
            return value
        if not is_number(value) or not 0.0 <= value < 1.0:
            raise ValueError(
                f"discount must be a number of at least 0 and below 1, a Beta(a, b) or None, got {value!r}"
            )
        return float(value)

    def _default_of(self, name: str) -> Any:
        return Beta(1.0, 3.0) if name == "discount" else super()._default_of(name)

    def _new_weights(self, n_clusters: FloatArray) -> FloatArray:
        return np.asarray(self._require_number() + self._require_number("discount") * n_clusters)

    def _expected_clusters(self, n: int) -> float:
        concentration, discount = self._require_number(), self._require_number("discount")
        if discount == 0.0:
            return concentration * digamma_difference(concentration, n)
        # Pitman 2006, exercise 3.2.2, written with expm1 to avoid cancellation for a small discount.
        log_growth = log_gamma_ratio(concentration + n, discount) - log_gamma_ratio(concentration + 1.0, discount)
        return float(np.exp(log_growth) + concentration * np.expm1(log_growth) / discount)

    def stick_shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """Stick k = 1, 2, ... is Beta(1 - discount, concentration + k * discount)."""
        concentration, discount = self._require_number(), self._require_number("discount")
        return np.full(n_sticks, 1.0 - discount), concentration + discount * np.arange(1.0, n_sticks + 1.0)
