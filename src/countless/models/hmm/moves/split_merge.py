"""Split-merge of states: one state becomes two, or two become one, with all their steps at once.

Two steps i and j are chosen at random. Where both are in one state c, a split is proposed, else a merge of their states
a and b. Either way a *launch*, which depends on i, j and the set of steps in question but not on how they are divided
now, says how a split would go: around i and j the steps nearby seed two clusters, and a few rounds of expectation and
maximisation of a hidden Markov model of two states, over those steps alone, improve them. Then a division is drawn
from that model given that i and j are apart (for a merge: the probability that it would draw the present one). The
base weight of c is divided by a beta draw v. The ratio of a split is

    p(split) beta_c / (p(merged) q(v) q(division)),

as (beta_c, v) -> (beta_a, beta_b) has the Jacobian beta_c, and the pair is as likely to be chosen in both states
(Dahl 2005 for pairs of anchors; Richardson and Green 1997 for the weights).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from ....core.jit import kernel
from ....families import verbs
from ....partitions.partition import log_evidence
from ....partitions.seats import FloatArray, IntArray
from ....transitions.paths import count_transitions
from ..kernels.forward import NO_SLICES, NOBODY, draw_path, forward, smooth
from ..state import State

# Chances to stay in one of two states that a launch may assume, and rounds that it takes.
STAYS = (0.5, 0.9, 0.99)
ROUNDS = 3
# Pseudo-counts of the beta draw that divides a base weight: so much in all is shared out by entries of the two states.
DIVIDED = 4.0


class SplitMerge:
    """Some proposals to split a state or to merge two."""

    name = "split-merge"

    def __init__(self, n_proposals: int = 3) -> None:
        self._n_proposals = n_proposals

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        if state.n_rows < 2:
            return
        for _ in range(self._n_proposals):
            i, j = rng.choice(state.n_rows, 2, replace=False)
            width, stay = 1 << int(rng.integers(7)), STAYS[int(rng.integers(len(STAYS)))]
            if state.labels[i] == state.labels[j]:
                _split(rng, state, int(i), int(j), width, stay)
            else:
                _merge(rng, state, int(i), int(j), width, stay)


class Launch(NamedTuple):
    """A model of two states over some steps.

    ``filtered`` are probabilities of the two (step, 2) given the steps before, ``scores`` log densities.
    """

    steps: IntArray
    begins: np.ndarray
    scores: FloatArray
    filtered: FloatArray
    log_total: float
    transition: FloatArray

    def draw(self, rng: np.random.Generator) -> IntArray:
        """A division of the steps."""
        labels = np.empty(len(self.steps), dtype=np.int64)
        draw_path(rng, self.filtered, self.begins, self.transition, NO_SLICES, labels)
        return labels

    def log_prob(self, labels: IntArray) -> float:
        """Log probability that ``draw`` gives this division."""
        value = float(self.scores[np.arange(len(labels)), labels].sum()) + math.log(0.5) * self.begins.sum()
        on = ~self.begins[1:]
        same = labels[1:][on] == labels[:-1][on]
        value += same.sum() * math.log(self.transition[0, 0]) + (~same).sum() * math.log(self.transition[0, 1])
        return value - self.log_total


def launch(state: State, steps: IntArray, i: int, j: int, width: int, stay: float) -> Launch:
    """The model of two states that divides ``steps``, seeded by those within ``width`` of i and of j."""
    statistics = state.problem.statistics_at(steps, state.rows)
    begins = state.problem.first[steps].copy()
    begins[1:] |= np.diff(steps) > 1
    begins[0] = True
    transition = np.array([[stay, 1.0 - stay], [1.0 - stay, stay]])
    start = np.array([0.5, 0.5])
    to_i, to_j = np.abs(steps - i), np.abs(steps - j)
    shares = np.zeros((len(steps), 2))
    shares[(to_i <= width) & (to_i <= to_j), 0] = 1.0
    shares[(to_j <= width) & (to_j < to_i), 1] = 1.0
    state.reserve(state.n_states + 2)
    scores = np.empty_like(shares)
    expected = np.zeros((2, 2))
    for at in range(ROUNDS + 1):
        naturals = _expected_naturals(state, shares.T @ statistics)
        np.matmul(statistics, naturals.T, out=scores)
        if at < ROUNDS:
            shares[:] = scores
            forward(shares, begins, start, transition, NO_SLICES, NOBODY)
            smooth(shares, begins, transition, expected)
    scores[steps == i, 1] = -np.inf
    scores[steps == j, 0] = -np.inf
    filtered = scores.copy()
    log_total = float(forward(filtered, begins, start, transition, NO_SLICES, NOBODY))
    return Launch(steps, begins, scores, filtered, log_total, transition)


def _expected_naturals(state: State, sums: FloatArray) -> FloatArray:
    naturals = np.empty_like(sums)
    _naturals(state.hyper, state.clusters.arrays, state.n_states, sums, naturals)
    return naturals


@kernel
def _naturals(family, clusters, slot, sums, naturals):
    """Expected natural parameters of clusters with these statistics, one after the other in a spare slot."""
    for k in range(sums.shape[0]):
        for s in range(sums.shape[1]):
            clusters.statistics[slot, s] = sums[k, s]
        verbs.refresh(family, clusters.statistics, clusters.cache, slot, clusters.work)
        verbs.expected_natural(family, clusters.statistics, clusters.cache, slot, naturals[k])


def _share_shapes(state: State, labels: IntArray, a: int, b: int) -> tuple[float, float]:
    """Beta shapes of the share of the base weight that a has, by how often a and b are entered."""
    enters = state.problem.first | (labels != np.append(-1, labels[:-1]))
    one, other = 1.0 + np.sum(enters & (labels == a)), 1.0 + np.sum(enters & (labels == b))
    return 1.0 + DIVIDED * one / (one + other), 1.0 + DIVIDED * other / (one + other)


def _log_share(v: float, shapes: tuple[float, float]) -> float:
    return (shapes[0] - 1.0) * math.log(v) + (shapes[1] - 1.0) * math.log1p(-v) - float(betaln(*shapes))


def _log_path(state: State, labels: IntArray, weights: FloatArray, rest: float) -> float:
    counts = count_transitions(labels, state.problem.first, len(weights))
    return state.fixed.log_rows(counts, weights) + state.fixed.log_base(weights, rest)


def _log_evidences(state: State, sums: FloatArray) -> FloatArray:
    """Log evidences of states with these statistics, in spare slots."""
    k = state.n_states
    state.reserve(k + len(sums))
    clusters = state.clusters.arrays
    clusters.statistics[k : k + len(sums)] = sums
    out = np.empty(len(sums))
    for at in range(len(sums)):
        _refresh(state.hyper, clusters, k + at)
        out[at] = log_evidence(state.hyper, clusters, np.array([k + at]))
    return out


@kernel
def _refresh(family, clusters, k):
    verbs.refresh(family, clusters.statistics, clusters.cache, k, clusters.work)


def _split(rng: np.random.Generator, state: State, i: int, j: int, width: int, stay: float) -> None:
    fixed, c, k = state.fixed, int(state.labels[i]), state.n_states
    if fixed.most is not None and k >= fixed.most:
        return
    steps = np.flatnonzero(state.labels == c)
    plan = launch(state, steps, i, j, width, stay)
    division = plan.draw(rng)
    labels = state.labels.copy()
    labels[steps[division == 1]] = k
    log_ratio = -plan.log_prob(division)
    weights, rest, log_weights = _divided(rng, state, labels, c)
    log_ratio += log_weights
    statistics = state.problem.statistics_at(steps, state.rows)
    other = statistics[division == 1].sum(axis=0)
    whole = state.clusters.arrays.statistics[c].copy()
    evidences = _log_evidences(state, np.stack([whole, whole - other, other]))
    log_ratio += evidences[1] + evidences[2] - evidences[0]
    log_ratio += _log_path(state, labels, weights, rest) - state.log_path()
    if math.log(1.0 - rng.random()) < log_ratio:
        state.set_path(labels, weights, rest)


def _divided(rng: np.random.Generator, state: State, labels: IntArray, c: int) -> tuple[FloatArray, float, float]:
    """Base weights after a split of c into c and a last state, the rest, and their part of the log ratio."""
    if state.fixed.base_shapes(state.n_states) is None:
        opened, rest = state.fixed.open_weights(rng, state.n_states, state.rest, 1)
        return np.append(state.weights, opened), rest, 0.0
    shapes = _share_shapes(state, labels, c, state.n_states)
    v = min(max(float(rng.beta(*shapes)), 1e-12), 1.0 - 1e-12)
    whole = float(state.weights[c])
    weights = np.append(state.weights, (1.0 - v) * whole)
    weights[c] = v * whole
    return weights, state.rest, math.log(whole) - _log_share(v, shapes)


def _merge(rng: np.random.Generator, state: State, i: int, j: int, width: int, stay: float) -> None:
    a, b = int(state.labels[i]), int(state.labels[j])
    steps = np.flatnonzero((state.labels == a) | (state.labels == b))
    labels = state.labels.copy()
    labels[labels == b] = a
    labels[labels > b] -= 1
    weights, rest = np.delete(state.weights, b), state.rest
    at = a - (a > b)
    log_ratio = 0.0
    if state.fixed.base_shapes(state.n_states) is None:
        rest += float(state.weights[b])
    else:
        whole = float(state.weights[a] + state.weights[b])
        weights[at] = whole
        v = min(max(float(state.weights[a]) / whole, 1e-12), 1.0 - 1e-12)
        log_ratio += _log_share(v, _share_shapes(state, state.labels, a, b)) - math.log(whole)
    sums = state.clusters.arrays.statistics[[a, b]]
    evidences = _log_evidences(state, np.concatenate([sums.sum(axis=0)[None], sums]))
    log_ratio += evidences[0] - evidences[1] - evidences[2]
    log_ratio += _log_path(state, labels, weights, rest) - state.log_path()
    level = math.log(1.0 - rng.random())
    # The probability of the division, still to come, is at most one.
    if level >= log_ratio:
        return
    plan = launch(state, steps, i, j, width, stay)
    if level < log_ratio + plan.log_prob((state.labels[steps] == b).astype(np.int64)):
        state.set_path(labels, weights, rest)
