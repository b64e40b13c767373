"""CollapsedGibbs: sweeps, split-merge and the concentration, in several chains.

Cluster parameters are integrated out, so that the chain moves over partitions alone (Pletscher 2007,
alg. 3.3; Raykov et al. 2016, section 2; Neal 2000, algorithm 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validate import whole_number
from .base import Inference, register
from .concentration import ConcentrationUpdate
from .run import Draws, Monitor, run_jobs
from .schedule import Schedule
from .split_merge import SplitMerge
from .starts import start_labels
from .state import Problem, State
from .sweep import GibbsSweep


@register("gibbs")
@dataclass(frozen=True)
class CollapsedGibbs(Inference):
    """Collapsed Gibbs sampling with split-merge moves.

    Parameters
    ----------
    chains : int
        Independent chains.
    draws : int
        Draws kept in each chain.
    warmup : int
        Sweeps before the first kept draw.
    thin : int
        Sweeps per kept draw.
    split_merge : bool or int
        Whether to make split-merge proposals after each sweep, or how many. The default adapts their number
        to the number of clusters during the warm-up. Without them a chain that starts from one cluster can
        stand still for thousands of sweeps.
    start : str or array of labels
        Where chains begin: ``"dispersed"`` (each chain elsewhere), ``"one"``, ``"sequential"``,
        ``"greedy"``, ``"prior"``, ``"singletons"``, or the labels of the rows.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.

    Examples
    --------
    >>> import countless as cl
    >>> engine = cl.inference.CollapsedGibbs(chains=2, draws=50, warmup=50)
    >>> model = cl.DPMixture(inference=engine, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.posterior_.labels.shape
    (2, 50, 4)
    """

    chains: int = 4
    draws: int = 250
    warmup: int = 100
    thin: int = 1
    split_merge: bool | int = True
    start: Any = "dispersed"
    n_threads: int | None = None

    def __post_init__(self) -> None:
        for name, minimum in (("chains", 1), ("draws", 1), ("warmup", 0), ("thin", 1)):
            whole_number(name, getattr(self, name), minimum)
        if not isinstance(self.split_merge, bool):
            whole_number("split_merge", self.split_merge, 0)

    def schedule(self) -> Schedule:
        """The moves of one sweep; each chain has its own."""
        moves: list[Any] = [GibbsSweep()]
        if self.split_merge:
            moves.append(SplitMerge(None if self.split_merge is True else self.split_merge))
        return Schedule([*moves, ConcentrationUpdate()])

    def run(self, problem: Problem, rng: np.random.Generator, progress: bool | None = None) -> Draws:
        """Run all chains."""

        def one_chain(number: int, stream: np.random.Generator, monitor: Monitor) -> Draws:
            return self._chain(problem, number, stream, monitor)

        sweeps = self.chains * (self.warmup + self.draws * self.thin)
        chains, interrupted = run_jobs(one_chain, self.chains, sweeps, rng, self.n_threads, progress, "collapsed Gibbs")
        kept = [chain for chain in chains if chain.labels.shape[1]]
        if not kept:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        n_draws = min(chain.labels.shape[1] for chain in kept)
        fields = zip(*kept, strict=True)
        labels, n_clusters, log_joint, concentration = (
            np.concatenate([part[:, :n_draws] for part in field]) for field in list(fields)[:4]
        )
        return Draws(labels, n_clusters, log_joint, concentration, np.empty(0), interrupted)

    def _chain(self, problem: Problem, number: int, rng: np.random.Generator, monitor: Monitor) -> Draws:
        labels = start_labels(self.start, number, problem, rng)
        concentration: Any = problem.prior.initial().concentration
        state = State(problem, labels, concentration)
        schedule = self.schedule()
        kept = np.empty((1, self.draws, problem.n_rows), dtype=np.int16)
        n_clusters = np.empty((1, self.draws), dtype=np.int64)
        log_joint, concentrations = np.empty((2, 1, self.draws))
        done = 0
        for sweep in range(-self.warmup, self.draws * self.thin):
            if monitor.stopping.is_set():
                break
            schedule.step(rng, state, problem)
            if sweep < 0:
                schedule.adapt(state)
            elif (sweep + 1) % self.thin == 0:
                if state.n_clusters > np.iinfo(kept.dtype).max:
                    kept = kept.astype(np.int32)
                kept[0, done] = state.partition()
                n_clusters[0, done] = state.n_clusters
                log_joint[0, done] = state.log_joint(problem)
                concentrations[0, done] = state.concentration
                done += 1
            monitor.advance(f"{state.n_clusters} clusters")
        return Draws(kept[:, :done], n_clusters[:, :done], log_joint[:, :done], concentrations[:, :done], np.empty(0))
