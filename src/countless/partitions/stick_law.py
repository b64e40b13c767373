r"""The variational posterior of the sticks and of the learned numbers of the prior.

Stick k = 1 ... T has q(v_k) = Beta(f_k, s_k); those beyond T keep their prior, and q(z > T) = 0, so that the bound
is one on the evidence of the untruncated model, for every T (Kurihara, Welling & Vlassis 2007). A learned
concentration has a law on the nodes c_j of a quadrature with weights w_j; several learned numbers have one law on the
product of their grids, so that c_j is a pair and their dependence is kept. With the prior shapes a_jk, b_jk,

    l_j = sum_k (a_jk - 1) E log v_k + (b_jk - 1) E log(1 - v_k) - log B(a_jk, b_jk),    q(c_j) ~ w_j exp(l_j),
    f_k = E a_jk + N_k,    s_k = E b_jk + sum of N_l over l > k,

and the part of the bound is log sum_j w_j exp(l_j) plus the entropy of the q(v_k) (Blei & Jordan 2006, section 3).
Any prior with sticks is served, through ``stick_shapes`` alone. The bound is one for the hyperprior on its nodes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from ..core.jit import inner_kernel, kernel
from ..core.special import digamma, log_sum_exp
from ..priors.verbs import Prior
from .seats import FloatArray

# Grids of several learned numbers: the step on their lines, and the prior probability that is left out at each end.
STEP, TAIL = 0.4, 1e-9
# Alternations between q(v) and q(numbers) in one update; each raises the bound, passes do the rest.
ALTERNATIONS = 4


class Sticks(NamedTuple):
    """q(v): two parameters of each stick; q(numbers of the prior): a probability for each node."""

    first: FloatArray
    second: FloatArray
    blend: FloatArray

    def without(self, k: int) -> Sticks:
        """The same with stick ``k`` taken out."""
        return Sticks(np.delete(self.first, k), np.delete(self.second, k), self.blend)


class StickLaw:
    """What a prior says of its sticks, for one number of rows.

    Parameters
    ----------
    prior : Prior
        Resolved.
    n_rows : int
    """

    def __init__(self, prior: Prior, n_rows: int) -> None:
        ready = prior.resolve(n_rows)
        self._prior = ready
        self._priors, weights = ready.nodes(n_rows, STEP, TAIL)
        self._log_weights = np.log(weights)
        self.most = ready.max_clusters(np.iinfo(np.int64).max)
        self._shapes: tuple[FloatArray, FloatArray] = (np.empty((len(weights), 0)),) * 2
        self._log_betas = np.empty((len(weights), 0))
        self.start = weights / weights.sum()
        self.shapes(1)  # a prior without sticks says so at once

    def shapes(self, n_sticks: int) -> tuple[FloatArray, FloatArray]:
        """Prior shapes a_jk, b_jk of at least so many sticks, one line per node."""
        known = self._shapes[0].shape[1]
        if known < n_sticks:
            wanted = min(max(n_sticks, 2 * known), self.most)
            pairs = [prior.stick_shapes(wanted) for prior in self._priors]
            a, b = (np.array(part) for part in zip(*pairs, strict=True))
            self._shapes = a, b
            self._log_betas = np.cumsum(np.where(b > 0.0, betaln(a, np.where(b > 0.0, b, 1.0)), 0.0), axis=1)
        return self._shapes

    def update(self, sizes: FloatArray, blend: FloatArray) -> Sticks:
        """The best sticks for these expected sizes, from a law of the learned numbers that is improved along."""
        a, b = self.shapes(len(sizes))
        first, second = np.empty(len(sizes)), np.empty(len(sizes))
        blend = blend.copy()
        terms = np.empty(len(blend))
        _update(a, b, self._log_weights, self._log_betas, np.ascontiguousarray(sizes), blend, terms, first, second)
        return Sticks(first, second, blend)

    def value(self, sticks: Sticks) -> float:
        """Part of the bound: minus the divergence of q from the prior, for the best q(numbers)."""
        a, b = self.shapes(len(sticks.first))
        terms = np.empty(len(self._priors))
        return float(_value(a, b, self._log_weights, self._log_betas, sticks.first, sticks.second, terms))

    def evidence(self, sizes: FloatArray, blend: FloatArray) -> float:
        """Log probability of these sizes, largest first, at the expected shapes: to compare arrangements quickly."""
        a, b = (blend @ shape[:, : len(sizes)] for shape in self.shapes(len(sizes)))
        later = np.cumsum(sizes[::-1])[::-1] - sizes
        keep = b + later > 0.0
        return float(np.sum(betaln(a + sizes, b + later)[keep])) - float(np.sum(betaln(a, b)[keep & (b > 0.0)]))

    def typical(self, sticks: Sticks) -> Prior:
        """The prior with its learned numbers fixed at their posterior means."""
        each = [self._prior.numbers_of(prior) for prior in self._priors]
        names = self._prior.learned_names
        return self._prior.with_numbers({name: sticks.blend @ [numbers[name] for numbers in each] for name in names})


def expected_log_weights(sticks: Sticks) -> FloatArray:
    """E log of the weight of each component."""
    out = np.empty(len(sticks.first))
    _expected_log_weights(sticks.first, sticks.second, out)
    return out


def log_expected_weights(sticks: Sticks) -> FloatArray:
    """Log of the expected weight of each component, and (last) of all that come after."""
    total = sticks.first + sticks.second
    with np.errstate(divide="ignore"):
        log_rest = np.concatenate([[0.0], np.cumsum(np.log(sticks.second / total))])
    return np.append(np.log(sticks.first / total) + log_rest[:-1], log_rest[-1])


@inner_kernel
def _expected_logs(first, second):
    """E log v and E log(1 - v); a stick that takes all that is left has v = 1 and no say in the bound."""
    if not second > 0.0:
        return 0.0, 0.0
    total = digamma(first + second)
    return digamma(first) - total, digamma(second) - total


@kernel
def _expected_log_weights(first, second, out):
    before = 0.0
    for k in range(first.size):
        log_v, log_rest = _expected_logs(first[k], second[k])
        out[k] = before + log_v
        before += log_rest


@inner_kernel
def _log_sum_of_terms(a, b, log_weights, log_betas, first, second, terms):
    """Fills log w_j + l_j and returns the log of the sum of their exponentials."""
    n_sticks = first.size
    for j in range(terms.size):
        terms[j] = log_weights[j] - log_betas[j, n_sticks - 1]
    for k in range(n_sticks):
        if second[k] > 0.0:
            log_v, log_rest = _expected_logs(first[k], second[k])
            for j in range(terms.size):
                terms[j] += (a[j, k] - 1.0) * log_v + (b[j, k] - 1.0) * log_rest
    return log_sum_exp(terms, terms.size)


@kernel
def _value(a, b, log_weights, log_betas, first, second, terms):
    """The log sum of terms plus the entropies of the sticks."""
    total = _log_sum_of_terms(a, b, log_weights, log_betas, first, second, terms)
    for k in range(first.size):
        if second[k] > 0.0:
            log_v, log_rest = _expected_logs(first[k], second[k])
            log_beta = math.lgamma(first[k]) + math.lgamma(second[k]) - math.lgamma(first[k] + second[k])
            total += log_beta - (first[k] - 1.0) * log_v - (second[k] - 1.0) * log_rest
    return total


@kernel
def _update(a, b, log_weights, log_betas, sizes, blend, terms, first, second):
    n_sticks = sizes.size
    for alternation in range(ALTERNATIONS):
        later = 0.0
        for k in range(n_sticks - 1, -1, -1):
            first[k] = sizes[k]
            second[k] = later
            for j in range(blend.size):
                first[k] += blend[j] * a[j, k]
                second[k] += blend[j] * b[j, k]
            if b[0, k] == 0.0:  # the last stick of a finite prior
                second[k] = 0.0
            later += sizes[k]
        if blend.size == 1 or alternation == ALTERNATIONS - 1:
            return
        total = _log_sum_of_terms(a, b, log_weights, log_betas, first, second, terms)
        for j in range(blend.size):
            blend[j] = math.exp(terms[j] - total)
