"""Tables drawn from the posterior of a mixture, as large as the one that was fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...core.random import as_generator
from ...core.validate import whole_number
from ...posterior.checks import Checks, compare
from .data import MixtureData
from .predictive import Predictor

if TYPE_CHECKING:
    from .posterior import FloatArray, MixturePosterior

# Rows that are compared at most: a sample of more of them shows the same.
MOST_ROWS = 2000


def check(posterior: MixturePosterior, n_replicates: int, random_state: object) -> Checks:
    """The table beside replicates of it, see ``MixturePosterior.checks``."""
    data = posterior.data
    if not isinstance(data, MixtureData):
        raise ValueError("checks: this posterior does not know its rows; ask the posterior_ of a fitted model")
    n_replicates = whole_number("n_replicates", n_replicates, 2)
    rng = as_generator(random_state)
    n_rows = len(data.rows)
    some = np.sort(rng.choice(n_rows, MOST_ROWS, replace=False)) if n_rows > MOST_ROWS else np.arange(n_rows)
    tables = (table[some] for table in _replicates(posterior, data, n_replicates, rng))
    return compare(data.rows[some], data.columns, tables)


def _replicates(
    posterior: MixturePosterior, data: MixtureData, n_replicates: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    predictor = Predictor.of(data.problem(), posterior.draws)
    labels, factors = posterior.flat_labels(), posterior.flat_log_factors()
    # As many of each draw as come out even, evenly spaced over all chains.
    for draw in np.linspace(0, posterior.n_draws - 1, n_replicates).astype(np.int64):
        tuned = predictor.tuned({name: logs[draw] for name, logs in factors.items()})
        yield tuned.replicate(labels[draw], int(draw), rng)
