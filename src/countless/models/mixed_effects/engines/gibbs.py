"""Gibbs sampling of mixed effects: labels and effects, then what is drawn given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ....partitions.moves.concentration import ConcentrationUpdate, ForgetConcentration
from ....partitions.moves.split_merge import SplitMerge, split_merge_moves
from ....partitions.moves.sweeps import GibbsSweep
from ....partitions.proposals.propose import propose_splits_and_merges
from ..moves.given import DrawEffects, DrawFixed, DrawNoise, DrawParameters, LearnFamily
from ..moves.placing import PlaceSubjects

# Split-merge proposals of each kind in a sweep: at most, and times the number of subjects.
MOST_PROPOSALS, ROWS_PROPOSED = 20, 6000


@register("mixed-effects-gibbs")
@dataclass(frozen=True)
class MixedEffectsGibbs(Sampler):
    """Gibbs sampling for ``MixedEffects``.

    Parameters
    ----------
    chains, draws, warmup, thin
        As for ``CollapsedGibbs``.
    split_merge : bool or int
        Split-merge proposals, as for ``CollapsedGibbs``; True makes more of them where there are few subjects.
    start : str or array of labels
        As for ``CollapsedGibbs``, for subjects in the order of ``subjects_``.
    draw_effects : bool
        Draw the effects along with the labels also where the covariance of a cluster is known. By default they are
        then integrated out, which is faster and moves farther.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        As for ``CollapsedGibbs``.

    Examples
    --------
    >>> from countless.models.mixed_effects.engines.gibbs import MixedEffectsGibbs
    >>> [move.name for move in MixedEffectsGibbs().schedule().moves][-3:]
    ['parameters', 'fixed effects', 'noise']
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    split_merge: bool | int = True
    start: Any = "dispersed"
    draw_effects: bool = False
    n_threads: int | None = None
    max_seconds: float | None = None

    serves: ClassVar[str] = "mixed-effects"
    title: ClassVar[str] = "Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        split_merge_moves(self.split_merge)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        moves = [SplitSubjects()] if self.split_merge is True else split_merge_moves(self.split_merge)
        subjects: list[Any] = [ForgetConcentration(), SweepSubjects(), *moves]
        given: list[Any] = [LearnFamily(), DrawParameters(), DrawFixed(), DrawNoise()]
        return Schedule([*subjects, DrawEffects(), ConcentrationUpdate(), *given])

    def sweep_cost(self, problem: Any) -> float:
        """Entries of a subject's sums, for the expected number of clusters."""
        d = problem.n_effects
        clusters = max(1.0, problem.prior.expected_clusters(problem.n_subjects))
        return problem.n_subjects * (d + 1) * (d + 2) * clusters

    def run(self, problem: Any, rng: Any, watch: Any = None) -> Any:
        """Run all chains."""
        if self.draw_effects:
            problem = problem.drawing()
        return super().run(problem, rng, watch)


class SplitSubjects(SplitMerge):
    """Split-merge with many proposals where subjects are few: effects that were drawn in one cluster fit no other, so
    that most are refused."""

    def step(self, rng: Any, state: Any) -> None:
        """Update ``state`` in place."""
        count = max(self._adapted, min(MOST_PROPOSALS, ROWS_PROPOSED // state.n_rows))
        propose_splits_and_merges(rng, state, count, count)


class SweepSubjects:
    """A pass over all subjects, with or without their effects."""

    name = "subjects"

    def __init__(self) -> None:
        self._sweep = GibbsSweep()
        self._place = PlaceSubjects()

    def step(self, rng: Any, state: Any) -> None:
        """Update ``state`` in place."""
        (self._sweep if state.problem.integrates else self._place).step(rng, state)

    def adapt(self, state: Any) -> None:
        """Called during the warm-up only."""
        if state.problem.integrates:
            self._sweep.adapt(state)

    def snapshot(self) -> dict[str, Any]:
        """What the sweep remembers."""
        return self._sweep.snapshot()

    def restore(self, saved: Any) -> None:
        """Continue with that."""
        self._sweep.restore(saved)
