"""The problem of a mixture: rows with their family and prior, in the units that suit the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...chains.contract import Frozen
from ...chains.draws import Draws, flat
from ...chains.fields import Field
from ...families.base import Family
from ...partitions.seats import FloatArray, IntArray
from ...partitions.starts import start_labels
from ...priors.verbs import Prior
from ...tuning.evidence import Evidence
from ..family_problem import FamilyProblem

if TYPE_CHECKING:
    from .state import State

N_CLUSTERS = "n_clusters"


@dataclass(frozen=True)
class Problem(FamilyProblem):
    """Rows, family and prior of a mixture; immutable, shared by all chains.

    Attributes
    ----------
    prior : Prior
        Resolved.
    """

    prior: Prior = None  # type: ignore[assignment]  # set by ``of``: fields of the base have defaults

    @classmethod
    def of(
        cls,
        X: FloatArray,
        family: Family,
        prior: Prior,
        weights: FloatArray | None = None,
        left_open: tuple[str, ...] = (),
    ) -> Problem:
        """Prepare rows ``X``, each counted ``weights`` times, for a resolved family and prior."""
        return cls.prepared(X, family, weights, left_open, prior=prior)

    # --- the contract of a problem -----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        """Rows, and the missing cells that are drawn."""
        return {"row": self.n_rows, "missing": len(self.missing.rows) if self.draws_missing else 0}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw of a mixture consists of; parts that only some engines have are optional."""
        learned = self.prior.learned_names
        others = [name for name in learned if name != "concentration"]
        return (
            Field("labels", "labels", ("row",), of=N_CLUSTERS),
            Field(N_CLUSTERS, "count", words="number of clusters"),
            Field("log_joint", "number"),
            Field("concentration", "number", compared="concentration" in learned),
            *(Field(name, "count" if self.prior.law_of(name).is_count else "number") for name in others),
            Field("log_factors/*", "number", None, optional=True, compared=False),
            Field("missing", "number", ("missing",), optional=True, single=True),
            Field("n_sticks", "count", optional=True, compared=False),
            Field("weights", "number", per=N_CLUSTERS, optional=True),
            Field("parameters/*", "number", None, per=N_CLUSTERS, optional=True),
            Field("objective", "number", ("step",), once=True, optional=True),
            Field("mode", "labels", ("row",), once=True, optional=True),
            Field("components/statistics", "number", ("component", "statistic"), once=True, optional=True),
            Field("components/log_weights", "number", ("component or other",), once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """A state in one of the clusterings of ``partitions.starts``, or in labels that are given."""
        state = self.state(np.zeros(self.n_rows, dtype=np.int64))
        state.relabel(start_labels(kind, number, state, rng))
        state.set_prior(self.prior.initial(state.n_clusters))
        return state

    def state(self, labels: IntArray, at: float | Prior | None = None) -> State:
        """The state with these labels; the numbers of the prior are by default where chains begin."""
        from .state import State

        return State(self, labels, self.prior.initial(int(labels.max()) + 1) if at is None else at)

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .state import State

        return State.thawed(self, frozen)

    def evidence(self, draws: Draws, which: IntArray) -> Evidence:
        """Log evidence of the rows given some draws, numbered over all chains, as a function of log factors.

        Where missing cells are drawn, each draw completes the rows with its own.
        """
        labels = flat(draws, "labels")[which]
        if not self.draws_missing:
            return Evidence(self.untuned, [(self.rows, labels)], self.weights)
        values = flat(draws, "missing")[which]
        parts = [(self.completed(cells), drawn[None]) for cells, drawn in zip(values, labels, strict=True)]
        return Evidence(self.untuned, parts, self.weights)

    def hyperparameter_move(self, names: tuple[str, ...], spread: float) -> Any:
        """The move that draws hyperparameters along with the clusters."""
        from .moves.hyperparameters import HyperparameterUpdate

        return HyperparameterUpdate(names, spread)

    def held_out(self, draws: Draws, others: IntArray, whole: Problem, at_most: int) -> FloatArray:
        """Log predictive density, in local units, of ``others``, rows of the problem that this one is a part of."""
        from .predictive import Predictor

        return Predictor.of(self, draws).log_density_of_local(whole.table.block(others), draws, at_most)
