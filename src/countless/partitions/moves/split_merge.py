"""Split-merge proposals as a move; ``partitions.proposals`` has the mathematics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.validate import whole_number
from ..partition import Partition
from ..proposals.propose import propose_splits_and_merges

# Fewest proposals of one kind in one step, and the same in the smallest tables, where they cost next to nothing.
FEWEST_PROPOSALS, MANY_PROPOSALS = 2, 3
# A small table has so many rows at most.
SMALL = 500


class SplitMerge:
    """Proposals to split clusters and to merge them: into halves, or a few rows and the rest.

    Parameters
    ----------
    proposals : int, optional
        How many of each kind in one step. Default: a quarter of the number of clusters when the warm-up ended, and at
        least a few, more of them in small tables; during the warm-up it follows the number of clusters.
    """

    name = "split-merge"

    def __init__(self, proposals: int | None = None) -> None:
        self.proposals = proposals
        self._adapted = FEWEST_PROPOSALS

    def adapt(self, state: Partition) -> None:
        """Called during the warm-up only: afterwards the number of proposals must not depend on the state."""
        fewest = MANY_PROPOSALS if state.n_rows <= SMALL else FEWEST_PROPOSALS
        self._adapted = max(fewest, state.n_clusters // 4)

    def snapshot(self) -> dict[str, int]:
        """The number of proposals that the warm-up has led to."""
        return {"adapted": int(self._adapted)}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Continue with that number."""
        self._adapted = whole_number("adapted", saved["adapted"], 1)

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        count = self.proposals or self._adapted
        propose_splits_and_merges(rng, state, count, count)


def split_merge_moves(setting: bool | int) -> list[SplitMerge]:
    """The moves that an engine's setting ``split_merge`` asks for: True, False, or a number of proposals."""
    if isinstance(setting, bool):
        return [SplitMerge()] if setting else []
    return [SplitMerge(setting)] if whole_number("split_merge", setting, 0) else []
