"""A random finite number of components."""

from __future__ import annotations

from cases.prior import PriorCase
from countless.priors import Gamma, GeometricCount, MixtureOfFinite, PoissonCount

CASE = PriorCase(
    exact=MixtureOfFinite(1.0),
    others=(MixtureOfFinite(), MixtureOfFinite(0.3, PoissonCount(4.0))),
    learned=(MixtureOfFinite(Gamma(3.0, 2.0), GeometricCount(0.5)),),
)
