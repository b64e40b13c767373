"""A finite number of components with symmetric Dirichlet weights."""

from __future__ import annotations

from cases.prior import PriorCase
from countless.priors import FiniteDirichlet

CASE = PriorCase(
    exact=FiniteDirichlet(3, 1.5),
    others=(FiniteDirichlet(1, 2.0), FiniteDirichlet(3, 2.0), FiniteDirichlet(12, 0.5)),
    learned=(FiniteDirichlet(4),),
)
