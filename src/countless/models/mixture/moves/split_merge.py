"""Split-merge proposals as a move; ``partitions.split_merge`` has the mathematics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....core.validate import whole_number
from ....partitions.partition import Partition
from ....partitions.split_merge import propose_splits_and_merges

FEWEST_PROPOSALS = 3


class SplitMerge:
    """A number of split or merge proposals.

    Parameters
    ----------
    proposals : int, optional
        How many in one step. Default: half as many as there were clusters when the warm-up ended, and at least
        3; during the warm-up it follows the number of clusters.
    """

    name = "split-merge"

    def __init__(self, proposals: int | None = None) -> None:
        self.proposals = proposals
        self._adapted = FEWEST_PROPOSALS

    def adapt(self, state: Partition) -> None:
        """Called during the warm-up only: afterwards the number of proposals must not depend on the state."""
        self._adapted = max(FEWEST_PROPOSALS, state.n_clusters // 2)

    def snapshot(self) -> dict[str, int]:
        """The number of proposals that the warm-up has led to."""
        return {"adapted": int(self._adapted)}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Continue with that number."""
        self._adapted = whole_number("adapted", saved["adapted"], 1)

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        propose_splits_and_merges(rng, state, self.proposals or self._adapted)


def split_merge_moves(setting: bool | int) -> list[SplitMerge]:
    """The moves that an engine's setting ``split_merge`` asks for: True, False, or a number of proposals."""
    if isinstance(setting, bool):
        return [SplitMerge()] if setting else []
    return [SplitMerge(setting)] if whole_number("split_merge", setting, 0) else []
