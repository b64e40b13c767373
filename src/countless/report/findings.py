"""What is to be told about a fitted model: the posterior's own answers, each asked for once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plots._fit import Certainty, fitted
from ..posterior import Posterior
from ..posterior.data import Data
from ..posterior.diagnostics import Diagnostics
from ..posterior.partition.summaries import ClusterSummary

# A row is called sure of its cluster from this probability on.
SURE = 0.9


@dataclass(frozen=True)
class Findings:
    """A fitted model and what its posterior says about it."""

    model: Any

    @property
    def posterior(self) -> Posterior:
        """Its draws."""
        posterior: Posterior = self.model.posterior_
        return posterior

    @property
    def data(self) -> Data:
        """The rows that were clustered."""
        return fitted(self.model).data

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The consensus."""
        return np.asarray(self.model.labels_, dtype=np.int64)

    @property
    def kind(self) -> str:
        """``"sampled"``, ``"variational"`` or ``"map"``: what can be said about uncertainty."""
        if self.posterior.components is not None:
            return "variational"
        return "sampled" if self.posterior.is_sampled else "map"

    @cached_property
    def certainty(self) -> Certainty:
        """Per row: the probability of its cluster, and the cluster that comes second."""
        found: Certainty = self.model.certainty_
        return found

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Whether the chains agree."""
        return self.posterior.diagnostics()

    @cached_property
    def summaries(self) -> list[ClusterSummary]:
        """Each cluster with what distinguishes it, the largest first."""
        return sorted(self.posterior.summaries(self.labels), key=lambda each: (-each.size, each.label))
