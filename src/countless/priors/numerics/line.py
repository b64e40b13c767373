"""Work on the line of a hyperprior: slice sampling (Neal 2003), the search for a mode, and integrals.

The line is the log of a positive parameter, the logit of one below 1: there densities are smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from .ratios import FloatArray

if TYPE_CHECKING:
    from ..hyperpriors import Hyperprior

# Below this value every prior equals its limit at zero to double precision, so that the rest of the mass is one atom.
NEGLIGIBLE = 1e-14
_NODES_PER_PANEL = 16
# Logs below the peak at which an integrand is cut. In several dimensions: the largest step of a grid, and the fewest
# nodes on each side of the box that is left.
_LOG_CUT = 42.0
STEP = 0.3
_LEAST_NODES = 64


def slice_step(
    log_target: Callable[[float], float],
    current: float,
    rng: np.random.Generator,
    width: float = 1.0,
    max_steps: int = 64,
) -> float:
    """One univariate slice-sampling step with stepping out and shrinkage.

    Leaves exp(log_target) invariant. Reference: Neal 2003, *Slice sampling*, figures 3 and 5.
    """
    level = log_target(current) - rng.exponential()
    left = current - width * rng.random()
    right = left + width
    # The budget of steps is split at random between the two sides: without that the step is not reversible.
    steps_left = int(max_steps * rng.random())
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_target(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_target(right) > level:
        right += width
        steps_right -= 1
    while True:
        proposal = left + (right - left) * rng.random()
        if log_target(proposal) > level:
            return proposal
        if right - left < 1e-14 * (1.0 + abs(current)):
            return current
        if proposal < current:
            left = proposal
        else:
            right = proposal


def mode_on_line(log_target: Callable[[float], float], hyperprior: Hyperprior) -> float:
    """Point of the line where a log density is highest: a coarse scan, then Brent's method.

    The scan makes the answer independent of a starting value.
    """
    from scipy.optimize import minimize_scalar

    low, high = hyperprior.mode_range()
    grid = np.arange(low, high)
    heights = np.array([log_target(float(point)) for point in grid])
    if heights.max() == -np.inf:  # impossible for every value: no point is better than the mean
        return hyperprior.to_line(hyperprior.mean)
    best = float(grid[int(np.argmax(heights))])
    found = minimize_scalar(
        lambda point: -log_target(point),
        bounds=(best - 1.0, best + 1.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.x)


def log_expectation(log_function: Callable[..., float], hyperpriors: Sequence[Hyperprior]) -> float:
    """Log of the mean of exp(log_function(*values)) over independent hyperpriors, by quadrature around the peak.

    Over several, the function must be a log probability, at most 0: nodes of negligible weight are then skipped.
    """
    if len(hyperpriors) > 1:
        return _log_expectation_in_a_box(log_function, hyperpriors)
    (hyperprior,) = hyperpriors

    def log_integrand(point: float) -> float:
        value = hyperprior.from_line(point)
        log_density = hyperprior.log_density_on_line(value)
        return log_function(value) + log_density if log_density > -math.inf else -math.inf

    floor = hyperprior.to_line(NEGLIGIBLE)
    peak = max(mode_on_line(log_integrand, hyperprior), floor)
    height = log_integrand(peak)
    if height == -math.inf:
        return -math.inf
    ends = []
    for direction in (-1.0, 1.0):
        reach = 0.05
        while log_integrand(peak + direction * reach) > height - _LOG_CUT and (direction > 0 or peak - reach > floor):
            reach *= 1.5
        ends.append(max(peak + direction * reach, floor))
    edges = np.concatenate([np.linspace(ends[0], peak, 9)[:-1], np.linspace(peak, ends[1], 9)])
    points, widths = panel_nodes(edges)
    lowest = hyperprior.from_line(ends[0])
    with np.errstate(divide="ignore"):
        terms = np.log(widths) + np.array([log_integrand(float(point)) for point in points])
        atom = float(np.log(hyperprior.cdf(lowest)))
    return float(logsumexp(np.append(terms, atom + log_function(lowest))))


def _log_expectation_in_a_box(log_function: Callable[..., float], hyperpriors: Sequence[Hyperprior]) -> float:
    """The same over several: a coarse scan finds the box outside which the integrand is negligible, then a grid.

    What a hyperprior has beyond the box is an atom at its end, where the integrand is negligible or equals its limit.
    """
    coarse = [hyperprior.grid(1.0, 1e-18) for hyperprior in hyperpriors]
    heights = _log_terms(log_function, coarse, -100.0)
    if heights.max() == -np.inf:
        return -math.inf
    inside = heights > heights.max() - _LOG_CUT
    nodes = []
    for axis, (hyperprior, (values, _)) in enumerate(zip(hyperpriors, coarse, strict=True)):
        others = tuple(other for other in range(len(coarse)) if other != axis)
        kept = np.flatnonzero(inside.any(axis=others))
        points = np.array([hyperprior.to_line(float(value)) for value in values])
        low, high = points[max(kept[0] - 1, 0)], points[min(kept[-1] + 1, len(points) - 1)]
        n_nodes = max(_LEAST_NODES, math.ceil((high - low) / (STEP * hyperprior.strip)) + 1)
        nodes.append(hyperprior.trapezoid(float(low), float(high), n_nodes))
    return float(logsumexp(_log_terms(log_function, nodes, float(heights.max()) - _LOG_CUT)))


def _log_terms(
    log_function: Callable[..., float], nodes: Sequence[tuple[FloatArray, FloatArray]], least: float
) -> FloatArray:
    """Log of weight times function on the product of nodes; terms whose log weight is below `least` are left out."""
    with np.errstate(divide="ignore"):
        logs = [np.log(weights) for _, weights in nodes]
    terms = np.full([len(values) for values, _ in nodes], -np.inf)
    for at in product(*(range(len(values)) for values, _ in nodes)):
        log_weight = sum(float(log[i]) for log, i in zip(logs, at, strict=True))
        if log_weight > least:
            terms[at] = log_weight + log_function(*(float(values[i]) for (values, _), i in zip(nodes, at, strict=True)))
    return terms


def panel_nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss-Legendre panels between these edges."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half = np.diff(edges)[:, None] / 2
    centre = (edges[1:] + edges[:-1])[:, None] / 2
    return (centre + half * nodes).ravel(), (half * weights).ravel()
