"""What a path of the fitted sequences predicts: a hidden Markov model of its states and of one that is new.

Given the path and the base weights, states follow each other with the posterior means of their transition
probabilities, and a row in state k has the predictive density given the rows of k. Base weights that nobody kept are
set to their mean given the mean numbers of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...chains.draws import Draws, flat
from ...families import verbs
from ...families.arrays import log_volumes, require_squares
from ...families.base import Cluster, refresh_all
from ...partitions.scores import log_predictives_of
from ...partitions.seats import FloatArray, IntArray
from ...partitions.sums import NO_WEIGHTS, add_by_label
from ...transitions import Transitions
from ...transitions.paths import count_transitions
from .base import mean_weights
from .chain import Chain
from .kernels.simplices import draw_simplices
from .problem import N_STATES, Problem


def masses_of(fixed: Transitions, counts: FloatArray, weights: FloatArray, rest: float) -> FloatArray:
    """Parameters of the Dirichlet distributions of first states and of what follows each state, given a path.

    ``counts`` are those of the path. The last state (column) is any new one, with the last row.
    """
    n = len(weights)
    mass = np.append(fixed.concentration * weights, fixed.concentration * rest)
    rows = np.tile(mass, (n + 2, 1))
    rows[: n + 1, :n] += counts
    rows[np.arange(1, n + 2), np.arange(n + 1)] += fixed.stay
    return rows


def chain_of(fixed: Transitions, counts: FloatArray, weights: FloatArray, rest: float) -> Chain:
    """Mean probabilities given a path with these counts, the last state being any new one."""
    return _chain_of(masses_of(fixed, counts, weights, rest))


def _chain_of(masses: FloatArray) -> Chain:
    rows = masses / masses.sum(axis=1, keepdims=True)
    return Chain(rows[0].copy(), rows[1:].copy())


class Fitted(NamedTuple):
    """A path of the fitted sequences with everything that predicts what follows.

    ``clusters`` hold the rows of each state; the last one is empty. ``problem`` has the hyperparameters in use.
    ``masses`` are the parameters of the Dirichlet distributions that ``chain`` has the means of.
    """

    problem: Problem
    clusters: Cluster
    chain: Chain
    masses: FloatArray

    @classmethod
    def of(
        cls,
        problem: Problem,
        labels: NDArray[Any],
        fixed: Transitions,
        weights: tuple[FloatArray, float] | None = None,
        rows: FloatArray | None = None,
    ) -> Fitted:
        """The model of a path; ``rows`` are those of the problem where missing cells were drawn."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        n = int(labels.max()) + 1
        counts = count_transitions(labels, problem.first, n)
        base = mean_weights(fixed, counts) if weights is None else weights
        clusters = problem.family.allocate(n + 1, problem.hyper)
        known = problem.rows if rows is None else rows
        add_by_label(problem.hyper, known, NO_WEIGHTS, labels, clusters.statistics, clusters.work)
        clusters.statistics[:] *= problem.row_weight
        refresh_all(problem.hyper, *clusters)
        masses = masses_of(fixed, counts, *base)
        return cls(problem, clusters, _chain_of(masses), masses)

    def drawn_chain(self, rng: np.random.Generator) -> Chain:
        """Probabilities of what follows, drawn from their posterior given the path."""
        rows = self.masses.copy()
        draw_simplices(rng, rows)
        return Chain(rows[0].copy(), rows[1:].copy())

    @property
    def n_states(self) -> int:
        """States of the path."""
        return len(self.chain.start) - 1

    def scores(self, local: FloatArray) -> FloatArray:
        """Log density of rows in local units under each state (columns), the last one new."""
        out = np.empty((len(local), len(self.clusters.statistics)))
        log_predictives_of(self.problem.hyper, *self.clusters, local, out)
        return out

    def weighted_scores(self, local: FloatArray) -> FloatArray:
        """What rows say of the states they are in: their log densities times the weight of a row."""
        return self.problem.row_weight * self.scores(local)

    def log_densities(self, local: FloatArray, first: NDArray[np.bool_]) -> FloatArray:
        """Log density of each row given those before it in its sequence."""
        scores = self.scores(local)
        if self.problem.row_weight == 1.0:
            return self.chain.filtered(scores, first)[1]
        after = self.chain.filtered(self.problem.row_weight * scores, first)[0]
        before = np.concatenate([after[:1], after[:-1]]) @ self.chain.transition
        before[first] = self.chain.start
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(scores + np.log(before), axis=1))

    def emit(self, states: IntArray, rng: np.random.Generator) -> FloatArray:
        """Rows in the user's units from these states, the parameters of each drawn once."""
        problem = self.problem
        statistics, cache, _ = self.clusters
        parameters = np.zeros((len(statistics), problem.layout.parameters))
        rows = np.empty((len(states), len(problem.shift)))
        for k in np.unique(states):
            verbs.draw_parameters(problem.hyper, statistics, cache, k, rng, parameters)
            mine = np.flatnonzero(states == k)
            rows[mine] = problem.family.draw_rows(parameters[k], len(mine), rng)
        return problem.family.restore(rows * problem.scale + problem.shift)


def local_rows(problem: Problem, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """New rows as kernels take them, and what their log densities in the user's units lose."""
    arranged = problem.family.arrange(X)
    with np.errstate(over="ignore"):  # what overflows is named below
        local = problem.local(arranged)
    require_squares(local, arranged)
    return problem.family.widen(local), log_volumes(arranged, problem.scale)


class Forecast(NamedTuple):
    """Rows that may come next.

    Attributes
    ----------
    draws : array (draw, step, column)
    states : array of int (draw, step)
        States of the posterior draw that the path was made from; -1 for a new one.
    """

    draws: FloatArray
    states: IntArray

    @property
    def mean(self) -> FloatArray:
        """Mean of each step and column."""
        return np.asarray(self.draws.mean(axis=0))

    def quantiles(self, levels: Any = (0.05, 0.5, 0.95)) -> FloatArray:
        """Quantiles (level, step, column)."""
        return np.asarray(np.quantile(self.draws, levels, axis=0))


@dataclass(frozen=True)
class Predictor:
    """All draws of a fit and its consensus path, ready to be asked about new sequences.

    Attributes
    ----------
    problem : Problem
        Before any hyperparameter was learned.
    draws : Draws
    labels : array of int (step,)
        The path that states are named by.
    fixed : Transitions
        The law with its numbers at their means.
    log_factors : dict
        Offsets of hyperparameters that go with ``labels``.
    """

    problem: Problem
    draws: Draws
    labels: IntArray
    fixed: Transitions
    log_factors: Any

    @cached_property
    def consensus(self) -> Fitted:
        """The model of ``labels``."""
        problem = self.problem.at(self.log_factors) if self.log_factors else self.problem
        return Fitted.of(problem, self.labels, self.fixed, rows=self._mean_rows())

    def _mean_rows(self) -> FloatArray | None:
        if "missing" not in self.draws:
            return None
        return self.problem.completed(flat(self.draws, "missing").mean(axis=0))

    def numbers(self, at_most: int) -> IntArray:
        """Numbers of at most so many draws, evenly spaced over all chains, fewer where paths are long."""
        n = self.draws.shape[0] * self.draws.shape[1]
        most = max(5, min(at_most, 20_000_000 // max(self.problem.n_rows, 1)))
        return np.linspace(0, n - 1, min(n, most)).astype(np.int64)

    def of_draw(self, number: int) -> Fitted:
        """The model of one draw, counted over all chains."""
        labels = flat(self.draws, "labels")[number]
        counts = self.draws[N_STATES].reshape(-1)
        first = int(counts[:number].sum())
        weights = self.draws["base_weights"][first : first + int(counts[number])]
        law = self.problem.transitions
        fixed = law.with_numbers({name: flat(self.draws, name)[number] for name in law.laws})
        group = self.draws.group("log_factors")
        factors = {name: values.reshape(-1, *values.shape[2:])[number] for name, values in group.items()}
        problem = self.problem.at(factors) if factors else self.problem
        rows = None
        if "missing" in self.draws:
            rows = self.problem.completed(flat(self.draws, "missing")[number])
        return Fitted.of(problem, labels, fixed, (weights, max(1.0 - float(weights.sum()), 0.0)), rows)

    def log_density(self, X: FloatArray, first: NDArray[np.bool_], at_most: int) -> FloatArray:
        """Log predictive density of each step given those before it in its sequence, averaged over draws.

        The average is over the densities of the sequence up to each step.
        """
        local, volumes = local_rows(self.problem, X)
        picked = self.numbers(at_most)
        sums = np.empty((len(picked), len(X)))
        begins = np.flatnonzero(first)
        for at, number in enumerate(picked):
            fitted = self.of_draw(int(number))
            each = fitted.log_densities(local, first)
            sums[at] = np.concatenate([np.cumsum(part) for part in np.split(each, begins[1:])])
        means = logsumexp(sums, axis=0) - np.log(len(picked))
        before = np.append(0.0, means[:-1])
        before[first] = 0.0
        return np.asarray(means - before - volumes)

    def forecast(self, X: FloatArray | None, steps: int, n_draws: int, rng: np.random.Generator) -> Forecast:
        """Rows after the last step of ``X``, or of the fitted sequences.

        Each is made by a draw of the path, of the transition probabilities and of the parameters of the states given
        that path, so that it is a draw from the posterior predictive distribution.
        """
        local = None if X is None else local_rows(self.problem, X)[0]
        picked = self.numbers(min(n_draws, 100))
        shares = np.bincount(np.arange(n_draws) % len(picked), minlength=len(picked))
        rows, states = [], []
        for number, count in zip(picked, shares, strict=True):
            fitted = self.of_draw(int(number))
            if local is None:
                before = np.zeros(fitted.n_states + 1)
                before[int(flat(self.draws, "labels")[number, -1])] = 1.0
            else:
                begins = np.zeros(len(local), dtype=np.bool_)
                begins[0] = True
                before = fitted.chain.filtered(fitted.weighted_scores(local), begins)[0][-1]
            for _ in range(count):
                path = fitted.drawn_chain(rng).simulate(steps, rng, before)
                rows.append(fitted.emit(path, rng))
                states.append(np.where(path == fitted.n_states, -1, path))
        return Forecast(np.array(rows), np.array(states))
