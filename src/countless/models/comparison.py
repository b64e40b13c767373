"""Which of several fits of one table predicts it best: held-out densities side by side, with standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.text import listed
from ..families.columns import Column
from ..partitions.seats import FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Compared:
    """One fit among several.

    Attributes
    ----------
    name : str
    n_clusters : int
    log_density, standard_error : float
        Mean over the rows of their log densities, in nats, and its standard error.
    difference, difference_error : float
        How much less that is than for the best fit, and the standard error of this, from the differences row by row.
    """

    name: str
    n_clusters: int
    log_density: float
    standard_error: float
    difference: float
    difference_error: float

    @property
    def is_worse(self) -> bool:
        """Whether the best fit is better by more than two standard errors."""
        return self.difference < -2.0 * self.difference_error


@dataclass(frozen=True)
class Comparison:
    """Fits of one table, the one that predicts best first.

    Attributes
    ----------
    fits : tuple of Compared
    n_rows : int
    """

    fits: tuple[Compared, ...]
    n_rows: int

    def table(self) -> pd.DataFrame:
        """One row per fit, the best first."""
        import pandas as pd

        return pd.DataFrame([vars(fit) for fit in self.fits]).rename(columns={"name": "fit"})

    @property
    def verdict(self) -> str:
        """Which fit predicts best, and from which it cannot be told apart."""
        best, *others = self.fits
        close = [fit.name for fit in others if not fit.is_worse]
        if not close:
            return f"{best.name} predicts best: every other fit is worse by more than two standard errors."
        return f"{best.name} predicts best, but {listed(close)} cannot be told apart from it (two standard errors)."

    def __str__(self) -> str:
        return f"{self.table().to_string(index=False, float_format='{:.4g}'.format)}\n{self.verdict}"


def compare(fits: Mapping[str, Any], X: ArrayLike | None = None) -> Comparison:
    """Rank fits of the same table by how well they predict a row from all others.

    Parameters
    ----------
    fits : dict
        Fitted models by name.
    X : array, optional
        Rows that no fit has seen, to be scored by ``score_samples`` of any kind of model; default, each row of the
        fits given all others (``held_out_``).

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        In one sentence, where the fits are of different rows or columns, or where a column is a measurement in one fit
        and a category or a count in another: a density and a probability cannot be compared.

    Examples
    --------
    >>> import countless as cl
    >>> X = cl.datasets.load_faithful()
    >>> fits = {
    ...     "two": cl.DPMixture("gaussian", prior=cl.priors.FiniteDirichlet(2), inference="map", random_state=0).fit(X),
    ...     "one": cl.DPMixture("gaussian", prior=cl.priors.FiniteDirichlet(1), inference="map", random_state=0).fit(X),
    ... }
    >>> cl.compare(fits).verdict
    'two predicts best: every other fit is worse by more than two standard errors.'
    """
    if not isinstance(fits, Mapping) or len(fits) < 2:
        raise ValueError("fits must be a dict of at least two fitted models by name")
    densities = {name: _density(name, model, X) for name, model in fits.items()}
    data = {name: getattr(getattr(model, "posterior_", None), "data", None) for name, model in fits.items()}
    known = [(name, each) for name, each in data.items() if each is not None]
    for name, each in known[1:]:
        _check_columns(*known[0], name, each)
        if X is None:
            _check_rows(*known[0], name, each)
    best = max(densities, key=lambda name: float(densities[name].mean()))
    ranked = sorted(fits, key=lambda name: -float(densities[name].mean()))
    found = [_compared(name, fits[name], densities[name], densities[best]) for name in ranked]
    return Comparison(tuple(found), len(densities[best]))


def _density(name: str, model: Any, X: ArrayLike | None) -> FloatArray:
    if X is not None:
        scored: FloatArray = model.score_samples(X)
        return scored
    found = getattr(model, "held_out_", None)
    if found is None:
        raise ValueError(
            f"{name!r} is a {type(model).__name__} that does not say how well it predicts one row from the others; "
            "score rows that no fit has seen: compare(fits, X)"
        )
    density: FloatArray = found.log_density
    return density


def _compared(name: str, model: Any, density: FloatArray, best: FloatArray) -> Compared:
    difference = density - best
    return Compared(
        name,
        int(model.n_clusters_),
        float(density.mean()),
        _error(density),
        float(difference.mean()),
        _error(difference),
    )


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


# --- what can be compared -----------------------------------------------------------------------------------------


def _measure(column: Column) -> str:
    """What a log density of cells of a column is one of."""
    if column.is_density:
        return "a measurement (a density)"
    return "a share of its row" if column.cells == "shares" else "a category or a count (a probability)"


def _check_columns(one: str, mine: Any, other: str, theirs: Any) -> None:
    """Raise unless two fits are about the same columns, each measured alike."""
    ours = {column.name: column for column in mine.columns}
    others = {column.name: column for column in theirs.columns}
    lost = sorted(set(ours) ^ set(others))
    if lost:
        who = one if lost[0] in ours else other
        raise ValueError(
            f"{one!r} and {other!r} cannot be compared: column {lost[0]!r} is part of the fit {who!r} only; fit the "
            "same columns"
        )
    for name, column in ours.items():
        if _measure(column) != _measure(others[name]):
            raise ValueError(
                f"{one!r} and {other!r} cannot be compared: column {name!r} is {_measure(column)} in {one!r} and "
                f"{_measure(others[name])} in {other!r}"
            )


def _check_rows(one: str, mine: Any, other: str, theirs: Any) -> None:
    """Raise unless two fits of the same columns are about the same rows."""
    if len(mine.rows) != len(theirs.rows):
        raise ValueError(
            f"{one!r} has {len(mine.rows):,} rows and {other!r} {len(theirs.rows):,}; only fits of the same table "
            "can be compared"
        )
    for j, column in enumerate(mine.columns):
        place = theirs.names.index(column.name)
        if not _same_cells(mine.rows[:, j], column, theirs.rows[:, place], theirs.columns[place]):
            raise ValueError(
                f"{one!r} and {other!r} hold different cells in column {column.name!r}; only fits of the same table "
                "can be compared"
            )


def _same_cells(a: FloatArray, mine: Column, b: FloatArray, theirs: Column) -> bool:
    if mine.levels == theirs.levels or not (mine.is_categorical and theirs.is_categorical):
        return np.array_equal(a, b, equal_nan=True)
    return [mine.shown(cell) for cell in a] == [theirs.shown(cell) for cell in b]
