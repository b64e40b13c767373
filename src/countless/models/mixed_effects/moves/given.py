"""Everything that is drawn given the labels: effects, fixed effects, noise, hyperparameters, parameters of clusters.

Given the labels all of these are the Gibbs steps of a linear mixed model with known groups. Fixed effects are drawn
with the effects integrated out, given the parameters of the clusters, and the effects right after them: a column that
is constant within subjects and the effects themselves would otherwise hold each other back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....partitions.hyperparameters import draw_offsets, n_numbers
from ..kernels.passes import add_fixed_law, effects_given


class DrawEffects:
    """Effects given the labels where they were integrated out; others have them already."""

    name = "effects"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        if state.problem.integrates:
            state.draw_effects(rng)


class LearnFamily:
    """Hyperparameters that nobody has set, given the effects and the labels, by slice sampling."""

    name = "learned hyperparameters"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        problem = state.problem
        if problem.law is None:
            return
        state.fill_plain()
        plain = state.plain
        slots = np.ascontiguousarray(state.seats.in_use)
        count = n_numbers(plain.hyper, state.n_rows)
        draw_offsets(rng, plain.hyper, problem.base, plain.arrays, slots, problem.law, state.offsets, count)


class DrawParameters:
    """Mean and covariance of each cluster given its effects."""

    name = "parameters"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        state.draw_theta(rng)


class DrawFixed:
    """Fixed effects given the parameters of the clusters, then the effects given all of these."""

    name = "fixed effects"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        labels, laws = state.partition(), state.laws
        if len(state.fixed):
            information, score = fixed_law(state.problem, laws, labels)
            factor = np.linalg.cholesky(information)
            noise = np.linalg.solve(factor.T, rng.standard_normal(len(score)))
            state.set_fixed(np.linalg.solve(information, score) + noise)
        shape = state.effects.shape
        effects_given(laws, labels, state.visits, rng.standard_normal(shape), state.effects, np.empty((0, shape[1])))
        if not state.problem.integrates:
            state.changed()


def fixed_law(problem: Any, laws: Any, labels: Any) -> tuple[Any, Any]:
    """Precision of the fixed effects, and that times their mean, given clusters and labels."""
    sums = problem.sums
    information, score = np.diag(problem.fixed_precision), problem.fixed_precision * problem.fixed_mean
    grams, moments = sums.fixed_grams, sums.fixed_moments
    add_fixed_law(laws, labels, problem.visits, sums.crosses, grams, moments, information, score)
    return information, score


class DrawNoise:
    """Precision of the noise given effects and fixed effects: a gamma law (``Noise.given``).

    Where each cluster has its own it is drawn with the other parameters of the cluster.
    """

    name = "noise"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place; it also brings up to date what was integrated out, as the last move of a sweep."""
        problem = state.problem
        if problem.noise.is_drawn:
            shape, rate = problem.noise.given(problem.sums.n_visits, float(state.squared_residuals().sum()))
            state.noise_precision = max(float(rng.standard_gamma(shape)) / rate, math.ulp(0.0))
        if problem.integrates:
            state.changed()
