"""What each kind of fit answers about clusters: draws of the posterior, a single partition, or an approximation.

One interface for the three: the clustering to show, how sure rows are of it, and what is predicted for new rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...chains.draws import APPROXIMATION, Draws
from ...core.validate import by_size
from ...partitions.seats import FloatArray, IntArray
from ...posterior.held_out import HeldOut, leave_one_out
from ...posterior.partition.certainty import Certainty, certainty_of_shares
from .closed_form import ClosedForm, Grouped
from .predictive import ByPartition, Predictor
from .problem import Problem

if TYPE_CHECKING:
    from .posterior import MixturePosterior

# Draws that a predictive density is averaged over: beyond, the error is dominated by the chains' own.
PREDICTIVE_DRAWS = 100
# Densities of rows given the others that are computed at most, over all draws, unless one draw has more.
MOST_LEFT_OUT = 1_000_000


class Predictive(Protocol):
    """What is predicted for new rows."""

    def log_weighted(self, X_new: FloatArray) -> FloatArray:
        """Log of weight times density: one column per cluster, the last one for anything else."""

    def log_density(self, X_new: FloatArray) -> FloatArray:
        """Log density of each row."""

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """New rows and their clusters; -1 is none of them."""


def point_estimate(posterior: MixturePosterior, problem: Problem) -> IntArray:
    """The clustering to show, numbered by size: the mode of an approximation, else the consensus of the draws.

    Draws have no more clusters than the prior allows, and a consensus has no more than they have.
    """
    return posterior.consensus() if posterior.mode is None else by_size(posterior.mode, problem.weights)


def predictive(problem: Problem, draws: Draws, posterior: MixturePosterior, labels: IntArray) -> Predictive:
    """What the fit predicts: a mixture in closed form, or the clusters of the rows themselves."""
    factors = posterior.typical_factors()
    if draws.kind is APPROXIMATION and posterior.components is not None and posterior.mode is not None:
        # Components have the order of the mode; those of no row come last.
        order = np.arange(len(posterior.components.statistics))
        order[labels] = posterior.mode
        return ClosedForm.of(problem.at(factors), posterior.components.in_order(order), int(labels.max()) + 1)
    prior = problem.prior.at_means(draws, int(labels.max()) + 1)
    return ByPartition(problem, factors, draws, labels, prior, PREDICTIVE_DRAWS)


def relabelled(
    problem: Problem, draws: Draws, posterior: MixturePosterior, found: IntArray, labels: IntArray
) -> Predictive:
    """What the fit predicts for ``labels`` in place of the clusters that it ``found``.

    Where these only join clusters, a joined one is their mixture. Others are asked from the rows that they hold.
    """
    pairs = np.unique(np.stack([found, labels]), axis=1)
    if len(np.unique(pairs[0])) == pairs.shape[1]:
        return Grouped(predictive(problem, draws, posterior, found), pairs[1])
    if draws.kind is APPROXIMATION:
        raise ValueError(
            "labels: a variational fit keeps its clusters whole; give labels under which the rows of each cluster of "
            "labels_ stay together, or fit with inference='gibbs'"
        )
    return predictive(problem, draws, posterior, labels)


def certainty(posterior: MixturePosterior, labels: IntArray, shares: FloatArray) -> Certainty:
    """How sure rows are of their cluster: by the draws, or by the probabilities given the clusters of all rows.

    ``shares`` (row, cluster) are the latter; they are not looked at where there are draws.
    """
    return posterior.certainty(labels) if posterior.is_sampled else certainty_of_shares(labels, shares)


def held_out(posterior: MixturePosterior, problem: Problem) -> HeldOut | None:
    """Log density of each row given the others; None where rows count more or less than once."""
    if problem.weights is not None:
        return None
    at_most = max(1, min(PREDICTIVE_DRAWS, MOST_LEFT_OUT // problem.n_rows))
    each = Predictor.of(problem, posterior.draws).each_left_out(posterior.draws, at_most)
    return HeldOut(leave_one_out(each), not posterior.is_sampled)
