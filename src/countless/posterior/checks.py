r"""Does the model fit? A table beside tables drawn from the model fitted to it (Rubin 1984; Gelman et al. 1996).

Each statistic of the table stands beside its distribution over *replicates*: tables of the same size, with the same
missing cells, drawn from the posterior. What is looked at is what people would see: where the tails of a column end,
how many cells of a count are zero, whether numbers repeat, and how strongly two columns are related,

.. math:: V = \sqrt{\chi^2 / (n (b - 1))}

(Cramér 1946) of their table of counts, numbers cut into fifths, b the lesser number of its rows and columns. A check is
*striking* where the table is far outside of all replicates by any standard, and by so much that it matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..families.columns import Column

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

# Share of the cells in each tail.
TAIL = 0.01
# Bins of a column when it is related to others; columns beyond which pairs are too many to look at.
BINS, MOST_COLUMNS = 5, 30
# A striking check: outside of all replicates, by so many of their standard deviations ...
DEVIATIONS = 4.0
# ... and by a share of what lies between the tails; by shares of the cells; by an association.
OF_RANGE, OF_CELLS, OF_ASSOCIATION = 0.1, 0.03, 0.1
# Cells of a number that hold one value before that is worth a word.
REPEATED = 0.1


class Check(NamedTuple):
    """One statistic of the table beside that of replicates.

    Attributes
    ----------
    columns : tuple of str
        The column or the two columns that it is about.
    what : str
        ``"left tail"``, ``"right tail"``, ``"zeros"``, ``"repeats"`` or ``"association"``.
    observed, low, high : float
        The statistic of the table, and the interval that holds 95% of the replicates.
    deviations : float
        How far the table is from the mean of the replicates, in their standard deviations.
    striking : bool
        Whether it shows something that the model lacks.
    text : str
        The same in words.
    """

    columns: tuple[str, ...]
    what: str
    observed: float
    low: float
    high: float
    deviations: float
    striking: bool
    text: str


@dataclass(frozen=True)
class Checks:
    """All checks of a table, those that are farthest from the replicates first.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> amounts = np.exp(np.random.default_rng(0).normal(size=(300, 1)))
    >>> model = cl.DPMixture("gaussian", prior=cl.priors.FiniteDirichlet(1), random_state=0).fit(amounts)  # one cluster
    >>> for check in model.posterior_.checks().striking:
    ...     print(check.text.partition(":")[0])
    column 0 has a longer right tail than the model
    column 0 has a shorter left tail than the model
    """

    checks: tuple[Check, ...]
    n_replicates: int

    @property
    def striking(self) -> tuple[Check, ...]:
        """Those that show something that the model lacks."""
        return tuple(check for check in self.checks if check.striking)

    def frame(self) -> pd.DataFrame:
        """A line for each check."""
        import pandas as pd

        lines = [{**check._asdict(), "columns": " and ".join(check.columns)} for check in self.checks]
        return pd.DataFrame(lines, columns=list(Check._fields))

    def __str__(self) -> str:
        if not self.striking:
            return f"Tables drawn from the model look like this one, in all of {len(self.checks)} checks."
        return "\n".join(check.text for check in self.striking)


class _Statistic(NamedTuple):
    """A statistic of a table: its columns, its kind, and by how much it must differ to matter."""

    columns: tuple[int, ...]
    what: str
    matters: float


def compare(rows: FloatArray, columns: Sequence[Column], replicates: Iterable[FloatArray]) -> Checks:
    """Check a table (row, column) against replicates of it."""
    statistics = list(_statistics(rows, columns))
    edges = [_edges(cells, column) for cells, column in zip(rows.T, columns, strict=True)]
    observed = _values(rows, statistics, edges)
    drawn = np.array([_values(table, statistics, edges) for table in replicates])
    checks = [
        _check(statistic, value, others, columns)
        for statistic, value, others in zip(statistics, observed, drawn.T, strict=True)
    ]
    checks.sort(key=lambda check: (not check.striking, -abs(check.deviations)))
    return Checks(tuple(checks), len(drawn))


def _statistics(rows: FloatArray, columns: Sequence[Column]) -> Iterator[_Statistic]:
    for j, column in enumerate(columns):
        cells = rows[:, j][~np.isnan(rows[:, j])]
        if column.is_categorical or len(np.unique(cells)) <= 2:
            continue  # shares are fitted as they are
        low, high = np.quantile(cells, [TAIL, 1.0 - TAIL])
        matters = OF_RANGE * float(high - low)
        if column.cells == "numbers":
            yield _Statistic((j,), "left tail", matters)
            yield _Statistic((j,), "repeats", OF_CELLS)
        else:
            yield _Statistic((j,), "zeros", OF_CELLS)
        yield _Statistic((j,), "right tail", matters)
    if len(columns) <= MOST_COLUMNS:
        for i in range(len(columns)):
            for j in range(i + 1, len(columns)):
                yield _Statistic((i, j), "association", OF_ASSOCIATION)


def _edges(cells: FloatArray, column: Column) -> FloatArray:
    """Where a column is cut into bins: numbers into fifths of the table, categories between their codes."""
    known = cells[~np.isnan(cells)]
    if column.is_categorical:
        return np.arange(len(column.levels or ()) - 1, dtype=np.float64) + 0.5
    if not len(known):
        return np.empty(0)
    cuts: FloatArray = np.quantile(known, np.linspace(0.0, 1.0, BINS + 1)[1:-1])
    return np.unique(cuts)


def _values(rows: FloatArray, statistics: Sequence[_Statistic], edges: Sequence[FloatArray]) -> FloatArray:
    """All statistics of one table."""
    associations = _associations(rows, edges) if len(edges) <= MOST_COLUMNS else np.empty((0, 0))
    values = np.empty(len(statistics))
    for at, (columns, what, _) in enumerate(statistics):
        cells = rows[:, columns[0]]
        values[at] = associations[columns] if what == "association" else _of_cells(cells[~np.isnan(cells)], what)
    return values


def _of_cells(cells: FloatArray, what: str) -> float:
    if what == "zeros":
        return float(np.mean(cells == 0.0))
    if what == "repeats":
        return float(np.unique(cells, return_counts=True)[1].max() / len(cells))
    return float(np.quantile(cells, TAIL if what == "left tail" else 1.0 - TAIL))


def _associations(rows: FloatArray, edges: Sequence[FloatArray]) -> FloatArray:
    """Cramér's V of all pairs of columns, from one product of their indicators."""
    parts = []
    for cells, cuts in zip(rows.T, edges, strict=True):
        indicators = np.zeros((len(cells), len(cuts) + 1))
        known = np.flatnonzero(~np.isnan(cells))
        indicators[known, np.searchsorted(cuts, cells[known])] = 1.0
        parts.append(indicators)
    starts = np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])])
    together = np.concatenate(parts, axis=1)
    counts = together.T @ together
    out = np.zeros((len(edges), len(edges)))
    for i in range(len(edges)):
        for j in range(i + 1, len(edges)):
            out[i, j] = _cramer(counts[starts[i] : starts[i + 1], starts[j] : starts[j + 1]])
    return out


def _cramer(table: FloatArray) -> float:
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (n * least)))


def _check(statistic: _Statistic, observed: float, drawn: FloatArray, columns: Sequence[Column]) -> Check:
    low, high = np.quantile(drawn, [0.025, 0.975])
    mean, spread = float(drawn.mean()), float(drawn.std(ddof=1)) if len(drawn) > 1 else 0.0
    difference = observed - mean
    # Replicates that are all equal, such as no zeros at all, differ by as much as matters.
    deviations = difference / max(spread, statistic.matters / DEVIATIONS, 1e-300) if difference else 0.0
    outside = not drawn.min() <= observed <= drawn.max()
    striking = outside and abs(difference) > statistic.matters and abs(difference) >= DEVIATIONS * spread
    if statistic.what == "repeats":
        striking = striking and observed >= REPEATED and difference > 0.0
    names = [columns[j] for j in statistic.columns]
    text = _in_words(statistic.what, names, observed, float(low), float(high), bool(striking))
    found = tuple(column.name for column in names)
    return Check(found, statistic.what, float(observed), float(low), float(high), deviations, bool(striking), text)


def _in_words(what: str, columns: Sequence[Column], observed: float, low: float, high: float, striking: bool) -> str:
    """What the table shows beside the replicates, and what that says of the model where it is striking."""
    more, names = observed > 0.5 * (low + high), " and ".join(column.name for column in columns)
    if what == "association":
        claim = f"are {'more' if more else 'less'} strongly related than in the model"
        figures = f"Cramér's V is {observed:.2f}, in tables drawn from it {low:.2f} to {high:.2f}"
    elif what == "zeros":
        claim = f"has {'more' if more else 'fewer'} zeros than the model"
        figures = f"{observed:.0%} of the cells, in tables drawn from it {low:.0%} to {high:.0%}"
    elif what == "repeats":
        claim = "repeats one value more often than the model"
        figures = f"in {observed:.0%} of the cells, in tables drawn from it in {low:.0%} to {high:.0%}"
    else:
        longer = more == (what == "right tail")
        side = "above" if what == "right tail" else "below"
        claim = f"has a {'longer' if longer else 'shorter'} {what} than the model"
        shown = [columns[0].number_in_words(value, f"{value:.4g}") for value in (observed, low, high)]
        figures = (
            f"{TAIL:.0%} of the cells are {side} {shown[0]}, in tables drawn from it {side} {shown[1]} to {shown[2]}"
        )
    return f"{names} {claim}: {figures}" if striking else f"{what} of {names}: {figures}"
