"""R-hat and effective draws of numbers along chains, (chain, draw), without loading ArviZ.

Rank-normalised split R-hat and the effective draws of bulk and tail of Vehtari, Gelman, Simpson, Carpenter and Buerkner
(2021), *Rank-normalization, folding, and localization*, as ArviZ computes them; tests compare both. Engines ask after
each round of draws, and loading ArviZ takes longer than a small fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

FloatArray = NDArray[np.float64]

# A quantity that has one value in so large a share of the draws is an event: it happens or it does not.
NEARLY_CONSTANT = 0.9


def rank_rhat(values: FloatArray) -> float:
    """R-hat of ranks or of folded ranks, whichever is larger; 1 where all draws are equal.

    It is infinite where each half of a chain stands still, and not all at the same value.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.convergence import rank_rhat
    >>> rank_rhat(np.full((2, 10), 3.0)), rank_rhat(np.repeat([[1.0], [2.0]], 10, axis=1))
    (1.0, inf)
    """
    halves = _halves(values)
    return max(_rhat(_normal_scores(halves)), _rhat(_normal_scores(np.abs(halves - np.median(halves)))))


def bulk_effective(values: FloatArray) -> float:
    """Independent draws that would tell as much about the middle of the law.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.convergence import bulk_effective
    >>> bool(700 < bulk_effective(np.random.default_rng(0).normal(size=(4, 250))) < 1300)
    True
    """
    return _effective(_normal_scores(_halves(values)))


def tail_effective(values: FloatArray) -> float:
    """The fewer of the independent draws that would tell as much about its 5% and its 95% quantile."""
    return min(_effective(_halves((values <= np.quantile(values, p)).astype(np.float64))) for p in (0.05, 0.95))


def event_effective(happens: NDArray[np.bool_]) -> float:
    """Draws of an even chance whose share would be known as well as the share of draws in which something happens.

    That is (effective draws) / (4 p (1 - p)), and at most the number of draws. Effective draws alone say how the error
    of p compares with p itself: an event that happened once, for ten draws in a row, is worth one of them however many
    draws there are, and yet its probability is known to be small. A hundred draws of this kind stand for a standard
    error of at most 0.05, whatever p is.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.convergence import event_effective
    >>> once = np.zeros((4, 250), dtype=bool)
    >>> once[0, 100:110] = True
    >>> bool(event_effective(once) > 500), event_effective(np.zeros((4, 250), dtype=bool))
    (True, 1000.0)
    """
    share = float(happens.mean())
    if share in (0.0, 1.0):
        return float(happens.size)
    found = _effective(_halves(happens.astype(np.float64)))
    return min(found / (4.0 * share * (1.0 - share)), float(happens.size))


def effective(values: FloatArray) -> float:
    """Effective draws of a quantity: of bulk and tail, whichever is fewer.

    All of them where it never changes; where it has one value nine times in ten, those of an event
    (``event_effective``).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.core.convergence import effective
    >>> effective(np.full((4, 250), 2.0))
    1000.0
    """
    found, counts = np.unique(values, return_counts=True)
    if counts.max() >= NEARLY_CONSTANT * values.size:
        return event_effective(values != found[counts.argmax()])
    return min(bulk_effective(values), tail_effective(values))


def _halves(values: FloatArray) -> FloatArray:
    """Each chain as two."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])


def _normal_scores(values: FloatArray) -> FloatArray:
    """Quantiles of the normal law at the ranks."""
    ranks = rankdata(values, method="average").reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))


def _rhat(chains: FloatArray) -> float:
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(), chains.mean(axis=1).var(ddof=1)
    if np.ptp(chains, axis=1).max() == 0.0:
        return 1.0 if np.ptp(chains) == 0.0 else np.inf
    return float(np.sqrt((n - 1) / n + between / within))


def _effective(chains: FloatArray) -> float:
    """Effective draws of the mean: autocorrelations summed as far as Geyer's initial monotone sequence goes."""
    m, n = chains.shape
    if np.ptp(chains) < np.finfo(np.float64).resolution:
        return float(chains.size)
    covariance = _autocovariances(chains).mean(axis=0)
    within = covariance[0] * n / (n - 1.0)
    total = covariance[0] + (chains.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    # Pairs of neighbours, as far as their sums are positive: of the pair that ends it the first one may still count.
    n_pairs = max(1, (n - 2) // 2 if n % 2 == 0 else (n - 1) // 2)
    pairs = rho[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    last = int(ends[0]) if len(ends) else n_pairs - 1
    sums = np.minimum.accumulate(pairs[:last])
    tail = max(float(rho[2 * last]), 0.0) if last else 1.0
    spread = max(-1.0 + 2.0 * float(sums.sum()) + tail, 1.0 / np.log10(chains.size))
    return float(chains.size / spread)


def _autocovariances(chains: FloatArray) -> FloatArray:
    n = chains.shape[1]
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(chains - chains.mean(axis=1, keepdims=True), n=size, axis=1)
    return np.asarray(irfft(np.abs(spectrum) ** 2, n=size, axis=1)[:, :n]) / n
