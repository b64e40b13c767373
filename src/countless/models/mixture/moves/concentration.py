"""The concentration given the partition: drawn in Gibbs, set to its mode in MAP.

The prior knows how it is drawn (Escobar and West 1995 for the CRP, slice sampling for the others).
"""

from __future__ import annotations

import numpy as np

from ....partitions.partition import Partition


class ConcentrationUpdate:
    """Draw a learned concentration given the sizes of the clusters; a fixed one stays."""

    name = "concentration"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        prior = state.seats.prior
        if prior.is_learned:
            state.set_concentration(prior.draw_concentration(rng, state.concentration, state.cluster_sizes()))


def to_mode(state: Partition) -> None:
    """Set a learned concentration to its mode given the partition."""
    prior = state.seats.prior
    if prior.is_learned:
        state.set_concentration(prior.mode_concentration(state.cluster_sizes()))
