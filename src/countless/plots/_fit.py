"""What the figures need of a fitted model: its draws, labels and rows, all of which a saved run has too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..posterior import Posterior
from ..posterior.data import Data
from ..posterior.diagnostics import Diagnostics
from ..posterior.quantities import label_free
from ._style import listed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Draws that a share is taken over: its error is then at most 0.03, less than a figure shows.
MOST_DRAWS = 300
FEWEST_DRAWS = 30
# Draws times rows times clusters that a figure takes the time for.
BUDGET = 100_000_000


class Certainty(NamedTuple):
    """Per row: probability of its cluster, the next probable one (-1: none) and the probability of that."""

    probability: FloatArray
    runner_up: IntArray
    runner_up_probability: FloatArray


@dataclass(frozen=True)
class Fit:
    """A fitted model as figures see it."""

    model: Any
    posterior: Posterior
    labels: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the consensus."""
        return len(self.sizes)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each cluster."""
        return np.bincount(self.labels)

    @property
    def data(self) -> Data:
        """The rows that were clustered, with their columns."""
        if self.posterior.data is None:
            raise ValueError("model: this fit does not hold its rows, and the figure shows them; fit it again")
        return self.posterior.data

    @property
    def kind(self) -> str:
        """What was fitted, in a word, where it is not a sample of the posterior."""
        return "variational" if self.posterior.components is not None else "MAP"

    @cached_property
    def certainty(self) -> Certainty:
        """How sure the cluster of each row is.

        From the draws where there are any; for a single partition or an approximation, the probability of each
        cluster given the rows of all clusters.
        """
        if self.posterior.is_sampled and hasattr(self.posterior, "certainty"):
            return Certainty(*self.posterior.certainty(self.labels)[:3])
        if self.posterior.is_sampled:
            within = int(np.clip(BUDGET // (self.n_rows * self.n_clusters), FEWEST_DRAWS, MOST_DRAWS))
            return _from_draws(self.labels, self.posterior.flat_labels(within))
        scores = self.model._mixture.log_weighted(self.data.rows)
        shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        return _best_two(self.labels, shares[:, : self.n_clusters], shares[np.arange(self.n_rows), self.labels])

    @cached_property
    def quantities(self) -> dict[str, FloatArray]:
        """What can be said of each draw without naming clusters, (chain, draw) each."""
        return label_free(self.posterior)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """How the chains compare."""
        return self.posterior.diagnostics()

    def column(self, column: Any, argument: str = "column") -> int:
        """Number of a column that is given by name or number."""
        names = self.data.names
        if isinstance(column, str) and column in names:
            return names.index(column)
        whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if whole and -len(names) <= column < len(names):
            return int(column) % len(names)
        raise ValueError(
            f"{argument}: {column!r} is not a column of the rows; choose among {listed(names)}, or a number below "
            f"{len(names)}"
        )


def fitted(model: Any) -> Fit:
    """The fit of an estimator, or one sentence why there is none."""
    if isinstance(model, Fit):
        return model
    posterior = getattr(model, "posterior_", None)
    labels = getattr(model, "labels_", None)
    if not isinstance(posterior, Posterior) or labels is None:
        hint = "; call its fit first" if hasattr(model, "fit") and not hasattr(model, "labels_") else ""
        raise ValueError(f"model must be a fitted DPMixture, got {type(model).__name__}{hint}")
    return Fit(model, posterior, np.ascontiguousarray(labels, dtype=np.int64))


def _best_two(labels: IntArray, shares: FloatArray, own: FloatArray) -> Certainty:
    """Probability of each row's own cluster, and the best of the others (shares: row, cluster)."""
    if shares.shape[1] == 1:
        return Certainty(own, np.full(len(labels), -1), np.zeros(len(labels)))
    others = shares.copy()
    others[np.arange(len(labels)), labels] = -1.0
    runner_up = others.argmax(axis=1)
    share = others[np.arange(len(labels)), runner_up]
    return Certainty(own, np.where(share > 0.0, runner_up, -1), np.maximum(share, 0.0))


def _from_draws(labels: IntArray, draws: NDArray[Any]) -> Certainty:
    """Mean over draws of the share of each cluster that is in one cluster with the row.

    Of its own cluster the row itself is left out; a row that is alone there is as sure as it is alone. (Wade and
    Ghahramani 2018, section 3, for the similarities that these are means of.)
    """
    sizes = np.bincount(labels)
    n, k = len(labels), len(sizes)
    own_sizes = sizes[labels]
    own, shares = np.zeros(n), np.zeros((n, k))
    for draw in draws:
        width = int(draw.max()) + 1
        table = np.bincount(labels * width + draw, minlength=k * width).reshape(k, width)
        together = table[labels, draw] - 1
        alone = np.bincount(draw)[draw] == 1
        own += np.where(own_sizes > 1, together / np.maximum(own_sizes - 1, 1), alone)
        shares += (table / sizes[:, None]).T[draw]
    return _best_two(labels, shares / len(draws), own / len(draws))
