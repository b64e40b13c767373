"""Births and merges: moves between numbers of components, kept only if the variational bound rises.

Coordinate ascent never leaves the basin it starts in: Pletscher (2007, section 4.4) reports such optima for his Rome
setting. A birth takes rows of one component, fits a few components to them alone, and puts these in its
place; a merge adds up the statistics of two (after Hughes & Sudderth 2013). What a move promises is found on
few rows or from sums, what it gives by passes over all rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.random import spawn
from ....families import verbs
from ....families.verbs import implements
from ....partitions.seats import FloatArray, IntArray
from ....partitions.seeding import Seeds, scatter_seeds, seed_losses
from ....partitions.stick_law import StickLaw
from ....partitions.sums import NO_WEIGHTS
from ....passes.passes import Passes
from ..problem import Problem
from .mean_field import Ascent, MeanField, climb

# Rows on which a group of components is fitted afresh, and the largest group.
LOCAL_ROWS = 1000
LARGEST_GROUP = 4
# Passes after which a rearrangement must have paid off, and how many that do not are enough.
TRIAL_PASSES = 4
MOST_FAILURES = 4
# Rows that seeds are chosen from, and that the first clusters consist of.
SEED_ROWS = 2000
# A row that lacks no more nats than this is as good as a seed.
ENOUGH = 1e-12
# Nats per row below which a climb on few rows is over.
LOCAL_TOLERANCE, LOCAL_PASSES = 1e-3, 25


class Rebuilt(NamedTuple):
    """A proposal: these statistics instead of those of the components of ``group``."""

    group: list[int]
    gain: float
    statistics: FloatArray


def merge(passes: Passes, ascent: Ascent, tolerance: float) -> Ascent:
    """Join pairs of components as long as the bound rises."""
    refused: set[tuple[int, int]] = set()
    at_once = ascent.field.n_components
    pairs = _promising_pairs(ascent)
    while True:
        chosen = _disjoint([pair for pair in pairs if pair not in refused])[:at_once]
        if not chosen or passes.stopping:
            return ascent
        trial = climb(passes, ascent.field.updated(_merged(ascent.sums, chosen)), tolerance, TRIAL_PASSES)
        if trial.bound > ascent.bound + _worthwhile(passes, tolerance):
            ascent = _continued(ascent, trial)
            pairs, at_once = _promising_pairs(ascent), ascent.field.n_components
            refused.clear()
        elif len(chosen) == 1:
            refused.add(chosen[0])
            if len(refused) >= 5:
                return ascent
        else:
            at_once = max(1, len(chosen) // 4)


def join_all(passes: Passes, ascent: Ascent, tolerance: float, max_passes: int) -> Ascent:
    """Put all rows into one component with hyperparameters of its own, if that raises the bound.

    Hyperparameters that were learned with many components would not let these merge one after the other.
    """
    field = ascent.field
    if field.n_components == 1:
        return ascent
    everything = ascent.sums.sum(axis=0, keepdims=True)
    start = field.learned(everything, 0.0) or field.updated(everything)
    joined = climb(passes, start, tolerance, max_passes)
    return _continued(ascent, joined) if joined.bound > ascent.bound else ascent


def rebuild(passes: Passes, ascent: Ascent, rng: np.random.Generator, tolerance: float) -> Ascent:
    """Fit groups of components afresh; the same ascent comes back where nothing raises the bound."""
    field = ascent.field
    room = field.law.most - field.n_components
    labels = passes.best(field.natural).labels
    order = np.argsort(labels, kind="stable")
    edges = np.searchsorted(labels[order], np.arange(field.n_components + 1))
    groups = _groups(ascent, rng)
    streams = spawn(rng, len(groups))

    def propose(number: int) -> Rebuilt | None:
        group = groups[number]
        members = np.concatenate([order[edges[k] : edges[k + 1]] for k in group])
        owners = np.repeat(np.arange(len(group)), [edges[k + 1] - edges[k] for k in group])
        return _rebuilt(field, group, members, owners, streams[number])

    found = [proposal for proposal in map(propose, range(len(groups))) if proposal is not None]
    found = [proposal for proposal in found if len(proposal.statistics) - len(proposal.group) <= room]
    found.sort(key=lambda proposal: -proposal.gain)
    at_once = len(found)
    failures = 0
    while found and failures < MOST_FAILURES and not passes.stopping:
        chosen = found[:at_once]
        while sum(len(proposal.statistics) - len(proposal.group) for proposal in chosen) > room:
            chosen.pop()
        statistics = np.delete(ascent.sums, [k for proposal in chosen for k in proposal.group], axis=0)
        statistics = np.concatenate([statistics, *(proposal.statistics for proposal in chosen)])
        trial = climb(passes, field.updated(statistics), tolerance, TRIAL_PASSES + 2)
        if trial.bound > ascent.bound + _worthwhile(passes, tolerance):
            return _continued(ascent, trial)
        failures += 1
        if len(chosen) == 1:
            found.pop(0)
        at_once = max(1, len(chosen) // 3)
    return ascent


def _groups(ascent: Ascent, rng: np.random.Generator) -> list[list[int]]:
    """Components dealt out into groups of one to four that are close to each other."""
    n_components = ascent.field.n_components
    closeness = np.full((n_components, n_components), -np.inf)
    k, other, gains = _merge_evidences(ascent)
    closeness[k, other] = closeness[other, k] = gains
    left = set(range(n_components))
    groups = []
    for first in rng.permutation(n_components):
        if first in left:
            size = int(rng.integers(1, LARGEST_GROUP + 1))
            near = [int(k) for k in np.argsort(-closeness[first], kind="stable") if k in left and k != first]
            group = [int(first), *near[: size - 1]]
            left.difference_update(group)
            groups.append(group)
    return groups


def _worthwhile(passes: Passes, tolerance: float) -> float:
    """Nats that a rearrangement must gain: more than the climb, had it gone on a little, might have gained as well."""
    return max(0.1, 0.1 * tolerance * passes.total_weight)


def _continued(before: Ascent, after: Ascent) -> Ascent:
    """The later ascent with the history of the earlier one; steps below where it stood were a detour."""
    trace = before.trace + tuple(value for value in after.trace if value > before.trace[-1])
    return Ascent(after.field, after.bound, after.sums, trace)


def _merged(statistics: FloatArray, pairs: list[tuple[int, int]]) -> FloatArray:
    out = statistics.copy()
    for k, other in pairs:
        out[k] += out[other]
    return np.delete(out, [other for _, other in pairs], axis=0)


def _disjoint(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs in order, leaving out those that share a component with an earlier one."""
    used: set[int] = set()
    kept = []
    for pair in pairs:
        if used.isdisjoint(pair):
            kept.append(pair)
            used.update(pair)
    return kept


def _merge_evidences(ascent: Ascent) -> tuple[IntArray, IntArray, FloatArray]:
    """All pairs of components, and the evidence of each union minus those of its parts."""
    k, other = np.triu_indices(len(ascent.sums), 1)
    evidences, gains = np.empty(len(ascent.sums)), np.empty(len(k))
    problem = ascent.field.problem
    _merge_gains(problem.hyper, ascent.sums, *problem.slot(), k, other, evidences, gains)
    return k, other, gains


def _promising_pairs(ascent: Ascent) -> list[tuple[int, int]]:
    """Pairs, best first, whose union would raise the bound but for the entropy of q(z), which it can only lower."""
    field, sizes = ascent.field, ascent.sums[:, 0]
    k, other, gains = _merge_evidences(ascent)
    before = field.law.evidence(np.sort(sizes)[::-1], field.sticks.blend)
    for at in np.flatnonzero(gains > -math.log(1.0 + sizes.sum()) * 2.0):
        after = np.append(np.delete(sizes, [k[at], other[at]]), sizes[k[at]] + sizes[other[at]])
        gains[at] += field.law.evidence(np.sort(after)[::-1], field.sticks.blend) - before
    order = np.argsort(-gains, kind="stable")
    return [(int(k[at]), int(other[at])) for at in order if gains[at] > 0.0]


def _rebuilt(
    field: MeanField, group: list[int], members: IntArray, owners: IntArray, rng: np.random.Generator
) -> Rebuilt | None:
    """The best of a few fits to rows of the group alone, if it beats the components it has."""
    if len(members) < 2:
        return None
    if len(members) > LOCAL_ROWS:
        chosen = np.sort(rng.choice(len(members), LOCAL_ROWS, replace=False))
        members, owners = members[chosen], owners[chosen]
    # Hyperparameters are those of all rows.
    problem = replace(field.problem.some(members), law=None)
    size, most = len(group), min(field.law.most, len(members))
    with Passes(problem, n_threads=1) as passes:
        start = MeanField.of(problem, field.law, passes.sums_of(owners, size))
        now = climb(passes, start, LOCAL_TOLERANCE, LOCAL_PASSES)
        best = now
        for parts in sorted({1, size - 1, size, size + 1} if size > 1 else {2, 3, 6}):
            ascent = fit_seeds(passes, field.law, min(parts, most), rng, LOCAL_TOLERANCE, LOCAL_PASSES)
            if ascent.bound > best.bound:
                best = ascent
    if best is now:
        return None
    scale = max(float(field.statistics[group, 0].sum()), 1e-6) / passes.total_weight
    return Rebuilt(group, (best.bound - now.bound) * scale, best.sums * scale)


def fit_seeds(
    passes: Passes, law: StickLaw, n_seeds: int, rng: np.random.Generator, tolerance: float, max_passes: int
) -> Ascent:
    """Climb from clusters around seed rows that are spread out."""
    problem = passes.problem
    labels = seed_labels(problem, n_seeds, rng)
    field = MeanField.of(problem, law, passes.sums_of(labels, int(labels.max()) + 1))
    return climb(passes, field, tolerance, max_passes)


def seed_labels(problem: Problem, n_seeds: int, rng: np.random.Generator) -> IntArray:
    """Labels by the seed, a cluster of one row, that predicts a row best; beyond ``SEED_ROWS``, -1 for most rows.

    Seeds are drawn as in k-means++: the next one with probability proportional to how much worse a row is
    predicted by the seeds so far than by itself. Works for any family, with its own prior as the metric.
    """
    labels = np.full(problem.n_rows, -1, dtype=np.int64)
    chosen = np.arange(problem.n_rows)
    if problem.n_rows > SEED_ROWS:
        chosen = np.sort(rng.choice(problem.n_rows, SEED_ROWS, replace=False))
    rows = problem.table.block(chosen)
    source = Predicted(problem.hyper, rows, np.empty(len(rows)), *problem.slot())
    _predict_own(source)
    seeds = Seeds.allocate(n_seeds, len(rows))
    scatter_seeds(source, rng, NO_WEIGHTS, 1, ENOUGH, seeds)
    if seeds.losses.max() > ENOUGH:
        rng.random()  # searches have always used a number here: with it a seed gives the same result as before
    labels[chosen] = seeds.labels
    return labels


class Predicted(NamedTuple):
    """Seeds by predictives: a row loses what it is predicted worse by a cluster of one other row than by its own.

    ``own`` is the log predictive of each row given itself; the last three are room for one cluster.
    """

    family: Any
    rows: FloatArray
    own: FloatArray
    statistics: FloatArray
    cache: FloatArray
    work: FloatArray


@inner_kernel
def _alone(source, i):
    """Make the one slot the cluster of row ``i`` alone."""
    for s in range(source.statistics.shape[1]):
        source.statistics[0, s] = 0.0
    verbs.refresh(source.family, source.statistics, source.cache, 0, source.work)
    verbs.add(source.family, source.statistics, source.cache, 0, source.rows[i], source.work)


@kernel
def _predict_own(source):
    for i in range(source.own.size):
        _alone(source, i)
        source.own[i] = verbs.log_predictive(
            source.family, source.statistics, source.cache, 0, source.rows[i], source.work
        )


@implements(seed_losses, Predicted)
def _seed_losses(source, i, out):
    _alone(source, i)
    for other in range(out.size):
        out[other] = source.own[other] - verbs.log_predictive(
            source.family, source.statistics, source.cache, 0, source.rows[other], source.work
        )


@kernel
def _merge_gains(family, sums, slot, cache, work, first, second, evidences, gains):
    """Evidence of each union minus those of its parts."""
    width = sums.shape[1]
    for k in range(sums.shape[0]):
        for s in range(width):
            slot[0, s] = sums[k, s]
        verbs.refresh(family, slot, cache, 0, work)
        evidences[k] = verbs.log_marginal(family, slot, cache, 0)
    for at in range(first.size):
        k, other = first[at], second[at]
        for s in range(width):
            slot[0, s] = sums[k, s] + sums[other, s]
        verbs.refresh(family, slot, cache, 0, work)
        gains[at] = verbs.log_marginal(family, slot, cache, 0) - evidences[k] - evidences[other]
