"""DPMeansHMM: states of sequences with penalties for states and transitions, behind the scikit-learn interface."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...core.random import as_generator, spawn
from ...core.validate import by_size, whole_number
from ...transitions.contract import first_steps
from ..rows import WithoutDraws, checked_rows
from ..sequences import as_lengths, lengths_of
from .objective import Penalties, Series, cheapest_path, compacted
from .search import best_merge, best_split, descend

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class DPMeansHMM(WithoutDraws, ClusterMixin, BaseEstimator):
    """States of sequences whose number follows from penalties: small-variance asymptotics of the infinite HMM.

    The labels minimise J = sum of squared distances to the means of their states - ``transition_weight`` times the sum
    of log shares of the transitions + ``transition_penalty`` for each distinct transition + ``penalty`` for each state
    (Raykov et al. 2016, eq. 6.9; with a weight of 0, eq. 6.8).

    Parameters
    ----------
    penalty : float, optional
        What a state costs. Default: (D + 1) s² log T, with s² the variance per column within states, from differences
        of successive steps: the Bayesian information criterion in units of the squared distance.
    transition_penalty : float, optional
        What a distinct transition costs. Default: s² log T.
    transition_weight : float, optional
        Weight of the log shares of the transitions. Default: 2 s², under which distances and log shares are on one
        scale. 0 gives the first of the two objectives.
    n_states : int, optional
        Find this number of states instead, and a penalty that fits it. Not together with ``penalty``.
    restarts : int
        Searches from different starts, of which the best is kept.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    labels_ : array of int (step,)
        State of each step, numbered by size.
    n_states_ : int
    cluster_centers_ : array (state, column)
    transition_matrix_ : array (state, state)
        Shares of the transitions.
    penalty_, transition_penalty_, transition_weight_ : float
        In use.
    objective_ : float
        J at ``labels_``.
    objective_trace_ : array
        J after each step of the search that was kept; it never rises.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    References
    ----------
    Jiang, Kulis & Jordan 2012; Roychowdhury, Jiang & Kulis 2013, *Small-variance asymptotics for hidden Markov models*.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 40), rng.normal(8, 1, 40), rng.normal(0, 1, 40)])[:, None]
    >>> cl.DPMeansHMM(random_state=0).fit(X).labels_[[0, 60, 119]].tolist()
    [0, 1, 0]
    """

    instead: ClassVar[str] = "pickle it, or fit InfiniteHMM, which is saved and reported with how sure each step is"

    def __init__(
        self,
        penalty: float | None = None,
        *,
        transition_penalty: float | None = None,
        transition_weight: float | None = None,
        n_states: int | None = None,
        restarts: int = 4,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.transition_penalty = transition_penalty
        self.transition_weight = transition_weight
        self.n_states = n_states
        self.restarts = restarts
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: Any = None, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Find the states of the steps of ``X``; ``y``, ``lengths`` and ``groups`` as for ``InfiniteHMM.fit``."""
        rows = checked_rows(self, X, reset=True)
        n = len(rows)
        series = Series(rows, first_steps(lengths_of(y, lengths, groups, n), n))
        if self.n_states is not None and self.penalty is not None:
            raise ValueError("penalty and n_states exclude each other; give one of them")
        if self.n_states is not None:
            whole_number("n_states", self.n_states, 1)
            if self.n_states > len(np.unique(rows, axis=0)):
                raise ValueError(f"n_states={self.n_states}, but X has {len(np.unique(rows, axis=0))} distinct rows")
        whole_number("restarts", self.restarts, 1)
        spread = within_variance(series)
        unit = spread * math.log(max(len(rows), 2))
        penalties = Penalties(
            _cost("penalty", self.penalty, (rows.shape[1] + 1.0) * unit),
            _cost("transition_penalty", self.transition_penalty, unit),
            _cost("transition_weight", self.transition_weight, 2.0 * spread),
        )
        searches = [
            self._search(series, penalties, stream) for stream in spawn(as_generator(self.random_state), self.restarts)
        ]
        labels, trace = min(searches, key=lambda search: search[1][-1])
        if self.n_states is not None:
            penalties = penalties._replace(state=_fitting(series, labels, penalties, as_generator(0)))
            shift = series.objective(labels, penalties) - trace[-1]
            trace = [value + shift for value in trace]
        self.labels_ = by_size(labels)
        self.n_states_ = int(self.labels_.max()) + 1
        self.cluster_centers_ = series.centres(self.labels_)
        counts = series.counts(self.labels_)
        self.transition_matrix_ = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        self.penalty_, self.transition_penalty_, self.transition_weight_ = penalties
        self.objective_trace_ = np.array(trace)
        self.objective_ = float(trace[-1])
        return self

    def _search(self, series: Series, penalties: Penalties, rng: np.random.Generator) -> tuple[IntArray, list[float]]:
        labels = np.zeros(len(series.rows), dtype=np.int64)
        if self.n_states is None:
            return descend(series, labels, penalties, rng)
        free = penalties._replace(state=0.0)
        while labels.max() + 1 < self.n_states:
            best = best_split(series, labels, free, rng)
            labels = _forced(series, labels) if best is None else best[1]
            labels, _ = descend(series, labels, free, rng, int(labels.max()) + 1)
        return descend(series, labels, free, rng, self.n_states)

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None, groups: ArrayLike | None = None) -> IntArray:
        """States of the steps of new sequences: the path of least cost, with the centres and transitions of the fit."""
        check_is_fitted(self)
        rows = checked_rows(self, X, reset=False)
        costs = ((rows[:, None, :] - self.cluster_centers_) ** 2).sum(axis=2)
        with np.errstate(divide="ignore"):
            steps = np.where(
                self.transition_matrix_ > 0,
                -self.transition_weight_ * np.log(np.maximum(self.transition_matrix_, 1e-300)),
                self.transition_penalty_ + self.transition_weight_ * math.log(len(self.labels_)),
            )
        labels = np.empty(len(rows), dtype=np.int64)
        cheapest_path(costs, first_steps(as_lengths(lengths, groups, len(rows)), len(rows)), steps, labels)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def within_variance(series: Series) -> float:
    """Variance per column within states: half the mean square of successive differences, less the largest tenth."""
    on = np.flatnonzero(~series.first)
    total = float(series.rows.var(axis=0).mean())
    if len(on) < 10:
        return total or 1.0
    squares = np.sort(((series.rows[on] - series.rows[on - 1]) ** 2).mean(axis=1))
    found = 0.5 * float(squares[: max(1, int(0.9 * len(squares)))].mean()) / _KEPT
    return min(found, total) or total or 1.0


# Share of the mean of a chi-square variable of one degree that is left without its largest tenth.
_KEPT = 0.61


def _cost(name: str, given: Any, usual: float) -> float:
    if given is None:
        return usual
    if isinstance(given, bool) or not isinstance(given, Real) or not 0.0 <= float(given) < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {given!r}")
    return float(given)


def _forced(series: Series, labels: IntArray) -> IntArray:
    """One more state: the step that is farthest from its centre."""
    far = ((series.rows - series.centres(labels)[labels]) ** 2).sum(axis=1)
    labels = labels.copy()
    labels[int(np.argmax(far))] = labels.max() + 1
    return compacted(labels)


def _fitting(series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator) -> float:
    """A penalty midway, on a logarithmic scale, between what the best split saves and what the best merge costs."""
    free = penalties._replace(state=0.0)
    now = series.objective(labels, free)
    merge, split = best_merge(series, labels, free), best_split(series, labels, free, rng)
    saves = max(now - split[0], 1e-12) if split is not None else 1e-12
    costs = max(merge[0] - now, saves) if merge is not None else 4.0 * saves
    return math.sqrt(saves * costs)
