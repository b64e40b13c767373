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
from numpy.typing import NDArray

from ....chains.draws import OPTIMUM, Draws
from ....chains.engine import Inference, register
from ....chains.jobs import Monitor, run_jobs
from ....chains.watch import Watch
from ....core.jit import kernel
from ....core.validate import by_first_appearance, whole_number
from ....families import verbs
from ....partitions.clusters import Clusters
from ....partitions.moves.concentration import to_mode
from ....partitions.scores import log_seat_weights
from ....partitions.seats import FloatArray, IntArray
from ..kernels.passes import absorb, add_moments, best_clusters, expected_statistics, log_densities, squared_residual
from ..moves.given import fixed_law
from ..problem import Problem
from ..state import State
from ..states import state_class

# Gain of the log joint, and the same for each subject, below which a climb ends, and rounds of it at most.
LEAST_GAIN, GAIN_OF_ONE, MOST_ROUNDS = 0.01, 1e-5, 200
# Gain, for each subject, for which clusters are divided or joined.
WORTH_OF_ONE = 1e-4
# Rounds between two looks at what a trial is worth; it ends where so many times its last gain would not be enough.
TRIAL_ROUNDS, PATIENCE = 5, 4.0
# Rounds in which a division settles, on the effects alone, before it is tried.
SETTLING = 10


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
        self.climb = _Climb(problem, np.zeros(problem.n_subjects, dtype=np.int64))
        self.objective = [self.climb.log_joint]

    @property
    def state(self) -> State:
        """The best state so far."""
        return self.climb.state

    def run(self, monitor: Monitor) -> None:
        """Climb, split and merge until nothing helps."""
        self.objective += self.climb.run(MOST_ROUNDS)
        while not monitor.stopping.is_set():
            before = self.objective[-1]
            self._split()
            self._merge()
            monitor.advance(f"{self.state.status()}, log joint {self.objective[-1]:,.1f}")
            if not self.objective[-1] > before + self._worth:
                break
        self.objective += self.climb.run(MOST_ROUNDS, settles=True)

    @property
    def _worth(self) -> float:
        """Gain for which clusters are changed: what a climb that goes on a little longer would gain is none."""
        return max(LEAST_GAIN, WORTH_OF_ONE * self.problem.n_subjects)

    def _try(self, labels: IntArray) -> bool:
        """Take these labels as a beginning, and keep what they lead to if that is better."""
        if int(labels.max()) + 1 > self.problem.prior.max_clusters(self.problem.n_subjects):
            return False
        trial = _Climb(self.problem, labels, self.climb)
        best, gain = self.objective[-1], math.inf
        while trial.log_joint <= best and PATIENCE * gain > best - trial.log_joint:
            before = trial.log_joint
            trial.run(TRIAL_ROUNDS, 1.0)
            gain = trial.log_joint - before
        if not trial.log_joint > best:
            return False
        trial.run(MOST_ROUNDS)
        if not trial.log_joint > best + self._worth:
            return False
        self.climb = trial
        self.objective.append(trial.log_joint)
        return True

    def _split(self) -> None:
        """Try to divide each cluster along the line on which its subjects differ most, or at random."""
        for k in range(self.state.n_clusters):
            labels = self.state.partition()
            members = np.flatnonzero(labels == k)
            if len(members) < 2:
                continue
            effects = _traits(self.state)[members]
            for line in (_main_line(effects), self.rng.standard_normal(effects.shape[1])):
                place = (effects - effects.mean(axis=0)) @ line
                upper = place > np.quantile(place, self.rng.uniform(0.3, 0.7))
                upper = _settled(effects, upper)
                if upper.all() or not upper.any():
                    continue
                proposal = labels.copy()
                proposal[members[upper]] = labels.max() + 1
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


def _traits(state: State) -> FloatArray:
    """Effects of the subjects, and the logarithm of their noise where clusters may differ in it."""
    if not state.problem.noise.by_cluster:
        return state.effects
    law = state.problem.noise
    variance = (law.rate + 0.5 * state.squared_residuals()) / (law.shape + 0.5 * state.problem.counts)
    return np.column_stack([state.effects, np.log(variance)])


def _main_line(effects: FloatArray) -> FloatArray:
    away = effects - effects.mean(axis=0)
    return np.asarray(np.linalg.eigh(away.T @ away)[1][:, -1])


def _settled(effects: FloatArray, upper: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Two clusters of effects after a few rounds of reassignment, each row to where its normal density is larger."""
    d = effects.shape[1]
    ridge = 0.01 * np.var(effects, axis=0).mean() * np.eye(d) + 1e-12 * np.eye(d)
    for _ in range(SETTLING):
        if min(upper.sum(), len(upper) - upper.sum()) <= d:
            break
        scores = []
        for chosen in (upper, ~upper):
            mean = effects[chosen].mean(axis=0)
            away = effects - mean
            root = np.linalg.cholesky(away[chosen].T @ away[chosen] / chosen.sum() + ridge)
            whitened = away @ np.linalg.inv(root).T
            square = np.einsum("ij,ij->i", whitened, whitened)
            scores.append(np.log(chosen.mean()) - np.log(np.diag(root)).sum() - 0.5 * square)
        now = scores[0] > scores[1]
        if np.array_equal(now, upper):
            break
        upper = now
    return upper


class _Climb:
    """A state that climbs; ``log_joint`` is its log joint, ``scores`` the log densities (subject, cluster) it has."""

    def __init__(self, problem: Problem, labels: IntArray, like: _Climb | None = None) -> None:
        """Parameters are at their modes given effects under one population or ``like``."""
        self.problem = problem
        if like is None:
            self.state = state_class(problem)(problem, labels, problem.prior.initial(1))
        else:
            fixed = problem.prior.reopened(like.state.seats.fixed, int(labels.max()) + 1)
            self.state = state_class(problem)(problem, labels, fixed)
            self.state.noise_precision = like.state.noise_precision
            self.state.set_fixed(like.state.fixed)
        _maximise(self.state, None if like is None else like.state)
        to_mode(self.state)
        self._score()

    def run(self, rounds: int, least: float = 0.0, settles: bool = False) -> list[float]:
        """Labels, then everything else, in turn, until little is gained; the log joint after each round.

        Where it ``settles``, not before no label moves.
        """
        least = max(least, LEAST_GAIN, GAIN_OF_ONE * self.problem.n_subjects)
        found = []
        for turn in range(rounds):
            before = self.log_joint
            moved = self._relabel()
            _maximise(self.state)
            if moved or turn == 0:
                to_mode(self.state)
            self._score()
            found.append(self.log_joint)
            if self.log_joint - before < least and not (settles and moved):
                break
        return found

    def _score(self) -> None:
        state, laws = self.state, self.state.laws
        self.scores = np.empty((self.problem.n_subjects, len(laws.means)))
        log_densities(laws, state.visits, self.scores)
        self.log_joint = state.log_joint(self._own(state.partition()))

    def _own(self, labels: IntArray) -> float:
        """Log density of the outcomes with these labels, but for 2 pi."""
        return float(self.scores[np.arange(len(labels)), labels].sum())

    def _relabel(self) -> int:
        """Each subject to the cluster of largest weight times density; returns how many move.

        Weights are those of all subjects as they are, so that moving many at once might lower the log joint; then
        nothing moves.
        """
        state = self.state
        labels = state.partition()
        before = state.seats.log_prior() + self._own(labels)
        trial = labels.copy()
        moved = best_clusters(log_seat_weights(state.seats.fixed, labels)[:-1], self.scores, trial)
        if not moved:
            return 0
        state.relabel(trial)
        if state.seats.log_prior() + self._own(trial) < before:
            state.relabel(labels)
            return 0
        # The clusters that are left, in their new order.
        theta = state.theta
        state._set_theta(theta.parameters[_order(trial)], theta.fresh, theta.log_prior)
        return int(moved)


def _order(labels: IntArray) -> IntArray:
    """Old numbers of the clusters that are left, by first appearance."""
    found, first = np.unique(labels, return_index=True)
    return found[np.argsort(first)]


def _maximise(state: State, like: State | None = None) -> None:
    """Parameters of clusters, noise and fixed effects at their modes given expected effects.

    Expectations are under the present parameters; at a beginning, under those of ``like``, which has another
    partition, or of one standard population.
    """
    problem, labels = state.problem, state.partition()
    source = state if like is None else like
    own = labels if like is None else like.partition()
    if source.theta is None:
        laws, own = source.standard_laws(), np.zeros_like(labels)
    else:
        laws = source.laws
    clusters = Clusters(problem.family_of_rows, state.n_clusters + 1)
    hyper, arrays = state.plain.hyper, clusters.arrays
    work = arrays.work
    left = _expect(hyper, laws, own, labels, state.visits, state.effects, arrays.statistics, work)
    n = state.n_clusters
    log_prior = _estimate_all(hyper, arrays.statistics, arrays.cache, arrays.parameters, work, n)
    state._set_theta(arrays.parameters[:n].copy(), arrays.parameters[n:].copy(), float(log_prior))
    if problem.noise.is_drawn:
        # The mode of log precision: its law and the likelihood are those of a gamma.
        shape, rate = problem.noise.given(problem.sums.n_visits, float(left))
        state.noise_precision = shape / rate
    if len(state.fixed):
        state.set_fixed(np.linalg.solve(*fixed_law(problem, state.laws, labels)))


@kernel
def _expect(family, laws, own, labels, visits, effects, statistics, work):
    """Expected statistics of the effects by label; returns the squared residuals that are expected."""
    n, d = visits.moments.shape
    triangle = d * (d + 1) // 2
    factor, solved, column, point = np.empty((1, triangle)), np.empty(d), np.empty(d), np.empty(d)
    inverse, sums = np.empty(triangle), np.zeros((statistics.shape[0], 1 + d + triangle))
    noise = np.zeros((statistics.shape[0], 2))
    for i in range(n):
        absorb(laws, own[i], visits, i, factor, solved)
        add_moments(1.0, laws.means[own[i]], factor, solved, column, inverse, sums[labels[i]])
        left, entry = squared_residual(solved, visits.grams[i], visits.moments[i], visits.squares[i]), 0
        for j in range(d):
            effects[i, j] = solved[j]
            left += visits.grams[i, entry] * inverse[entry]
            for r in range(1, d - j):
                left += 2.0 * visits.grams[i, entry + r] * inverse[entry + r]
            entry += d - j
        noise[labels[i], 0] += visits.counts[i]
        noise[labels[i], 1] += left
    for k in range(statistics.shape[0]):
        expected_statistics(family, sums[k], noise[k], factor, column, point, work, statistics, k)
    return noise[:, 1].sum()


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
