"""What estimators of tables share: how rows are read and checked, and what a mixture answers about new rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.random import as_generator
from ..core.text import count, listed
from ..core.validate import as_rows, by_size, whole_number
from ..families import Family, resolve_family
from ..families.table.frames import names_of_rows
from ..posterior.data import RowNames
from ..posterior.partition.tree import OVERLAP, ClusterTree

# Sums of a cluster from which a fit takes long enough to say so: those of 200 correlated columns.
MANY_SUMS = 20_000

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


# --- tables as users hand them in ---------------------------------------------------------------------------------


def as_table(X: Any, name: str = "X") -> Any:
    """What nearly is a table as one: a pandas Series is one column, a list of dicts has one row each.

    ValueError, in one sentence, where two columns have one name. Anything else is returned as it is.

    Examples
    --------
    >>> from countless.models.rows import as_table
    >>> as_table([{"x": 1.0, "kind": "a"}, {"x": 2.0}]).shape
    (2, 2)
    """
    import pandas as pd

    if isinstance(X, pd.Series):
        return X.to_frame("column 0" if X.name is None else X.name)
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return pd.DataFrame(list(X))
    columns = list(map(str, X.columns)) if isinstance(X, pd.DataFrame) else []
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        raise ValueError(f"{name}: two columns are called {twice!r}; give every column a name of its own")
    return X


def checked_rows(estimator: BaseEstimator, X: Any, reset: bool) -> FloatArray:
    """Rows as float64, at least one; columns are remembered (``reset``) or compared with those of the fit."""
    X = as_table(X)
    rows = as_rows(X)
    _check_table(estimator, X, rows, reset)
    return rows


def read_rows(estimator: BaseEstimator, X: Any, family: Family) -> tuple[Family, FloatArray]:
    """The family with what it learned from the columns, and the rows as it reads them; columns are remembered."""
    X = as_table(X)
    known, rows = family.read(X)
    _check_table(estimator, X, rows, reset=True)
    return known, rows


def family_for(family: str | Family | None, X: Any) -> Family:
    """The family that was asked for; for None, the one that the rows call for.

    Frames and whatever holds text are tables whose columns are read one by one (``"auto"``), and so are arrays in which
    a column is nothing but 0 and 1. Other arrays of numbers are Gaussian.

    Examples
    --------
    >>> import pandas as pd
    >>> from countless.models.rows import family_for
    >>> [type(family_for(None, rows)).__name__ for rows in ([[0.5], [1.5]], pd.DataFrame({"x": [0.5, 1.5]}))]
    ['Gaussian', 'Table']
    """
    if family is not None:
        return resolve_family(family)
    X = as_table(X)
    if hasattr(X, "columns"):
        return resolve_family("auto")
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different lengths, which are refused where they are read
        return resolve_family("gaussian")
    is_table = cells.dtype.kind in "bUS" or _holds_text(cells) or bool(two_valued(cells))
    return resolve_family("auto" if is_table else "gaussian")


def _holds_text(cells: NDArray[Any]) -> bool:
    return cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells.flat)


def two_valued(rows: NDArray[Any]) -> list[int]:
    """Columns that hold nothing but 0 and 1, each at least twice.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.models.rows import two_valued
    >>> two_valued(np.array([[0.0, 0.5], [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]]))
    [0]
    """
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        return []
    zeros, ones = (rows == 0).sum(axis=0), (rows == 1).sum(axis=0)
    seen = len(rows) - (np.isnan(rows).sum(axis=0) if rows.dtype.kind == "f" else 0)
    return np.flatnonzero((zeros + ones == seen) & (zeros > 1) & (ones > 1)).tolist()


def warn_if_implausible(estimator: BaseEstimator, family: Family, rows: FloatArray) -> None:
    """Warn, once, where a family of measurements is given columns that hold nothing but 0 and 1."""
    places = two_valued(rows) if family.measures else []
    if places:
        names = column_names(estimator)
        n, called = len(places), listed([names[j] for j in places])
        warnings.warn(
            f"X: {count(n, 'column')} {'holds' if n == 1 else 'hold'} nothing but 0 and 1 ({called}), and the family "
            f"{family.short_name()!r} takes them for measurements; the family 'auto' takes them for categories",
            stacklevel=3,
        )


def warn_of_cost(family: Family, n_columns: int) -> None:
    """Warn, before a fit begins, where clusters have so many covariances that it will take long."""
    n_sums = family.layout().statistics
    if n_sums > MANY_SUMS and n_sums > 4 * n_columns:
        warnings.warn(
            f"X: {n_columns:,} columns have {n_sums:,} means and covariances in every cluster, with which a fit takes "
            f"about {n_sums / (2 * n_columns):,.0f} times as long as without covariances; the family "
            "'diagonal-gaussian' has none",
            stacklevel=3,
        )


def row_names(X: Any, family: Family) -> RowNames | None:
    """What the rows of a table are called, by its index or by a column that the family has read as names."""
    found = names_of_rows(X, getattr(family, "schema", None) or ())
    return None if found is None else RowNames(found[0], np.array(found[1], dtype=object))


def read_new_rows(estimator: BaseEstimator, X: Any, family: Family) -> FloatArray:
    """New rows, read as those of the fit were, and checked by the family."""
    X = as_table(X)
    rows = family.read_new(X)
    if not family.matches_names:
        _check_table(estimator, X, rows, reset=False)
    family.check(rows)
    return rows


def column_names(estimator: BaseEstimator) -> list[str]:
    """Names of the columns of the fit; columns of an array are numbered."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"column {j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def _check_table(estimator: BaseEstimator, X: Any, rows: FloatArray, reset: bool) -> None:
    if len(rows) == 0:
        raise ValueError(f"X has 0 rows (shape={rows.shape}); at least 1 is needed")
    if (X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim) == 1:
        raise ValueError(
            "X must be a table of rows and columns, got 1 dimension. Reshape your data: X.reshape(-1, 1) is one "
            "column, X.reshape(1, -1) one row"
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)


# --- bases of estimators ------------------------------------------------------------------------------------------


class WithoutDraws:
    """An estimator that finds one clustering and keeps no draws: what it cannot do, it says in a sentence.

    Attributes
    ----------
    instead : str
        What people may do.
    """

    instead: ClassVar[str] = (
        "pickle it, or fit DPMixture or FiniteMixture, which are saved and reported with how sure each row is"
    )

    def save(self, path: Any) -> None:
        """Not here: a ValueError says what to do."""
        raise ValueError(f"{type(self).__name__} keeps no draws to save; {self.instead}")

    def report_page(self, *_: Any) -> None:
        """Not here: a ValueError says what to do."""
        raise ValueError(f"{type(self).__name__} has no posterior to report; {self.instead}")

    @property
    def certainty_(self) -> None:
        """Not here: an AttributeError says what to do."""
        raise AttributeError(f"{type(self).__name__} gives each row one cluster, without a probability; {self.instead}")


class Rows(BaseEstimator):
    """An estimator of dense rows of numbers; it has ``family_`` once it is fitted."""

    family_: Family

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


class Density(Protocol):
    """A fitted mixture, whatever way it was found."""

    def log_weighted(self, X: FloatArray, /) -> FloatArray:
        """Log of weight times density of each cluster (columns) for each row."""

    def log_density(self, X: FloatArray, /) -> FloatArray:
        """Log density of each row."""

    def sample(self, n: int, rng: np.random.Generator, /) -> tuple[FloatArray, IntArray]:
        """``n`` rows and their clusters."""


class Mixture(ClusterMixin, DensityMixin, Rows):
    """An estimator that answers questions about new rows from a fitted mixture, ``_mixture``.

    Subclasses set ``_mixture`` in ``fit`` and write ``predict``.
    """

    _mixture: Density
    labels_: IntArray
    posterior_: Any
    random_state: Any

    @property
    def row_names_(self) -> list[str] | None:
        """What rows are called: the index of a frame, or the first column that was read as names."""
        names = self.posterior_.data.row_names
        return None if names is None else names.values.tolist()

    def _new_rows(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return read_new_rows(self, X, self.family_)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each cluster (columns) for each row; the last column of a ``DPMixture`` is a new cluster."""
        return self._probabilities(self._new_rows(X))

    def _probabilities(self, rows: FloatArray) -> FloatArray:
        scores = self._mixture.log_weighted(rows)
        return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def merge(self, n_groups: int | None = None, overlap: float = OVERLAP) -> IntArray:
        """Group of each row where clusters that overlap are one group (``posterior.partition.tree``).

        One cloud with a long tail or a round edge may take several clusters; as groups they are one. Groups that are
        apart stay as they are. The fitted model is not changed.

        Parameters
        ----------
        n_groups : int, optional
            How many groups; default, those that overlap by less than ``overlap``.
        overlap : float
            Chance that a new row of the smaller of two clusters is taken for one of the other.

        Returns
        -------
        array of int
            Groups, numbered by their rows, the largest first.

        Examples
        --------
        >>> import numpy as np
        >>> import countless as cl
        >>> X = np.random.default_rng(0).uniform(size=(300, 2)) + np.repeat([[0.0], [9.0]], 150, axis=0)
        >>> model = cl.DPMixture(inference="map", random_state=0).fit(X)
        >>> np.bincount(model.merge()).tolist()
        [150, 150]
        """
        check_is_fitted(self)
        tree = ClusterTree.of_mixture(self._mixture, int(self.labels_.max()) + 1)
        return by_size(tree.groups(n_groups, overlap)[self.labels_])

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Log density of each row; where the posterior was sampled, its mean density over draws."""
        rows = self._new_rows(X)
        return self._mixture.log_density(rows)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log density of the rows; ``y`` is ignored."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[Any, IntArray]:
        """Draw rows from the fitted mixture.

        Returns
        -------
        rows : array (n_samples, D), or frame
            A frame where columns were read one by one (``family="auto"``), with cells as they were given: names of
            categories, dates, whole counts.
        labels : array of int
            Cluster of each row; -1 for a cluster that the rows of the fit did not have.
        """
        check_is_fitted(self)
        n, rng = whole_number("n_samples", n_samples, 1), as_generator(self.random_state)
        rows, labels = self._mixture.sample(n, rng)
        return self.family_.as_given(rows), labels
