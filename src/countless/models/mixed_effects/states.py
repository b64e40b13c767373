"""The two kinds of states: effects drawn along with the labels, and effects integrated out where labels are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.jit import kernel
from ...core.special import LOG_2PI
from ...families import verbs
from ...partitions.clusters import Clusters, own_hyper, refresh_slots
from ...partitions.hyperparameters import install
from ...partitions.partition import log_prior_predictives, thawed_parts
from ...partitions.seats import FloatArray, IntArray, Seats
from ...partitions.sums import NO_WEIGHTS, add_by_label
from ...priors.verbs import Prior
from .kernels.integrated import Integrated, IntegratedFamily, integrate_effects
from .kernels.kinds import prior_of_means, within_precision
from .kernels.passes import effects_given, laws_of
from .problem import Problem
from .state import State
from .visits.subjects import packed


class DrawnState(State):
    """Effects are drawn along with the labels: they are the rows, beside what they leave of the visits if need be."""

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        problem = self.problem
        rows = self._rows()
        super(State, self).__init__(rows, problem.family_of_rows, problem.prior, labels, at)
        self.clusters.set_hyper(own_hyper(problem.base))

    def _rows(self) -> FloatArray:
        if not self.problem.noise.by_cluster:
            return self.effects
        return np.column_stack([self.effects, self.problem.counts, self.squared_residuals()])

    @property
    def plain(self) -> Clusters:
        return self.clusters

    def fill_plain(self) -> None:
        """Statistics are current; caches may be spoilt by whoever moved hyperparameters."""
        refresh_slots(self.hyper, self.clusters.arrays, np.ascontiguousarray(self.seats.in_use))

    def changed(self) -> None:
        self.rows = self._rows()
        self._rebuild()

    def _thaw_clusters(self, seats: Seats, arrays: Any) -> None:
        problem = self.problem
        clusters = Clusters.thaw(problem.family_of_rows, seats.capacity, arrays)
        clusters.set_hyper(own_hyper(problem.base))
        if problem.law is not None:
            install(clusters.hyper, problem.base, problem.law, self.offsets)
        thawed_parts(self, self._rows(), self.log_new, seats, clusters)


class IntegratedState(State):
    """Effects are integrated out where labels are drawn."""

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        problem = self.problem
        d = problem.n_effects
        self._plain = Clusters(problem.family, 1)
        self._plain.set_hyper(own_hyper(problem.base))
        rows = np.empty((problem.n_subjects, d + d * (d + 1) // 2 + 1))
        self._write_rows(rows)
        family: Any = IntegratedFamily(self._integrated())
        super(State, self).__init__(rows, family, problem.prior, labels, at)

    def _integrated(self) -> Integrated:
        mean, precision = prior_of_means(self._plain.hyper)
        log_det = np.array([float(np.linalg.slogdet(precision)[1])])
        return Integrated(np.ascontiguousarray(mean), packed(precision), log_det)

    def _write_rows(self, rows: FloatArray) -> None:
        precision = np.ascontiguousarray(within_precision(self._plain.hyper))
        integrate_effects(self.problem.grams, self.visits.moments, precision, self.noise_precision, rows)

    @property
    def plain(self) -> Clusters:
        return self._plain

    def begin(self, rng: np.random.Generator) -> None:
        self.draw_effects(rng)
        super().begin(rng)

    def draw_effects(self, rng: np.random.Generator) -> None:
        """Draw means of clusters and then effects, given the labels."""
        numbered, slots = self.numbered_slots()
        arrays = self.clusters.arrays
        _draw_some(self.hyper, rng, arrays, slots)
        within = np.tile(within_precision(self._plain.hyper), (len(slots), 1, 1))
        laws = laws_of(arrays.parameters[slots], within, np.full(len(slots), self.noise_precision))
        nothing = np.empty((0, self.effects.shape[1]))
        noise = rng.standard_normal(self.effects.shape)
        effects_given(laws, numbered, self.visits, noise, self.effects, nothing)

    def log_evidence(self) -> float:
        """Log density of the outcomes given labels, noise and fixed effects, in the user's units."""
        problem, tau = self.problem, self.noise_precision
        n = problem.sums.n_visits
        value = self.log_density() - self.seats.log_prior() + problem.log_jacobian
        return value + 0.5 * n * (math.log(tau) - LOG_2PI) - 0.5 * tau * float(self.visits.squares.sum())

    def _make_room(self) -> None:
        if len(self._plain.arrays.statistics) < self.capacity:
            self._plain.enlarge(self.capacity)

    def fill_plain(self) -> None:
        self._make_room()
        arrays = self._plain.arrays
        arrays.statistics[:] = 0.0
        add_by_label(self._plain.hyper, self.effects, NO_WEIGHTS, self.labels, arrays.statistics, arrays.work)
        refresh_slots(self._plain.hyper, arrays, np.ascontiguousarray(self.seats.in_use))

    def changed(self) -> None:
        self._write_rows(self.rows)
        for mine, new in zip(self.hyper, self._integrated(), strict=True):
            mine[:] = new
        self._rebuild()
        self.refresh()

    def reserve(self, n_clusters: int) -> None:
        super().reserve(n_clusters)
        self._make_room()

    def _thaw_clusters(self, seats: Seats, arrays: Any) -> None:
        problem = self.problem
        if problem.law is not None:
            install(self._plain.hyper, problem.base, problem.law, self.offsets)
        self._write_rows(self.rows)
        family: Any = IntegratedFamily(self._integrated())
        clusters = Clusters.thaw(family, seats.capacity, arrays)
        log_new = log_prior_predictives(family, clusters.hyper, self.rows)
        thawed_parts(self, self.rows, log_new, seats, clusters)
        self._make_room()


def state_class(problem: Problem) -> type[State]:
    """How states of a problem are kept."""
    return IntegratedState if problem.integrates else DrawnState


@kernel
def _draw_some(family, rng, clusters, slots):
    for position in range(slots.size):
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, slots[position], rng, clusters.parameters)
