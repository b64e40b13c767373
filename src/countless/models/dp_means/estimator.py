"""DPMeans: k-means with a penalty for each cluster, behind the scikit-learn interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...core.random import as_generator
from ...core.validate import as_weights, by_size, choose, whole_number
from ...families import FAMILIES, Family, resolve_family
from ...families.arrays import one_number
from ..rows import WithoutDraws, checked_rows
from .divergences import Measure, divergences
from .rows import WeightedRows, distinct_rows, threads
from .search import solve

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class DPMeans(WithoutDraws, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means whose number of clusters follows from a penalty for each cluster.

    The labels minimise J = the sum over rows of their divergence from the mean of their cluster + ``penalty`` times the
    number of clusters: the limit of a Dirichlet process mixture as the spread of its clusters goes to zero (Kulis and
    Jordan 2012; Raykov et al. 2016, section 4).

    Parameters
    ----------
    penalty : float, optional
        What a cluster costs, in units of the divergence. Default: chosen from the data, for the number of clusters
        that is best over the widest range of penalties, compared with rows drawn from one cluster.
    n_clusters : int, optional
        Find this number of clusters instead, and a penalty that fits it. Not together with ``penalty``.
    divergence : str or family object
        ``"squared"`` (default): squared Euclidean distance in the units of ``X``. Or the name of a family, or an
        object of ``countless.families``: its Bregman divergence, which for the Gaussian families is half a squared
        Mahalanobis distance, for counts and histograms a relative entropy.
    keep_counts : bool or float
        Keep the rich-get-richer effect of the Dirichlet process (Raykov et al., eq. 4.7): J also has the term
        -``count_weight`` times the sum over clusters of N_k log(N_k / N). A number is that weight. True: 1 for a
        family, as its divergences are differences of log densities, and for squared distance 2 s², with s² the mean
        square per column within the clusters found without counts.
    splits : bool
        Whether clusters are also halved where that lowers J (default). False: a cluster opens only at a single row
        farther than the penalty from every centre, as DP-means was first described. The penalty then is the squared
        radius of a cluster, whatever the number of its rows.
    restarts : int
        Searches from different starts, of which the best is kept; with more than 20,000 rows they run on a sample.
    max_iter : int
        Largest number of passes over the rows in one search.
    tol : float
        Stop when a pass over the rows lowers J by less than this fraction.
    random_state : None, int, Generator or RandomState
        Seed. The same seed gives the same result whatever the number of threads.
    n_threads : int, optional
        Threads for passes over many rows; default, all cores.

    Attributes
    ----------
    labels_ : array of int
        Cluster of each row, numbered by size (the sum of the weights of its rows), the largest first.
    cluster_centers_ : array (n_clusters_, n_features_in_)
        Mean of the rows of each cluster.
    n_clusters_ : int
    penalty_ : float
        The penalty in use: as given, chosen from the data, or fitting ``n_clusters``.
    count_weight_ : float
        Weight of the counts in J; 0 if they are not kept.
    objective_ : float
        J at ``labels_``.
    objective_trace_ : array
        J after each step of the search that was kept; it never rises.
    n_iter_ : int
        Passes over the rows in that search.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Notes
    -----
    Passes over the rows with fixed centres get stuck early and depend on the order of the rows. Here single rows also
    move (counting what a move does to both means), pairs of clusters are joined and clusters are halved until none of
    these lowers J. With ``splits`` the best number of clusters for a penalty grows with the number of rows: halving a
    Gaussian cluster of n rows and variance s² saves about 0.64 n s². A penalty that is meant as a squared radius then
    gives very many clusters on a large table, slowly; use ``splits=False``.

    With ``n_clusters`` the penalty is midway, on a logarithmic scale, between what the best halves save and what the
    cheapest join costs. The bisection of Raykov et al. (app. D) can miss a number of clusters; here the result always
    has the number asked for, even where no penalty makes it the best one.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    >>> model = cl.DPMeans(random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> cl.DPMeans(n_clusters=5, random_state=0).fit(X).n_clusters_
    5
    """

    def __init__(
        self,
        penalty: float | None = None,
        *,
        n_clusters: int | None = None,
        divergence: str | Family = "squared",
        keep_counts: bool | float = False,
        splits: bool = True,
        restarts: int = 4,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.n_clusters = n_clusters
        self.divergence = divergence
        self.keep_counts = keep_counts
        self.splits = splits
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of ``X``; ``y`` is ignored.

        A row of ``sample_weight`` w counts w times; rows of weight zero get a label and have no other effect.
        """
        settings = self._settings()
        rng = as_generator(self.random_state)
        family = self._family()
        rows = checked_rows(self, X, reset=True)
        weights = as_weights(sample_weight, len(rows))
        weights = np.ones(len(rows)) if weights is None else weights
        counted = weights > 0
        given, given_weights = (rows, weights) if counted.all() else (rows[counted], weights[counted])
        if family is not None:
            family.check(rows)
            family = family.resolve(given)
        measure = Measure.of(family, given)
        data, place = distinct_rows(measure, given, given_weights, self.n_clusters)
        with threads(self.n_threads) as data.run:
            solution = solve(data, rng, **settings)
        found = solution.clustering
        self.penalty_, self.count_weight_ = solution.penalty, solution.count_weight
        former = found.labels[place]
        labels = by_size(former, given_weights)
        order = np.empty(int(labels.max()) + 1, dtype=np.int64)
        order[labels] = former
        self.n_clusters_ = self._n_features_out = len(order)
        self._measure, self._sums = measure, found.sums[order]
        self.cluster_centers_ = measure.centres(self._sums)
        self.labels_ = labels
        if not counted.all():
            self.labels_ = np.empty(len(rows), dtype=np.int64)
            self.labels_[counted] = labels
            self.labels_[~counted] = self._nearest(rows[~counted])
        self.objective_ = found.value()
        self.objective_trace_ = np.array(found.trace)
        self.n_iter_ = found.n_iter
        return self

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster in which each row costs least: that of the nearest centre, unless counts are kept."""
        return self._nearest(self._new_rows(X))

    def transform(self, X: ArrayLike) -> FloatArray:
        """Divergence of each row from each centre."""
        rows = self._measure.local(self._new_rows(X))
        out = np.empty((len(rows), self.n_clusters_))
        divergences(self._measure.divergence, rows, self._sums / self._sums[:, :1], out)
        return out

    def _nearest(self, rows: FloatArray) -> IntArray:
        with threads(self.n_threads) as run:
            data = WeightedRows(self._measure, self._measure.local(rows), np.ones(len(rows)), run)
            return data.nearest(self._sums, self.count_weight_)

    def _new_rows(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        rows = checked_rows(self, X, reset=False)
        if self._measure.family is not None:
            self._measure.family.check(rows)
        return rows

    def _family(self) -> Family | None:
        if isinstance(self.divergence, str) and self.divergence == "squared":
            return None
        if not isinstance(self.divergence, Family):
            choose("divergence", self.divergence, {"squared": None, **FAMILIES}, "a countless.families object")
        return resolve_family(self.divergence)

    def _settings(self) -> dict[str, Any]:
        if self.penalty is not None and self.n_clusters is not None:
            raise ValueError("penalty and n_clusters are both given; leave one of them as None")
        counts = self.keep_counts
        return {
            "penalty": None if self.penalty is None else one_number("penalty", self.penalty, 0),
            "n_clusters": None if self.n_clusters is None else whole_number("n_clusters", self.n_clusters, 1),
            "count_weight": (None if counts else 0.0)
            if isinstance(counts, (bool, np.bool_))
            else one_number("keep_counts", counts, 0, ", True or False"),
            "splits": bool(self.splits),
            "restarts": whole_number("restarts", self.restarts, 1),
            "max_iter": whole_number("max_iter", self.max_iter, 1),
            "tol": one_number("tol", self.tol, 0),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
