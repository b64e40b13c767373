"""Calibration: where the truth ranks among draws given data that it has made (Talts et al. 2018)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from countless.models.mixed_effects.moves.given import DrawNoise

from .test_geweke import FAMILIES, BySubjects, Model

N_SETS, N_DRAWS, THIN, WARMUP, BINS = 200, 49, 10, 150, 10
VISITS = (3, 1, 2, 4) * 4
# One false alarm in a thousand runs of these tests, by Bonferroni.
LEVEL = 1e-3 / 6


def _ranks(name, rng, change=lambda moves: moves):
    """Ranks of noise, fixed effect and number of clusters, from 0 to 49; equal numbers are parted at random."""
    from countless.chains import Schedule

    model = Model(FAMILIES[name], VISITS)
    ranks = {"noise": [], "fixed": [], "clusters": []}
    for _ in range(N_SETS):
        labels, effects, fixed, precision = model.prior(rng)
        problem = model.problem(model.outcomes(effects, fixed, precision, rng))
        state, schedule = problem.start("one", 0, rng), Schedule(change(model.schedule().moves))
        draws = []
        for sweep in range(WARMUP + N_DRAWS * THIN):
            schedule.step(rng, state)
            if sweep >= WARMUP and sweep % THIN == 0:
                units = problem.units
                gamma = float((state.fixed * units.fixed_scale + units.fixed_centre)[0])
                draws.append((state.noise_precision / units.noise**2, gamma, state.n_clusters))
        truth = (precision[0], fixed, labels.max() + 1)
        for each, values, value in zip(ranks.values(), np.array(draws).T, truth, strict=True):
            ties = np.sum(values == value)
            each.append(np.sum(values < value) + rng.integers(ties + 1))
    return ranks


def _p_values(ranks):
    return {
        name: chisquare(np.bincount(np.array(each) * BINS // (N_DRAWS + 1), minlength=BINS)).pvalue
        for name, each in ranks.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "known"])
def test_ranks_are_uniform(name, rng):
    assert min(_p_values(_ranks(name, rng)).values()) > LEVEL


@pytest.mark.slow
def test_ranks_of_a_broken_move_are_not(rng):
    """The gamma law of the noise as the paper prints it."""

    def change(moves):
        return [BySubjects() if isinstance(move, DrawNoise) else move for move in moves]

    assert _p_values(_ranks("gaussian", rng, change))["noise"] < LEVEL / 100.0
