"""Raftery and Lewis against chains of two states whose transition probabilities are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2_contingency, norm

from countless.posterior.raftery import raftery_lewis, second_order_statistic, transitions, two_states

PAIRS = [(0.1, 0.3), (0.02, 0.5), (0.4, 0.4), (0.7, 0.9), (0.005, 0.01), (0.5, 0.5)]


def two_state_chain(rng, alpha, beta, shape):
    """Chains of states 0 and 1, from their stationary law."""
    n_chains, n_draws = shape
    states = np.empty(shape, dtype=np.int64)
    states[:, 0] = rng.random(n_chains) < alpha / (alpha + beta)
    uniforms = rng.random(shape)
    for t in range(1, n_draws):
        leaves = uniforms[:, t] < np.where(states[:, t - 1] == 1, beta, alpha)
        states[:, t] = np.where(leaves, 1 - states[:, t - 1], states[:, t - 1])
    return states


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_burn_in_is_the_first_power_of_the_transition_matrix_that_is_close_to_stationary(alpha, beta):
    moves = np.array([[1.0 - alpha, alpha], [beta, 1.0 - beta]])
    stationary = np.array([beta, alpha]) / (alpha + beta)
    found, _ = two_states(alpha, beta, tolerance=0.001)
    power, steps = np.eye(2), 0
    while np.abs(power - stationary).max() > 0.001 * (1.0 + 1e-9):
        power, steps = power @ moves, steps + 1
    assert found == steps


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_variance_of_the_mean_is_that_of_the_fundamental_matrix(alpha, beta):
    """Kemeny and Snell: n Var(mean of f) -> 2 <f, Z f> - <f, f> for centred f, in the stationary inner product."""
    moves = np.array([[1.0 - alpha, alpha], [beta, 1.0 - beta]])
    stationary = np.array([beta, alpha]) / (alpha + beta)
    fundamental = np.linalg.inv(np.eye(2) - moves + stationary)
    centred = np.array([0.0, 1.0]) - stationary[1]
    expected = 2.0 * stationary @ (centred * (fundamental @ centred)) - stationary @ centred**2
    assert two_states(alpha, beta)[1] == pytest.approx(expected, rel=1e-9)


def test_independent_draws_need_the_minimum():
    z = norm.ppf(0.975)
    found = raftery_lewis(np.random.default_rng(5).normal(size=20_000))
    assert found.minimum == 3746 == math.ceil(z**2 * 0.025 * 0.975 / 0.005**2)
    assert found.thin == 1
    # n is z^2 alpha beta (2 - alpha - beta) / (alpha + beta)^3 / r^2, and beta is known to about 1 / sqrt(500).
    assert found.dependence == pytest.approx(1.0, abs=4 * 2 / math.sqrt(500))
    assert found.is_enough


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.3), (0.02, 0.5), (0.4, 0.4)])
def test_run_length_of_a_known_chain(rng, alpha, beta):
    n = 100_000
    chain = 1 - two_state_chain(rng, alpha, beta, (1, n))[0]  # state 1 is the value below the quantile
    found = raftery_lewis(chain, quantile=0.01)
    burn_in, spread = two_states(alpha, beta)
    expected = burn_in + spread * norm.ppf(0.975) ** 2 / 0.005**2
    # Standard errors of the two transition probabilities, through the derivatives of the length.
    share = alpha / (alpha + beta)
    errors = math.sqrt(alpha * (1 - alpha) / (n * (1 - share))), math.sqrt(beta * (1 - beta) / (n * share))
    moved = [abs(two_states(alpha + errors[0], beta)[1] - spread), abs(two_states(alpha, beta + errors[1])[1] - spread)]
    tolerance = 4.0 * math.hypot(*moved) / spread
    assert found.thin == 1
    assert found.total == pytest.approx(expected, rel=tolerance + 1e-3)
    assert found.burn_in == pytest.approx(burn_in, abs=1.0 + 0.05 * burn_in)


def test_several_chains_share_their_transitions(rng):
    chains = 1 - two_state_chain(rng, 0.1, 0.3, (8, 12_500))
    alone = raftery_lewis(chains[0], quantile=0.01)
    together = raftery_lewis(chains, quantile=0.01)
    assert together.available == 8 * alone.available
    assert together.reached == pytest.approx(alone.reached / math.sqrt(8), rel=0.1)
    up, down = transitions(chains == 0)
    assert (up, down) == pytest.approx((0.1, 0.3), abs=0.01)


def test_a_chain_that_stands_still_every_second_step_is_thinned_by_two(rng):
    chain = 1 - np.repeat(two_state_chain(rng, 0.3, 0.4, (1, 20_000))[0], 2)
    found = raftery_lewis(chain, quantile=0.01)
    assert found.thin == 2
    once = raftery_lewis(chain[::2], quantile=0.01)
    assert once.thin == 1
    assert found.total == 2 * once.total


def test_order_is_tested_as_independence_of_the_first_and_third_given_the_second(rng):
    counts = rng.integers(1, 50, size=(2, 2, 2))
    expected = sum(
        chi2_contingency(counts[:, b, :], correction=False, lambda_="log-likelihood").statistic for b in range(2)
    )
    assert second_order_statistic(counts) == pytest.approx(expected, rel=1e-9)
    assert second_order_statistic(np.zeros((2, 2, 2), dtype=np.int64)) == 0.0


def test_the_precision_that_is_reached_is_the_deviation_of_the_estimate(rng):
    n, replicates = 400, 300
    chains = 1 - two_state_chain(rng, 0.2, 0.3, (replicates, n))
    shares = np.mean(chains == 0, axis=1)
    reached = raftery_lewis(chains[:20], quantile=0.01).reached * math.sqrt(20)
    assert reached / norm.ppf(0.975) == pytest.approx(shares.std(ddof=1), rel=4.0 / math.sqrt(2 * replicates))


def test_short_chains_say_that_more_is_needed(rng):
    found = raftery_lewis(rng.normal(size=(4, 250)))
    assert found.total > found.available
    assert not found.is_enough
    assert "more draws needed" in str(found)
    assert found.reached > 0.005


def test_chains_that_never_cross_need_no_finite_number():
    found = raftery_lewis(np.repeat([[2.0], [5.0]], 100, axis=1))
    assert found.total == math.inf
    assert not found.is_enough
    assert "cannot be told" in str(found)


def test_a_constant_has_nothing_to_estimate():
    found = raftery_lewis(np.full((4, 50), 2.0))
    assert found.is_constant
    assert found.is_enough
    assert str(found) == "the same in all draws"


def test_strict_alternation_never_forgets():
    assert two_states(1.0, 1.0) == (math.inf, 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"draws": [1.0, 2.0]}, "draws must be finite numbers"),
        ({"draws": [1.0, np.nan, 2.0, 3.0]}, "draws must be finite numbers"),
        ({"draws": [1.0, 2.0, 3.0], "quantile": 1.0}, r"quantile must be between 0 and 1, got 1\.0"),
        ({"draws": [1.0, 2.0, 3.0], "precision": 0.0}, "precision must be above 0 and below 1"),
    ],
)
def test_errors_are_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        raftery_lewis(**given)
