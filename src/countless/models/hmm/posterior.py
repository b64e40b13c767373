"""The posterior of a hidden Markov model: draws of the states of all steps, base weights and numbers of the law."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.warnings import ConvergenceWarning
from ...posterior.partition.posterior import PartitionPosterior
from ...posterior.partition.summaries import ClusterSummary, summarise
from ...posterior.posterior import FloatArray, IntArray
from .problem import N_STATES

# Share of draws at the bound of a weak limit from which users are warned.
OFTEN = 0.05


class Changes(NamedTuple):
    """Where the state changes.

    Attributes
    ----------
    steps : array of int
        First steps of the new states.
    probability : array
        Posterior probability that the state changes there or within the window.
    """

    steps: IntArray
    probability: FloatArray


class SequencePosterior(PartitionPosterior):
    """Draws of the states of all steps, of all sequences one after the other.

    Attributes
    ----------
    labels : array (chain, draw, step)
        State of each step in each draw, numbered by first appearance.
    n_states : array (chain, draw)
    log_joint : array (chain, draw)
        Log density of the rows, the path and its base weights, with those of learned numbers.
    mode : array of int or None
        The path that is most probable under an approximation.
    data : SequenceData
        The sequences, their columns, family and transition law.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model.posterior_.labels.shape
    (4, 250, 6)
    """

    partition_axis: ClassVar[str] = "step"

    @property
    def n_states(self) -> IntArray:
        """Number of states of each draw."""
        return self[N_STATES]

    @property
    def mode(self) -> IntArray | None:
        """The path that is most probable under an approximation."""
        return self["mode"].astype(np.int64) if "mode" in self else None

    @property
    def log_factors(self) -> dict[str, FloatArray]:
        """Offsets of learned hyperparameters on their lines, in units of the columns; mostly logs of factors."""
        return self.draws.group("log_factors")

    def typical_factors(self) -> dict[str, Any]:
        """Posterior means of the offsets of learned hyperparameters; empty where none were."""
        return {name: logs.mean(axis=(0, 1)) for name, logs in self.log_factors.items()}

    def n_states_pmf(self) -> dict[int, float]:
        """Posterior probability of each number of states that was drawn.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> round(sum(model.posterior_.n_states_pmf().values()), 6)
        1.0
        """
        pmf: dict[int, float] = self.n_clusters_pmf()
        return pmf

    def change_probability(self, window: int = 0) -> FloatArray:
        """Probability that the state changes at each step, or within so many steps of it.

        The beginning of a sequence is no change.

        Parameters
        ----------
        window : int
            Steps to each side that count as well.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> int(model.posterior_.change_probability().argmax())
        3
        """
        first = self.data.problem().first
        total = np.zeros(self.labels.shape[-1])
        for draw in self.labels.reshape(-1, self.labels.shape[-1]):
            changes = np.append(False, draw[1:] != draw[:-1]) & ~first
            if window:
                counts = np.cumsum(np.append(0, changes))
                at = np.arange(len(draw))
                changes = counts[np.minimum(at + window + 1, len(draw))] > counts[np.maximum(at - window, 0)]
            total += changes
        return total / self.n_draws

    def summaries(self, labels: ArrayLike | None = None, most_traits: int | None = None) -> list[ClusterSummary]:
        """What each state is like: its size with an interval, how sure it is, and what distinguishes it.

        Parameters
        ----------
        labels : array of int, optional
            The states to describe, ``model.labels_`` for one; default, the consensus, which is computed again.
        most_traits : int, optional
            Traits to keep for each state; default, all.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> len(model.posterior_.summaries(model.labels_)) == model.n_states_
        True
        """
        known = self.consensus() if labels is None else labels
        return summarise(self.data, self.flat_labels(), known, most_traits)

    def arviz_extras(self) -> dict[str, Any]:
        """The rows, and the names of family and transitions."""
        return {
            "coords": {"column": self.data.names},
            "observed_data": {"rows": (self.data.rows, ("step", "column"))},
            "attrs": {"family": type(self.data.family).__name__, "transitions": type(self.data.prior).__name__},
        }


def bound_reached(engine: Any, posterior: SequencePosterior) -> float | None:
    """Share of the draws that use every state that the engine allows; None for engines without a bound of their own."""
    most = getattr(engine, "n_states", None)
    if most is None or posterior.data.prior.most is not None:
        return None
    return float(np.mean(posterior.n_states >= most))


def warn_of_bound(share: float | None, engine: Any, stacklevel: int = 3) -> None:
    """Warn where many draws have reached the bound."""
    if share is not None and share > OFTEN:
        warnings.warn(
            f"{100.0 * share:.0f}% of the draws use all {engine.n_states} states that the engine allows; "
            "give it a larger n_states",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
