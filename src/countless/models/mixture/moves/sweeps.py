"""Sweeps over the rows: collapsed, given parameters, and one row at a time.

The kernels are in ``partitions``; here they are moves of a mixture.
"""

from __future__ import annotations

import numpy as np

from ....partitions.parameter_sweep import draw_parameters, sweep_labels
from ....partitions.partition import Partition
from ....partitions.sweep import sweep_rows


class GibbsSweep:
    """One collapsed pass over all rows, in order."""

    name = "sweep"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        sweep_rows(rng, state, np.arange(state.n_rows), greedy=False)


class ParameterSweep:
    """Parameters given labels, then one pass over all rows given parameters.

    The first half makes it right after any move that leaves the law of the partition alone, whatever parameters were
    there before.
    """

    name = "parameters"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        draw_parameters(rng, state, state.seats.in_use)
        sweep_labels(rng, state)


class SingleSiteSweep:
    """One pass over all rows given parameters, which clusters keep as long as they live.

    Clusters that have no parameters yet, at the start of a chain, draw them from their posterior.
    """

    name = "single-site"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        slots = state.seats.in_use
        without = slots[np.isnan(state.clusters.arrays.parameters[slots, 0])]
        if len(without):
            draw_parameters(rng, state, without)
        sweep_labels(rng, state)
