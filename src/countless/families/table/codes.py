r"""Are whole numbers codes of categories, or counts?

In a mixture of clusters a column of counts follows a mixture of Poisson laws. Where even the best such mixture

.. math:: p(v) = \sum_g w_g \, \mathrm{Poisson}(v; \lambda_g)

is far from the frequencies f of the values, they are no counts: grades that vary little, or two codes that are
frequent with a rare one between them. The distance is :math:`\sum_v f_v \log (f_v / p(v))`, in nats a cell; 2 n times
it is the likelihood ratio statistic. The mixture is found on a grid of rates by the EM algorithm (Laird 1978).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, poisson

FloatArray = NDArray[np.float64]

# More different values, or larger ones, are no codes.
MOST_CODES = 10
# Distance from counts, in nats a cell, of codes: more than this, and more than chance explains at this level.
# (Counts of relatives aboard the Titanic 0.02, of vessels of the heart 0.02; codes of the soybeans mostly above 0.1.)
DISTANCE, LEVEL = 0.03, 0.01
# Rates of the grid, and steps of the EM algorithm.
N_RATES, STEPS = 80, 400


def are_codes(values: FloatArray) -> bool:
    """Whether whole numbers of at least 0, without missing cells, name categories.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.families.table.codes import are_codes
    >>> relatives = np.repeat([0.0, 1.0, 2.0, 3.0], [60, 30, 8, 2])
    >>> grades = np.repeat([0.0, 1.0, 2.0], [50, 2, 48])
    >>> are_codes(relatives), are_codes(grades)
    (False, True)
    """
    found, counts = np.unique(values, return_counts=True)
    if len(found) > MOST_CODES or found[-1] > MOST_CODES:
        return False
    if found[0] >= 1 or len(found) == 2:
        return True
    by_chance = chi2.isf(LEVEL, len(found) - 1) / (2 * len(values))
    return bool(_distance_from_counts(found, counts / len(values)) > DISTANCE + by_chance)


def _distance_from_counts(found: FloatArray, shares: FloatArray) -> float:
    """Least distance of the shares of some values from those under a mixture of Poisson laws."""
    rates = np.concatenate([[1e-6], np.geomspace(0.02, 2.0 * found[-1], N_RATES)])
    under_rate = poisson.pmf(found[:, None], rates)
    weights = np.full(len(rates), 1.0 / len(rates))
    for _ in range(STEPS):
        weights *= under_rate.T @ (shares / (under_rate @ weights))
    return float(shares @ np.log(shares / (under_rate @ weights)))
