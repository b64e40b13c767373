"""K-means and K-medoids for comparison, from scikit-learn and kmedoids, with the labels and names of this library."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...core.random import as_generator, spawn
from ...core.validate import by_size, choose, whole_number
from ..rows import WithoutDraws, checked_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Partitional(WithoutDraws, ClusterMixin, BaseEstimator):
    """K-means or K-medoids with a given number of clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    method : str
        ``"kmeans"`` (default; scikit-learn's) or ``"kmedoids"`` (FasterPAM of the package ``kmedoids``, which is
        installed with ``pip install countless[medoids]``).
    metric : str
        Dissimilarity for K-medoids: the name of a metric of scipy or scikit-learn such as ``"euclidean"`` (default),
        ``"cityblock"`` or ``"jaccard"``, or ``"precomputed"``: then ``X`` is the matrix of dissimilarities, which need
        not be a metric. K-means takes ``"euclidean"`` only.
    restarts : int
        Random starts, of which the best is kept.
    max_iter : int
        Largest number of iterations of one start.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    labels_ : array of int
        Cluster of each row, numbered by size, the largest first.
    n_clusters_ : int
    objective_ : float
        Sum of squared distances to the means, or of dissimilarities to the medoids.
    cluster_centers_ : array
        Means, or the rows that are medoids; None for a matrix of dissimilarities.
    medoid_indices_ : array of int
        The rows that are medoids; None for K-means.
    n_iter_ : int
        Iterations of the start that was kept.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.2], [9.0], [9.1], [0.1]]
    >>> cl.Partitional(2, random_state=0).fit(X).labels_.tolist()
    [0, 0, 1, 1, 0]
    """

    cluster_centers_: FloatArray | None
    medoid_indices_: IntArray | None

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        method: str = "kmeans",
        metric: str = "euclidean",
        restarts: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.metric = metric
        self.restarts = restarts
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Cluster the rows of ``X``, or the objects of a matrix of dissimilarities; ``y`` is ignored."""
        fit = choose("method", self.method, {"kmeans": self._fit_means, "kmedoids": self._fit_medoids})
        rng = as_generator(self.random_state)
        rows = checked_rows(self, X, reset=True)
        n_clusters = whole_number("n_clusters", self.n_clusters, 1)
        if n_clusters > len(rows):
            raise ValueError(f"n_clusters is {n_clusters}, but X has {len(rows)} rows; ask for at most {len(rows)}")
        labels = fit(rows, n_clusters, whole_number("restarts", self.restarts, 1), rng)
        self.labels_ = by_size(labels)
        self.n_clusters_ = int(self.labels_.max()) + 1
        former = np.empty(self.n_clusters_, dtype=np.int64)
        former[self.labels_] = labels
        if self.cluster_centers_ is not None:
            self.cluster_centers_ = self.cluster_centers_[former]
        if self.medoid_indices_ is not None:
            self.medoid_indices_ = self.medoid_indices_[former]
        return self

    def predict(self, X: ArrayLike) -> IntArray:
        """Cluster of the nearest mean or medoid; a matrix has dissimilarities to the objects of the fit in its rows."""
        check_is_fitted(self)
        rows = checked_rows(self, X, reset=False)
        if self.cluster_centers_ is None:
            distances = rows[:, self.medoid_indices_]
        else:
            distances = _dissimilarities(rows, self.cluster_centers_, self.metric)
        return np.argmin(distances, axis=1)

    def _fit_means(self, rows: FloatArray, n_clusters: int, restarts: int, rng: np.random.Generator) -> IntArray:
        from sklearn.cluster import KMeans

        if self.metric != "euclidean":
            raise ValueError(f"metric: K-means takes 'euclidean' only, got {self.metric!r}; use method='kmedoids'")
        max_iter = whole_number("max_iter", self.max_iter, 1)
        seed = int(rng.integers(2**31))
        found = KMeans(n_clusters, n_init=restarts, max_iter=max_iter, random_state=seed).fit(rows)
        self.cluster_centers_ = found.cluster_centers_
        self.medoid_indices_ = None
        self.objective_ = float(found.inertia_)
        self.n_iter_ = int(found.n_iter_)
        return found.labels_.astype(np.int64)

    def _fit_medoids(self, rows: FloatArray, n_clusters: int, restarts: int, rng: np.random.Generator) -> IntArray:
        try:
            from kmedoids import fasterpam  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise ImportError(
                "method='kmedoids' needs the package kmedoids; install it with pip install countless[medoids]"
            ) from None
        precomputed = self.metric == "precomputed"
        if precomputed and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"X must be a square matrix for metric='precomputed', got shape {rows.shape}")
        matrix = rows if precomputed else _dissimilarities(rows, rows, self.metric)
        max_iter = whole_number("max_iter", self.max_iter, 1)
        results = [
            fasterpam(matrix, stream.permutation(len(rows))[:n_clusters].astype(np.uintp), max_iter)
            for stream in spawn(rng, restarts)
        ]
        best = min(results, key=lambda result: result.loss)
        self.medoid_indices_ = np.asarray(best.medoids, dtype=np.int64)
        self.cluster_centers_ = None if precomputed else rows[self.medoid_indices_]
        self.objective_ = float(best.loss)
        self.n_iter_ = max(int(best.n_iter), 1)
        return np.asarray(best.labels, dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _dissimilarities(rows: FloatArray, others: FloatArray, metric: str) -> FloatArray:
    from sklearn.metrics import pairwise_distances

    try:
        return np.ascontiguousarray(pairwise_distances(rows, others, metric=metric), dtype=np.float64)
    except (ValueError, KeyError) as error:
        if "metric" not in str(error).lower():
            raise
        raise ValueError(
            f"metric: {metric!r} is not known; choose 'precomputed' or a metric of scipy such as 'euclidean', "
            "'cityblock', 'cosine', 'hamming' or 'jaccard'"
        ) from None
