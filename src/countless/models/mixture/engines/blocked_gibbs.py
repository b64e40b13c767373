"""BlockedGibbs: weights of truncated sticks, parameters of all components, then all labels at once.

Ishwaran and James 2001, section 5.2; Zhang 2022. Given weights and parameters the rows are independent, so that their
labels are one pass over blocks of rows (two matrix products a block, on all cores).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....chains.engine import register
from ....chains.jobs import Draws
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ....core.jit import kernel
from ....core.validate import whole_number
from ....families import verbs
from ....partitions.split_merge import SplitMerge
from ....partitions.sticks import draw_log_weights, switch_components
from ....partitions.sweep import GibbsSweep, clear, refresh_clusters
from ....passes.passes import Passes
from ..state import SPARE_SLOTS, IntArray, Problem, State

# Bound on the truncation error from which the number of sticks at the start follows, and the most of them.
WANTED_BOUND = 0.01
MOST_AT_START = 100


@register("blocked")
@dataclass(frozen=True)
class BlockedGibbs(Sampler):
    """Blocked Gibbs sampling on truncated sticks, for priors with a stick-breaking form.

    In turn: the order of the components, a learned concentration, the weights and the parameters of all components
    given the labels, and the labels of all rows given these, each from its full conditional (the first two with
    the weights integrated out).

    Parameters
    ----------
    chains, draws, warmup, thin : int
        As for ``CollapsedGibbs``.
    truncation : int, optional
        Number T of sticks at the start; the last one takes what is left. Default: as many as bring the bound on the
        truncation error (``prior.truncation_bound``) below 0.01, and at most 100.
    max_truncation : int
        Limit of their growth: a draw in which the last stick holds rows is followed by one with half as many
        sticks again.
    start : str or array of labels
        As for ``CollapsedGibbs``. Clusters beyond the limit are dealt out to the others.
    n_threads : int, optional
        Threads for the chains and for the blocks of rows; default, one per core. The draws do not depend on it.
    keep_parameters : bool
        Whether ``posterior_.parameters`` holds the parameters of the clusters of every kept draw.

    Notes
    -----
    *What the draws follow.* With ``max_truncation`` equal to ``truncation`` they follow exactly the posterior under the
    truncated prior; for ``FiniteDirichlet(K)`` with at least K sticks that is the prior itself. Where T may grow they
    follow the posterior under the whole prior in the limit of many draws: given T each step leaves the posterior
    under T sticks alone, T never falls after the warm-up, and it rises only when the last stick is used, the chance
    of which goes to zero as T rises, so that the adaptation dies out (Roberts and Rosenthal 2007). What is left
    at a given T is bounded by ``posterior_.truncation.bound``. Weights of Pitman-Yor sticks fall off slowly: with a
    discount of 0.5 no affordable T makes that bound small, and ``CollapsedGibbs`` or ``Gibbs`` serve better.

    *Mixing.* A new cluster must be drawn from the prior before a row can see it, so that with many columns clusters
    come up rarely, and there are no split-merge moves for truncated sticks: from one cluster a chain may find a few
    of ten in hundreds of sweeps. So chains begin with one collapsed sweep with split-merge for every two sweeps of
    warm-up, which brings them near the posterior; chains that agree then say less than they do for ``CollapsedGibbs``.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.BlockedGibbs(chains=1, draws=20, warmup=20)
    >>> model = cl.DPMixture("poisson", inference=engine, random_state=0).fit([[1], [2], [80], [90]])
    >>> drawn = model.posterior_.parameters_of(chain=0, draw=19)
    >>> bool(drawn["weights"].sum() <= 1.0)
    True
    >>> bool(model.posterior_.truncation.n_sticks[0, 19] > 4)
    True
    """

    chains: int = 4
    draws: int = 250
    warmup: int = 200
    thin: int = 1
    truncation: int | None = None
    max_truncation: int = 1000
    start: Any = "dispersed"
    n_threads: int | None = None
    keep_parameters: bool = True

    title: ClassVar[str] = "blocked Gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("max_truncation", self.max_truncation, 1)
        if self.truncation is not None and whole_number("truncation", self.truncation, 1) > self.max_truncation:
            raise ValueError(
                f"truncation must be at most max_truncation = {self.max_truncation}, got {self.truncation}"
            )

    def schedule(self, passes: Passes | None = None) -> Schedule:
        """The moves of one sweep; each chain has its own, and all share the passes over the rows."""
        return Schedule([BlockedSweep(self.truncation, self.max_truncation, passes)])

    def settling(self) -> tuple[Schedule, int]:
        """Collapsed sweeps with split-merge; none where there is no warm-up."""
        return Schedule([GibbsSweep(), SplitMerge()]), self.warmup // 2

    def run(self, problem: Problem, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Run all chains."""
        problem.prior.initial().stick_shapes(1)  # an error here if the prior has no sticks
        with Passes(problem, self.n_threads) as passes:
            return self._run(problem, rng, progress, lambda: self.schedule(passes))


class BlockedSweep:
    """Order, concentration, weights, parameters and labels of truncated sticks, once each.

    Slots of the state are the components in the order of the sticks, and ``state.weights`` has their weights.

    Parameters
    ----------
    truncation : int, optional
        Number of sticks at the start; default, by the bound.
    limit : int
        Most sticks ever; equal to ``truncation``, their number is fixed.
    passes : Passes, optional
        Shared passes over the rows of the problem; default, its own with one thread.
    """

    name = "blocked"

    def __init__(self, truncation: int | None = None, limit: int = 1000, passes: Passes | None = None) -> None:
        self._truncation = truncation
        self._limit = limit
        self._passes = passes
        self._least = 1

    def step(self, rng: np.random.Generator, state: State, problem: Problem) -> None:
        """Update ``state`` in place."""
        n_sticks = self._make_room(state, problem)
        counts = state.chain.sizes[:n_sticks]
        value = problem.prior.draw_concentration_of_components(rng, state.concentration, counts)
        state.set_concentration(problem, value)
        shapes = problem.prior.with_concentration(value).stick_shapes(n_sticks)
        order = switch_components(rng, counts, shapes)
        state.renumber(np.concatenate([order, np.arange(n_sticks, state.capacity)]))
        log_weights = draw_log_weights(rng, state.chain.sizes[:n_sticks], shapes)
        naturals = np.empty((n_sticks, state.chain.statistics.shape[1]))
        _draw_components(problem.hyper, rng, state.chain, naturals)
        naturals[:, 0] += log_weights  # entry 0 of the statistics of a row is 1
        drawn = self._passes_over(problem).draw(naturals, rng)
        state.chain.statistics[:n_sticks] = drawn.sums
        _occupy(state, drawn.labels)
        refresh_clusters(problem.hyper, state.chain, state.n_clusters)
        state.weights = np.exp(log_weights)

    def adapt(self, state: State) -> None:
        """Give up empty sticks at the end that a bad start left behind; for the warm-up only."""
        if state.weights is not None:
            state.weights = state.weights[: max(self._least, int(state.chain.labels.max()) + 2)]

    def snapshot(self) -> dict[str, int]:
        """The least number of sticks, set at the first step."""
        return {"least": int(self._least)}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Go on with that number."""
        self._least = whole_number("least", saved["least"], 1)

    def _make_room(self, state: State, problem: Problem) -> int:
        """Number of sticks for this step: set at the first, more where the last one was used."""
        if state.weights is None:
            n_sticks = self._least = self._wanted(state, problem)
            if self._truncation is None:
                n_sticks = max(n_sticks, state.n_clusters + 1)
        else:
            n_sticks = len(state.weights)
            if state.chain.sizes[n_sticks - 1] > 0:
                n_sticks = max(n_sticks + max(2, n_sticks // 2), self._wanted(state, problem))
        n_sticks = len(_fixed(state, problem).stick_shapes(min(n_sticks, self._limit))[0])
        state.enlarge(problem, n_sticks + SPARE_SLOTS)
        if state.weights is None:
            _occupy(state, state.partition() % n_sticks)
            state.rebuild(problem)
        return n_sticks

    def _wanted(self, state: State, problem: Problem) -> int:
        """Sticks that bring the bound on the truncation error below what is wanted."""
        if self._truncation is not None:
            return self._truncation
        prior = _fixed(state, problem)
        for n_sticks in range(2, MOST_AT_START):
            if prior.truncation_bound(problem.n_rows, n_sticks) <= WANTED_BOUND:
                return n_sticks
        return MOST_AT_START

    def _passes_over(self, problem: Problem) -> Passes:
        if self._passes is None or self._passes.problem is not problem:
            self._passes = Passes(problem, n_threads=1)
        return self._passes


def _fixed(state: State, problem: Problem) -> Any:
    return problem.prior.with_concentration(state.concentration)


def _occupy(state: State, labels: IntArray) -> None:
    """Let rows have these slots; their statistics are set elsewhere."""
    chain = state.chain
    chain.labels[:] = labels
    chain.sizes[:] = np.bincount(labels, minlength=state.capacity)
    chain.active[:] = np.argsort(chain.sizes == 0, kind="stable")
    state.n_clusters = int(np.count_nonzero(chain.sizes))


@kernel
def _draw_components(family, rng, chain, naturals):
    """Parameters of every component: from the posterior given its rows, or from the prior where it has none."""
    for k in range(naturals.shape[0]):
        if chain.sizes[k] == 0:
            clear(family, chain.statistics, chain.cache, k, chain.work)
        verbs.draw_parameters(family, chain.statistics, chain.cache, k, rng, chain.parameters)
        verbs.natural(family, chain.parameters, k, naturals[k])
