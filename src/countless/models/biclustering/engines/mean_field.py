r"""Mean field for biclusterings: shares of rows and of columns in their clusters, sticks on both sides, and the bound.

    log p(X) >= E log p(X | z, w) + sum over sides of E log p(labels | v) - KL(q(v) | p(v)) + entropy of the shares

with q(z) q(w) q(v) independent items; the first term is the model's own bound (``block_models.expected``), the others
are those of a mixture (``partitions.stick_law``). Items of one side are updated together. For models whose bound is
linear in them this cannot lower it; for the others a step is halved until it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ....partitions.seats import FloatArray, IntArray
from ....partitions.stick_law import StickLaw, Sticks, expected_log_weights
from ..block_models.base import BlockModel
from ..block_models.expected import Slopes, SoftBlocks, SoftSide
from ..moves.hyperparameters import climb_lines
from ..problem import Problem

# Halvings of a step before the shares of a side are left as they are.
MOST_HALVINGS = 6
# Clusters that expect fewer items are taken out, where that does not lower the bound.
FEWEST_ITEMS = 0.05
# Passes between two climbs of the hyperparameters.
PASSES_PER_CLIMB = 5


class Terms:
    """What a bound is made of: the statistics of stored cells as sparse matrices, the laws of the sticks.

    Parameters
    ----------
    problem : Problem
        Sides must not be tied.
    """

    def __init__(self, problem: Problem) -> None:
        if problem.tied:
            raise ValueError("inference: 'variational' is not for tied=True; choose inference='map' or 'gibbs'")
        self.problem = problem
        matrix, prepared = problem.matrix, problem.table.prepared
        places = matrix.rows, matrix.columns
        self.cells = [sparse.csr_array((part, places), shape=matrix.shape) for part in prepared.statistics.T]
        self.turned = [sparse.csr_array(part.T) for part in self.cells]
        self.zero = prepared.zero
        self.laws = [StickLaw(prior, n) for prior, n in zip(problem.priors, problem.shape, strict=True)]

    def facing(self, side: int, shares: FloatArray) -> FloatArray:
        """Expected statistics of the stored cells of each item by cluster of the other side: (item, cluster, S)."""
        parts = (self.cells, self.turned)[side]
        return np.stack([np.asarray(part @ shares) for part in parts], axis=2)


@dataclass(frozen=True)
class Field:
    """Shares, sticks and hyperparameters, with the bound that they have."""

    terms: Terms
    sides: tuple[SoftSide, SoftSide]
    sticks: tuple[Sticks, Sticks]
    offsets: FloatArray

    @classmethod
    def of(cls, terms: Terms, labels: list[IntArray], offsets: FloatArray) -> Field:
        """Certain shares from labels, the largest cluster first."""
        sides, sticks = [], []
        for side, part in enumerate(labels):
            shares = np.eye(int(part.max()) + 1)[part]
            sides.append(_sorted(SoftSide(shares, terms.problem.table.prepared.weights[side])))
            law = terms.laws[side]
            sticks.append(law.update(sides[-1].sizes, law.start))
        return cls(terms, (sides[0], sides[1]), (sticks[0], sticks[1]), offsets)

    @cached_property
    def model(self) -> BlockModel:
        """The block model at these hyperparameters."""
        problem = self.terms.problem
        return problem.model.at(problem.law, self.offsets)

    @cached_property
    def soft(self) -> SoftBlocks:
        """Expected statistics of all blocks."""
        rows, columns = self.sides
        blocks = np.einsum("ik,ils->kls", rows.shares, self.terms.facing(0, columns.shares), optimize=True)
        if self.terms.zero.any():
            blocks = blocks + np.outer(rows.mass, columns.mass)[:, :, None] * self.terms.zero
        return SoftBlocks(np.ascontiguousarray(blocks), self.sides)

    @cached_property
    def slopes(self) -> Slopes:
        """The model's part of the bound."""
        return self.model.expected(self.soft)

    @cached_property
    def bound(self) -> float:
        """Lower bound on the log evidence, with the density of learned hyperparameters."""
        problem = self.terms.problem
        value = self.slopes.value + problem.log_outside(self.offsets) + problem.law.log_density(self.offsets)
        for side, law, sticks in zip(self.sides, self.terms.laws, self.sticks, strict=True):
            value += law.value(sticks) + float(side.sizes @ expected_log_weights(sticks)) + side.entropy
        return float(value)

    def with_shares(self, side: int, shares: FloatArray) -> Field:
        """The same with other shares of one side."""
        sides = list(self.sides)
        sides[side] = SoftSide(shares, self.sides[side].weights)
        return replace(self, sides=(sides[0], sides[1]))

    def with_sticks(self) -> Field:
        """The same with the best sticks, clusters sorted by size."""
        laws, old = self.terms.laws, self.sticks
        rows, columns = (_sorted(side) for side in self.sides)
        of_rows = laws[0].update(rows.sizes, old[0].blend)
        return replace(self, sides=(rows, columns), sticks=(of_rows, laws[1].update(columns.sizes, old[1].blend)))

    def scores(self, side: int) -> FloatArray:
        """Log of the shares of one side, up to a constant of each item, that are best where the bound is linear."""
        slopes, other = self.slopes, self.sides[1 - side]
        blocks = slopes.blocks if side == 0 else slopes.blocks.transpose(1, 0, 2)
        facing = self.terms.facing(side, other.shares)
        found = np.einsum("ils,kls->ik", facing, blocks, optimize=True)
        by_mass = slopes.masses[side] + np.einsum("kls,s,l->k", blocks, self.terms.zero, other.mass, optimize=True)
        found += self.sides[side].weights[:, None] * by_mass + expected_log_weights(self.sticks[side])
        return found if slopes.items is None else found + slopes.items[side]

    def labels(self) -> list[IntArray]:
        """The most probable cluster of each item, clusters without any left out."""
        return [_packed(side.shares.argmax(axis=1)) for side in self.sides]


def climb(field: Field, tolerance: float, most_passes: int) -> tuple[Field, list[float]]:
    """Passes over both sides until the bound rises by less than so many nats per item; the bound after each."""
    trace = [field.bound]
    enough = tolerance * sum(field.terms.problem.shape)
    for number in range(most_passes):
        for side in (0, 1):
            field = _updated(field, side)
        field = _better(field, field.with_sticks())
        field = _pruned(field)
        rising = field.bound > trace[-1] + enough
        if number % PASSES_PER_CLIMB == PASSES_PER_CLIMB - 1 or not rising:
            field = _learned(field)
        trace.append(field.bound)
        if not trace[-1] > trace[-2] + enough:
            break
    return field, trace


def _better(field: Field, trial: Field) -> Field:
    return trial if trial.bound >= field.bound else field


def _updated(field: Field, side: int) -> Field:
    """One side as its scores say; part of the way, where all of it would lower the bound."""
    old = field.sides[side].shares
    goal, step = softmax(field.scores(side), axis=1), 1.0
    for _ in range(MOST_HALVINGS):
        trial = field.with_shares(side, old + step * (goal - old) if step < 1.0 else goal)
        if trial.bound >= field.bound:
            return trial
        step *= 0.5
    return field


def _pruned(field: Field) -> Field:
    """Without clusters that expect next to no items."""
    for side in (0, 1):
        keep = field.sides[side].sizes >= FEWEST_ITEMS
        if not keep.all() and keep.any():
            shares = field.sides[side].shares[:, keep]
            total = shares.sum(axis=1, keepdims=True)
            shares = np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), 1.0 / keep.sum())
            field = _better(field, field.with_shares(side, shares).with_sticks())
    return field


def joined(field: Field, most_pairs: int) -> Field:
    """With pairs of clusters made one, while that raises the bound; the most alike are tried first."""
    for side in (0, 1):
        while field.sides[side].shares.shape[1] > 1:
            better = _first_join(field, side, most_pairs)
            if better is None:
                break
            field = better
    return field


def _first_join(field: Field, side: int, most_pairs: int) -> Field | None:
    shares = field.sides[side].shares
    blocks = field.slopes.blocks if side == 0 else field.slopes.blocks.transpose(1, 0, 2)
    profile = blocks.reshape(len(blocks), -1)
    distance = ((profile[:, None] - profile[None]) ** 2).sum(axis=2) * np.minimum.outer(*[field.sides[side].sizes] * 2)
    one, other = np.triu_indices(len(blocks), 1)
    for at in np.argsort(distance[one, other])[:most_pairs]:
        merged = np.delete(shares, other[at], axis=1)
        merged[:, one[at]] += shares[:, other[at]]
        trial = field.with_shares(side, merged).with_sticks()
        if trial.bound > field.bound:
            return trial
    return None


def _learned(field: Field) -> Field:
    """With hyperparameters where the bound is highest given the shares."""
    problem = field.terms.problem
    if not (problem.law.spreads > 0.0).any():
        return field

    def of(offsets: FloatArray) -> float:
        value = problem.model.at(problem.law, offsets).expected(field.soft).value
        value += problem.log_outside(offsets) + problem.law.log_density(offsets)
        return value if np.isfinite(value) else -np.inf

    return _better(field, replace(field, offsets=climb_lines(problem.law, of, field.offsets)[0]))


def _sorted(side: SoftSide) -> SoftSide:
    order = np.argsort(-side.sizes, kind="stable")
    return side if np.all(order == np.arange(len(order))) else SoftSide(side.shares[:, order], side.weights)


def _packed(labels: Any) -> IntArray:
    return np.ascontiguousarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
