"""R-hat and effective draws against ArviZ, and effective draws of events against their Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest

from countless.core import convergence

arviz_stats = pytest.importorskip("arviz_stats.base").array_stats


def _autoregressive(rng, shape, memory):
    values, noise = np.zeros(shape), rng.normal(size=shape)
    values[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        values[:, t] = memory * values[:, t - 1] + noise[:, t]
    return values


def _cases(rng):
    for memory in (-0.9, -0.3, 0.0, 0.5, 0.95, 1.0):
        for n_chains, n_draws in ((1, 50), (2, 4), (2, 7), (3, 101), (4, 250)):
            values = _autoregressive(rng, (n_chains, n_draws), memory)
            yield from (values, values + rng.normal(size=(n_chains, 1)), np.round(values))
            yield (values > np.quantile(values, 0.9)).astype(float)


def test_they_are_those_of_arviz(rng):
    compared = 0
    for values in _cases(rng):
        if np.ptp(values) == 0.0 or not np.ptp(values, axis=1).any():
            continue
        with np.errstate(all="ignore"):
            bulk = float(arviz_stats.ess(values, method="bulk"))
            tail = float(arviz_stats.ess(values, method="tail", prob=(0.05, 0.95)))
            rhat = float(arviz_stats.rhat(values, method="rank")) if len(values) > 1 else np.nan
        for mine, theirs in (
            (convergence.bulk_effective(values), bulk),
            (convergence.tail_effective(values), tail),
            (convergence.rank_rhat(values), rhat),
        ):
            if np.isfinite(theirs):
                assert mine == pytest.approx(theirs, rel=1e-9)
                compared += 1
    assert compared > 250


def test_constants():
    assert convergence.rank_rhat(np.full((3, 10), 2.0)) == 1.0
    assert convergence.rank_rhat(np.repeat([[1.0], [2.0]], 10, axis=1)) == np.inf
    assert convergence.effective(np.full((3, 10), 2.0)) == 30.0


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_effective_draws_of_an_event_tell_the_error_of_its_probability(probability, rng):
    """Two states that last: the variance of their share is known, and that of n draws of an even chance is 1 / (4 n).

    With a chance of 0.9 to stay, neighbours have a correlation of 0.9, and n draws are worth n / 19.
    """
    stay, runs, n_draws = 0.9, 150, 1500
    said = []
    for _ in range(runs):
        state = rng.random(4) < probability
        happens = np.empty((4, n_draws), dtype=bool)
        for t in range(n_draws):
            state = np.where(rng.random(4) > stay, rng.random(4) < probability, state)
            happens[:, t] = state
        said.append(np.log(convergence.event_effective(happens)))
    exact = 4 * n_draws / 19.0 / (4.0 * probability * (1.0 - probability))
    error = np.std(said) / np.sqrt(runs)
    assert abs(np.mean(said) - np.log(exact)) < 4.0 * error + 0.05  # the estimate is biased by a few per cent


def test_the_cap_of_an_event_is_the_number_of_draws():
    happens = np.zeros((4, 100), dtype=bool)
    happens[0, 50] = True
    assert convergence.event_effective(happens) == 400.0
    assert convergence.event_effective(~happens) == 400.0
