"""How certain the cluster of each row is, and which other cluster it may belong to, whatever the labels of the draws.

Choose a draw at random, then a companion at random: another row in the row's cluster in that draw. The probability of
cluster k is the probability that the companion belongs to k in the labelling in question,

    p_ik = mean over draws of |D(i) and k, without i| / (|D(i)| - 1),    D(i) the cluster of row i in the draw.

Over k these sum to the probability that the row has companions at all. For a row that is alone in its cluster in the
labelling, the probability of that cluster is the probability of having no companion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.jit import kernel
from ...core.validate import as_labels
from .draws import FloatArray, IntArray, thinned

# Draws that are used: the standard error of a probability is then at most 0.03, small enough for any decision.
MOST_DRAWS = 300
# Pairs (cluster of a draw, cluster of the labelling), 8 bytes each.
MOST_CELLS = 25_000_000
# Rows that are processed at a time.
BLOCK = 8192


class Certainty(NamedTuple):
    """How certain each row's cluster is; one entry per row.

    ``probability`` is the probability of its own cluster, ``runner_up`` the most probable other cluster (-1 if no draw
    puts the row together with another cluster) and ``runner_up_probability`` the probability of that. The two
    probabilities sum to at most one.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> sure = model.posterior_.certainty()
    >>> bool((sure.probability > 0.5).all()), sure.runner_up.shape
    (True, (6,))
    """

    probability: FloatArray
    runner_up: IntArray
    runner_up_probability: FloatArray


def row_certainty(labels: Any, draws: NDArray[Any], at_most: int = MOST_DRAWS) -> Certainty:
    """Probability of each row's cluster in ``labels`` and of the runner-up, from draws (draw, row).

    A runner-up is named as in ``labels``. With a single draw, as from a MAP fit, all probabilities are one.

    Parameters
    ----------
    labels : array of int (row,)
        Whole numbers of at least 0; anything else is renumbered by first appearance.
    draws : array of int (draw, row)
    at_most : int
        Number of draws to use, evenly spaced.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.certainty import row_certainty
    >>> draws = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    >>> sure = row_certainty([0, 0, 0, 1, 1], draws)
    >>> sure.probability.tolist(), sure.runner_up.tolist()
    ([1.0, 1.0, 0.75, 0.875, 0.875], [-1, -1, 1, 0, 0])
    """
    own = as_labels(labels, n_rows=draws.shape[1])
    n_clusters = int(own.max()) + 1
    fits = MOST_CELLS / (n_clusters * (float(draws.max(axis=1).mean()) + 1.0))
    kept = int(min(len(draws), at_most, max(1.0, fits)))
    some = thinned(draws, kept)
    offsets = np.concatenate([[0], np.cumsum(some.max(axis=1).astype(np.int64) + 1)])
    shares = np.zeros((offsets[-1], 8 * (n_clusters // 8 + 1)))  # whole vectors
    blocks = [slice(start, start + BLOCK) for start in range(0, len(own), BLOCK)]

    def cells(block: slice) -> IntArray:
        return np.ascontiguousarray((some[:, block].astype(np.int64) + offsets[:-1, None]).T)

    for block in blocks:
        _tabulate(cells(block), own[block], shares)
    sizes = shares.sum(axis=1)
    shares /= np.maximum(sizes - 1.0, 1.0)[:, None]
    alone_here = np.bincount(own)[own] == 1
    out = Certainty(np.empty(len(own)), np.empty(len(own), dtype=np.int64), np.empty(len(own)))
    for block in blocks:
        _certainty(cells(block), own[block], alone_here[block], shares, sizes, *(each[block] for each in out))
    return out._replace(runner_up=_named(out.runner_up, own, np.asarray(labels)))


def _named(numbers: IntArray, own: IntArray, labels: NDArray[Any]) -> IntArray:
    """Clusters ``numbers`` of ``own`` as ``labels`` names them; -1 stays."""
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        return numbers
    names = np.full(int(own.max()) + 2, -1, dtype=np.int64)  # the last one is that of -1
    names[own] = labels
    return names[numbers]


def certainty_of_shares(labels: IntArray, shares: FloatArray) -> Certainty:
    """The same where the probabilities of all clusters (row, cluster) are known, for instance for one partition.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.certainty import certainty_of_shares
    >>> certainty_of_shares(np.array([0]), np.array([[0.7, 0.1, 0.2]])).runner_up.tolist()
    [2]
    """
    rows = np.arange(len(labels))
    others = shares.copy()
    others[rows, labels] = -1.0
    runner_up = others.argmax(axis=1)
    second = np.maximum(others[rows, runner_up], 0.0)
    return Certainty(shares[rows, labels], np.where(second > 0.0, runner_up, -1), second)


@kernel
def _tabulate(cells, own, shares):
    for i in range(cells.shape[0]):
        for m in range(cells.shape[1]):
            shares[cells[i, m], own[i]] += 1.0


@kernel
def _certainty(cells, own, alone_here, shares, sizes, probability, runner_up, runner_up_probability):
    n_rows, n_draws = cells.shape
    total = np.empty(shares.shape[1])
    for i in range(n_rows):
        total[:] = 0.0
        itself, alone = 0.0, 0.0
        for m in range(n_draws):
            line = shares[cells[i, m]]
            for k in range(len(total)):
                total[k] += line[k]
            size = sizes[cells[i, m]]
            itself += 1.0 / max(size - 1.0, 1.0)
            alone += size == 1.0
        mine = own[i]
        within = alone if alone_here[i] else max(0.0, total[mine] - itself)
        probability[i] = min(1.0, within / n_draws)
        total[mine] = 0.0
        best = int(np.argmax(total))
        runner_up[i] = best if total[best] > 0.0 else -1
        runner_up_probability[i] = min(total[best] / n_draws, 1.0 - probability[i])
