"""How much chains differ in the rows that they put together, and how much they would differ by chance.

The similarity matrix S_c of a chain holds the share of its draws in which two rows are together. For two chains the
Tanimoto distance (extended Jaccard) over the pairs of rows

    d(c, e) = |S_c - S_e|^2 / (|S_c|^2 + |S_e|^2 - <S_c, S_e>)

is, for chains that never move, the share of pairs that only one chain joins among those that either joins: 0 for the
same groups, 1 for no pair in common. It needs inner products only.

The chains themselves show what chance gives. Each is cut into batches; the deviations of batches from the mean of their
own chain are Monte Carlo error, whether or not the chains agree. These residuals are dealt to the chains at random many
times and added to one common mean (a permutation of residuals under the reduced model, as in Anderson and ter Braak
2003, *Permutation tests for multi-factorial analysis of variance*; times sqrt(b / (b - 1)), because the b residuals of
a chain sum to zero). Chains are too far apart if hardly any deal gives a distance as large. Residuals are exchangeable
if batches are long compared with the autocorrelation time of the chain. Chains that never move have no residuals, so
that any difference between them counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .draws import FloatArray, IntArray, spaced

# Draws, over all chains, from which similarities are computed; batches over all chains; fewest draws of a batch, unless
# a chain would have fewer than two; deals of the residuals.
MOST_DRAWS = 1000
BATCHES = 16
SHORTEST = 10
DEALS = 999
# Rounding error of a distance of zero in single precision.
ROUNDING = 1e-6


class ChainDistance(NamedTuple):
    """Distances between the similarity matrices of chains.

    Attributes
    ----------
    between : array (chain, chain)
        Tanimoto distances: of the pairs of rows that either chain joins, the share that only one joins.
    limit : float
        If all chains drew from one distribution, the largest distance would stay below this in 99 of 100 cases.
    p_value : float
        Share of the deals of residuals with a largest distance at least as large as the observed one.
    furthest : tuple of int
        The two chains that are furthest apart.
    rows : array of int
        Rows that were compared.
    by_row : array
        Distance between the two furthest chains over the pairs that contain each of these rows.
    """

    between: FloatArray
    limit: float
    p_value: float
    furthest: tuple[int, int]
    rows: IntArray
    by_row: FloatArray

    @property
    def largest(self) -> float:
        """Distance between the two furthest chains."""
        return float(self.between[self.furthest])


def chain_distance(labels: NDArray[Any], most_rows: int = 500) -> ChainDistance:
    """Compare chains by the rows that they put together.

    Parameters
    ----------
    labels : array (chain, draw, row)
        At least two chains of at least two draws.
    most_rows : int
        Pairs among so many rows, always the same random choice, represent all pairs.

    Examples
    --------
    Two chains that never move and have half of their pairs in common:

    >>> import numpy as np
    >>> from countless.posterior.partition.chain_distance import chain_distance
    >>> labels = np.array([[[0, 0, 1, 1]] * 20, [[0, 0, 1, 2]] * 20])
    >>> chain_distance(labels).largest
    0.5
    """
    n_chains, _, n_rows = labels.shape
    rng = np.random.default_rng(20180611)
    rows = np.arange(n_rows) if n_rows <= most_rows else np.sort(rng.choice(n_rows, most_rows, replace=False))
    batches = _similarities(labels, rows)
    n_batches = batches.shape[1]
    flat = batches.reshape(n_chains * n_batches, -1)
    products = (flat @ flat.T).astype(np.float64)
    observed = np.kron(np.eye(n_chains), np.full((1, n_batches), 1.0 / n_batches))
    between = _tanimoto(observed @ products @ observed.T)
    largest = _by_chance(products, n_chains, n_batches, rng)
    one, other = (int(at) for at in np.unravel_index(np.argmax(between), between.shape))
    furthest = (min(one, other), max(one, other))
    return ChainDistance(
        between=between,
        limit=float(np.quantile(largest, 0.99)),
        # The observed distance counts as one of the deals.
        p_value=float((1 + np.sum(largest >= between.max() - ROUNDING)) / (1 + DEALS)),
        furthest=furthest,
        rows=rows,
        by_row=_distance_by_row(*batches[list(furthest)].mean(axis=1, dtype=np.float64)),
    )


def _by_chance(products: FloatArray, n_chains: int, n_batches: int, rng: np.random.Generator) -> FloatArray:
    """Largest distance in each deal of residuals, from inner products of the batches, chain after chain."""
    n = n_chains * n_batches
    own_mean = np.kron(np.eye(n_chains), np.full((n_batches, n_batches), 1.0 / n_batches))
    residuals = (np.eye(n) - own_mean) * np.sqrt(n_batches / (n_batches - 1.0))
    dealt = np.argsort(rng.random((DEALS, n)), axis=1).reshape(DEALS, n_chains, n_batches)
    chains = 1.0 / n + residuals[dealt].mean(axis=2)
    return _tanimoto(chains @ products @ chains.transpose(0, 2, 1)).max(axis=(1, 2))


def _similarities(labels: NDArray[Any], rows: IntArray) -> NDArray[np.float32]:
    """Similarity matrices of the batches: (chain, batch, row, row), without the diagonal."""
    n_chains, n_draws, _ = labels.shape
    n_batches = max(2, min(-(-BATCHES // n_chains), n_draws // SHORTEST))
    kept = max(1, min(n_draws, MOST_DRAWS // n_chains) // n_batches)
    out = np.zeros((n_chains, n_batches, len(rows), len(rows)), dtype=np.float32)
    # Counts fit into bytes: a batch has at most MOST_DRAWS / 4 draws.
    same = np.empty((len(rows), len(rows)), dtype=np.bool_)
    counts = np.empty(same.shape, dtype=np.uint8)
    for chain in range(n_chains):
        for batch, draws in enumerate(np.array_split(np.arange(n_draws), n_batches)):
            picked = draws[spaced(len(draws), kept)]
            counts[:] = 0
            for draw in np.ascontiguousarray(labels[chain][picked[:, None], rows]):
                np.equal(draw[:, None], draw, out=same)
                np.add(counts, same.view(np.uint8), out=counts)
            np.fill_diagonal(counts, 0)
            out[chain, batch] = counts / np.float32(len(picked))
    return out


def _tanimoto(products: FloatArray) -> FloatArray:
    """Distances from inner products (..., chain, chain); 0 where neither chain joins any pair."""
    own = np.diagonal(products, axis1=-2, axis2=-1)
    total = own[..., :, None] + own[..., None, :]
    apart = np.maximum(total - 2.0 * products, 0.0)
    return np.where(total > 0.0, apart / np.maximum(total - products, 1e-300), 0.0) * (1.0 - np.eye(own.shape[-1]))


def _distance_by_row(one: FloatArray, other: FloatArray) -> FloatArray:
    apart = np.sum((one - other) ** 2, axis=1)
    either = np.sum(one**2 + other**2 - one * other, axis=1)
    return np.where(either > 0.0, apart / np.maximum(either, 1e-300), 0.0)
