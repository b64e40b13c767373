"""Information criteria of a fitted mixture; the smaller the better.

AIC (Akaike 1974) and BIC (Schwarz 1978) on the usual scale, twice that of Pletscher 2007, section 2.4.3; ICL
(Biernacki, Celeux and Govaert 2000) adds twice the entropy of the assignments, a penalty for clusters that overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...partitions.seats import FloatArray


def penalty(criterion: str, n_parameters: float, n_rows: float) -> float:
    """What a criterion adds to minus twice the log likelihood for the free parameters."""
    return 2.0 * n_parameters if criterion == "aic" else n_parameters * math.log(n_rows)


def aic(log_likelihood: float, n_parameters: int, n_rows: float, entropy: float = 0.0) -> float:
    """-2 log likelihood + 2 parameters."""
    return -2.0 * log_likelihood + penalty("aic", n_parameters, n_rows)


def bic(log_likelihood: float, n_parameters: int, n_rows: float, entropy: float = 0.0) -> float:
    """-2 log likelihood + parameters log(rows)."""
    return -2.0 * log_likelihood + penalty("bic", n_parameters, n_rows)


def icl(log_likelihood: float, n_parameters: int, n_rows: float, entropy: float) -> float:
    """BIC + 2 entropy; the entropy is that of the probabilities of the components, summed over rows."""
    return bic(log_likelihood, n_parameters, n_rows) + 2.0 * entropy


def total_entropy(log_weighted: FloatArray, weights: FloatArray | None = None) -> float:
    """Entropy of the components of each row, summed over rows; from logs of weight times density."""
    logs = log_weighted - np.logaddexp.reduce(log_weighted, axis=1, keepdims=True)
    each = -np.sum(np.exp(logs) * np.maximum(logs, -1e300), axis=1)
    return float(each.sum() if weights is None else each @ weights)


CRITERIA: dict[str, Callable[[float, int, float, float], float]] = {"aic": aic, "bic": bic, "icl": icl}
