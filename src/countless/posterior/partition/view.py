"""Draws of one partition: similarity, consensus, credible ball, certainty and the distance between chains.

The items may be rows of a table, columns, time points or anything else: only labels are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chains.draws import entropy_and_largest
from ...core.random import as_generator
from ...core.validate import choose, whole_number
from .ball import METRICS, CredibleBall, credible_ball
from .certainty import Certainty, row_certainty
from .chain_distance import ChainDistance, chain_distance
from .consensus import consensus
from .draws import FloatArray, IntArray, cluster_counts, spaced, thinned
from .similarity import similarity, sparse_similarity

# A full similarity matrix of so many items takes 1.6 GB.
MOST_ITEMS = 20_000


@dataclass(frozen=True, eq=False)
class PartitionDraws:
    """Draws of a partition of items, and what they say without naming clusters.

    Parameters
    ----------
    labels : array of int (chain, draw, item)
        Cluster of each item in each draw, numbered 0, 1, 2, ... by first appearance.
    item : str
        What error messages call an item: ``"row"`` for the rows of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.partition.view import PartitionDraws
    >>> draws = PartitionDraws(np.array([[[0, 0, 1, 1], [0, 0, 1, 2]], [[0, 0, 1, 1], [0, 0, 1, 1]]]))
    >>> draws.consensus().tolist(), draws.n_clusters_pmf()
    ([0, 0, 1, 1], {2: 0.75, 3: 0.25})
    """

    labels: NDArray[Any]
    item: str = "item"

    def __post_init__(self) -> None:
        if self.labels.ndim != 3 or self.labels.dtype.kind not in "iu" or not self.labels.size:
            raise ValueError(
                f"labels must be whole numbers (chain, draw, {self.item}), at least one of each, got shape "
                f"{self.labels.shape} of {self.labels.dtype}"
            )

    @property
    def n_draws(self) -> int:
        """Number of draws over all chains."""
        return self.labels.shape[0] * self.labels.shape[1]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.labels.shape[2]

    def flat_labels(self, at_most: int | None = None) -> NDArray[Any]:
        """Labels as (draw, item) over all chains, thinned evenly to ``at_most`` draws."""
        return thinned(self.labels.reshape(self.n_draws, -1), at_most)

    def spaced(self, at_most: int) -> IntArray:
        """Indices of at most so many draws, evenly spaced over all chains."""
        return spaced(self.n_draws, at_most)

    def n_clusters_pmf(self) -> dict[int, float]:
        """Posterior probability of each number of clusters that was drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> PartitionDraws(np.array([[[0, 0, 1], [0, 0, 0]]])).n_clusters_pmf()
        {1: 0.5, 2: 0.5}
        """
        values, counts = np.unique(cluster_counts(self.labels), return_counts=True)
        return {int(k): float(c) / self.n_draws for k, c in zip(values, counts, strict=True)}

    def entropy_and_largest(self) -> tuple[FloatArray, FloatArray]:
        """Entropy of the shares of the clusters (in nats) and the largest share, each (chain, draw).

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> entropy, largest = PartitionDraws(np.array([[[0, 0, 0, 1], [0, 0, 0, 0]]])).entropy_and_largest()
        >>> largest.tolist()
        [[0.75, 1.0]]
        """
        return entropy_and_largest(self.labels)

    def similarity(
        self,
        rows: Any = None,
        columns: Any = None,
        at_most: int | None = None,
        sparse: bool = False,
        threshold: float = 0.5,
    ) -> Any:
        """Probability that two items are in the same cluster, for every pair of items or for chosen ones.

        Parameters
        ----------
        rows : array of int or bool, optional
            Items to compare, the rows of the result; all of them by default, if there are at most 20,000.
        columns : array of int or bool, optional
            Items to compare these with, the columns of the result; by default the same items.
        at_most : int, optional
            Draws to use, evenly spaced; all by default.
        sparse : bool
            Return all pairs of probability ``threshold`` or more as a SciPy sparse array, for any number of items.
        threshold : float
            Above 0, for ``sparse=True``.

        Returns
        -------
        array (row, column) or scipy.sparse.csr_array
            In single precision beyond 5,000 items.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> draws = PartitionDraws(np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]]))
        >>> draws.similarity(rows=[3], columns=[0, 1, 2, 3]).tolist()
        [[0.0, 0.0, 0.5, 1.0]]
        >>> draws.similarity(sparse=True).nnz
        8
        """
        draws = self.flat_labels(at_most)
        if sparse:
            if rows is not None or columns is not None:
                raise ValueError(
                    f"sparse: sparse=True lists the pairs of all {self.item}s; leave out rows= and columns=, or sparse="
                )
            if not 0.0 < threshold <= 1.0:
                raise ValueError(f"threshold must be above 0 and at most 1, got {threshold!r}")
            return sparse_similarity(draws, threshold)
        first = None if rows is None else self._numbers("rows", rows)
        second = None if columns is None else self._numbers("columns", columns)
        height = self.n_items if first is None else len(first)
        width = height if second is None else len(second)
        if height * width > MOST_ITEMS**2:
            raise ValueError(
                f"similarity: {height} {self.item}s by {width} make a matrix of {4e-9 * height * width:.0f} GB; choose "
                f"some with rows=, let sampled_similarity() choose, or pass sparse=True"
            )
        return similarity(draws, first, second)

    def sampled_similarity(
        self, n_rows: int = 1_000, random_state: Any = 0, at_most: int | None = None
    ) -> tuple[IntArray, Any]:
        """Some items, chosen at random, and the probabilities that two of them are in the same cluster.

        Parameters
        ----------
        n_rows : int
            Number of items to choose; all of them if there are fewer.
        random_state : None, int or Generator
        at_most : int, optional
            Draws to use, evenly spaced; all by default.

        Returns
        -------
        items : array of int
            In increasing order.
        matrix : array (item, item)

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> items, matrix = PartitionDraws(np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]])).sampled_similarity(3)
        >>> len(items), matrix.shape
        (3, (3, 3))
        """
        wanted = min(self.n_items, whole_number("n_rows", n_rows, 1))
        items = np.sort(as_generator(random_state).choice(self.n_items, size=wanted, replace=False))
        return items, self.similarity(items, at_most=at_most)

    def consensus(
        self,
        loss: str = "vi",
        max_clusters: int | None = None,
        n_restarts: int | None = None,
        random_state: Any = 0,
        weight: float = 1.0,
        settle: bool = True,
    ) -> IntArray:
        """Partition of least posterior expected loss, in which items that waver are where they are most of the time.

        The search (``posterior/partition/consensus.py``) restarts several times; each time it places items greedily,
        then moves them one by one. The same draws give the same consensus, whatever the number of threads.

        Parameters
        ----------
        loss : {"vi", "binder", "omari"}
            Variation of information; Binder's loss, which prefers more and smaller clusters; one minus the adjusted
            Rand index.
        max_clusters : int, optional
            Most clusters that it may have, 0 for any number. By default as many as 97.5% of the draws have at most.
        n_restarts : int, optional
            Number of restarts; by default 4 to 16, stopping early when several of them find the best partition.
        random_state : None, int or Generator
            Order in which items are visited.
        weight : float
            Cost of separating two items that a draw has together, between 0 and 2; that of joining two that it has
            apart is 2 minus this. Above 1 there are fewer clusters, below 1 more. For ``"vi"`` and ``"binder"``.
        settle : bool
            Dissolve clusters whose items share them in less than half of the draws, among them single items that are
            alone in less than half: each goes to the cluster of most of its companions, if that is more probable than
            its own. ``certainty`` says how sure they are of it. With False the result is that of least expected loss,
            never worse than the best draw that has no more than ``max_clusters``.

        Returns
        -------
        array of int
            Labels numbered by size, the largest cluster first.

        References
        ----------
        Dahl, Johnson and Mueller 2022, *Search algorithms and loss functions for Bayesian clustering*, Journal of
        Computational and Graphical Statistics 31; Wade and Ghahramani 2018, *Bayesian cluster analysis: point
        estimation and credible balls*, Bayesian Analysis 13.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> PartitionDraws(np.array([[[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 1]]])).consensus("binder").tolist()
        [0, 0, 1, 1]
        """
        return consensus(self.flat_labels(), loss, max_clusters, n_restarts, random_state, weight, settle)

    def credible_ball(self, level: float = 0.95, labels: Any = None, loss: str = "vi") -> CredibleBall:
        """The smallest ball around the consensus, or around ``labels``, that holds a share ``level`` of the draws.

        Parameters
        ----------
        level : float
            Above 0 and at most 1.
        labels : array, optional
            Centre; by default the consensus for the same loss.
        loss : {"vi", "binder"}
            Distance between partitions.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> draws = PartitionDraws(np.array([[[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 1]]]))
        >>> draws.credible_ball(0.9).vertical_lower.tolist()
        [[0, 0, 1, 2]]
        """
        choose("loss", loss, METRICS)
        center = self.consensus(loss) if labels is None else labels
        return credible_ball(self.flat_labels(), center, level, loss)

    def certainty(self, labels: Any = None) -> Certainty:
        """Probability of each item's cluster, and its runner-up; see ``Certainty``.

        A single draw contains no information about this, and all probabilities are one.

        Parameters
        ----------
        labels : array, optional
            The clustering in question; by default the consensus. A runner-up is named as in these.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> draws = PartitionDraws(np.array([[[0, 0, 0, 1, 1]] * 3 + [[0, 0, 1, 1, 1]]]))
        >>> draws.certainty([0, 0, 0, 1, 1]).probability.tolist()
        [1.0, 1.0, 0.75, 0.875, 0.875]
        """
        return row_certainty(self.consensus() if labels is None else labels, self.flat_labels())

    def distance(self, most_items: int = 500) -> ChainDistance:
        """Distances between chains by which items they put together, and what chance alone would give.

        Parameters
        ----------
        most_items : int
            Pairs among so many items, always the same random choice, represent all pairs.

        Examples
        --------
        >>> import numpy as np
        >>> from countless.posterior.partition.view import PartitionDraws
        >>> PartitionDraws(np.array([[[0, 0, 1, 1]] * 20, [[0, 0, 1, 2]] * 20])).distance().largest
        0.5
        """
        n_chains, n_draws, _ = self.labels.shape
        if min(n_chains, n_draws) < 2:
            raise ValueError(
                f"distance: needs at least 2 chains of at least 2 draws, got {n_chains} of {n_draws}; run more chains"
            )
        return chain_distance(self.labels, whole_number("most_items", most_items, 2))

    def _numbers(self, name: str, items: Any) -> IntArray:
        numbers = np.atleast_1d(np.asarray(items))
        n_items, item = self.n_items, self.item
        if numbers.dtype == bool and numbers.shape == (n_items,):
            return np.flatnonzero(numbers)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
            raise ValueError(f"{name} must hold {item} numbers, or True and False for {n_items} {item}s, got {items!r}")
        if numbers.min() < -n_items or numbers.max() >= n_items:
            furthest = int(numbers[np.argmax(np.abs(numbers))])
            raise ValueError(f"{name} must be between 0 and {n_items - 1}, got {furthest}")
        return numbers % n_items
