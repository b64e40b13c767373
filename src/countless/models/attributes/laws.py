"""The prior of latent attributes: buffet, restaurants, weights, bias and noise, with numbers that are given or learned.

The attributes of n objects are a Poisson process: an attribute of m objects comes at the rate a b B(m, n - m + b), with
a the concentration and b the breadth of the two-parameter Indian buffet process (Ghahramani, Griffiths & Sollich 2007;
b = 1 is the usual one); its clusters are a Chinese restaurant, its weights normal. docs/attributes.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln

from ...core.validate import positive_number
from ...priors import Gamma

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEARNED = ("concentration", "cluster_concentration", "weight_variance", "noise")
# Shapes of the laws of the precisions of weights and of noise that are left open, and the share of the variance of the
# matrix that noise starts from.
WEIGHT_SHAPE, NOISE_SHAPE, NOISE_SHARE = 2.0, 1.0, 0.1
# The variance of weights and of the bias on the scale of log odds, where left open.
LOGIT_VARIANCE = 4.0


@dataclass(frozen=True)
class Laws:
    """The numbers of the prior; those that may be learned are a number or a Gamma.

    Attributes
    ----------
    concentration, cluster_concentration : float or Gamma
        Of the buffet and of the restaurants.
    breadth : float
        The second number of the buffet: the larger, the fewer objects have each attribute.
    weight_mean : float
    weight_variance, noise : float or Gamma
        A Gamma is the law of the inverse.
    bias_mean, bias_variance : float
    """

    concentration: Any = None
    cluster_concentration: Any = None
    breadth: Any = 1.0
    weight_mean: Any = 0.0
    weight_variance: Any = None
    bias_mean: Any = None
    bias_variance: Any = None
    noise: Any = None

    def __post_init__(self) -> None:
        for name in LEARNED:
            value = getattr(self, name)
            if value is not None and not isinstance(value, Gamma):
                if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
                    raise ValueError(f"{name} must be a number above 0, a Gamma(shape, rate) or None, got {value!r}")
                object.__setattr__(self, name, float(value))
        for name in ("weight_mean", "bias_mean"):
            value = getattr(self, name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(float(value)):
                    raise ValueError(f"{name} must be a finite number, got {value!r}")
                object.__setattr__(self, name, float(value))
        for name in ("breadth", "bias_variance"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive_number(name, value))

    def resolved(self, values: FloatArray, binary: bool) -> Laws:
        """The same with what was left open set from the observed values."""
        mean, variance = float(values.mean()), float(values.var())
        if binary:
            share = (values.sum() + 0.5) / (len(values) + 1.0)
            mean, variance = math.log(share / (1.0 - share)), LOGIT_VARIANCE
        elif variance <= 1e-24 * max(1.0, mean * mean):
            variance = max(1.0, mean * mean) * 1e-6
        defaults = {
            "concentration": Gamma(1.0, 1.0),
            "cluster_concentration": Gamma(1.0, 1.0),
            "weight_mean": 0.0,
            "weight_variance": Gamma(WEIGHT_SHAPE, variance),
            "bias_mean": mean,
            "bias_variance": variance,
            "noise": 1.0 if binary else Gamma(NOISE_SHAPE, NOISE_SHARE * variance),
        }
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    def settings(self) -> dict[str, Any]:
        """Its numbers by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def learns(self, name: str) -> bool:
        """Whether a number is learned."""
        return isinstance(getattr(self, name), Gamma)

    def initial(self, name: str) -> float:
        """Where a chain begins: the number, or the mean of its law (of the inverse, where that is what has a law)."""
        value = getattr(self, name)
        if not isinstance(value, Gamma):
            return float(value)
        return value.rate / value.shape if name in ("weight_variance", "noise") else value.mean

    def sampled(self, name: str, rng: np.random.Generator) -> float:
        """A draw from the prior."""
        value = getattr(self, name)
        if not isinstance(value, Gamma):
            return float(value)
        drawn = value.sample(rng)
        return 1.0 / drawn if name in ("weight_variance", "noise") else drawn

    def log_density(self, name: str, value: float) -> float:
        """Log density of the log of a learned number; 0 where it is given."""
        law = getattr(self, name)
        if not isinstance(law, Gamma):
            return 0.0
        return law.log_density_on_line(1.0 / value if name in ("weight_variance", "noise") else value)

    def dishes(self, n: int) -> float:
        """Expected number of attributes of n objects, over the concentration: b (psi(n + b) - psi(b))."""
        return float(self.breadth * (digamma(n + self.breadth) - digamma(self.breadth)))

    def log_rate(self, sizes: Any, n: int, concentration: float) -> Any:
        """Log rate of attributes of so many of n objects."""
        held = np.asarray(sizes, dtype=np.float64)
        return math.log(concentration * self.breadth) + betaln(held, n - held + self.breadth)


def log_seating(sizes: IntArray, concentration: float) -> float:
    """Log probability of a partition with these cluster sizes in a Chinese restaurant (von Looz 2013, 2.7)."""
    total = float(sizes.sum())
    value = len(sizes) * math.log(concentration) + float(gammaln(sizes).sum())
    return value + math.lgamma(concentration) - math.lgamma(concentration + total)
