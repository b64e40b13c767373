"""The variational bound against the exact evidence, MAP against the exact mode, both by listing all partitions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from countless.chains import Watch
from countless.models.hmm.engines import mean_field
from countless.models.hmm.engines.map import HMMMAP
from countless.models.hmm.engines.variational import HMMVariational
from countless.models.hmm.problem import Problem
from countless.transitions import HDP, FiniteDirichlet, StickyHDP
from exact.enumeration import log_evidences, partitions
from exact.problems import EXAMPLES, example
from helpers import generator

from .exact_paths import equal, gem, prior_of_partitions

N_STEPS, N_PROBLEMS = 6, 100
LENGTHS = {"one": (6,), "two": (4, 2)}
LAWS = {
    "hdp": (HDP(1.3, 0.7), (1.3, gem(0.7), 0.0)),
    "sticky-hdp": (StickyHDP(1.3, 0.7, 2.0), (1.3, gem(0.7), 2.0)),
    "finite-dirichlet": (FiniteDirichlet(3, 2.0), (2.0, equal(3), 0.0)),
}
WATCH = Watch(progress=False)


@cache
def _log_prior(law, lengths):
    with np.errstate(divide="ignore"):
        alpha, base, kappa = LAWS[law][1]
        return np.log(prior_of_partitions(N_STEPS, LENGTHS[lengths], alpha, base, kappa))


def _random_problem(number):
    """Rows of the model itself: a path, then rows of each state."""
    rng = generator("random sequences", number)
    name = EXAMPLES[number % len(EXAMPLES)]
    law = list(LAWS)[number % len(LAWS)]
    lengths = list(LENGTHS)[number // len(LAWS) % 2]
    family, _ = example(name)
    path = LAWS[law][0].sample(LENGTHS[lengths], rng)
    rows = np.empty((N_STEPS, example(name)[1].shape[1]))
    for k in range(path.max() + 1):
        rows[path == k] = family.sample(int((path == k).sum()), rng)
    return family, rows, law, lengths, rng


def _bound(family, rows, law, lengths, rng):
    problem = Problem.of(rows, np.array(LENGTHS[lengths]), family, LAWS[law][0])
    return HMMVariational(restarts=1, sweeps=5, draws=1).run(problem, rng, WATCH).objective


@pytest.mark.parametrize("n_problems", [30, pytest.param(N_PROBLEMS, marks=pytest.mark.slow)])
def test_the_bound_is_below_the_evidence_and_never_falls(n_problems):
    gaps = []
    for number in range(n_problems):
        family, rows, law, lengths, rng = _random_problem(number)
        trace = _bound(family, rows, law, lengths, rng)
        assert np.all(np.diff(trace) >= -1e-8)
        gaps.append(logsumexp(_log_prior(law, lengths) + log_evidences(family, rows)) - trace[-1])
    assert min(gaps) >= -1e-8
    assert np.mean(gaps) < 6.0


def test_each_climb_rises_by_itself(rng):
    """The trace is not only made to rise: passes without rearrangements never lower the bound."""
    for number in range(12):
        family, rows, law, lengths, stream = _random_problem(number)
        problem = Problem.of(rows, np.array(LENGTHS[lengths]), family, LAWS[law][0])
        sums = mean_field.Sums(*_soft_sums(problem, 3, stream), 0.0)
        field = mean_field.MeanField.of(problem, LAWS[law][0], sums)
        bounds = []
        for _ in range(25):
            bound, sums = field.run()
            bounds.append(bound)
            field = field.updated(sums)
        assert np.all(np.diff(bounds) >= -1e-8)


def _soft_sums(problem, k, rng):
    shares = rng.dirichlet(np.ones(k), size=problem.n_rows)
    counts = np.zeros((k + 1, k))
    for t in range(problem.n_rows):
        if problem.first[t]:
            counts[0] += shares[t]
        else:
            counts[1:] += np.outer(shares[t - 1], shares[t])
    return shares.T @ problem.statistics(slice(None)), counts


def test_one_state_is_exact():
    family, rows = example("gaussian")
    problem = Problem.of(rows, np.array([7]), family, FiniteDirichlet(1, 1.0))
    trace = HMMVariational(restarts=1, sweeps=0, draws=1).run(problem, generator("one"), WATCH).objective
    assert trace[-1] == pytest.approx(family.log_marginal(rows), abs=1e-8)


@pytest.mark.parametrize("wrong", ["sticks", "parameters"])
def test_a_bound_that_forgets_a_divergence_is_caught(wrong, monkeypatch):
    if wrong == "sticks":
        right = mean_field.base_value
        monkeypatch.setattr(mean_field, "base_value", lambda law, base, k: right(law, base, k) + 3.0 * k)
    else:
        natural = mean_field.MeanField.naturals
        monkeypatch.setattr(mean_field.MeanField, "naturals", lambda self: (natural(self)[0], 0.0))
    excess = []
    for number in range(12):
        family, rows, law, lengths, rng = _random_problem(number)
        evidence = logsumexp(_log_prior(law, lengths) + log_evidences(family, rows))
        excess.append(_bound(family, rows, law, lengths, rng)[-1] - evidence)
    assert max(excess) > 0.1


# --- MAP -----------------------------------------------------------------------------------------------------------


@cache
def _best_over_weights(law, lengths):
    """Largest log p(path, log base weights) over base weights, for each partition, by scipy."""
    fixed = LAWS[law][0]
    return np.array([_best(fixed, z, LENGTHS[lengths]) for z in partitions(N_STEPS)])


def _best(fixed, labels, lengths):
    n = int(labels.max()) + 1
    counts = np.zeros((n + 1, n))
    at = 0
    for length in lengths:
        part = labels[at : at + length]
        counts[0, part[0]] += 1
        np.add.at(counts, (part[:-1] + 1, part[1:]), 1)
        at += length
    stay = np.zeros((n + 1, n))
    stay[1:] = np.eye(n) * fixed.stay
    totals = fixed.concentration + np.append(0.0, np.full(n, fixed.stay))

    def of_rows(weights):
        mass = fixed.concentration * weights + stay
        value = (gammaln(mass + counts) - gammaln(mass)).sum()
        return value - (gammaln(totals + counts.sum(axis=1)) - gammaln(totals)).sum()

    if isinstance(fixed, FiniteDirichlet):
        if n > fixed.n_states:
            return -np.inf
        ways = gammaln(fixed.n_states + 1) - gammaln(fixed.n_states - n + 1)
        return of_rows(np.full(n, 1.0 / fixed.n_states)) + ways

    gamma = fixed.base_concentration

    def fall(logs):
        shares = np.exp(np.append(logs, 0.0) - logsumexp(np.append(logs, 0.0)))
        # gamma^K rest^(gamma - 1) prod beta^-1, times the Jacobian of the logs: prod beta rest.
        return -(of_rows(shares[:-1]) + n * np.log(gamma) + gamma * np.log(shares[-1]))

    return -minimize(fall, np.zeros(n), method="BFGS", options={"gtol": 1e-9}).fun


@pytest.mark.parametrize("n_problems", [12, pytest.param(N_PROBLEMS, marks=pytest.mark.slow)])
def test_map_finds_the_mode(n_problems):
    """Random problems over all families; the objective never falls, and ends at that of the path."""
    hits = 0
    for number in range(n_problems):
        family, rows, law, lengths, rng = _random_problem(number)
        heights = _best_over_weights(law, lengths) + log_evidences(family, rows)
        problem = Problem.of(rows, np.array(LENGTHS[lengths]), family, LAWS[law][0])
        draws = HMMMAP(restarts=4, perturbations=4).run(problem, rng, WATCH)
        at = np.flatnonzero((partitions(N_STEPS) == draws.labels[0, 0]).all(axis=1))[0]
        assert np.all(np.diff(draws.objective) >= 0.0)
        assert draws.log_joint[0, 0] == pytest.approx(heights[at], abs=1e-5)
        assert draws.log_joint[0, 0] <= heights.max() + 1e-6
        hits += draws.log_joint[0, 0] >= heights.max() - 1e-5
    assert hits >= np.floor(0.95 * n_problems)
