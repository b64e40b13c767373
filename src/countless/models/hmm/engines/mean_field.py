r"""Mean field of a hidden Markov model: q(path) q(transitions) q(sticks of the base) q(parameters), and its bound.

With q(pi_p) Dirichlet, q(v_k) beta for sticks v of the base weights, and q(theta_k) conjugate, the best q(path) is a
hidden Markov chain with the weights exp(E log pi), and the bound is

    L = log Z(path) - sum_k KL(q(theta_k)) - KL(q(v)) + sum_p {E C(alpha beta + kappa delta_p) - C(omega_p)
        + sum_k (alpha E beta_k + kappa 1{p = k} - omega_pk) E log pi_pk},

with C(x) = log Gamma(sum x) - sum log Gamma(x_k). Its expectation has no closed form, but log Gamma(1 + x) is
superadditive, which gives (Hughes, Stephenson and Sudderth 2015, appendix)

    C(x) >= sum_k log x_k - log(sum x),
    log(alpha beta_p + kappa) >= beta_p log(alpha + kappa) + (1 - beta_p) log kappa

where kappa > 0 (or log(alpha beta_p), whichever is larger). Sticks beyond the first K keep their prior and no step is
in them, so that the bound is one of the untruncated model. Where base weights are given (``FiniteDirichlet``) C is
exact and there are no sticks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import betaln, digamma, gammaln, polygamma

from ....core.jit import kernel
from ....families import verbs
from ....families.base import refresh_all
from ....partitions.clusters import ClusterArrays, own_hyper
from ....partitions.hyperparameters import climb_offsets
from ....partitions.seats import FloatArray
from ....transitions import Transitions
from ..base import toward_mode
from ..kernels.forward import NO_SLICES, NOBODY, forward, smooth
from ..problem import Problem
from ..state import BLOCK

# Natural-gradient steps of the base in one update, and the gain below which they end.
MOST_STEPS, LEAST_GAIN = 8, 1e-4


class Sums(NamedTuple):
    """What a pass over all steps leaves behind: statistics of the states, transitions, and log Z."""

    statistics: FloatArray
    counts: FloatArray
    log_total: float

    def permuted(self, order: Any) -> Sums:
        """The same with states in another order, or some of them left out."""
        rows = np.append(0, order + 1)
        return Sums(self.statistics[order], self.counts[rows][:, order], self.log_total)

    def joined(self, i: int, j: int) -> Sums:
        """The same with state j in state i."""
        statistics, counts = self.statistics.copy(), self.counts.copy()
        statistics[i] += statistics[j]
        counts[:, i] += counts[:, j]
        counts[i + 1] += counts[j + 1]
        keep = np.delete(np.arange(len(statistics)), j)
        return Sums(statistics, counts, self.log_total).permuted(keep)


class Base(NamedTuple):
    """q of the base weights: beta shapes of the sticks; ``fixed`` weights where they are given."""

    shapes: FloatArray
    fixed: FloatArray | None = None

    @property
    def means(self) -> FloatArray:
        """Mean base weights, and last that of the rest."""
        if self.fixed is not None:
            return self.fixed
        share = self.shapes[:, 0] / self.shapes.sum(axis=1)
        left = np.cumprod(np.append(1.0, 1.0 - share))
        return np.append(share, 1.0) * left

    @property
    def logs(self) -> tuple[FloatArray, FloatArray]:
        """Mean logs of the sticks, and of one minus them."""
        total = digamma(self.shapes.sum(axis=1))
        return digamma(self.shapes[:, 0]) - total, digamma(self.shapes[:, 1]) - total


@dataclass(frozen=True)
class MeanField:
    """Global parameters, the states in order of size.

    Attributes
    ----------
    problem : Problem
    law : Transitions
        With its numbers fixed.
    statistics : array (state, statistic)
    counts : array (1 + state, state)
        Of the last pass; q(pi_p) has the shapes alpha E beta + kappa delta_p + counts.
    base : Base
    """

    problem: Problem
    law: Transitions
    statistics: FloatArray
    counts: FloatArray
    base: Base

    @classmethod
    def of(cls, problem: Problem, law: Transitions, sums: Sums, base: Base | None = None) -> Self:
        """The best parameters for these sums; states are put in the order of their sizes unless there is a base."""
        if base is None:
            sums = sums.permuted(np.argsort(-sums.statistics[:, 0], kind="stable"))
            base = first_base(law, sums.statistics[:, 0])
        field = cls(problem, law, sums.statistics, sums.counts, base)
        return replace(field, base=best_base(field))

    @property
    def n_states(self) -> int:
        return len(self.statistics)

    def updated(self, sums: Sums) -> MeanField:
        """The best parameters for the sums of a pass, states as they are."""
        return MeanField.of(self.problem, self.law, sums, self.base)

    def rearranged(self, sums: Sums) -> MeanField:
        """The best parameters for sums of other states."""
        return MeanField.of(self.problem, self.law, sums)

    def shapes(self, base: Base | None = None) -> FloatArray:
        """Dirichlet shapes of q of the transitions; row 0 for first states, the last column what is not in use."""
        shapes = self.prior_shapes(base)
        shapes[:, : self.n_states] += self.counts
        return shapes

    def prior_shapes(self, base: Base | None = None) -> FloatArray:
        """Mean shapes of the prior of the transitions."""
        k = self.n_states
        means = (base or self.base).means
        shapes = np.tile(self.law.concentration * means, (k + 1, 1))
        shapes[np.arange(1, k + 1), np.arange(k)] += self.law.stay
        return shapes

    def log_transitions(self) -> FloatArray:
        """E log pi of all rows."""
        shapes = self.shapes()
        used = np.maximum(shapes, 1e-300)
        return np.asarray(digamma(used) - digamma(used.sum(axis=1, keepdims=True)))

    def naturals(self) -> tuple[FloatArray, float]:
        """Expected natural parameters of the states, and what the bound loses to the divergence of q(theta)."""
        naturals, evidences = np.empty_like(self.statistics), np.empty(self.n_states)
        clusters = self.problem.family.allocate(self.n_states, self.problem.hyper)
        clusters.statistics[:] = self.statistics
        _expectations(self.problem.hyper, *clusters, naturals, evidences)
        return naturals, float(np.einsum("ks,ks->", self.statistics, naturals) - evidences.sum())

    def run(self) -> tuple[float, Sums]:
        """One pass: the bound, and the sums that the next parameters are made of."""
        naturals, divergence = self.naturals()
        logs = self.log_transitions()
        chain = np.exp(logs[:, : self.n_states])
        sums = passed(self.problem, naturals, chain)
        return sums.log_total - divergence + self.value(logs) + self.problem.log_hyperprior, sums

    def value(self, logs: FloatArray) -> float:
        """The part of the bound of transitions, sticks and learned numbers."""
        shapes = self.shapes()
        value = base_value(self.law, self.base, self.n_states)
        # A column of shape zero is one that nobody can be in.
        each = np.where(shapes > 0.0, gammaln(np.maximum(shapes, 1e-300)), 0.0)
        value -= float((gammaln(shapes.sum(axis=1)) - each.sum(axis=1)).sum())
        value += float(((self.prior_shapes() - shapes) * logs).sum())
        return value + self.problem.transitions.log_hyperprior(self.law)

    def learned(self) -> Self:
        """The same with numbers of the law and hyperparameters at their best."""
        law, laws = self.law, self.problem.transitions.laws
        logs = self.log_transitions()
        for name, prior in laws.items():

            def height(x: float, n: str = name, now: Transitions = law) -> float:
                trial = replace(self, law=now.with_numbers({n: x}))
                return base_value(trial.law, self.base, self.n_states) + float((trial.prior_shapes() * logs).sum())

            law = law.with_numbers({name: toward_mode(prior, getattr(law, name), height)})
        field = replace(self, law=law)
        problem = self.problem
        if problem.law is None:
            return field
        hyper, offsets = own_hyper(problem.hyper), problem.offsets.copy()
        statistics, cache, work = problem.family.allocate(self.n_states, hyper)
        statistics[:] = self.statistics
        refresh_all(hyper, statistics, cache, work)
        arrays = ClusterArrays(statistics, cache, work, np.zeros((0, 0)), np.zeros((0, 0)))
        climb_offsets(hyper, problem.base, arrays, np.arange(self.n_states), problem.law, offsets)
        return replace(field, problem=problem.learned(offsets))


def passed(problem: Problem, naturals: FloatArray, chain: FloatArray) -> Sums:
    """Sums of a pass with these expected natural parameters and transition weights (row 0: of first states)."""
    scores = np.empty((problem.n_rows, len(naturals)))
    blocks = [slice(at, min(at + BLOCK, problem.n_rows)) for at in range(0, problem.n_rows, BLOCK)]
    for which in blocks:
        np.matmul(problem.statistics(which, problem.rows), naturals.T, out=scores[which])
    start, transition = chain[0].copy(), np.ascontiguousarray(chain[1:])
    log_total = float(forward(scores, problem.first, start, transition, NO_SLICES, NOBODY))
    counts = np.zeros((len(naturals) + 1, len(naturals)))
    expected = np.zeros((len(naturals), len(naturals)))
    smooth(scores, problem.first, transition, expected)
    counts[1:], counts[0] = expected, scores[problem.first].sum(axis=0)
    statistics = np.zeros_like(naturals)
    for which in blocks:
        statistics += scores[which].T @ problem.statistics(which, problem.rows)
    return Sums(statistics, counts, log_total)


def first_base(law: Transitions, sizes: FloatArray) -> Base:
    """Where the climb of the base begins."""
    k = len(sizes)
    if law.base_shapes(k) is None:
        weights, rest = law.open_weights(np.random.default_rng(0), 0, 1.0, k)
        return Base(np.empty((0, 2)), np.append(weights, rest))
    roots = np.sqrt(sizes + 1.0)
    after = np.cumsum(roots[::-1])[::-1] - roots
    scale = 3.0 * k / roots.sum()
    return Base(np.stack([1.0 + scale * roots, law.opening(0)[1] + scale * after], axis=1))


def _stay_terms(law: Transitions, base: Base, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each state: whether the concave bound of log(alpha beta + kappa) is used; its slope in beta, its constant."""
    alpha, kappa = law.concentration, law.stay
    if kappa <= 0.0:
        return np.zeros(k, dtype=bool), np.zeros(k), np.full(k, np.log(alpha))
    log_v, log_rest = base.logs
    log_weight = log_v + np.append(0.0, np.cumsum(log_rest)[:-1])
    slope, least = np.log1p(alpha / kappa), np.log(kappa)
    concave = least + slope * base.means[:k] > np.log(alpha) + log_weight
    return concave, np.where(concave, slope, 0.0), np.where(concave, least, np.log(alpha))


def base_value(law: Transitions, base: Base, k: int) -> float:
    """What base weights and the normalisers of the prior of the transitions add to the bound."""
    alpha, kappa = law.concentration, law.stay
    if base.fixed is not None:
        shapes = alpha * base.fixed
        used = shapes[shapes > 0.0]
        return (k + 1) * float(gammaln(used.sum()) - gammaln(used).sum())
    log_v, log_rest = base.logs
    before = np.append(0.0, np.cumsum(log_rest))
    log_weight = np.append(log_v, 0.0) + before  # the last one is the rest
    concave, slope, constant = _stay_terms(law, base, k)
    # First states: C >= sum_k log(alpha beta_k) - log(alpha), over K states and the rest.
    value = k * np.log(alpha) + log_weight.sum()
    # After state p: all but the own term, which is special where kappa > 0.
    value += k * (k * np.log(alpha) + log_weight.sum()) - k * np.log(alpha + kappa)
    value += float((constant + slope * base.means[:k] - np.where(concave, log_weight[:k], 0.0)).sum())
    gamma = law.opening(0)[1]
    a, b = base.shapes.T
    value += float((np.log(gamma) + (1.0 - a) * log_v + (gamma - b) * log_rest + betaln(a, b)).sum())
    return float(value)


def best_base(field: MeanField) -> Base:
    """A better q of the base weights given all else, by natural gradients.

    But for the mean base weights, in which it is linear, the bound is conjugate in the sticks: its best shapes would be
    ``ideal``. The linear part adds the inverse of the Fisher information times its gradient (Khan and Lin 2017).
    """
    base, law, k = field.base, field.law, field.n_states
    if base.fixed is not None:
        return base
    logs = field.log_transitions()
    concave, slope, _ = _stay_terms(law, base, k)
    times = np.append((k + 1.0) - concave, k + 1.0)
    ideal = np.stack([times[:k] + 1.0, np.cumsum(times[::-1])[::-1][1:] + law.opening(0)[1]], axis=1)
    linear = law.concentration * logs.sum(axis=0)
    linear[:k] += slope
    height = _height(field, base, logs)
    step = 1.0
    for _ in range(MOST_STEPS):
        toward = np.maximum(ideal + _natural_gradient(base, linear), 1e-3)
        trial = Base(base.shapes ** (1.0 - step) * toward**step)
        value = _height(field, trial, logs)
        if value > height:
            gain, base, height = value - height, trial, value
            if gain < LEAST_GAIN:
                break
        else:
            step *= 0.4
            if step < 0.05:
                break
    return base


def _natural_gradient(base: Base, linear: FloatArray) -> FloatArray:
    """Of linear @ (mean base weights), in the shapes of the sticks."""
    a, b = base.shapes.T
    total = a + b
    share = a / total
    left = np.cumprod(np.append(1.0, 1.0 - share))
    means = np.append(share, 1.0) * left
    after = np.cumsum((linear * means)[::-1])[::-1][1:]
    by_share = linear[:-1] * left[:-1] - after / np.maximum(1.0 - share, 1e-300)
    one, other = by_share * b / total**2, -by_share * a / total**2
    tri = polygamma(1, total)
    first, second = polygamma(1, a) - tri, polygamma(1, b) - tri
    determinant = first * second - tri * tri
    return np.stack([(second * one + tri * other) / determinant, (tri * one + first * other) / determinant], axis=1)


def _height(field: MeanField, base: Base, logs: FloatArray) -> float:
    return base_value(field.law, base, field.n_states) + float((field.prior_shapes(base) * logs).sum())


@kernel
def _expectations(family, statistics, cache, work, naturals, evidences):
    for k in range(statistics.shape[0]):
        verbs.refresh(family, statistics, cache, k, work)
        verbs.expected_natural(family, statistics, cache, k, naturals[k])
        evidences[k] = verbs.log_marginal(family, statistics, cache, k)
