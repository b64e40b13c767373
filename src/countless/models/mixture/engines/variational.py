"""Variational: mean field on sticks, with births, merges and deletions, by passes over blocks of rows.

The structure is searched for on a sample of the rows where there are many, from several starts; all rows then
take over: they climb on, and components are merged and rebuilt until none of it raises the bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ....chains.draws import APPROXIMATION, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.random import spawn
from ....core.text import duration
from ....core.validate import by_first_appearance, whole_number
from ....partitions.seats import IntArray
from ....partitions.stick_law import StickLaw
from ....passes.passes import Passes
from ..problem import Problem
from .mean_field import Ascent, MeanField, climb, expectations
from .rearrange import fit_seeds, join_all, merge, rebuild

# Labels kept as draws from q(z): this many numbers at most.
MOST_LABELS = 10_000_000
# Nats per row below which a climb is over while the structure is still being searched for.
ROUGH = 1e-4
# Passes of a search, about (on tables of 1,000 to 12,000 rows 120 to 180): from them follows how long it may take.
USUAL_PASSES = 150


@register("variational")
@dataclass(frozen=True)
class Variational(Inference):
    """Mean-field variational inference on sticks, for any family and any prior that has sticks.

    Parameters
    ----------
    truncation : int, optional
        Most components. Default: as many as the data call for; the bound is one on the untruncated model, so that
        numbers of components compete fairly.
    restarts : int, optional
        Searches from different starts; the one with the largest bound is returned. Default: 4, fewer beyond 2,000
        rows, and 1 from 8,000 rows on, where all starts end in the same place.
    rearrange : bool
        Whether to try births and merges. Without them, and with a ``truncation``, this is the plain algorithm of
        Blei and Jordan (2006) from that many seeds.
    tolerance : float
        Nats per row by which a pass must raise the bound; below, the climb is over.
    max_passes : int
        Limit on the passes over all rows in one climb.
    start_rows : int
        Rows on which the structure is searched for first.
    draws : int, optional
        Draws of the labels from q(z) that are kept. Default 100, fewer beyond 100,000 rows.
    n_threads : int, optional
        Default: one per core. The result does not depend on it.

    Notes
    -----
    The draws are from the approximation: it treats rows as independent given the components and so understates how
    uncertain the number of clusters is. ``posterior_.objective`` is the bound after each pass that raised it.

    References
    ----------
    Blei & Jordan 2006, *Variational inference for Dirichlet process mixtures*; Hughes & Sudderth 2013,
    *Memoized online variational inference for Dirichlet process mixture models*; Pletscher 2007, section 3.2.

    Examples
    --------
    >>> import countless as cl
    >>> X = cl.datasets.make_gaussian_mixture(300, 2, 3, random_state=0).X
    >>> model = cl.DPMixture(inference="variational", random_state=0).fit(X)
    >>> bool((model.posterior_.objective[1:] >= model.posterior_.objective[:-1]).all())
    True
    """

    truncation: int | None = None
    restarts: int | None = None
    rearrange: bool = True
    tolerance: float = 1e-6
    max_passes: int = 500
    start_rows: int = 10_000
    draws: int | None = None
    n_threads: int | None = None

    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, minimum in (("truncation", 1), ("restarts", 1), ("max_passes", 1), ("start_rows", 1), ("draws", 1)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), minimum)
        if not self.tolerance > 0.0:
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}")

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search on some rows, continue with all of them, keep draws from the result."""
        watch = watch or Watch()
        law = StickLaw(problem.prior, problem.n_rows)
        if self.truncation is not None:
            law.most = min(law.most, self.truncation)
        first, second, third = spawn(rng, 3)
        restarts = self.restarts or _effort(problem.n_rows)[0]
        everything = problem.n_rows <= self.start_rows
        sample = problem if everything else problem.some(_some_rows(problem.n_rows, self.start_rows, first))

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> Ascent | None:
            return None if monitor.stopping.is_set() else self._search(sample, law, number, stream, monitor)

        # One after the other: the many short steps of a search would wait for each other, the passes use all cores.
        began = time.monotonic()
        searches, interrupted = run_jobs(
            one_search, restarts, restarts, second, watch, 1, "variational", USUAL_PASSES * restarts
        )
        done = [search for search in searches if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        ascent = max(done, key=lambda search: search.bound)
        with Passes(problem, self.n_threads) as passes:
            scale = passes.total_weight / ascent.sums[:, 0].sum()
            if not everything and not interrupted:
                learned = problem.learned(ascent.field.problem.offsets)
                field = MeanField.of(learned, law, ascent.sums * scale, ascent.field.sticks.blend)

                def all_rows(number: int, stream: np.random.Generator, monitor: Monitor) -> Ascent:
                    monitor.status = f"{field.n_components} components"
                    passes.heed(monitor.tick)
                    return self._finish(passes, self._improve(passes, field, stream, monitor))

                longest = (time.monotonic() - began) * problem.n_rows / (restarts * self.start_rows)
                title = f"variational, all rows (up to about {duration(longest)})"
                (ascent,), interrupted = run_jobs(all_rows, 1, 1, third, watch, 1, title)
            return self._draws(passes, ascent, third, interrupted)

    def _search(
        self, problem: Problem, law: StickLaw, number: int, rng: np.random.Generator, monitor: Monitor
    ) -> Ascent:
        """One start on the sample: a few seeds and births, or many seeds and merges."""
        n_seeds = min(law.most, problem.n_rows, (60, 30, 10, 3)[number % 4])
        if not self.rearrange and self.truncation is not None:
            n_seeds = min(law.most, problem.n_rows)
        with Passes(problem, self.n_threads, monitor.tick) as passes:
            start = fit_seeds(passes, law, n_seeds, rng, 10.0 * ROUGH, self.max_passes)
            ascent = self._finish(passes, self._improve(passes, start.field, rng, monitor))
            if self.rearrange and problem.law is not None:
                ascent = join_all(passes, ascent, self.tolerance, self.max_passes)
        bound = ascent.bound + problem.log_jacobian
        monitor.advance(f"{ascent.field.n_components} components, bound {bound:,.1f}")
        return ascent

    def _improve(self, passes: Passes, field: MeanField, rng: np.random.Generator, monitor: Monitor) -> Ascent:
        """Climb, merge and rebuild until several rounds of all three have not raised the bound."""
        ascent = climb(passes, field, ROUGH, self.max_passes)
        in_vain, patience = 0, _effort(passes.problem.n_rows)[1]
        while self.rearrange and in_vain < patience and not monitor.stopping.is_set():
            before = ascent.bound
            ascent = merge(passes, ascent, ROUGH)
            ascent = rebuild(passes, ascent, rng, ROUGH)
            in_vain = 0 if ascent.bound > before else in_vain + 1
            if in_vain == 0:
                ascent = _on(passes, ascent, ROUGH, self.max_passes)
        return ascent

    def _finish(self, passes: Passes, ascent: Ascent) -> Ascent:
        """To the local optimum, with merges that only then show."""
        while True:
            ascent = _on(passes, ascent, self.tolerance, self.max_passes)
            joined = merge(passes, ascent, self.tolerance) if self.rearrange else ascent
            if joined is ascent:
                return ascent
            ascent = joined

    def _draws(self, passes: Passes, ascent: Ascent, rng: np.random.Generator, interrupted: bool) -> Draws:
        field = ascent.field
        problem = field.problem
        n_draws = self.draws or max(1, min(100, MOST_LABELS // problem.n_rows))
        mode = passes.best(field.natural).labels
        order = _appearance(mode, field.n_components)
        labels = passes.draws(field.natural, rng, n_draws)
        prior = field.law.typical(field.sticks)
        n_clusters, log_joint = np.empty(n_draws, dtype=np.int64), np.empty(n_draws)
        for draw, drawn in enumerate(labels):
            drawn[:] = by_first_appearance(drawn)
            n_clusters[draw] = drawn.max() + 1
            evidences = expectations(problem, passes.sums_of(drawn, int(n_clusters[draw])))[1]
            log_joint[draw] = evidences.sum() + prior.log_prob_sizes(np.bincount(drawn))
        log_joint += problem.log_hyperprior + problem.log_jacobian
        log_joint += problem.prior.log_hyperprior(prior)
        if problem.weights is not None:
            # A partition of rows that count in fractions has no probability of its own.
            log_joint[:] = ascent.bound + problem.log_jacobian
        statistics, log_weights = field.components(order)
        arrays = {
            "labels": labels[None],
            "n_clusters": n_clusters[None],
            "log_joint": log_joint[None],
            "concentration": np.full((1, n_draws), prior.concentration),
            "objective": np.array(ascent.trace) + problem.log_jacobian,
            "mode": by_first_appearance(mode),
            "components/statistics": statistics,
            "components/log_weights": log_weights,
        }
        numbers = problem.prior.numbers_of(prior)
        arrays |= {name: np.full((1, n_draws), value) for name, value in numbers.items()}
        for name, value in problem.log_factors.items():
            arrays[f"log_factors/{name}"] = np.broadcast_to(value, (1, n_draws, *np.shape(value))).copy()
        return Draws(arrays, problem.fields, problem.axes, APPROXIMATION, interrupted)


def _on(passes: Passes, ascent: Ascent, tolerance: float, max_passes: int) -> Ascent:
    """Climb on from where an ascent has ended."""
    further = climb(passes, ascent.field.updated(ascent.sums), tolerance, max_passes)
    return replace(further, trace=ascent.trace + further.trace)


def _effort(n_rows: int) -> tuple[int, int]:
    """Restarts, and rounds of rearrangements in vain after which the structure stands.

    With more rows the optima are sharper, every start ends in the same one, and every round costs more.
    """
    return max(1, min(4, 8_000 // n_rows)), max(3, min(6, 20_000 // n_rows))


def _some_rows(n_rows: int, wanted: int, rng: np.random.Generator) -> IntArray:
    return np.sort(rng.choice(n_rows, wanted, replace=False))


def _appearance(labels: IntArray, n_components: int) -> IntArray:
    """Components in the order in which their labels first occur; those that have no row come last."""
    first = np.full(n_components, len(labels))
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    return np.argsort(first, kind="stable")
