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
from ..passes import effects_given, fixed_sums, squared_residuals


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
        problem, theta, tau = state.problem, state.theta, state.noise_precision
        labels = state.partition()
        if len(state.fixed):
            information, score = fixed_law(state, theta, labels)
            factor = np.linalg.cholesky(information)
            noise = np.linalg.solve(factor.T, rng.standard_normal(len(score)))
            state.set_fixed(np.linalg.solve(information, score) + noise)
        d = problem.n_effects
        effects_given(
            theta.means,
            theta.precisions,
            labels,
            problem.grams,
            state.moments,
            tau,
            rng.standard_normal((problem.n_subjects, d)),
            state.effects,
            np.empty((0, d)),
        )
        if not problem.integrates:
            state.changed()


def fixed_law(state: Any, theta: Any, labels: Any) -> tuple[Any, Any]:
    """Precision of the fixed effects, and that times their mean, given parameters and labels."""
    problem, tau = state.problem, state.noise_precision
    taken, score = np.zeros((len(state.fixed), len(state.fixed))), np.zeros(len(state.fixed))
    moments = problem.sums.moments
    fixed_sums(theta.means, theta.precisions, labels, problem.grams, moments, problem.sums.crosses, tau, taken, score)
    information = tau * problem.sums.fixed_gram - taken + np.diag(problem.fixed_precision)
    score = tau * problem.sums.fixed_moment - score + problem.fixed_precision * problem.fixed_mean
    return information, score


class DrawNoise:
    """Precision of the noise given effects and fixed effects: a gamma law (Raykov et al. 2016, eq. 7.3).

    Its shape grows by half the number of visits; the paper prints half the number of subjects.
    """

    name = "noise"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place; it also brings up to date what was integrated out, as the last move of a sweep."""
        problem = state.problem
        noise = problem.noise
        if noise.fixed is None:
            left = problem.square_at(state.fixed) + squared_residuals(state.effects, problem.grams, state.moments)
            shape = noise.shape + 0.5 * problem.sums.n_visits
            rate = noise.rate + 0.5 * max(float(left), 0.0)
            state.noise_precision = max(float(rng.standard_gamma(shape)) / rate, math.ulp(0.0))
        if problem.integrates:
            state.changed()
