"""Posterior: every draw of the partition, and what can be said from them without naming clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.random import as_generator
from ..core.validate import choose, whole_number
from ..inference import Components, Draws, Truncation
from ..models.mixture.impute import Imputation, impute
from .data import Data
from .diagnostics import Diagnostics, diagnose
from .partition import similarity as partitions
from .partition.ball import METRICS, CredibleBall, credible_ball
from .partition.certainty import Certainty, row_certainty
from .partition.consensus import consensus
from .partition.summaries import ClusterSummary, summaries_frame, summarise
from .to_arviz import to_arviz

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A full similarity matrix of so many rows takes 1.6 GB.
MOST_ROWS = 20_000


@dataclass(frozen=True)
class Posterior:
    """Draws of the partition, one row of arrays per chain.

    Attributes
    ----------
    labels : array (chain, draw, row)
        Cluster of each row in each draw, numbered by first appearance.
    n_clusters : array (chain, draw)
    log_joint : array (chain, draw)
        Log of p(rows, partition), with the density of a learned log concentration.
    concentration : array (chain, draw)
    objective : array
        Log joint (or bound) at each step of an optimiser; empty for samplers.
    interrupted : bool
        Whether the fit was stopped before all draws were made.
    mode : array of int or None
        The labels that an engine which approximates the posterior by one mixture holds most probable.
    components : Components or None
        That mixture.
    parameters : dict of arrays or None
        Parameters of the clusters by name, in the user's units, from engines that draw them: those of all
        clusters of the first draw, then of the next, through all chains. ``parameters_of`` picks one draw.
    weights : array or None
        Weights of the same clusters, from engines that draw them.
    truncation : Truncation or None
        Number of sticks of each draw and bound on what truncation costs, for ``BlockedGibbs``.
    log_factors : dict of arrays (chain, draw)
        Where hyperparameters of the family were learned: the logs of what each was multiplied by.
    fills : array (chain, draw, cell) or None
        Missing cells, where they were drawn along with the clusters; in the user's units.
    hyperparameters : dict of arrays (chain, draw)
        Their sizes, as in ``Family.tunable``.
    data : Data or None
        The rows that were clustered, their columns, family and prior.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> bool(model.posterior_.similarity()[0, 1] > 0.5)
    True
    """

    labels: NDArray[Any]
    n_clusters: IntArray
    log_joint: FloatArray
    concentration: FloatArray
    objective: FloatArray
    interrupted: bool = False
    mode: IntArray | None = None
    components: Components | None = None
    parameters: dict[str, FloatArray] | None = None
    weights: FloatArray | None = None
    truncation: Truncation | None = None
    log_factors: Mapping[str, FloatArray] = field(default_factory=dict)
    fills: NDArray[np.float32] | None = None
    hyperparameters: Mapping[str, FloatArray] = field(default_factory=dict)
    data: Data | None = None

    @classmethod
    def of(cls, draws: Draws, data: Data | None = None) -> Posterior:
        """Wrap what an engine returned for these rows."""
        family = None if data is None else data.family
        log_factors = draws.log_factors or {}
        sizes = {} if family is None else family.tunable()
        values = {
            name: family.lower_bound(name) + (sizes[name] - family.lower_bound(name)) * np.exp(logs)
            for name, logs in log_factors.items()
            if family is not None
        }
        return cls(**draws._replace(log_factors=log_factors)._asdict(), hyperparameters=values, data=data)

    def typical_factors(self) -> dict[str, float]:
        """Posterior means of the log factors of learned hyperparameters; empty where none were."""
        return {name: float(np.mean(logs)) for name, logs in self.log_factors.items()}

    @property
    def n_draws(self) -> int:
        """Number of draws over all chains."""
        return int(self.n_clusters.size)

    @property
    def is_sampled(self) -> bool:
        """Whether the draws are from the posterior itself, not a single partition or from an approximation."""
        return self.n_draws > 1 and self.components is None

    def flat_labels(self, at_most: int | None = None) -> NDArray[Any]:
        """Labels as (draw, row) over all chains, thinned evenly to ``at_most`` draws."""
        flat = self.labels.reshape(self.n_draws, -1)
        return flat if at_most is None or len(flat) <= at_most else flat[self.spaced(at_most)]

    def flat_fills(self) -> NDArray[Any] | None:
        """Missing cells that the engine drew, as (draw, cell) over all chains; None where it drew none."""
        return None if self.fills is None else self.fills.reshape(self.n_draws, -1)

    def flat_log_factors(self) -> dict[str, FloatArray]:
        """Log factors of learned hyperparameters, one for each draw over all chains."""
        return {name: logs.reshape(-1) for name, logs in self.log_factors.items()}

    def impute(self, n_draws: int = 200, random_state: Any = 0) -> Imputation:
        """What the missing cells of the table may hold: draws from their posterior, and their means.

        Parameters
        ----------
        n_draws : int
            Draws of each cell, spread over the draws of the clusters.
        random_state : None, int or Generator

        Returns
        -------
        Imputation
            ``rows``, ``columns``, ``draws`` (draw, cell), ``mean``, ``best``; ``frame()`` lists the cells and
            ``filled()`` is the whole table.

        Examples
        --------
        >>> import pandas as pd
        >>> import countless as cl
        >>> frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 9.1, 9.2, 9.3] * 3, "sort": list("aaabb") * 3 + list("bbb")})
        >>> frame.loc[0, "x"] = None
        >>> family = cl.families.Table({"x": "diagonal-gaussian"})
        >>> model = cl.DPMixture(family=family, random_state=0).fit(frame)
        >>> missing = model.posterior_.impute()
        >>> missing.rows.tolist(), missing.draws.shape
        ([0], (200, 1))
        """
        return impute(self, n_draws, random_state)

    def spaced(self, at_most: int) -> IntArray:
        """Numbers of at most so many draws, evenly spaced over all chains."""
        return np.linspace(0, self.n_draws - 1, min(self.n_draws, at_most)).astype(np.int64)

    def parameters_of(self, chain: int, draw: int) -> dict[str, FloatArray]:
        """Parameters of the clusters of one draw, in the order of its labels, with their ``weights`` if there are any.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="uncollapsed", random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
        >>> drawn = model.posterior_.parameters_of(0, 5)
        >>> sorted(drawn)
        ['covariance', 'mean']
        >>> bool(len(drawn["mean"]) == model.posterior_.n_clusters[0, 5])
        True
        """
        if self.parameters is None:
            raise ValueError(
                "parameters_of: this fit kept no parameters; choose inference='uncollapsed', 'single-site' or "
                "'blocked', with keep_parameters=True"
            )
        n_chains, n_draws = self.n_clusters.shape
        if not (-n_chains <= chain < n_chains and -n_draws <= draw < n_draws):
            raise ValueError(
                f"parameters_of: there are {n_chains} chains of {n_draws} draws, got chain {chain} and draw {draw}"
            )
        counts = self.n_clusters.reshape(-1)
        at = (chain % n_chains) * n_draws + draw % n_draws
        first = int(counts[:at].sum())
        those = slice(first, first + int(counts[at]))
        named = self.parameters if self.weights is None else {**self.parameters, "weights": self.weights}
        return {name: values[those] for name, values in named.items()}

    def n_clusters_pmf(self) -> dict[int, float]:
        """Posterior probability of each number of clusters that was drawn."""
        values, counts = np.unique(self.n_clusters, return_counts=True)
        return {int(k): float(c) / self.n_draws for k, c in zip(values, counts, strict=True)}

    def similarity(
        self,
        rows: Any = None,
        columns: Any = None,
        at_most: int | None = None,
        sparse: bool = False,
        threshold: float = 0.5,
    ) -> Any:
        """Probability that two rows are in the same cluster, for every pair of rows or for chosen ones.

        Parameters
        ----------
        rows : array of int or bool, optional
            Rows to compare; all of them by default, if there are at most 20,000.
        columns : array of int or bool, optional
            Rows to compare these with; by default with each other.
        at_most : int, optional
            Draws to use, evenly spaced; all by default.
        sparse : bool
            All pairs of probability ``threshold`` or more as a SciPy sparse array, for any number of rows.
        threshold : float
            Above 0, for ``sparse=True``.

        Returns
        -------
        array (row, column) or scipy.sparse.csr_array
            In single precision beyond 5,000 rows.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> model.posterior_.similarity(rows=[0], columns=[0, 1, 2, 3]).shape
        (1, 4)
        >>> model.posterior_.similarity(sparse=True).nnz
        18
        """
        draws = self.flat_labels(at_most)
        n_rows = draws.shape[1]
        if sparse:
            if rows is not None or columns is not None:
                raise ValueError("sparse: pairs of all rows are listed; give rows and columns without it")
            if not 0.0 < threshold <= 1.0:
                raise ValueError(f"threshold must be above 0 and at most 1, got {threshold!r}")
            return partitions.sparse_similarity(draws, threshold)
        first = None if rows is None else _row_numbers("rows", rows, n_rows)
        second = None if columns is None else _row_numbers("columns", columns, n_rows)
        height = n_rows if first is None else len(first)
        width = height if second is None else len(second)
        if height * width > MOST_ROWS**2:
            raise ValueError(
                f"similarity: {height} rows by {width} make a matrix of {4e-9 * height * width:.0f} GB; choose some "
                f"with rows=, let sampled_similarity() choose, or ask for sparse=True"
            )
        return partitions.similarity(draws, first, second)

    def consensus(
        self,
        loss: str = "vi",
        max_clusters: int | None = None,
        n_restarts: int | None = None,
        random_state: Any = 0,
    ) -> IntArray:
        """Partition of least posterior expected loss, searched over all partitions; never worse than the best draw.

        Several restarts of greedy allocation and row by row moves, see ``posterior/consensus.py``. The same draws
        give the same consensus, whatever the number of threads.

        Parameters
        ----------
        loss : {"vi", "binder", "omari"}
            Variation of information; Binder's loss with equal costs, which prefers more and smaller clusters; one minus
            the adjusted Rand index.
        max_clusters : int, optional
            Most clusters that it may have; None or 0 for any number.
        n_restarts : int, optional
            Number of restarts; by default 4 to 16, ending sooner when several of them meet in the best partition.
        random_state : None, int or Generator
            Orders in which rows are looked at.

        Returns
        -------
        array of int
            Labels numbered by first appearance.

        References
        ----------
        Dahl, Johnson and Mueller 2022, *Search algorithms and loss functions for Bayesian clustering*, Journal of
        Computational and Graphical Statistics 31; Wade and Ghahramani 2018, *Bayesian cluster analysis: point
        estimation and credible balls*, Bayesian Analysis 13.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> model.posterior_.consensus("binder").tolist()
        [0, 0, 0, 1, 1, 1]
        """
        return consensus(self.flat_labels(), loss, max_clusters, n_restarts, random_state)

    def sampled_similarity(
        self, n_rows: int = 1_000, random_state: Any = 0, at_most: int | None = None
    ) -> tuple[IntArray, Any]:
        """Some rows, chosen at random, and the probabilities that two of them are in the same cluster.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> rows, matrix = model.posterior_.sampled_similarity(4)
        >>> len(rows), matrix.shape
        (4, (4, 4))
        """
        n_all = self.labels.shape[-1]
        wanted = min(n_all, whole_number("n_rows", n_rows, 1))
        rows = np.sort(as_generator(random_state).choice(n_all, size=wanted, replace=False))
        return rows, self.similarity(rows, at_most=at_most)

    def credible_ball(self, level: float = 0.95, labels: Any = None, loss: str = "vi") -> CredibleBall:
        """The smallest ball around the consensus, or around ``labels``, that holds a share ``level`` of the draws.

        Parameters
        ----------
        level : float
        labels : array, optional
            Centre; by default the consensus by the same loss.
        loss : {"vi", "binder"}
            Distance between partitions.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> model.posterior_.credible_ball(0.9, labels=model.labels_).horizontal.shape[1]
        6
        """
        choose("loss", loss, METRICS)
        center = self.consensus(loss) if labels is None else labels
        return credible_ball(self.flat_labels(), center, level, loss)

    def certainty(self, labels: Any = None) -> Certainty:
        """How sure each row's cluster is, and its runner-up; see ``Certainty``.

        Of a fit with a single partition (MAP) nothing can be said this way, and all probabilities are one; its
        ``predict_proba`` tells more.

        Parameters
        ----------
        labels : array, optional
            The clustering that is asked about; by default the consensus, numbered like it.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> bool((model.posterior_.certainty().probability > 0.5).all())
        True
        """
        return row_certainty(self.consensus() if labels is None else labels, self.flat_labels())

    def diagnostics(self) -> Diagnostics:
        """Whether the chains have met: R-hat, effective draws, distance between chains, run length, and a verdict.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
        >>> model.posterior_.diagnostics().verdict
        'A single partition: there are no chains to compare.'
        """
        return diagnose(self)

    def to_arviz(self, labels: bool = False, attrs: Mapping[str, Any] | None = None) -> Any:
        """The draws for ArviZ: ``InferenceData`` with ArviZ 0.x, a ``DataTree`` with 1.x.

        Parameters
        ----------
        labels : bool
            Whether the cluster of each row in each draw is included.
        attrs : dict, optional
            Attributes to add to those that name the library, the family, the prior and the columns.

        Returns
        -------
        InferenceData or DataTree
            Groups ``posterior`` (label-free quantities, learned hyperparameters, ``labels`` with dimension ``row``),
            ``sample_stats`` (``lp``, the log joint) and ``observed_data`` (``rows`` by row and column).

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> draws = model.posterior_.to_arviz(labels=True)
        >>> draws["posterior"]["labels"].dims
        ('chain', 'draw', 'row')
        """
        return to_arviz(self, labels, attrs)

    def summaries(self, labels: ArrayLike | None = None, most_traits: int | None = None) -> list[ClusterSummary]:
        """What each cluster is like: its size with an interval, how sure it is, and what distinguishes it.

        Parameters
        ----------
        labels : array of int, optional
            The clustering to describe, ``model.labels_`` for one; default, the consensus, which is computed anew.
        most_traits : int, optional
            Traits to keep for each cluster; default, all.

        Returns
        -------
        list of ClusterSummary
            In the order of the labels.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> [found.traits[0].text for found in model.posterior_.summaries(model.labels_)]
        ['column 0 0.10 (others 9.10)', 'column 0 9.10 (others 0.10)']
        """
        if labels is None:
            labels = self.consensus() if self.mode is None else self.mode
        return summarise(self.data, self.flat_labels(), labels, most_traits)

    def summaries_frame(self, labels: ArrayLike | None = None, most_traits: int = 3) -> pd.DataFrame:
        """``summaries`` as a table with one row per cluster, its clearest traits in words."""
        return summaries_frame(self.summaries(labels), most_traits)


def _row_numbers(name: str, rows: Any, n_rows: int) -> IntArray:
    numbers = np.atleast_1d(np.asarray(rows))
    if numbers.dtype == bool and numbers.shape == (n_rows,):
        return np.flatnonzero(numbers)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise ValueError(f"{name} must hold row numbers, or True and False for {n_rows} rows, got {rows!r}")
    if numbers.min() < -n_rows or numbers.max() >= n_rows:
        raise ValueError(f"{name} must be between 0 and {n_rows - 1}, got {int(numbers[np.argmax(np.abs(numbers))])}")
    return numbers % n_rows
