"""Hyperparameters that nobody has set: what kernels make of offsets, and draws against enumeration times quadrature."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from cases import FAMILY_CASES
from countless.chains.schedule import Schedule
from countless.families import FAMILIES, Table, verbs
from countless.families.learnable import Law
from countless.inference import CollapsedGibbs, Gibbs, Problem, SingleSiteGibbs, State
from countless.models.mixture.moves.blocked import BlockedSweep
from countless.models.mixture.moves.hyperparameters import LearnHyperparameters, climb_hyperparameters
from countless.partitions.moves.sweeps import SingleSiteSweep
from countless.priors import CRP, FiniteDirichlet
from helpers import batch_error

from ..chains import LIMIT, WARMUP, excess
from ..enumeration import log_evidences, log_priors
from ..problems import example

N_ROWS = 5
# Nodes of the trapezoid rule along each of two offsets, and how far from their centre there are any, in deviations of
# their joint law. With 41 nodes and no end the posterior changes by 4e-5 at most, mean and variance by 3e-4: far less
# than the Monte Carlo error.
N_NODES = {"poisson": 31, "bernoulli": 21, "gaussian strength and dof": 21}
FAR = 5.0
RESTAURANT = CRP(1.0)
LABELS = np.array([0, 0, 1, 1, 0, 2, 2])
LEARNING = [name for name, cls in FAMILIES.items() if cls.spreads and name in FAMILY_CASES]


def _learning(name, **given):
    """Rows of a family with every hyperparameter left open but those given."""
    X = FAMILY_CASES[name].suitable((7, 3))
    family = FAMILIES[name](**given)
    return Problem.of(X, family.resolve(X), CRP(1.0), left_open=family.left_open()).learning()


def _mixed_table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(7, 2)), columns=["x", "y"])
    frame.loc[2, "y"] = np.nan
    frame["count"], frame["code"] = rng.poisson(2.0, 7), ["a", "b", "c", "a", None, "b", "c"]
    table = Table({"x": "gaussian", "y": "gaussian", "count": "poisson", "code": "categorical"})
    family, rows = table.read(frame)
    return Problem.of(rows, family.resolve(rows), CRP(1.0), left_open=family.left_open()).learning()


def _problem(name):
    return _mixed_table() if name == "table" else _learning(name)


@pytest.mark.parametrize("name", [*LEARNING, "table"])
def test_kernels_and_families_mean_the_same_by_offsets(name, rng):
    """Evidences under hyperparameters that a kernel has set are those of the family with the same offsets."""
    problem = _problem(name)
    offsets = rng.normal(0.0, 0.5, len(problem.law.spreads)) * (problem.law.spreads > 0)
    learned = State(problem, LABELS, 1.0)
    learned.set_offsets(offsets)
    plain = State(replace(problem.tuned(problem.law.by_name(offsets)), law=None), LABELS, 1.0)
    assert learned.log_joint() - learned.log_hyperprior == pytest.approx(plain.log_joint(), rel=1e-9)
    np.testing.assert_allclose(learned.log_new, plain.log_new, rtol=1e-9)


@pytest.mark.parametrize("name", LEARNING)
def test_evidences_are_those_of_the_oracle(name, rng):
    """By mpmath, for the family with some offsets, in the units of the arithmetic."""
    problem = _learning(name)
    offsets = rng.normal(0.0, 0.5, len(problem.law.spreads))
    learned = problem.learned(offsets)
    rows = problem.table.local(problem.X)
    state = State(learned, np.zeros(7, dtype=np.int64), 1.0)
    found = verbs.log_marginal(state.hyper, *state.clusters.arrays[:2], int(state.seats.in_use[0]))
    assert found == pytest.approx(float(FAMILY_CASES[name].log_evidence(learned.family, rows)), rel=1e-8)


@pytest.mark.parametrize("name", [*LEARNING, "table"])
def test_what_depends_on_a_number_changes_as_the_evidence_does(name, rng):
    problem = _problem(name)
    state = State(problem, LABELS, 1.0)
    hyper, clusters = state.hyper, state.clusters.arrays
    at = 0
    for j in range(verbs.n_parts(hyper)):
        for c in range(verbs.n_learned(hyper, j)):
            changes = []
            for k in state.seats.in_use:
                values = []
                for offset in (0.3, -0.4):
                    verbs.set_learned(hyper, problem.base, j, c, offset)
                    part = verbs.learned_evidence(hyper, *clusters[:2], k, j, c, clusters.work)
                    verbs.refresh(hyper, *clusters[:2], k, clusters.work)
                    values.append((part, verbs.log_marginal(hyper, *clusters[:2], k)))
                changes.append(np.subtract(*values))
            verbs.set_learned(hyper, problem.base, j, c, 0.0)
            np.testing.assert_allclose(*np.transpose(changes), rtol=1e-7, atol=1e-9)
            at += 1
    assert at == len(problem.law.spreads)


@pytest.mark.parametrize("name", LEARNING)
def test_what_is_given_stays(name, rng):
    X = FAMILY_CASES[name].suitable((7, 3))
    first = next(iter(FAMILIES[name].spreads))
    family = FAMILIES[name](**{first: getattr(FAMILIES[name]().resolve(X), first)})
    problem = Problem.of(X, family.resolve(X), CRP(1.0), left_open=family.left_open()).learning()
    if problem.law is None:
        assert FAMILIES[name]().offered() == (first,)
        return
    assert first not in problem.law.places
    state = State(problem, LABELS, 1.0)
    for _ in range(5):
        LearnHyperparameters().step(rng, state)
    learned = problem.tuned(state.log_factors).family
    assert np.array_equal(_ravel(getattr(learned, first)), _ravel(getattr(problem.untuned, first)))
    assert any(np.any(value != 0.0) for value in state.log_factors.values())


def _ravel(value):
    return np.concatenate([np.ravel(part) for part in value]) if isinstance(value, tuple) else np.ravel(value)


@pytest.mark.parametrize("name", [*LEARNING, "table"])
def test_the_climb_ends_at_a_mode(name):
    """Never lower than where it began, and no number has a higher place nearby."""
    state = State(_problem(name), LABELS, 1.0)
    before = state.log_joint()
    for _ in range(6):
        climb_hyperparameters(state)
    top = state.log_joint()
    assert top >= before
    found = state.offsets.copy()
    for at in np.flatnonzero(state.problem.law.spreads > 0):
        for step in (-0.1, 0.1):
            other = found.copy()
            other[at] += step * state.problem.law.spreads[at]
            state.set_offsets(other)
            assert state.log_joint() < top + 1e-2


# --- draws against enumeration and quadrature -------------------------------------------------------------------------

# Engine by the moves of a sweep; example of seven rows; learned hyperparameters; their spread.
SAMPLERS = {
    "gibbs": CollapsedGibbs().schedule,
    "uncollapsed": Gibbs().schedule,
    "single-site": SingleSiteGibbs().schedule,
}
CASES = {
    "poisson": ("poisson", ("shape", "rate")),
    "bernoulli": ("bernoulli", ("a", "b")),
    "gaussian mean": ("gaussian", ("mean",)),
    "gaussian strength and dof": ("gaussian", ("mean_strength", "dof")),
    "gaussian scale": ("gaussian", ("scale",)),
    "known covariance": ("gaussian-known-covariance", ("covariance",)),
}
N_DRAWS = {"gibbs": 3_000, "uncollapsed": 3_000, "single-site": 2_500}
# Sweeps per draw: the criterion is that of independent draws, and a sampler with a parameter per row moves slowly.
THIN = {"gibbs": 4, "uncollapsed": 2, "single-site": 20}


def _one_column(case, prior):
    """Five rows of one column, where at most two numbers are learned."""
    name, names = CASES[case]
    family, X = example(name)
    rows = np.ascontiguousarray(X[:N_ROWS, :1])
    return Problem.of(rows, type(family)().resolve(rows), prior, left_open=names).learning()


@cache
def _grid(case):
    """Values of the learned offsets, their log densities, and log evidences of all partitions at each of them."""
    problem = _one_column(case, RESTAURANT)
    law = problem.law
    learned = np.flatnonzero(law.spreads > 0)
    axes = [np.linspace(-4.5, 4.5, 31 if len(learned) == 1 else N_NODES[case]) * law.deviations[at] for at in learned]
    points = np.array(list(product(*axes)))
    together = law.common**2 * np.outer(law.strengths, law.strengths)[np.ix_(learned, learned)]
    heights = multivariate_normal(cov=np.diag(law.spreads[learned] ** 2) + together).logpdf(points)
    near = heights > heights.max() - 0.5 * FAR**2
    points, heights = points[near], heights[near]
    rows = problem.table.local(problem.X)
    table = []
    for point in points:
        offsets = np.zeros(len(law.spreads))
        offsets[learned] = point
        table.append(log_evidences(problem.untuned.with_tuned(law.by_name(offsets)), rows))
    return points, heights, np.array(table)


def _exact(case, prior):
    """Posterior of the partitions; mean and variance of the first offset: the trapezoid rule."""
    points, heights, evidences = _grid(case)
    log_joint = evidences + heights[:, None] + log_priors(prior, N_ROWS)
    joint = np.exp(log_joint - logsumexp(log_joint))
    weight = joint.sum(axis=1)
    mean = weight @ points[:, 0]
    return joint.sum(axis=0), mean, weight @ (points[:, 0] - mean) ** 2


def _draws(problem, schedule, rng, n_draws, thin=2):
    state = problem.state(np.zeros(problem.n_rows, dtype=np.int64))
    first = np.flatnonzero(problem.law.spreads > 0)[0]
    labels, offsets = np.empty((n_draws, problem.n_rows), dtype=np.int64), np.empty(n_draws)
    for draw in range(-WARMUP, n_draws):
        for _ in range(thin):
            schedule.step(rng, state)
        if draw >= 0:
            labels[draw] = state.partition()
            offsets[draw] = state.offsets[first]
    return labels, offsets


def _agrees(labels, offsets, exact, rng):
    posterior, mean, variance = exact
    squares = (offsets - mean) ** 2
    return (
        excess(labels, posterior, rng) <= LIMIT
        and abs(offsets.mean() - mean) <= 4.0 * batch_error(offsets)
        and abs(squares.mean() - variance) <= 4.0 * batch_error(squares)
    )


def _passes(case, schedule, rng, n_draws, thin=2, prior=RESTAURANT):
    """Whether the draws of these moves agree with the exact posterior."""
    draws = _draws(_one_column(case, prior), schedule, rng, n_draws, thin)
    return _agrees(*draws, _exact(case, prior), rng)


@pytest.mark.parametrize("case", CASES)
def test_partitions_and_hyperparameters(case, rng):
    assert _passes(case, SAMPLERS["gibbs"](), rng, N_DRAWS["gibbs"], THIN["gibbs"])


@pytest.mark.parametrize(
    ("sampler", "case"),
    [
        ("uncollapsed", "poisson"),
        ("single-site", "gaussian mean"),
        pytest.param("uncollapsed", "gaussian mean", marks=pytest.mark.slow),
        pytest.param("single-site", "poisson", marks=pytest.mark.slow),
    ],
)
def test_samplers_that_keep_parameters(sampler, case, rng):
    assert _passes(case, SAMPLERS[sampler](), rng, N_DRAWS[sampler], THIN[sampler])


def test_sticks(rng):
    """With as many sticks as components, the truncated prior is the prior itself."""
    schedule = Schedule([LearnHyperparameters(), BlockedSweep(4, 4)])
    assert _passes("poisson", schedule, rng, 4_000, prior=FiniteDirichlet(4, 2.0))


class _Blind:
    """Draws hyperparameters from their prior, whatever the clusters."""

    name = "blind"

    def step(self, rng, state):
        state.set_offsets(state.problem.law.sample(rng))


class _Loose(LearnHyperparameters):
    """The move with a prior twice as wide as that of the model."""

    def step(self, rng, state):
        law = state.problem.law
        object.__setattr__(state.problem, "law", Law(law.places, 2.0 * law.spreads, law.strengths, 2.0 * law.common))
        super().step(rng, state)
        object.__setattr__(state.problem, "law", law)


@pytest.mark.parametrize("broken", [_Blind, _Loose])
def test_a_broken_move_fails(broken, rng):
    schedule = Schedule([*CollapsedGibbs().schedule().moves[:-1], broken()])
    assert not _passes("poisson", schedule, rng, N_DRAWS["gibbs"])


def test_a_broken_move_fails_where_parameters_are_kept(rng):
    schedule = Schedule([SingleSiteSweep(), _Blind()])
    assert not _passes("gaussian mean", schedule, rng, N_DRAWS["single-site"], THIN["single-site"])
