"""Evidence of a Gaussian cluster with free mean and covariance (Murphy 2007, equation 266).

pi^(-n D / 2) (c0 / c)^(D / 2) |scale|^(v0 / 2) / |P|^(v / 2) prod_j Gamma((v - j) / 2) / Gamma((v0 - j) / 2)
"""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import inner_kernel
from ...core.special import LOG_PI, factorise, log_rising, solved_square
from .. import verbs
from ..verbs import implements
from .full import _LOG_DET, _STRENGTH, NormalInverseWishart, growth

# With more degrees of freedom than this, what rows add to log |P| counts even where it is as small as rounding.
MANY_DOF = 1e4


@implements(verbs.log_marginal, NormalInverseWishart)
def _log_marginal(family, statistics, cache, k):
    d = family.mean.size
    n = statistics[k, 0]
    grown = cache[k, _LOG_DET] - family.log_det_scale[0]
    if family.dof[0] > MANY_DOF:
        grown = _log_det_growth(family, statistics, k)
    total = 0.5 * (
        -n * (d * LOG_PI + cache[k, _LOG_DET])
        - family.dof[0] * grown
        + d * math.log(family.mean_strength[0] / cache[k, _STRENGTH])
    )
    for j in range(d):
        total += log_rising(0.5 * (family.dof[0] - j), 0.5 * n)
    return total


@inner_kernel
def _log_det_growth(family, statistics, k):
    """log of |P| / |scale| with full relative accuracy, also where the rows change the scale by less than rounding.

    With A the growth in the basis where the scale is the identity, it is log |I + A|. The pivots of its Cholesky factor
    are kept as what they have above one.
    """
    d = family.mean.size
    if statistics[k, 0] <= 0.0:
        return 0.0
    factor = np.empty((1, family.scale.size))
    for entry in range(family.scale.size):
        factor[0, entry] = family.scale[entry]
    factorise(factor, 0, 0, d)
    above = np.empty((d, d))
    entry = 0
    for j in range(d):
        for i in range(j, d):
            above[i, j] = above[j, i] = growth(family, statistics, k, i, j, entry)
            entry += 1
    # L^-1 G L^-T: substitution in every row, then in every column.
    for _ in range(2):
        for j in range(d):
            solved_square(factor, 0, 0, d, above[j])
        above = above.T.copy()
    value = 0.0
    for j in range(d):
        pivot = max(above[j, j], 0.0)
        value += math.log1p(pivot)
        for i in range(j + 1, d):
            share = above[i, j] / (1.0 + pivot)
            for r in range(j + 1, i + 1):
                above[i, r] -= share * above[r, j]
    return value
