"""A random number of components whose concentration is shared among them."""

from __future__ import annotations

from cases.prior import PriorCase
from countless.priors import DynamicMixtureOfFinite, Gamma, UniformCount

CASE = PriorCase(
    exact=DynamicMixtureOfFinite(1.5, 4),
    others=(DynamicMixtureOfFinite(0.7, 1), DynamicMixtureOfFinite(2.0, 9)),
    learned=(
        DynamicMixtureOfFinite(),
        DynamicMixtureOfFinite(2.0),
        DynamicMixtureOfFinite(Gamma(2.0, 1.0), UniformCount(5)),
    ),
)
