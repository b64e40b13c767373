"""Missing cells: draws of what they may hold, given everything that is there.

For a draw of the clusters, the parameters of each cluster are drawn given its rows, and its missing cells from these:
an exact draw from the posterior of all missing cells together. Those of a correlated Gaussian block were drawn by the
engine itself, given the other cells of their rows, and are taken from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.random import as_generator
from ...core.validate import whole_number
from ...families.columns import Column
from ...posterior.data import Data
from .predictive import Predictor
from .problem import Problem

if TYPE_CHECKING:
    import pandas as pd

    from .posterior import MixturePosterior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Imputation:
    """What the missing cells of a table may hold.

    Attributes
    ----------
    rows, columns : array of int (cell,)
        Where each missing cell stands in ``data.rows``.
    draws : array (draw, cell)
        Draws from the posterior of all missing cells together; categories as codes.
    data : Data
        The table.
    """

    rows: IntArray
    columns: IntArray
    draws: FloatArray
    data: Data

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of each cell; NaN for categories, whose codes have none."""
        means = self.draws.mean(axis=0) if self.draws.size else np.empty(0)
        return np.where([self.data.columns[j].is_categorical for j in self.columns], np.nan, means)

    @property
    def best(self) -> FloatArray:
        """One value for each cell: the mean of numbers, the most frequent draw of categories."""
        best = self.mean
        for cell in np.flatnonzero(np.isnan(best)):
            values, counts = np.unique(self.draws[:, cell], return_counts=True)
            best[cell] = values[np.argmax(counts)]
        return best

    def frame(self) -> pd.DataFrame:
        """A line for each missing cell: row, column, value, and how sure it is.

        ``low`` and ``high`` hold 90% of the draws of a number; ``probability`` is that of a category.
        """
        import pandas as pd

        lines = []
        for i, j, value, drawn in zip(self.rows, self.columns, self.best, self.draws.T, strict=True):
            column = self.data.columns[j]
            line: dict[str, Any] = {"row": int(i), "column": column.name}
            if column.is_categorical:
                line |= {"value": column.shown(value), "probability": float(np.mean(drawn == value))}
            else:
                low, high = np.quantile(drawn, [0.05, 0.95])
                line |= {"value": float(value), "low": float(low), "high": float(high)}
            lines.append(line)
        return pd.DataFrame(lines, columns=["row", "column", "value", "low", "high", "probability"])

    def filled(self, draw: int | None = None) -> pd.DataFrame:
        """The whole table with its missing cells filled: by the best values, or by one of the draws."""
        import pandas as pd

        rows = self.data.rows.copy()
        rows[self.rows, self.columns] = self.best if draw is None else self.draws[draw]
        return pd.DataFrame(
            {column.name: _cells(column, cells) for column, cells in zip(self.data.columns, rows.T, strict=True)}
        )


def _cells(column: Column, cells: FloatArray) -> Sequence[Any] | FloatArray:
    return cells if column.levels is None else [column.shown(cell) for cell in cells]


def impute(posterior: MixturePosterior, n_draws: int = 200, random_state: Any = 0) -> Imputation:
    """Draws of the missing cells of the rows that a posterior is about."""
    data = posterior.data
    if data is None:
        raise ValueError("impute: this posterior does not know its rows; ask the posterior_ of a fitted model")
    n_draws = whole_number("n_draws", n_draws, 1)
    rng = as_generator(random_state)
    rows, columns = np.nonzero(np.isnan(data.rows))
    draws = np.empty((n_draws, len(rows)))
    if len(rows):
        predictor = Predictor.of(Problem.of(data.rows, data.family, data.prior), posterior.draws)
        # As many of each draw as come out even, evenly spaced over all chains.
        picked = np.linspace(0, posterior.n_draws - 1, n_draws).astype(np.int64)
        flat, factors = posterior.flat_labels(), posterior.flat_log_factors()
        for at, draw in enumerate(picked):
            tuned = predictor.tuned({name: logs[draw] for name, logs in factors.items()})
            complete = tuned.draw_missing(flat[draw], int(draw), rng)
            draws[at] = complete[rows, columns]
    return Imputation(rows, columns, draws, data)
