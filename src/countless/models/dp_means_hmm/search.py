"""Descent on the small-variance objectives: whole paths, merges and splits, each made only where J falls.

For given centres and transition probabilities, the path of least cost by dynamic programming lowers an upper bound on
J that means and shares of the new path lower again. Transitions that are not in use cost their penalty at each use in
the plan, which the exact J then corrects.
"""

from __future__ import annotations

import numpy as np

from .objective import FloatArray, IntArray, Penalties, Series, cheapest_path, compacted

# A fall smaller than this, relative to J, is rounding.
ROUNDING = 1e-10
MOST_ROUNDS = 100
TRIES = 4


def descend(
    series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator, n_states: int | None = None
) -> tuple[IntArray, list[float]]:
    """The path after every kind of step has ceased to lower J, and J after each; the number of states may be given."""
    labels = compacted(labels)
    trace = [series.objective(labels, penalties)]
    for _ in range(MOST_ROUNDS):
        before = trace[-1]
        for propose in (_path, _free_path, _joined, _halved):
            trial = propose(series, labels, penalties, rng)
            if trial is None or (n_states is not None and trial.max() + 1 != n_states):
                continue
            value = series.objective(trial, penalties)
            if value < trace[-1] - ROUNDING * abs(trace[-1]):
                labels = trial
                trace.append(value)
        if not trace[-1] < before:
            break
    return labels, trace


def _planned(series: Series, labels: IntArray, penalties: Penalties, steps: FloatArray) -> IntArray:
    centres = series.centres(labels)
    costs = ((series.rows[:, None, :] - centres) ** 2).sum(axis=2)
    path = np.empty(len(labels), dtype=np.int64)
    cheapest_path(costs, series.first, np.ascontiguousarray(steps), path)
    return compacted(path)


def _step_costs(series: Series, labels: IntArray, penalties: Penalties) -> tuple[FloatArray, FloatArray]:
    counts = series.counts(labels)
    out = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    shares = np.where(counts > 0, counts, 0.5) / out
    return counts, -penalties.weight * np.log(np.minimum(shares, 1.0))


def _path(series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator) -> IntArray:
    """Among the transitions that are in use, and others at their penalty."""
    counts, costs = _step_costs(series, labels, penalties)
    return _planned(series, labels, penalties, costs + np.where(counts > 0, 0.0, penalties.transition))


def _free_path(series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator) -> IntArray:
    """All transitions at no penalty: those that come to be used often are worth theirs."""
    return _planned(series, labels, penalties, _step_costs(series, labels, penalties)[1])


def _joined(series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator) -> IntArray | None:
    """The pair of states whose union has the least J."""
    best = best_merge(series, labels, penalties)
    return None if best is None else best[1]


def best_merge(series: Series, labels: IntArray, penalties: Penalties) -> tuple[float, IntArray] | None:
    """The best union of two states: J, and the path."""
    k = int(labels.max()) + 1
    if k < 2:
        return None
    sizes, centres, counts = np.bincount(labels), series.centres(labels), series.counts(labels)
    now = series.transition_cost(counts, penalties)
    spread = float(((series.rows - centres[labels]) ** 2).sum())
    best = None
    for a in range(k):
        for b in range(a + 1, k):
            more = sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * float(((centres[a] - centres[b]) ** 2).sum())
            if best is not None and spread + more - now > best[0]:
                continue
            joined = counts.copy()
            joined[a] += joined[b]
            joined[:, a] += joined[:, b]
            joined = np.delete(np.delete(joined, b, 0), b, 1)
            value = spread + more + series.transition_cost(joined, penalties) + penalties.state * (k - 1)
            if best is None or value < best[0]:
                best = value, a, b
    assert best is not None
    trial = labels.copy()
    trial[trial == best[2]] = best[1]
    return best[0], compacted(trial)


def _halved(series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator) -> IntArray | None:
    best = best_split(series, labels, penalties, rng)
    return None if best is None else best[1]


def best_split(
    series: Series, labels: IntArray, penalties: Penalties, rng: np.random.Generator
) -> tuple[float, IntArray] | None:
    """The best division of one state into two, from some random seeds for each: J, and the path."""
    best = None
    k = int(labels.max()) + 1
    for c in range(k):
        steps = np.flatnonzero(labels == c)
        if len(steps) < 2:
            continue
        for _ in range(TRIES):
            trial = labels.copy()
            trial[steps[_two_means(series.rows[steps], rng)]] = k
            if len(np.unique(trial)) != k + 1:
                continue
            trial = _path(series, trial, penalties, rng)
            value = series.objective(trial, penalties)
            if trial.max() == k and (best is None or value < best[0]):
                best = value, trial
    return best


def _two_means(rows: FloatArray, rng: np.random.Generator) -> np.ndarray:
    """Rows nearer to the second of two centres, after some rounds of k-means."""
    first = rows[rng.integers(len(rows))]
    far = ((rows - first) ** 2).sum(axis=1)
    total = far.sum()
    centres = np.stack([first, rows[rng.choice(len(rows), p=far / total) if total > 0 else 0]])
    near = np.zeros(len(rows), dtype=bool)
    for _ in range(10):
        near = ((rows - centres[1]) ** 2).sum(axis=1) < ((rows - centres[0]) ** 2).sum(axis=1)
        if near.all() or not near.any():
            break
        centres = np.stack([rows[~near].mean(axis=0), rows[near].mean(axis=0)])
    return near
