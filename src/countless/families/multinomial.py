"""Histograms: rows of counts over D bins, with a Dirichlet prior on the bin probabilities.

    p ~ Dirichlet(concentration),  x | p ~ Multinomial(sum_j x_j, p)          (Pletscher 2007, 2.3.2)

A row is predicted by the Dirichlet-multinomial. The multinomial coefficient is part of all densities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import inner_kernel
from ..core.special import digamma, less, log_gamma_draw, log_rising, normalise_logs
from ..core.validate import whole_number
from . import verbs
from .arrays import per_column, require_counts
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .verbs import implements, linear_in_row

# Cells with more counts are scored by log-gammas, not count by count; and the product below which a log is taken.
MOST_FACTORS, SMALLEST_SHARE = 64.0, 1e-250


@linear_in_row
class DirichletBins(NamedTuple):
    concentration: FloatArray
    total: FloatArray


@register("multinomial")
@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Rows of counts over bins (words of a document, species of a site); Dirichlet prior.

    Rows may have different totals, a total of zero included; given its total a row is multinomial.

    Parameters
    ----------
    concentration : float or one number per bin, optional
        Dirichlet pseudo-counts. Default: learned, from 1/2 for every bin (Jeffreys). The sources use ones.
    trials : int
        Total of the rows that ``sample`` draws; no role in inference.

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Multinomial(concentration=[1.0, 1.0])
    >>> round(family.log_marginal([[1, 1]]), 6)  # log(1/3): totals 0, 1, 2 of bin 0 are alike
    -1.098612
    """

    learnable: ClassVar = ("concentration",)
    spreads: ClassVar = {"concentration": 0.7}
    strengths: ClassVar = ("concentration",)
    statistics_stay: ClassVar = True
    cells: ClassVar = "shares"

    concentration: ArrayLike | None = None
    trials: int = 15

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        given = JEFFREYS if self.concentration is None else self.concentration
        return self._with(concentration=per_column("concentration", given, d))

    def __post_init__(self) -> None:
        whole_number("trials", self.trials, 0)

    def check(self, X: FloatArray) -> None:
        require_counts(X, "multinomial data")

    def prepare(self) -> DirichletBins:
        concentration = np.ascontiguousarray(self.concentration, dtype=np.float64)
        return DirichletBins(concentration, np.array([concentration.sum()]))

    def layout(self) -> Layout:
        d = np.size(np.asarray(self.concentration))
        return Layout(2 + d, 1, d, d + 1, d + 3)

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"probabilities": parameters}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.multinomial(self.trials, parameters / parameters.sum(), size=n).astype(np.float64)

    def n_parameters(self) -> int:
        """One less than bins: probabilities sum to one."""
        return self.layout().parameters - 1


@implements(verbs.row_statistics, DirichletBins)
def _row_statistics(family, row, out):
    """Count of rows, counts of bins, and the log multinomial coefficient."""
    d = row.size
    out[0] = 1.0
    total = 0.0
    coefficient = 0.0
    for j in range(d):
        out[1 + j] = row[j]
        if row[j] > 0.0:
            total += row[j]
            coefficient -= log_rising(1.0, row[j])
    out[1 + d] = coefficient + log_rising(1.0, total)


@implements(verbs.refresh, DirichletBins)
def _refresh(family, statistics, cache, k, work):
    """Total of the counts, without the pseudo-counts, which may be so many that the counts would be lost in them."""
    total = 0.0
    for j in range(family.concentration.size):
        total += statistics[k, 1 + j]
    cache[k, 0] = total


@implements(verbs.log_predictive, DirichletBins)
def _log_predictive(family, statistics, cache, k, row, work):
    return _log_density_of_row(family, statistics, cache, k, row, work, 0.0)


@implements(verbs.log_predictive_without, DirichletBins)
def _log_predictive_without(family, statistics, cache, k, row, work):
    return _log_density_of_row(family, statistics, cache, k, row, work, 1.0)


@inner_kernel
def _log_density_of_row(family, statistics, cache, k, row, work, own):
    """Log density given cluster ``k`` without ``own`` times the row; by factors, as in ``_add_log_predictives``."""
    total = 0.0
    for j in range(row.size):
        total += row[j]
    whole = family.total[0] + less(cache[k, 0], own * total)
    unit = 1.0 / (whole + total)
    value = log_rising(1.0, total)
    share = 1.0
    part = 1.0
    seen = 0.0
    for at in range(_list_bins(row, work)):
        j = int(work[at])
        count = row[j]
        start = family.concentration[j] + less(statistics[k, 1 + j], own * count)
        if count > MOST_FACTORS:
            value += log_rising(start, count) - log_rising(whole + seen, count)
            seen += count
        else:
            for step in range(int(count)):
                share *= (start + step) * unit
                part *= (whole + seen) * unit
                seen += 1.0
                if share < SMALLEST_SHARE:
                    value += math.log(share / part)
                    share = 1.0
                    part = 1.0
        if count > 1.0:
            value -= log_rising(1.0, count)
    return value + math.log(share / part)


@implements(verbs.publish, DirichletBins)
def _publish(family, statistics, cache, board, k):
    """Pseudo-counts and counts of the bins, and their total; the last two lines of the board are scratch space."""
    d = family.concentration.size
    for j in range(d):
        board[j, k] = family.concentration[j] + statistics[k, 1 + j]
    board[d, k] = family.total[0] + cache[k, 0]


@implements(verbs.add_log_predictives, DirichletBins)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """A row as a sequence of single counts: each multiplies the shares of all clusters, in one stride.

    Its factor is (pseudo-count + counts of the bin so far) / (all of them so far). Numerators and denominators are
    collected apart, both as shares of the largest denominator: they are at most one, and at least the share of the
    pseudo-count. So one bound for all clusters says when logarithms must be taken.
    """
    d = row.size
    totals, shares, wholes = board[d], board[d + 1], board[d + 2]
    largest = 1.0
    for k in range(n_slots):
        shares[k] = 1.0
        wholes[k] = 1.0
        largest = max(largest, totals[k])
    n_bins = _list_bins(row, work)
    seen = 0.0
    bound = 1.0
    constant = 0.0
    for at in range(n_bins):
        j = int(work[at])
        count = row[j]
        if count > MOST_FACTORS:
            for k in range(n_slots):
                if scores[k] > -math.inf:
                    scores[k] += log_rising(board[j, k], count) - log_rising(totals[k] + seen, count)
            seen += count
        else:
            for step in range(int(count)):
                unit = 1.0 / (largest + seen)
                for k in range(n_slots):
                    shares[k] *= (board[j, k] + step) * unit
                    wholes[k] *= (totals[k] + seen) * unit
                bound *= family.concentration[j] * unit
                seen += 1.0
                if bound < SMALLEST_SHARE:
                    _take_logs(shares, wholes, n_slots, scores)
                    bound = 1.0
        if count > 1.0:
            constant -= log_rising(1.0, count)
    constant += log_rising(1.0, seen)
    _take_logs(shares, wholes, n_slots, scores)
    for k in range(n_slots):
        scores[k] += constant


@inner_kernel
def _list_bins(row, work):
    """Write the numbers of the bins that have a count into ``work``; returns how many. No branch: none is predicted."""
    n_bins = 0
    for j in range(row.size):
        work[n_bins] = j
        n_bins += row[j] > 0.0
    return n_bins


@inner_kernel
def _take_logs(shares, wholes, n_slots, scores):
    """Add the logarithms of the quotients to the scores of clusters in use, and begin again."""
    for k in range(n_slots):
        if scores[k] > -math.inf:
            scores[k] += math.log(shares[k] / wholes[k])
        shares[k] = 1.0
        wholes[k] = 1.0


@implements(verbs.add, DirichletBins)
def _add(family, statistics, cache, k, row, work):
    _count(statistics, cache, k, row, work, 1.0)


@implements(verbs.remove, DirichletBins)
def _remove(family, statistics, cache, k, row, work):
    _count(statistics, cache, k, row, work, -1.0)


@inner_kernel
def _count(statistics, cache, k, row, work, sign):
    """Add the statistics of a row, or subtract them: bins without a count cost a look."""
    d = row.size
    total = 0.0
    coefficient = 0.0
    for at in range(_list_bins(row, work)):
        j = int(work[at])
        count = row[j]
        statistics[k, 1 + j] += sign * count
        total += count
        if count > 1.0:
            coefficient -= log_rising(1.0, count)
    statistics[k, 0] += sign
    statistics[k, 1 + d] += sign * (coefficient + log_rising(1.0, total))
    cache[k, 0] += sign * total


@implements(verbs.log_marginal, DirichletBins)
def _log_marginal(family, statistics, cache, k):
    d = family.concentration.size
    value = statistics[k, 1 + d]
    for j in range(d):
        value += log_rising(family.concentration[j], statistics[k, 1 + j])
    return value - log_rising(family.total[0], cache[k, 0])


@implements(verbs.n_learned, DirichletBins)
def _n_learned(family, j):
    return family.concentration.size


@implements(verbs.set_learned, DirichletBins)
def _set_learned(family, base, j, c, offset):
    family.concentration[c] = base.concentration[c] * math.exp(offset)
    total = 0.0
    for s in range(family.concentration.size):
        total += family.concentration[s]
    family.total[0] = total


@implements(verbs.learned_evidence, DirichletBins)
def _learned_evidence(family, statistics, cache, k, j, c, work):
    """Only the bin itself and the total depend on it; the cache, the total of the counts, does not."""
    return log_rising(family.concentration[c], statistics[k, 1 + c]) - log_rising(family.total[0], cache[k, 0])


@implements(verbs.draw_parameters, DirichletBins)
def _draw_parameters(family, statistics, cache, k, rng, parameters):
    d = family.concentration.size
    for j in range(d):
        parameters[k, j] = log_gamma_draw(rng, family.concentration[j] + statistics[k, 1 + j])
    normalise_logs(parameters, k, 0, d)


@implements(verbs.natural, DirichletBins)
def _natural(family, parameters, k, out):
    d = family.concentration.size
    out[0] = 0.0
    for j in range(d):
        out[1 + j] = math.log(parameters[k, j])
    out[1 + d] = 1.0


@implements(verbs.estimate, DirichletBins)
def _estimate(family, statistics, cache, k, prior_weight, parameters):
    """(w concentration_j + count_j) / their total, the mode in the soft-max basis (on the simplex it would be
    concentration_j - 1). The total is that of the counts, not the number of rows (Pletscher 2007, 2.4.2)."""
    d = family.concentration.size
    counts = 0.0
    for j in range(d):
        counts += statistics[k, 1 + j]
    empty = statistics[k, 0] <= 0.0
    # Histograms without a single count say nothing about the bins.
    weight = 1.0 if empty or counts <= 0.0 else prior_weight
    for j in range(d):
        share = (weight * family.concentration[j] + statistics[k, 1 + j]) / (weight * family.total[0] + counts)
        parameters[k, j] = max(share, 1e-300)
    return empty


@implements(verbs.log_prior, DirichletBins)
def _log_prior(family, parameters, k):
    """Density in the soft-max basis: of the logarithms of the odds against the last bin."""
    value = math.lgamma(family.total[0])
    for j in range(family.concentration.size):
        value += family.concentration[j] * math.log(parameters[k, j]) - math.lgamma(family.concentration[j])
    return value


@implements(verbs.expected_natural, DirichletBins)
def _expected_natural(family, statistics, cache, k, out):
    d = family.concentration.size
    total = digamma(family.total[0] + cache[k, 0])
    out[0] = 0.0
    for j in range(d):
        out[1 + j] = digamma(family.concentration[j] + statistics[k, 1 + j]) - total
    out[1 + d] = 1.0


@implements(verbs.divergence, DirichletBins)
def _divergence(family, row, centre):
    """Total of the row times the Kullback-Leibler divergence of its histogram from the cluster's."""
    total = 0.0
    whole = 0.0
    for j in range(row.size):
        total += row[j]
        whole += centre[1 + j]
    value = 0.0
    for j in range(row.size):
        if row[j] > 0.0:
            value += row[j] * math.log(row[j] / total * whole / max(centre[1 + j], 1e-300))
    return value
