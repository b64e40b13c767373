"""MAP for mixed effects: labels, parameters of clusters, fixed effects and noise at a mode, effects integrated out.

The scheme of Raykov et al. (2016, section 7) with two changes. They put effects at their modes too, where a joint mode
is far narrower than the effects themselves; here effects are integrated out. And what is raised is the exact log joint
of the outcomes, labels, parameters, fixed effects and noise (``State.log_joint``): labels by conditional modes, all
else by EM with the effects as missing data (Meng and Rubin 1993), clusters by splits and merges that are kept only if
it rises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.jit import kernel
from ....core.special import solve_transposed
from ....core.validate import by_first_appearance, whole_number
from ....families import verbs
from ....partitions.clusters import Clusters
from ....partitions.moves.concentration import to_mode
from ....partitions.scores import log_seat_weights
from ....partitions.seats import FloatArray, IntArray
from ..moves.given import fixed_law
from ..passes import absorb, best_clusters, log_densities
from ..problem import Problem
from ..state import State, state_class

# Gain of the log joint, and the same for each subject, below which a climb ends, and rounds of it at most.
LEAST_GAIN, GAIN_OF_ONE, MOST_ROUNDS = 0.01, 1e-5, 200
# Rounds between two looks at what a trial is worth; it ends where so many times its last gain would not be enough.
TRIAL_ROUNDS, PATIENCE = 5, 4.0


@register("mixed-effects-map")
@dataclass(frozen=True)
class MixedEffectsMAP(Inference):
    """The most probable clusters of subjects with their parameters, effects integrated out.

    Parameters
    ----------
    restarts : int, optional
        Searches from different splits; the best is returned. Default: 4, 2 beyond 2,000 subjects, 1 beyond 5,000.
    n_threads : int, optional
        Threads for the restarts; the result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> y = np.repeat([0.0, 0.1, 0.2, 9.0, 9.1, 9.2], 3) + np.tile([0.0, 0.1, -0.1], 6)
    >>> model = cl.MixedEffects(inference="map", random_state=0).fit(np.ones((18, 1)), y, np.repeat(range(6), 3))
    >>> bool(np.all(np.diff(model.posterior_.objective) >= -1e-9))
    True
    """

    restarts: int | None = None
    n_threads: int | None = None

    serves: ClassVar[str] = "mixed-effects"

    def __post_init__(self) -> None:
        if self.restarts is not None:
            whole_number("restarts", self.restarts, 1)

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """Search several times and keep the best."""
        restarts = self.restarts or (4 if problem.n_subjects <= 2000 else 2 if problem.n_subjects <= 5000 else 1)

        def one_search(number: int, stream: np.random.Generator, monitor: Monitor) -> _Search | None:
            if monitor.stopping.is_set():
                return None
            search = _Search(problem, stream)
            search.run(monitor)
            return search

        found, interrupted = run_jobs(
            one_search, restarts, restarts, rng, watch or Watch(), self.n_threads, "MAP search"
        )
        done = [search for search in found if search is not None]
        if not done:
            raise KeyboardInterrupt("stopped before the first search was over")
        best = max(done, key=lambda search: search.objective[-1])
        drawn = {name: np.asarray(value) for name, value in best.state.draw().items()}
        # Parameters list the clusters of all draws; this is the only one.
        arrays = {name: value if name.startswith("parameters/") else value[None, None] for name, value in drawn.items()}
        arrays |= {"objective": np.array(best.objective)}
        return Draws(arrays, problem.fields, problem.axes, OPTIMUM, interrupted)


class _Search:
    """One search; ``objective`` is the log joint at each of its steps, and never falls by more than rounding."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.state = self._started(np.zeros(problem.n_subjects, dtype=np.int64))
        self.objective = [self.state.log_joint()]

    def _started(self, labels: IntArray, like: State | None = None) -> State:
        """A state with these labels, and parameters at their modes given effects under one population or ``like``."""
        problem = self.problem
        if like is None:
            state = state_class(problem)(problem, labels, problem.prior.initial(1))
        else:
            fixed = problem.prior.reopened(like.seats.fixed, int(labels.max()) + 1)
            state = state_class(problem)(problem, labels, fixed)
            state.noise_precision = like.noise_precision
            state.set_fixed(like.fixed)
        _maximise(state, like)
        return state

    def run(self, monitor: Monitor) -> None:
        """Climb, split and merge until nothing helps."""
        self._climb(self.state, MOST_ROUNDS, self.objective)
        while not monitor.stopping.is_set():
            before = self.objective[-1]
            self._split()
            self._merge()
            monitor.advance(f"{self.state.status()}, log joint {self.objective[-1]:,.1f}")
            if not self.objective[-1] > before + LEAST_GAIN:
                break

    def _climb(self, state: State, rounds: int, objective: list[float], least: float = 0.0) -> None:
        """Labels, then everything else, in turn."""
        least = max(least, LEAST_GAIN, GAIN_OF_ONE * self.problem.n_subjects)
        for _ in range(rounds):
            moved = _relabel(state)
            _maximise(state)
            objective.append(state.log_joint())
            if moved == 0 and len(objective) > 1 and objective[-1] - objective[-2] < least:
                break

    def _try(self, labels: IntArray) -> bool:
        """Take these labels as a beginning, and keep what they lead to if that is better."""
        if int(labels.max()) + 1 > self.problem.prior.max_clusters(self.problem.n_subjects):
            return False
        trial = self._started(labels, self.state)
        steps: list[float] = [trial.log_joint()]
        gain = math.inf
        while steps[-1] <= self.objective[-1] and PATIENCE * gain > self.objective[-1] - steps[-1]:
            before = steps[-1]
            self._climb(trial, TRIAL_ROUNDS, steps, 1.0)
            gain = steps[-1] - before
        if not steps[-1] > self.objective[-1]:
            return False
        self._climb(trial, MOST_ROUNDS, steps)
        if not steps[-1] > self.objective[-1] + LEAST_GAIN:
            return False
        self.state = trial
        self.objective.append(steps[-1])
        return True

    def _split(self) -> None:
        """Try to divide each cluster along the line on which its effects differ most, or at random."""
        for k in range(self.state.n_clusters):
            labels = self.state.partition()
            members = np.flatnonzero(labels == k)
            if len(members) < 2:
                continue
            effects = self.state.effects[members]
            for line in (_main_line(effects), self.rng.standard_normal(effects.shape[1])):
                place = (effects - effects.mean(axis=0)) @ line
                cut = np.quantile(place, self.rng.uniform(0.3, 0.7))
                proposal = labels.copy()
                proposal[members[place > cut]] = labels.max() + 1
                if np.all(place > cut) or not np.any(place > cut):
                    continue
                if self._try(by_first_appearance(proposal)):
                    break

    def _merge(self) -> None:
        """Try to join pairs of clusters."""
        again = True
        while again and self.state.n_clusters > 1:
            again = False
            means = self.state.theta.means
            pairs = [(i, j) for i in range(len(means)) for j in range(i)]
            pairs.sort(key=lambda pair: float(np.sum((means[pair[0]] - means[pair[1]]) ** 2)))
            for i, j in pairs[: 2 * len(means)]:
                labels = self.state.partition()
                labels[labels == i] = j
                if self._try(by_first_appearance(labels)):
                    again = True
                    break


def _main_line(effects: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.svd(effects - effects.mean(axis=0), full_matrices=False)[2][0])


def _relabel(state: State) -> int:
    """Each subject to the cluster of largest weight times density; returns how many move.

    Weights are those of all subjects as they are, so that moving many at once might lower the log joint; then nothing
    moves.
    """
    problem, theta = state.problem, state.theta
    labels = state.partition()
    scores = np.empty((len(labels), len(theta.means)))
    log_densities(
        theta.means,
        theta.precisions,
        theta.half_log_dets,
        problem.grams,
        state.moments,
        state.noise_precision,
        scores,
    )
    before = state.seats.log_prior() + float(scores[np.arange(len(labels)), labels].sum())
    trial = labels.copy()
    moved = best_clusters(log_seat_weights(state.seats.fixed, labels)[:-1], scores, trial)
    if not moved:
        return 0
    state.relabel(trial)
    if state.seats.log_prior() + float(scores[np.arange(len(labels)), trial].sum()) < before:
        state.relabel(labels)
        return 0
    # The clusters that are left, in their new order.
    state._set_theta(theta.parameters[_order(trial)], theta.fresh, theta.log_prior)
    return int(moved)


def _order(labels: IntArray) -> IntArray:
    """Old numbers of the clusters that are left, by first appearance."""
    found, first = np.unique(labels, return_index=True)
    return found[np.argsort(first)]


def _maximise(state: State, like: State | None = None) -> None:
    """Parameters of clusters, noise, fixed effects and numbers of the prior at their modes given expected effects.

    Expectations are under the present parameters; at a beginning, under those of ``like``, which has another
    partition, or of one standard population.
    """
    problem, labels, d = state.problem, state.partition(), state.effects.shape[1]
    source = state if like is None else like
    own = labels if like is None else like.partition()
    if source.theta is None:
        means, precisions, own = np.zeros((1, d)), np.eye(d)[None], np.zeros_like(labels)
    else:
        means, precisions = source.theta.means, source.theta.precisions
    clusters = Clusters(problem.family, state.n_clusters + 1)
    hyper, arrays = state.plain.hyper, clusters.arrays
    tau, work = state.noise_precision, arrays.work
    left = _expect(
        hyper, means, precisions, own, labels, problem.grams, state.moments, tau, state.effects, arrays.statistics, work
    )
    n = state.n_clusters
    log_prior = _estimate_all(hyper, arrays.statistics, arrays.cache, arrays.parameters, work, n)
    state._set_theta(arrays.parameters[:n].copy(), arrays.parameters[n:].copy(), float(log_prior))
    noise = problem.noise
    if noise.fixed is None:
        # The mode of log precision: its law and the likelihood are those of a gamma.
        rate = noise.rate + 0.5 * max(problem.square_at(state.fixed) + float(left), 0.0)
        state.noise_precision = (noise.shape + 0.5 * problem.sums.n_visits) / rate
    if len(state.fixed):
        state.set_fixed(np.linalg.solve(*fixed_law(state, state.theta, labels)))
    to_mode(state)


@kernel
def _expect(family, means, precisions, own, labels, grams, moments, tau, effects, statistics, work):
    """Expected statistics of the effects by label, and what effects take, in expectation, from the squared residuals.

    Statistics are quadratic in the effects: their expectation is their mean over the 2 D points at sqrt(D) times the
    columns of a root of the covariance M^-1 = L^-T L^-1 on either side of the mean.
    """
    n, d = moments.shape
    factor, solved, column, point = np.empty((1, d * (d + 1) // 2)), np.empty(d), np.empty(d), np.empty(d)
    left, far = 0.0, math.sqrt(d)
    for i in range(n):
        k, into = own[i], labels[i]
        absorb(means[k], precisions[k], grams[i], moments[i], tau, factor, solved)
        solve_transposed(factor, 0, 0, d, solved)
        for j in range(d):
            effects[i, j] = means[k, j] + solved[j]
        for a in range(d):
            for j in range(d):
                column[j] = far if j == a else 0.0
            solve_transposed(factor, 0, 0, d, column)
            for sign in (1.0, -1.0):
                entry = 0
                for j in range(d):
                    point[j] = effects[i, j] + sign * column[j]
                verbs.row_statistics(family, point, work)
                for s in range(statistics.shape[1]):
                    statistics[into, s] += work[s] / (2.0 * d)
                for j in range(d):
                    inner = grams[i, entry] * point[j] - 2.0 * moments[i, j]
                    for r in range(1, d - j):
                        inner += 2.0 * grams[i, entry + r] * point[j + r]
                    left += inner * point[j] / (2.0 * d)
                    entry += d - j
    return left


@kernel
def _estimate_all(family, statistics, cache, parameters, work, n_clusters):
    """Modes of the clusters, and of the prior for one more; returns the log density of the former."""
    total = 0.0
    for k in range(n_clusters + 1):
        verbs.refresh(family, statistics, cache, k, work)
        verbs.estimate(family, statistics, cache, k, 1.0, parameters)
        if k < n_clusters:
            total += verbs.log_prior(family, parameters, k)
    return total
