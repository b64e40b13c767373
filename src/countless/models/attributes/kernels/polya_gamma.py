"""Polya-Gamma draws PG(1, z), exactly: Devroye's series for the Jacobi law (Polson, Scott & Windle 2013, appendix).

Given precisions w ~ PG(1, t) of the pairs, the likelihood of links r with log odds t is exp((r - 1/2) t - w t^2 / 2)
up to a constant: normal, with the same block sums as for real matrices.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import inner_kernel, kernel

# Where the two series of the density meet.
MEET = 0.64


@inner_kernel
def _coefficient(n, x):
    """Term n of the series of the density at x."""
    k = n + 0.5
    if x > MEET:
        return math.pi * k * math.exp(-0.5 * k * k * math.pi * math.pi * x)
    return math.pi * k * (2.0 / (math.pi * x)) ** 1.5 * math.exp(-2.0 * k * k / x)


@inner_kernel
def _normal_below(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@inner_kernel
def _share_of_tail(z):
    """Probability that the proposal comes from its exponential part."""
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    tail = math.pi / (2.0 * rate) * math.exp(-rate * MEET)
    root = math.sqrt(1.0 / MEET)
    upper, lower = root * (MEET * z - 1.0), -root * (MEET * z + 1.0)
    inside = 2.0 * math.exp(-z) * _normal_below(upper)
    if z < 300.0:
        inside += 2.0 * math.exp(z) * _normal_below(lower)
    return tail / (tail + inside)


@inner_kernel
def _inverse_normal(rng, z):
    """Inverse Gaussian with mean 1 / z and shape 1, below MEET."""
    x = MEET + 1.0
    if z < 1.0 / MEET:
        while True:
            one, other = rng.standard_exponential(), rng.standard_exponential()
            while one * one > 2.0 * other / MEET:
                one, other = rng.standard_exponential(), rng.standard_exponential()
            x = 1.0 + MEET * one
            x = MEET / (x * x)
            if rng.random() <= math.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while x > MEET:
        square = rng.standard_normal() ** 2
        x = mean + 0.5 * mean * mean * square
        x -= 0.5 * mean * math.sqrt(4.0 * mean * square + (mean * square) ** 2)
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
    return x


@inner_kernel
def draw_polya_gamma(rng, tilt):
    """One draw of PG(1, tilt)."""
    z = 0.5 * abs(tilt)
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    share = _share_of_tail(z)
    while True:
        x = MEET + rng.standard_exponential() / rate if rng.random() < share else _inverse_normal(rng, z)
        total = _coefficient(0, x)
        level = rng.random() * total
        n = 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= _coefficient(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _coefficient(n, x)
                if level > total:
                    break


@kernel
def draw_precisions(rng, sums, observed, directed, out):
    """Precisions of all observed pairs given their log odds."""
    n = len(sums)
    for i in range(n):
        for j in range(n if directed else i + 1):
            if observed[i, j] > 0.0:
                out[i, j] = draw_polya_gamma(rng, sums[i, j])
                if not directed:
                    out[j, i] = out[i, j]


def polya_gamma(rng: np.random.Generator, tilt: np.ndarray) -> np.ndarray:
    """Draws of PG(1, tilt), one for each number of a square matrix."""
    out = np.zeros_like(tilt)
    draw_precisions(rng, tilt, np.ones_like(tilt), True, out)
    return out
