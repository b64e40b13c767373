"""The exact posterior of the states of six steps, and chains over them.

The prior of a path is summed over tables in plain Python, apart from the library:

    p(z) = sum over m of [prod_p alpha^(m_p.) / (alpha)_(n_p.) prod_k S(n_pk, m_pk)]
           * [gamma^K prod_k Gamma(m_.k) / (gamma)_(m_..)]

with S unsigned Stirling numbers of the first kind. Of the tables of steps from a state to itself, those that the extra
mass kappa has overridden (o of m, in binomial(m, o) ways) ask the base for nothing.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import comb, gamma, prod

import numpy as np

from countless.chains import Schedule
from countless.models.hmm.problem import Problem
from countless.models.hmm.state import State
from exact.enumeration import (
    expected_total_variation,
    frequencies,
    log_evidences,
    partitions,
    total_variation,
)

N_DRAWS, WARMUP, LIMIT = 20_000, 50, 1.5


@cache
def stirling(n, m):
    """Unsigned Stirling numbers of the first kind."""
    if n == m:
        return 1
    if m < 1 or m > n:
        return 0
    return stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def rising(x, n):
    return prod(x + i for i in range(n))


def prior_of_path(labels, lengths, alpha, base, kappa=0.0):
    """p(z); ``base(M)`` is the probability of states that were asked for M times, base weights integrated out."""
    counts = {}
    at = 0
    for length in lengths:
        before = None
        for k in labels[at : at + length]:
            counts[before, k] = counts.get((before, k), 0) + 1
            before = k
        at += length
    n_states = max(labels) + 1
    rows = {}
    for (p, _), n in counts.items():
        rows[p] = rows.get(p, 0) + n
    outer = prod(1.0 / rising(alpha + (0.0 if p is None else kappa), n) for p, n in rows.items())
    # Weight of asking the base m times for k, for each cell.
    choices = []
    for (p, k), n in counts.items():
        cell = {}
        for m in range(1, n + 1):
            for overridden in range(m + 1) if p == k and kappa > 0 else (0,):
                asked = m - overridden
                weight = stirling(n, m) * comb(m, overridden) * kappa**overridden * alpha**asked
                cell[asked] = cell.get(asked, 0.0) + weight
        choices.append((k, list(cell.items())))
    total = 0.0
    for picks in product(*(options for _, options in choices)):
        asked = [0] * n_states
        weight = 1.0
        for (k, _), (m, w) in zip(choices, picks, strict=True):
            asked[k] += m
            weight *= w
        total += weight * base(asked)
    return outer * total


def gem(concentration):
    return lambda asked: concentration ** len(asked) * prod(gamma(m) for m in asked) / rising(concentration, sum(asked))


def dirichlet(n_states, concentration):
    each = concentration / n_states

    def value(asked):
        ways = prod(range(n_states - len(asked) + 1, n_states + 1))
        return ways * prod(rising(each, m) for m in asked) / rising(concentration, sum(asked))

    return value


def equal(n_states):
    return lambda asked: prod(range(n_states - len(asked) + 1, n_states + 1)) * n_states ** -sum(asked)


def exact_posterior(family, X, prior):
    """Probabilities of all partitions; ``prior`` of each, in the order of ``partitions``."""
    with np.errstate(divide="ignore"):
        log_joint = np.log(prior) + log_evidences(family, X)
    return np.exp(log_joint - np.logaddexp.reduce(log_joint))


def run_chain(X, lengths, family, law, moves, rng, thin=1, n_draws=N_DRAWS, keep=None, row_weight=1.0):
    """Labels (draw, step) of a chain, and what ``keep`` says of each state."""
    problem = Problem.of(X, np.array(lengths), family, law, row_weight=row_weight)
    state = State(problem, np.zeros(len(X), dtype=np.int64))
    schedule = Schedule(moves)
    labels, kept = np.empty((n_draws, len(X)), dtype=np.int64), []
    for _ in range(WARMUP):
        schedule.step(rng, state)
    for draw in range(n_draws):
        for _ in range(thin):
            schedule.step(rng, state)
        labels[draw] = state.partition()
        if keep is not None:
            kept.append(keep(state))
    return labels, kept


def excess(labels, posterior, rng):
    """Total variation in units of what as many independent draws show."""
    shown = total_variation(frequencies(labels), posterior)
    return shown / expected_total_variation(posterior, len(labels), rng)


def prior_of_partitions(n, lengths, alpha, base, kappa=0.0):
    return np.array([prior_of_path(tuple(z), lengths, alpha, base, kappa) for z in partitions(n).tolist()])
