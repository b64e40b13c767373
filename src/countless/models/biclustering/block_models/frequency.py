"""The frequency model: rows and columns are drawn apart, and a block decides whether the draw counts (FIRM).

Kurihara et al. 2006, as Pletscher 2007, section 5.2, gives it: each draw takes row i with probability u_i, column j
with v_j, and is a count with probability theta of its block. Draws that are no counts are not seen. With a Poisson
number of draws of mean tau they can be summed out exactly: x_ij ~ Poisson(tau u_i v_j theta), and for
theta ~ Beta(beta, 1), which is the source's Beta(beta, beta) where beta is 1, a block of n counts and exposure
t = tau U_mu V_nu (U and V add up u and v over the cluster) has the evidence

    beta * integral of theta^(beta + n - 1) exp(-t theta) over (0, 1) = beta * g(beta + n, t) t^-(beta + n)

with g the lower incomplete gamma function. u and v are the shares of rows and columns in all counts, with half a count
more for each. tau is learned, from as many draws as make theta = 1 / 25 usual: where theta is near one nothing could
be more frequent than the margins say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from ....core.jit import inner_kernel, kernel
from ....core.validate import positive_number
from ....families.learnable import Law
from ....partitions.seats import FloatArray
from .base import BlockCounts, BlockModel, Drawing, Matrix, NewCells, Prepared, register, require_counts
from .expected import Slopes, SoftBlocks
from .verbs import implements, log_block, log_side

USUAL_DRAWS = 25.0
# Exposures below this let the law of theta be: the cluster has no items to speak of.
LEAST_EXPOSURE = 1e-200
SPREADS = {"strength": 1.0, "draws": 1.5}


class FrequencyCounts(NamedTuple):
    strength: float
    draws: float


@inner_kernel
def log_lower_gamma(s, x):
    """Log of the lower incomplete gamma function, the integral of t^(s - 1) exp(-t) over (0, x).

    By its series below s + 1, above by one minus the continued fraction of the upper one (DLMF 8.7.1 and 8.9.2).
    """
    if x <= 0.0:
        return -math.inf
    if x < s + 1.0:
        term, total, step = 1.0 / s, 1.0 / s, s
        while term > total * 1e-16:
            step += 1.0
            term *= x / step
            total += term
        return s * math.log(x) - x + math.log(total)
    b = x + 1.0 - s
    c = 1e300
    d = 1.0 / b
    h = d
    for n in range(1, 100_000):
        a = -n * (n - s)
        b += 2.0
        d = a * d + b
        c = b + a / c
        if d == 0.0:
            d = 1e-300
        if c == 0.0:
            c = 1e-300
        d = 1.0 / d
        change = d * c
        h *= change
        if abs(change - 1.0) < 1e-15:
            break
    whole = math.lgamma(s)
    upper = s * math.log(x) - x + math.log(h) - whole
    return whole + (math.log1p(-math.exp(upper)) if upper < 0.0 else -math.inf)


@kernel
def log_lower_gammas(s, x, out):
    """The same for each pair."""
    for i in range(out.size):
        out[i] = log_lower_gamma(s[i], x[i])


@kernel
def expected_blocks(strength, shape, exposure, values, logs, means):
    """Log evidence of each block, and the means of log theta and of theta under its truncated gamma law."""
    for i in range(shape.size):
        s, t = shape[i], exposure[i]
        if t < LEAST_EXPOSURE:  # no items: theta has its prior, cut off nowhere below one
            values[i] = math.log(strength / s) if s > strength else 0.0
            logs[i] = -1.0 / s
            means[i] = s / (s + 1.0)
            continue
        whole = log_lower_gamma(s, t)
        step = 1e-5 * max(1.0, s)
        step = min(step, 0.5 * s)
        slope = (log_lower_gamma(s + step, t) - log_lower_gamma(s - step, t)) / (2.0 * step)
        values[i] = math.log(strength) + whole - s * math.log(t)
        logs[i] = slope - math.log(t)
        means[i] = math.exp(log_lower_gamma(s + 1.0, t) - whole) / t


@implements(log_block, FrequencyCounts)
def _block(model, side, work, mass, other_mass):
    exposure = model.draws * mass * other_mass
    shape = model.strength + work.statistics[0, 0]
    return math.log(model.strength) + log_lower_gamma(shape, exposure) - shape * math.log(exposure)


@implements(log_side, FrequencyCounts)
def _side(model, side, total, size):
    return 0.0


@register("frequency")
@dataclass(frozen=True, eq=False)
class Frequency(BlockModel):
    """Counts are draws of a row and of a column that their block lets through (FIRM).

    Parameters
    ----------
    strength : float, optional
        First parameter of the Beta(strength, 1) law of what a block lets through. Default: learned, from 1.
    draws : float, optional
        Expected number of draws, seen or not. Default: learned, from 25 times the number of counts.
    """

    strength: float | None = None
    draws: float | None = None
    # Set by ``resolve``: hyperparameters that are learned.
    open: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("strength", "draws"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))

    def check(self, matrix: Matrix) -> None:
        require_counts(matrix, "frequency")

    def left_open(self) -> tuple[str, ...]:
        return self.open or ()

    def resolve(self, matrix: Matrix) -> Self:
        strength = 1.0 if self.strength is None else float(self.strength)
        total = float(matrix.values.sum())
        draws = USUAL_DRAWS * total if self.draws is None else float(self.draws)
        names = tuple(name for name in SPREADS if getattr(self, name) is None)
        return self._with(strength=strength, draws=draws, open=names)

    def law(self, left_open: tuple[str, ...]) -> Law:
        places = {name: np.array([at]) for at, name in enumerate(left_open)}
        return Law(places, np.array([SPREADS[name] for name in left_open]))

    def at(self, law: Law, offsets: FloatArray) -> Self:
        changes = {name: float(getattr(self, name) * math.exp(offsets[at[0]])) for name, at in law.places.items()}
        return self._with(**changes)

    def hyper(self) -> FrequencyCounts:
        return FrequencyCounts(float(self.strength or 0.0), float(self.draws or 0.0))

    def cells(self, matrix: Matrix) -> Prepared:
        margins = matrix.margins()
        weights = tuple((part + 0.5) / (part + 0.5).sum() for part in margins)
        constant = sum(float(part @ np.log(weight)) for part, weight in zip(margins, weights, strict=True))
        constant -= float(gammaln(matrix.values + 1.0).sum())
        return Prepared(matrix.values[:, None].copy(), np.zeros(1), margins, weights, constant)

    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        return float(prepared.margins[0].sum()) * math.log(float(self.draws or 0.0))

    def describe(self) -> dict[str, FloatArray | float]:
        return {"strength": float(self.strength or 0.0), "draws": float(self.draws or 0.0)}

    def chances(self, counts: BlockCounts) -> FloatArray:
        """Posterior mean of what each block lets through: a ratio of two incomplete gamma functions."""
        exposure = float(self.draws or 0.0) * np.outer(*counts.masses)
        shape = float(self.strength or 0.0) + counts.blocks[:, :, 0]
        logs = [np.empty(exposure.size), np.empty(exposure.size)]
        for more, out in enumerate(logs):
            log_lower_gammas(shape.ravel() + more, exposure.ravel(), out)
        return np.exp(logs[1] - logs[0]).reshape(exposure.shape) / exposure

    def expected(self, soft: SoftBlocks) -> Slopes:
        """The evidence is the normaliser of theta^(strength + n - 1) exp(-t theta), convex in n and t."""
        draws, masses = float(self.draws or 0.0), [side.mass for side in soft.sides]
        exposure = draws * np.outer(*masses)
        values, logs, means = (np.zeros(exposure.size) for _ in range(3))
        shape = float(self.strength or 0.0) + soft.blocks[:, :, 0]
        expected_blocks(float(self.strength or 0.0), shape.ravel(), exposure.ravel(), values, logs, means)
        by_mass = -draws * means.reshape(exposure.shape)
        slopes = by_mass @ masses[1], by_mass.T @ masses[0]
        return Slopes(float(values.sum()), logs.reshape(*exposure.shape, 1), slopes)

    def means(self, counts: BlockCounts) -> FloatArray:
        rates = float(self.draws or 0.0) * self.chances(counts)
        return rates * np.outer(*(mass / size for mass, size in zip(counts.masses, counts.sizes, strict=True)))

    def log_cells(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        """Log probability that a further count falls into the cell, times the counts that did."""
        chances = self.chances(counts)
        whole = float((chances * np.outer(*counts.masses)).sum())
        share = chances[cells.row_labels, cells.column_labels] / whole
        for side in (0, 1):
            share = share * (cells.margins[side] + 0.5) / (counts.totals[side].sum() + 0.5 * counts.sizes[side].sum())
        return cells.values * np.log(share)

    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        weights = tuple((part + 0.5) / (part + 0.5).sum() for part in given.margins)
        masses = tuple(
            np.bincount(labels, part)
            for labels, part in zip((given.row_labels, given.column_labels), weights, strict=True)
        )
        n = np.zeros((len(masses[0]), len(masses[1]))) if given.counts is None else given.counts.blocks[:, :, 0]
        exposure, shape = float(self.draws or 0.0) * np.outer(*masses), float(self.strength or 0.0) + n
        chances = np.empty_like(exposure)
        for at in np.ndindex(*exposure.shape):
            chances[at] = 2.0
            if given.counts is None:
                chances[at] = rng.random() ** (1.0 / shape[at])
            while chances[at] > 1.0:  # the gamma law cut off at one
                chances[at] = rng.standard_gamma(shape[at]) / exposure[at]
        rates = float(self.draws or 0.0) * chances[np.ix_(given.row_labels, given.column_labels)] * np.outer(*weights)
        return rng.poisson(rates).astype(np.float64)
