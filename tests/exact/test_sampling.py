"""Sweep and split-merge draw every partition of seven rows as often as the exact posterior says.

Every family with sweeps and split-merge, the priors in turn; every prior with one family; all pairs with ``-m slow``.
The frequencies of 20,000 draws may differ from the posterior by 1.5 times the total variation that 20,000 independent
draws show on average.
"""

from __future__ import annotations

import numpy as np
import pytest

from countless.inference import Problem
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep

from .chains import LIMIT, N_DRAWS, Proposals, Rarely, excess, run_chain
from .enumeration import exact_posterior, frequencies, partitions, total_variation
from .problems import EXAMPLES, PRIORS, example

# A sweep asks the prior for its table and the family for scores; neither knows of the other.
WITH_EVERY_PRIOR = ("gaussian", "poisson")
every_pair = pytest.mark.parametrize(
    ("name", "prior"),
    [
        pytest.param(name, prior, marks=() if name == "poisson" else pytest.mark.slow)
        for name in EXAMPLES
        for prior in PRIORS
    ],
)


def _in_turn(first, quick=EXAMPLES):
    """Every example with one prior, beginning with the given one; each prior has its turn."""
    priors = list(PRIORS)
    return pytest.mark.parametrize(
        ("name", "prior"),
        [
            pytest.param(name, priors[(first + at) % len(priors)], marks=() if name in quick else pytest.mark.slow)
            for at, name in enumerate(EXAMPLES)
        ],
    )


def _problem(name, prior):
    family, X = example(name)
    return Problem.of(X, family, PRIORS[prior]), exact_posterior(family, X, PRIORS[prior])


def test_all_partitions_are_listed_once():
    found = partitions(7)
    assert len(found) == 877  # the seventh Bell number
    assert len(np.unique(found, axis=0)) == 877
    renamed = found[:, ::-1].max() - found  # any other names of the clusters
    np.testing.assert_array_equal(frequencies(renamed), np.full(877, 1 / 877))


@every_pair
def test_the_problem_can_tell_right_from_wrong(name, prior, rng):
    """Several partitions share the posterior, and independent draws meet the criterion with room to spare."""
    posterior = _problem(name, prior)[1]
    assert posterior.sum() == pytest.approx(1.0, rel=1e-12)
    assert posterior.max() < 0.6
    assert np.sum(posterior > 0.02) >= 3
    samples = rng.multinomial(N_DRAWS, posterior, size=300) / N_DRAWS
    shown = np.array([total_variation(sample, posterior) for sample in samples])
    assert shown.mean() + 5.0 * shown.std() < LIMIT * shown.mean()


@every_pair
def test_sweep(name, prior, rng):
    problem, posterior = _problem(name, prior)
    draws = run_chain(problem, [GibbsSweep()], rng, thin=2)
    assert excess(draws.labels, posterior, rng) <= LIMIT


@_in_turn(2)
def test_sweep_and_split_merge(name, prior, rng):
    problem, posterior = _problem(name, prior)
    draws = run_chain(problem, [GibbsSweep(), SplitMerge(3)], rng)
    assert excess(draws.labels, posterior, rng) <= LIMIT


@_in_turn(0, quick=WITH_EVERY_PRIOR)
def test_split_merge_with_rare_sweeps(name, prior, rng):
    """One sweep in fifty rounds of twenty proposals."""
    problem, posterior = _problem(name, prior)
    draws = run_chain(problem, [Rarely(GibbsSweep(), 50), SplitMerge(20)], rng)
    assert excess(draws.labels, posterior, rng) <= LIMIT


@pytest.mark.parametrize(
    ("name", "prior"),
    [
        pytest.param(name, prior, marks=() if at == also else pytest.mark.slow)
        for also, name in enumerate(WITH_EVERY_PRIOR)
        for at, prior in enumerate(PRIORS)
    ],
)
@pytest.mark.parametrize("counts", [(20, 0), (0, 20)], ids=["halves", "parts"])
def test_proposals_of_one_kind_alone(name, prior, counts, rng):
    """Merges lead to one cluster and splits from there to any partition, so no sweep is needed at all."""
    problem, posterior = _problem(name, prior)
    draws = run_chain(problem, [Proposals(*counts)], rng)
    assert excess(draws.labels, posterior, rng) <= LIMIT


def test_rows_that_are_visited_more_often(rng):
    """An order of visits that the warm-up has chosen is as good as any other."""
    problem, posterior = _problem("gaussian", "crp")
    sweep = GibbsSweep()
    sweep.restore({"rates": [900, 0, 0, 500, 0, 0, 30]})
    draws = run_chain(problem, [sweep], rng)
    assert excess(draws.labels, posterior, rng) <= LIMIT
