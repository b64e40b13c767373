"""The learned numbers of the prior given the partition: drawn in Gibbs, set to their mode in MAP.

The prior knows how they are drawn (Escobar and West 1995 for the CRP, slice sampling of one after the other else).
"""

from __future__ import annotations

import numpy as np

from ..partition import Partition


class ForgetConcentration:
    """Integrate the concentration out of the moves of rows that follow, where the prior allows it.

    A later ``ConcentrationUpdate`` draws it afresh. Such moves and then that draw leave the joint law of partition and
    concentration as it is (van Dyk and Park 2008, *Partially collapsed Gibbs samplers*).
    """

    name = "forget the concentration"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        if state.seats.prior.is_learned:
            state.seats.forget_numbers()


class ConcentrationUpdate:
    """Draw the learned numbers of the prior given the sizes of the clusters; fixed ones stay."""

    name = "concentration"

    def step(self, rng: np.random.Generator, state: Partition) -> None:
        """Update ``state`` in place."""
        if state.seats.prior.is_learned:
            state.seats.draw_numbers(rng)


def to_mode(state: Partition) -> None:
    """Set the learned numbers of the prior to their mode given the partition."""
    prior = state.seats.prior
    if prior.is_learned:
        state.set_prior(prior.mode_learned(state.seats.fixed, state.cluster_sizes()))
