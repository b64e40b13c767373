"""Paths under a transition law: counts of steps, their probability given base weights, draws, and sums over tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from ..core.jit import inner_kernel, kernel
from ..core.special import log_rising

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Customers of a table that are looked at one by one; the others are stepped over, from one new table to the next.
ONE_BY_ONE = 64


def count_transitions(labels: IntArray, first: NDArray[np.bool_], n_states: int) -> FloatArray:
    """Steps from each state (rows; row 0 are the beginnings of sequences) to each (columns)."""
    before = np.where(first, 0, np.append(0, labels[:-1] + 1))
    cells = np.bincount(before * n_states + labels, minlength=(n_states + 1) * n_states)
    return cells.reshape(n_states + 1, n_states).astype(np.float64)


@kernel
def log_rows(counts, weights, concentration, stay):
    """Log of p(path | base weights), see ``contract``."""
    total = 0.0
    for p in range(counts.shape[0]):
        n = 0.0
        for k in range(weights.size):
            if counts[p, k] > 0.0:
                n += counts[p, k]
                total += log_rising(concentration * weights[k] + (stay if p == k + 1 else 0.0), counts[p, k])
        total -= log_rising(concentration + (stay if p > 0 else 0.0), n)
    return total


@inner_kernel
def _new_tables(rng, mass, n):
    """Number of tables of ``n`` customers in a restaurant of this concentration (Antoniak 1974), O(tables log n)."""
    if n == 0:
        return 0
    tables = 1
    c = 1
    while c < n and c < 64:
        if rng.random() * (mass + c) < mass:
            tables += 1
        c += 1
    while c < n:
        # Chance that customers c ... j - 1 sit at old tables: Gamma(j) Gamma(mass + c) / (Gamma(c) Gamma(mass + j)).
        log_u = math.log(1.0 - rng.random())
        start = math.lgamma(mass + c) - math.lgamma(float(c))
        if start + math.lgamma(float(n)) - math.lgamma(mass + n) >= log_u:
            return tables
        low, high = c, n
        while high - low > 1:
            middle = (low + high) // 2
            if start + math.lgamma(float(middle)) - math.lgamma(mass + middle) >= log_u:
                low = middle
            else:
                high = middle
        tables += 1
        c = low + 1
    return tables


@kernel
def draw_tables(rng, counts, weights, concentration, stay, tables):
    """Draw how often each state was asked of the base, given the path and the base weights, into ``tables``.

    Steps from p to k sit at tables, each of which asked the base once; of those from p to itself some had no need to,
    as the extra mass on staying gave them their state (Fox et al. 2011, the override variables).
    """
    tables[:] = 0.0
    for p in range(counts.shape[0]):
        for k in range(weights.size):
            n = int(counts[p, k])
            if n > 0:
                mass = concentration * weights[k]
                extra = stay if p == k + 1 else 0.0
                drawn = _new_tables(rng, mass + extra, n)
                if extra > 0.0:
                    share = mass / (mass + extra)
                    for _ in range(drawn):
                        if rng.random() < share:
                            tables[k] += 1.0
                else:
                    tables[k] += drawn


def path_from_urns(law: Any, first: NDArray[np.bool_], rng: np.random.Generator) -> IntArray:
    """States drawn one after the other from the urns of a fixed law."""
    labels = np.empty(len(first), dtype=np.int64)
    weights, rest, n = np.empty(0), 1.0, 0
    counts = np.zeros((1, 0))
    for t in range(len(first)):
        p = 0 if first[t] else labels[t - 1] + 1
        shares = np.append(law.concentration * weights + counts[p], law.concentration * rest)
        if p:
            shares[p - 1] += law.stay
        k = int(np.searchsorted(np.cumsum(shares), rng.random() * shares.sum(), side="right"))
        if k >= n:
            k = n
            opened, rest = law.open_weights(rng, n, rest, 1)
            weights, n = np.append(weights, opened), n + 1
            counts = np.pad(counts, ((0, 1), (0, 1)))
        counts[p, k] += 1.0
        labels[t] = k
    return labels


def log_sum_over_tables(law: Any, counts: FloatArray) -> float:
    """Log probability of a path with these counts, base weights integrated out, by a sum over tables.

    Given how often each state was asked of the base, M_k, the path has the weight of all tables with these sums, and
    the base gives ``law.log_tables(M)``. Sums over tables are products of polynomials whose coefficients are Stirling
    numbers of the first kind. For paths of a few dozen steps: all M are listed.
    """
    n_states = counts.shape[1]
    logs = []
    total = 0.0
    for k in range(n_states):
        poly = np.zeros(1)
        for p in range(n_states + 1):
            n = int(counts[p, k])
            if n:
                own = law.stay if p == k + 1 else 0.0
                poly = _log_product(poly, log_rising_polynomial(n, law.concentration, own))
        logs.append(poly)
    for p in range(n_states + 1):
        mass = law.concentration + (law.stay if p else 0.0)
        total -= float(gammaln(mass + counts[p].sum()) - gammaln(mass))
    grids = np.meshgrid(*(np.arange(len(poly)) for poly in logs), indexing="ij")
    terms = []
    for cell in zip(*(grid.ravel() for grid in grids), strict=True):
        value = sum(poly[m] for poly, m in zip(logs, cell, strict=True))
        if value > -math.inf and all(cell):
            terms.append(value + law.log_tables(cell))
    return total + float(logsumexp(terms))


def log_rising_polynomial(n: int, concentration: float, stay: float) -> FloatArray:
    """Logs of the coefficients of (concentration x + stay) rising n as a polynomial in x."""
    poly = np.zeros(1)
    for i in range(n):
        poly = _log_product(
            poly,
            np.log([max(stay + i, 0.0), concentration])
            if stay + i > 0
            else np.array([-np.inf, math.log(concentration)]),
        )
    return poly


def _log_product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Logs of the coefficients of the product of two polynomials."""
    out = np.full(len(one) + len(other) - 1, -np.inf)
    for at, value in enumerate(other):
        if value > -np.inf:
            out[at : at + len(one)] = np.logaddexp(out[at : at + len(one)], one + value)
    return out
