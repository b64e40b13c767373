"""InfiniteBiclustering: rows and columns grouped together, behind the scikit-learn interface."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BiclusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ...chains.draws import Draws
from ...chains.engine import Inference
from ...chains.fields import Field
from ...core.random import as_generator
from ...core.validate import by_size, choose
from ...families import Family
from ...partitions.seats import FloatArray, IntArray
from ...priors import Prior, resolve_prior
from ...runs import register_estimator
from ..command import Command
from ..estimator import Arrays, RunEstimator
from .block_models import BlockModel, resolve_model
from .block_models.base import BlockCounts
from .command import COMMAND
from .data import BiclusteringData
from .engines.choice import resolve_inference
from .features import column_of, grouped
from .posterior import BiclusteringPosterior
from .predictive import held_out, log_predictive
from .reading import presence, read_matrix, read_new_matrix, rescaled


@register_estimator("InfiniteBiclustering")
class InfiniteBiclustering(TransformerMixin, BiclusterMixin, RunEstimator):
    """Biclustering whose numbers of row and column clusters are inferred from the data.

    Rows fall into clusters, columns fall into clusters, and all cells of a block, the cells of one row cluster and one
    column cluster, are alike.

    Parameters
    ----------
    model : str or block model object
        What makes the cells of a block alike: ``"relational"`` (default; the cells are draws of one law: the infinite
        relational model), or, for counts, ``"symmetric"`` (all counts of the matrix are thrown over the blocks),
        ``"asymmetric"`` (the counts of each row, given their number), ``"factorized"`` (rows and columns apart),
        ``"frequency"`` (rows and columns are drawn apart, and the block decides whether the draw counts). Or an object
        of ``countless.models.biclustering.block_models`` with hyperparameters of your own.
    family : str or family object, optional
        For ``"relational"``, the law of a cell: ``"bernoulli"``, ``"poisson"``, ``"gaussian"``, ``"categorical"`` or
        any other family of one column. Default: by the cells, one of the first three.
    degree_corrected : bool
        Whether rows and columns have popularities inside their cluster, for counts. Without it the counts of a block
        spread evenly over its rows and columns, and items of unlike totals are kept apart: words in documents need it.
    row_prior, column_prior : str or prior object
        How rows and columns fall into clusters: as for ``DPMixture``.
    inference : str or inference object
        ``"auto"`` (default: sampling, or optimising for large matrices), ``"gibbs"``, ``"map"``, ``"variational"``, or
        an object of ``countless.inference``: ``BiclusterGibbs``, ``BiclusterMAP``, ``BiclusterVariational``.
    tied : bool
        Rows and columns are the same items (a square relation), with one partition for both.
    rescale : float, optional
        Turn ratings into counts that add up to about this number: each cell is multiplied by ``rescale / X.sum()``, or,
        for ``"asymmetric"``, so that every row has the same total, and rounded. The number of clusters depends on it:
        the larger the counts, the more differences are beyond chance. Default: cells are taken as they are.
    presence : bool
        Count each cell that holds anything once. A word that occurs once in a document tends to occur again, whatever
        the document is about; models of thrown counts know nothing of that, and take repeats for small clusters. Where
        repeats follow one law for all cells, they say nothing of the clusters.
    features : {"mean", "representative"}
        What ``transform`` makes of a column cluster.
    random_state : None, int, Generator or RandomState
        Seed. The same seed gives the same draws whatever the number of threads.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.
    warm_start : bool
        Whether ``fit`` continues the chains of the last fit of the same matrix.

    Attributes
    ----------
    row_labels_, column_labels_ : arrays of int
        Consensus clusterings of rows and of columns, or the MAP partitions; numbered by size, the largest first.
    n_clusters_ : tuple of int
        Numbers of row and of column clusters.
    rows_, columns_ : arrays of bool (block, row), (block, column)
        Which rows and columns are in each block, as in scikit-learn; ``biclusters_`` has both.
    block_means_ : array (row cluster, column cluster)
        Posterior mean of a cell of each block.
    block_probabilities_ : array (row cluster, column cluster)
        Share of each block in what all cells add up to on average; for ``family="bernoulli"``, the probability of a
        one, as ``block_means_``.
    posterior_ : BiclusteringPosterior
        Every draw: ``row_labels``, ``column_labels``, ``log_joint``, ``hyperparameters``.
    model_ : the block model in use, with hyperparameters at their posterior mean (on their line).
    row_prior_, column_prior_, inference_ : the objects in use.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(np.kron([[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]], np.ones((15, 8))))
    >>> model = cl.InfiniteBiclustering(random_state=0).fit(X)
    >>> model.n_clusters_
    (2, 3)
    """

    data_class: ClassVar[Any] = BiclusteringData
    known_before: ClassVar[tuple[str, ...]] = (*RunEstimator.known_before, "row_prior_", "column_prior_")
    command: ClassVar[Command | None] = COMMAND
    sure_in: ClassVar[str] = "posterior_.partition('row').certainty()"
    result_fields: ClassVar[tuple[Field, ...]] = (
        Field("row_labels", "labels", ("row",), once=True),
        Field("column_labels", "labels", ("column",), once=True),
    )

    posterior_: BiclusteringPosterior

    def __init__(
        self,
        model: str | BlockModel = "relational",
        family: str | Family | None = None,
        degree_corrected: bool = False,
        row_prior: str | Prior = "crp",
        column_prior: str | Prior = "crp",
        inference: str | Inference = "auto",
        tied: bool = False,
        rescale: float | None = None,
        presence: bool = False,
        features: str = "mean",
        random_state: Any = None,
        progress: bool | None = None,
        warm_start: bool = False,
    ) -> None:
        self.model = model
        self.family = family
        self.degree_corrected = degree_corrected
        self.row_prior = row_prior
        self.column_prior = column_prior
        self.inference = inference
        self.tied = tied
        self.rescale = rescale
        self.presence = presence
        self.features = features
        self.random_state = random_state
        self.progress = progress
        self.warm_start = warm_start

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Infer the clusters of the rows and of the columns of ``X``; ``y`` is ignored.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            NaN is a missing cell, for ``model="relational"``. A sparse matrix is never made dense: the cost of a sweep
            grows with its stored cells, and with the rows plus columns times the numbers of clusters.
        checkpoint, checkpoint_every
            As for ``DPMixture.fit``.
        """
        rng = as_generator(self.random_state)
        choose("features", self.features, {"mean": None, "representative": None})
        spec = resolve_model(self.model, self.family, self.degree_corrected)
        matrix, names = read_matrix(X, self.tied)
        validate_data(self, X, reset=True, skip_check_array=True)
        if self.presence:
            matrix = presence(matrix, self.rescale)
        if self.rescale is not None:
            matrix = rescaled(matrix, self.rescale, spec)
        spec.check(matrix)
        model = spec.resolve(matrix)
        self.row_prior_ = self.column_prior_ = resolve_prior(self.row_prior).resolve(matrix.shape[0])
        if not self.tied:
            self.column_prior_ = resolve_prior(self.column_prior).resolve(matrix.shape[1])
        priors = (self.row_prior_,) if self.tied else (self.row_prior_, self.column_prior_)
        data = BiclusteringData(matrix, model, priors, *names)
        self.inference_ = resolve_inference(self.inference, data.problem())
        return self._fit(data, checkpoint, checkpoint_every, rng)

    def _accept(self, problem: Any, draws: Draws, data: BiclusteringData, result: Arrays | None) -> None:
        self.posterior_ = BiclusteringPosterior(draws, data)
        if result is None:
            sides = ("row", "row") if data.tied else ("row", "column")
            labels = [self._point(side) for side in sides]
        else:
            labels = [result[name].astype(np.int64) for name in ("row_labels", "column_labels")]
        self.row_labels_, self.column_labels_ = labels
        self.n_clusters_ = int(labels[0].max()) + 1, int(labels[1].max()) + 1
        offsets = self.posterior_.typical_offsets()
        self.model_ = problem.model.at(problem.law, offsets)
        own = labels[: len(data.priors)]
        state = problem.state(*own, offsets=offsets)
        # Slots are numbered by first appearance, clusters by size.
        order = [_slots_of(part, seats.labels) for part, seats in zip(labels, state.seats, strict=True)]
        counts = _in_order(state.counts(), order)
        self.block_means_ = self.model_.means(counts)
        self.block_probabilities_ = self.block_means_
        if not self._is_chance():
            whole = self.block_means_ * np.outer(*counts.sizes)
            self.block_probabilities_ = whole / whole.sum() if whole.ndim == 2 and whole.sum() > 0 else whole
        blocks = np.indices(self.n_clusters_).reshape(2, -1)
        self.rows_ = blocks[0][:, None] == self.row_labels_
        self.columns_ = blocks[1][:, None] == self.column_labels_

    def _is_chance(self) -> bool:
        from ...families.bernoulli import Bernoulli
        from ...families.categorical import Categorical

        return isinstance(getattr(self.model_, "family", None), (Bernoulli, Categorical))

    def _point(self, side: str) -> IntArray:
        """The clustering of one side to show."""
        partition = self.posterior_.partition(side)
        if self.posterior_.is_sampled:
            return partition.consensus()
        mode = self.posterior_.get(f"{side}_mode")
        return by_size(partition.flat_labels()[0] if mode is None else mode)

    def _result(self) -> Arrays:
        return {"row_labels": self.row_labels_, "column_labels": self.column_labels_}

    def _headline(self) -> str:
        rows, columns = self.n_clusters_
        data = self.posterior_.data
        if data.tied:
            return f"{rows} clusters of {data.matrix.shape[0]} items"
        shape = data.matrix.shape
        return f"{rows} row clusters and {columns} column clusters in {shape[0]:,} rows and {shape[1]:,} columns"

    # --- what a fit answers ---------------------------------------------------------------------------------------

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Held-out log likelihood of each row: the sum of the log predictive of its cells that are not NaN.

        ``X`` has the shape of the fit; cells that were missing in the fit hold their values here, and all others NaN.
        For models of thrown counts (all but ``"relational"``) cells hold further counts, and each count has the log
        probability of the cell that it fell into.
        """
        check_is_fitted(self)
        data = self.posterior_.data
        new = read_new_matrix(X, data.matrix.shape)
        rows, columns, values = held_out(data.matrix, new, data.model.predicts_zeros)
        scores = log_predictive(data.problem(), self.posterior_, rows, columns, values)
        return np.bincount(rows, scores, minlength=data.matrix.shape[0]).astype(np.float64)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Sum of the log predictives of all cells that are not NaN; ``y`` is ignored."""
        return float(self.score_samples(X).sum())

    def reorder(self, X: Any) -> Any:
        """The rows and columns of ``X`` (array, sparse matrix or data frame), cluster by cluster."""
        check_is_fitted(self)
        rows, columns = (np.argsort(part, kind="stable") for part in (self.row_labels_, self.column_labels_))
        shape = tuple(np.shape(X)) if not sparse.issparse(X) else X.shape
        if shape != (len(rows), len(columns)):
            raise ValueError(f"X has shape {shape}, but the fit had {(len(rows), len(columns))}")
        if hasattr(X, "iloc"):
            return X.iloc[rows, columns]
        if sparse.issparse(X):
            return sparse.csr_array(X)[rows][:, columns]
        return np.asarray(X)[np.ix_(rows, columns)]

    def transform(self, X: Any) -> FloatArray:
        """One feature for each column cluster: the mean of its columns, or its representative (see ``features``).

        Examples
        --------
        >>> import numpy as np
        >>> import countless as cl
        >>> X = np.kron([[1.0, 0.0], [0.0, 1.0]], np.ones((10, 8)))
        >>> cl.InfiniteBiclustering(random_state=0).fit_transform(X)[[0, -1]].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        check_is_fitted(self)
        if not sparse.issparse(X):
            X = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but the fit had {self.n_features_in_}")
        return grouped(X, self.column_labels_, self.representatives_ if self.features == "representative" else None)

    @property
    def representatives_(self) -> IntArray:
        """The column of each column cluster that is nearest to the mean of the cluster."""
        check_is_fitted(self)
        return column_of(self.posterior_.data.matrix, self.column_labels_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features of ``transform``."""
        check_is_fitted(self)
        names = self.posterior_.data.names(1)
        if self.features == "representative":
            return np.array([names[j] for j in self.representatives_], dtype=object)
        return np.array([f"columns{k}" for k in range(self.n_clusters_[1])], dtype=object)

    def _sections(self, most_rows: int) -> list[Any]:
        from .report import sections

        return sections(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _slots_of(labels: IntArray, slots: IntArray) -> IntArray:
    """The slot of each cluster."""
    order = np.empty(int(labels.max()) + 1, dtype=np.int64)
    order[labels] = slots
    return order


def _in_order(counts: BlockCounts, order: list[IntArray]) -> BlockCounts:
    """The same blocks with clusters in this order."""
    sides = [tuple(part[side][order[side]] for side in (0, 1)) for part in counts[1:]]
    return BlockCounts(np.ascontiguousarray(counts.blocks[order[0]][:, order[1]]), *sides)  # type: ignore[arg-type]
