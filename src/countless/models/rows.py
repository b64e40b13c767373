"""What mixture estimators share: the check of what users hand in, and the questions about new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from ..core.random import as_generator
from ..core.validate import whole_number
from .finite.density import MixtureDensity, SampledDensity
from .table import checked_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Rows(BaseEstimator):
    """Checks of rows; ``family_`` is there once the estimator is fitted."""

    def _rows(self, X: Any, reset: bool) -> FloatArray:
        return checked_rows(self, X, reset)

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
