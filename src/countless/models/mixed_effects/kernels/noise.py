"""Precision of the noise: its law, and clusters that have one each.

The precision tau of the visits of some subjects has the law Gamma(a, rate b). Given their effects, with N visits and
squared residuals R in all, it is Gamma(a + N / 2, b + R / 2), and the density of the residuals is

    Gamma(a + N / 2) / Gamma(a)  b^a / (b + R / 2)^(a + N / 2)  (2 pi)^(-N / 2)

Where each cluster has a precision of its own a row is the effects of a subject, then N and R: two families side by side
(``families.table.pair``), so that the moves of partitions integrate the precisions out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....core.jit import inner_kernel
from ....core.special import LOG_2PI, log_rising
from ....families import Family, verbs
from ....families.base import Layout
from ....families.table.pair import Pair
from ....families.verbs import implements


@dataclass(frozen=True)
class Noise:
    """Law of the precision of the noise, in the units of the arithmetic: Gamma(shape, rate), or ``fixed``.

    ``by_cluster`` says whether each cluster has one of its own; the law is then that of each.
    """

    shape: float = 0.0
    rate: float = 0.0
    fixed: float | None = None
    by_cluster: bool = False

    def log_density(self, precision: float) -> float:
        """Log density of log precision."""
        if self.fixed is not None:
            return 0.0
        scaled = self.rate * precision
        return self.shape * math.log(scaled) - scaled - math.lgamma(self.shape)

    @property
    def start(self) -> float:
        return self.shape / self.rate if self.fixed is None else self.fixed

    @property
    def is_drawn(self) -> bool:
        """Whether it is one number that is learned."""
        return self.fixed is None and not self.by_cluster

    def given(self, visits: int, squares: float) -> tuple[float, float]:
        """Shape and rate given so many visits with these squared residuals (Raykov et al. 2016, eq. 7.3).

        The shape grows by half the number of visits; the paper prints half the number of subjects.
        """
        return self.shape + 0.5 * visits, self.rate + 0.5 * max(squares, 0.0)


class Residuals(NamedTuple):
    """Gamma law of the precision of a cluster; rows are visits and squared residuals of a subject."""

    shape: float
    rate: float


class NoisyFamily:
    """What the clusters of a partition ask of a family: effects with a noise for each cluster."""

    allocate: Any = Family.allocate
    scratch: Any = Family.scratch

    def __init__(self, effects: Family, noise: Noise) -> None:
        self.effects, self.noise = effects, noise

    def prepare(self) -> Pair:
        """Hyperparameters as kernels receive them."""
        layout, hyper = self.effects.layout(), self.effects.prepare()
        widths = (layout.statistics, layout.cache, layout.parameters, layout.board)
        return Pair(hyper, Residuals(self.noise.shape, self.noise.rate), len(hyper.mean), 2, *widths)

    def layout(self) -> Layout:
        """Those of the family of the effects, then count, N and R, and a precision."""
        layout = self.effects.layout()
        return layout._replace(statistics=layout.statistics + 3, parameters=layout.parameters + 1)


@implements(verbs.row_statistics, Residuals)
def _row_statistics(family, row, out):
    out[0] = 1.0
    out[1] = row[0]
    out[2] = row[1]


@inner_kernel
def _shape_and_rate(family, statistics, k):
    return family.shape + 0.5 * statistics[k, 1], family.rate + 0.5 * max(statistics[k, 2], 0.0)


@implements(verbs.log_marginal, Residuals)
def _log_marginal(family, statistics, cache, k):
    shape, rate = _shape_and_rate(family, statistics, k)
    half = shape - family.shape
    return (
        log_rising(family.shape, half) - half * (LOG_2PI + math.log(family.rate)) - shape * math.log(rate / family.rate)
    )


@implements(verbs.log_predictive, Residuals)
def _log_predictive(family, statistics, cache, k, row, work):
    shape, rate = _shape_and_rate(family, statistics, k)
    half = 0.5 * row[0]
    return (
        log_rising(shape, half) - half * (LOG_2PI + math.log(rate)) - (shape + half) * math.log1p(0.5 * row[1] / rate)
    )


@implements(verbs.draw_parameters, Residuals)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    shape, rate = _shape_and_rate(family, statistics, k)
    parameters[k, 0] = rng.standard_gamma(shape) / rate


@implements(verbs.estimate, Residuals)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """The mode of log precision."""
    shape = prior_weight * family.shape + 0.5 * statistics[k, 1]
    parameters[k, 0] = shape / (prior_weight * family.rate + 0.5 * max(statistics[k, 2], 0.0))
    return False


@implements(verbs.log_prior, Residuals)
def _log_prior(family, parameters, k):
    scaled = family.rate * parameters[k, 0]
    return family.shape * math.log(scaled) - scaled - math.lgamma(family.shape)


@implements(verbs.set_learned, Residuals)
def _set_learned(family, base, j, c, offset):
    """Nothing is learned."""
    return
