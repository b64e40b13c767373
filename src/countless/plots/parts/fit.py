"""What figures and reports need of a fitted model: its draws, labels and rows, all of which a saved run has too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.text import listed
from ...posterior.data import Data
from ...posterior.diagnostics import DISAGREE, Diagnostics
from ...posterior.partition.certainty import Certainty
from ...posterior.partition.summaries import ClusterSummary
from .kinds import WORDS, Words, kind_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A row whose cluster has at least this probability counts as certain.
SURE = 0.9
# Numbers of clusters that are named one by one where chains disagree.
MOST_NAMED = 3


@dataclass(frozen=True)
class Fit:
    """A fitted model and the answers of its posterior, each computed once.

    Chains and quantities are there for any model; labels and what follows from them for models that cluster rows.
    """

    model: Any

    @property
    def posterior(self) -> Any:
        """The draws: a ``Posterior``, with what its model class adds."""
        return self.model.posterior_

    @property
    def kind(self) -> str:
        """``"sampled"``, ``"optimum"``, ``"estimate"`` or ``"approximation"``."""
        return kind_of(self.posterior)

    @property
    def words(self) -> Words:
        """How texts speak of this kind of fit."""
        return WORDS[self.kind]

    @cached_property
    def quantities(self) -> dict[str, FloatArray]:
        """Scalar quantities of each draw that do not depend on the numbering of clusters, (chain, draw) each."""
        return self.posterior.quantities()

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """How the chains compare."""
        return self.posterior.diagnostics()

    @property
    def modes(self) -> list[int]:
        """The most frequent number of clusters in each chain."""
        return [int(np.bincount(chain).argmax()) for chain in self.posterior.n_clusters]

    @cached_property
    def disagreement(self) -> str | None:
        """Where the chains disagree, how many clusters each of them has; None where they do not."""
        if self.kind != "sampled" or self.diagnostics.state != DISAGREE:
            return None
        modes = sorted(set(self.modes))
        if len(modes) > MOST_NAMED:
            return f"{modes[0]} to {modes[-1]}"
        return " or ".join(part for part in (", ".join(map(str, modes[:-1])), str(modes[-1])) if part)

    @property
    def warning(self) -> str | None:
        """That chains disagree, and on what; None where they do not."""
        if self.disagreement is None:
            return None
        on = f" on {self.diagnostics.disputed}" if len(set(self.modes)) == 1 else ""
        return f"Chains disagree{on}: {self.disagreement} {'cluster' if self.disagreement == '1' else 'clusters'}"

    @cached_property
    def likely(self) -> tuple[int, int]:
        """The numbers of clusters that hold 95% of the draws."""
        return likely(self.posterior.n_clusters_pmf())

    # --- models that cluster rows ---------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> IntArray:
        """The clustering that is shown."""
        labels = getattr(self.model, "labels_", None)
        if labels is None:
            raise ValueError(f"model: {type(self.model).__name__} has no labels_, and the figure shows clusters")
        return np.ascontiguousarray(labels, dtype=np.int64)

    @property
    def has_labels(self) -> bool:
        """Whether there is a clustering to show."""
        return getattr(self.model, "labels_", None) is not None

    @property
    def has_own_labels(self) -> bool:
        """Whether the labels were given in place of the clusters that were found."""
        return bool(getattr(self.model, "is_relabelled_", False))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of ``labels``."""
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

    @cached_property
    def certainty(self) -> Certainty:
        """Of each row: the probability of its cluster, and the cluster that comes second."""
        found: Certainty | None = getattr(self.model, "certainty_", None)
        return self.posterior.certainty(self.labels) if found is None else found

    @cached_property
    def summaries(self) -> list[ClusterSummary]:
        """Each cluster with what distinguishes it, the largest first."""
        return sorted(self.posterior.summaries(self.labels), key=lambda each: (-each.size, each.label))

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


def likely(pmf: Mapping[int, float], level: float = 0.95) -> tuple[int, int]:
    """The shortest range of numbers that holds a share of the draws; of equally short ones, the most probable.

    Examples
    --------
    >>> from countless.plots.parts.fit import likely
    >>> likely({2: 0.5, 3: 0.46, 9: 0.04})
    (2, 3)
    """
    numbers = sorted(pmf)
    ranges = []
    for i, low in enumerate(numbers):
        held = 0.0
        for high in numbers[i:]:
            held += pmf[high]
            if held >= level - 1e-12:
                ranges.append((high - low, -held, low, high))
                break
    return min(ranges)[2:]


def fitted(model: Any) -> Fit:
    """The fit of an estimator or of a bare posterior; ValueError, in one sentence, where there is none."""
    if isinstance(model, Fit):
        return model
    if _is_posterior(model):
        return Fit(SimpleNamespace(posterior_=model))
    if not _is_posterior(getattr(model, "posterior_", None)):
        hint = "; call its fit first" if hasattr(model, "fit") else ""
        raise ValueError(f"model must be a fitted model with draws, got {type(model).__name__}{hint}")
    return Fit(model)


def _is_posterior(value: Any) -> bool:
    return callable(getattr(value, "diagnostics", None))
