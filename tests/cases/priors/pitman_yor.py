"""The Pitman-Yor process."""

from __future__ import annotations

from cases.prior import PriorCase
from countless.priors import Beta, Gamma, PitmanYor

CASE = PriorCase(
    exact=PitmanYor(0.8, 0.3),
    others=(PitmanYor(0.7, 0.4), PitmanYor(-0.2, 0.4), PitmanYor(0.0, 0.9)),
    learned=(PitmanYor(Gamma(2.0, 1.0), 0.3), PitmanYor(), PitmanYor(1.5, Beta(2.0, 3.0))),
)
