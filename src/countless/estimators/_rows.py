"""What estimators of finite mixtures share: the check of what users hand in, and the questions about new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._random import as_generator
from .._validate import as_rows, whole_number
from ..posterior.mixture import MixtureDensity, SampledDensity

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Rows(BaseEstimator):
    """Checks of rows and weights; ``family_`` is there once the estimator is fitted."""

    def _rows(self, X: Any, reset: bool) -> FloatArray:
        rows = as_rows(X)
        if len(rows) == 0:
            raise ValueError(f"X has 0 rows (shape={rows.shape}); at least 1 is needed")
        if rows.shape[1] == 1 and np.asarray(X).ndim == 1:
            raise ValueError(
                "X must be a table of rows and columns, got 1 dimension. Reshape your data: X.reshape(-1, 1) is one "
                "column, X.reshape(1, -1) one row"
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return rows

    def _new_rows(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        self.family_.check(rows)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class Mixture(ClusterMixin, DensityMixin, Rows):
    """Predictions of a mixture with a given number of components, ``_density``."""

    _density: MixtureDensity | SampledDensity
    random_state: Any

    def predict(self, X: ArrayLike) -> IntArray:
        """Most probable component of each row."""
        rows = self._new_rows(X)
        return self._density.best(rows)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each component (columns) for each row."""
        rows = self._new_rows(X)
        scores = self._density.log_weighted(rows)
        return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Log density of each row."""
        rows = self._new_rows(X)
        return self._density.log_density(rows)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log density of the rows; ``y`` is ignored."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw rows from the mixture.

        Returns
        -------
        rows : array (n_samples, D)
        labels : array of int
            Component of each row.
        """
        check_is_fitted(self)
        return self._density.sample(whole_number("n_samples", n_samples, 1), as_generator(self.random_state))


def as_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """One weight of at least 0 for each row, some of them positive; None stays None."""
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers, got {sample_weight!r}") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must hold {n_rows} numbers, one per row, got shape {weights.shape}")
    if not np.isfinite(weights).all() or weights.min() < 0.0 or not weights.any():
        raise ValueError("sample_weight must hold finite numbers of at least 0, not all of them zero")
    return weights
