"""What the figures need of a fitted model: its draws, labels and rows, all of which a saved run has too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..posterior import Posterior
from ..posterior.data import Data
from ..posterior.diagnostics import Diagnostics
from ..posterior.partition.certainty import Certainty
from ._style import listed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
        """How sure the cluster of each row is."""
        if self.posterior.is_sampled:
            return self.posterior.certainty(self.labels)
        found: Certainty = self.model.certainty_
        return found

    @cached_property
    def quantities(self) -> dict[str, FloatArray]:
        """What can be said of each draw without naming clusters, (chain, draw) each."""
        return self.posterior.quantities()

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
