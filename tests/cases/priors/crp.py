"""The Chinese restaurant process."""

from __future__ import annotations

from cases.prior import PriorCase
from countless.priors import CRP, Gamma

CASE = PriorCase(
    exact=CRP(1.0),
    others=(CRP(0.4), CRP(3.0)),
    learned=(CRP(), CRP(Gamma(0.05, 2.0))),
)
