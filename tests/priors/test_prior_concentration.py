"""Draws and modes of the concentration against quadrature of the exact conditional."""

from __future__ import annotations

import math

import numpy as np
import pytest

from countless.priors import CRP, FiniteDirichlet, Gamma, GeometricCount, MixtureOfFinite, PitmanYor
from countless.priors.concentration import slice_step
from countless.priors.verbs import Prior

SIZES = [12, 5, 3, 1, 1]
PRIORS = [
    CRP(Gamma(2.0, 1.5)),
    CRP(),
    PitmanYor(Gamma(2.0, 1.5), 0.3),
    FiniteDirichlet(8, Gamma(1.0, 0.5)),
    MixtureOfFinite(Gamma(3.0, 2.0), GeometricCount(0.3)),
]


def exact_moments(prior: Prior) -> tuple[float, float]:
    """Mean and deviation of the log concentration given SIZES, on a dense grid."""
    grid = np.linspace(-14.0, 6.0, 801)
    logs = np.array(
        [prior.with_concentration(c).log_prob_sizes(SIZES) + prior.log_concentration_prior(c) for c in np.exp(grid)]
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ grid
    return float(mean), float(np.sqrt(weights @ (grid - mean) ** 2))


def effective_size(chain: np.ndarray) -> float:
    """Draws over the autocorrelation time, summed up to the first non-positive pair (Geyer 1992)."""
    centred = chain - chain.mean()
    spectrum = np.fft.rfft(centred, 2 * chain.size)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[: chain.size]
    pairs = (correlation / correlation[0])[: chain.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0.0)) if np.any(pairs <= 0.0) else pairs.size
    return chain.size / max(2.0 * pairs[:stop].sum() - 1.0, 1.0)


def z_scores(chain: np.ndarray, prior: Prior) -> tuple[float, float]:
    mean, deviation = exact_moments(prior)
    square = (chain - mean) ** 2
    return (
        (chain.mean() - mean) / (chain.std() / math.sqrt(effective_size(chain))),
        (square.mean() - deviation**2) / (square.std() / math.sqrt(effective_size(square))),
    )


def run(step, start: float, n_draws: int) -> np.ndarray:
    chain, current = np.empty(n_draws), start
    for i in range(n_draws):
        current = step(current)
        chain[i] = math.log(current)
    return chain[100:]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_draws_follow_the_exact_conditional(prior):
    rng = np.random.default_rng(1)
    n_draws = 800 if isinstance(prior, MixtureOfFinite) else 3000
    chain = run(lambda c: prior.draw_concentration(rng, c, SIZES), prior.initial().concentration, n_draws)
    assert np.all(np.abs(z_scores(chain, prior)) < 4.0)


def test_slice_and_auxiliary_draws_agree():
    prior, rng = CRP(Gamma(2.0, 1.5)), np.random.default_rng(6)
    chain = run(lambda c: Prior.draw_concentration(prior, rng, c, SIZES), 1.0, 4000)
    assert np.all(np.abs(z_scores(chain, prior)) < 4.0)


def test_the_check_catches_a_missing_jacobian():
    # The same slice sampler on the density of the concentration itself: wrong by the factor c.
    prior, rng = CRP(Gamma(2.0, 1.5)), np.random.default_rng(6)

    def log_density(u: float) -> float:
        return CRP(math.exp(u)).log_prob_sizes(SIZES) + prior.log_concentration_prior(math.exp(u)) - u

    def broken(current: float) -> float:
        return math.exp(slice_step(log_density, math.log(current), rng))

    assert abs(z_scores(run(broken, 1.0, 4000), prior)[0]) > 6.0


def test_the_check_catches_a_wrong_auxiliary_step():
    prior, rng = CRP(Gamma(2.0, 1.5)), np.random.default_rng(6)

    def broken(current: float) -> float:  # the mixture of Escobar & West replaced by its first part
        rate = 1.5 - np.log(rng.beta(current + 1.0, sum(SIZES)))
        return Gamma(2.0 + len(SIZES), float(rate)).sample(rng)

    assert abs(z_scores(run(broken, 1.0, 4000), prior)[0]) > 6.0


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_mode_against_a_dense_grid(prior):
    mode = prior.mode_concentration(SIZES)

    def objective(c):
        return prior.with_concentration(c).log_prob_sizes(SIZES) + prior.log_concentration_prior(c)

    grid = np.exp(np.linspace(-3.0, 3.0, 301))
    heights = np.array([objective(c) for c in grid])
    assert abs(math.log(mode) - math.log(grid[heights.argmax()])) <= 0.02
    assert objective(mode) >= heights.max() - 1e-12


@pytest.mark.parametrize("sizes", [[1], [30], [1] * 30, [0, 5, 0]])
def test_extreme_partitions_have_finite_draws_and_modes(sizes):
    for prior in PRIORS:
        if len(sizes) <= prior.max_clusters(30):
            assert 0.0 < prior.mode_concentration(sizes) < math.inf
            assert 0.0 < prior.draw_concentration(0, 1.0, sizes) < math.inf


@pytest.mark.parametrize("gamma", [Gamma(1e-3, 1e-3), Gamma(1.0, 1e-8), Gamma(1.0, 1e8), Gamma(1e6, 1e6)])
@pytest.mark.parametrize("sizes", [[5000], [1] * 5000, SIZES])
def test_mode_is_stationary_for_extreme_laws(gamma, sizes):
    prior = CRP(gamma)
    mode, n, t = prior.mode_concentration(sizes), sum(sizes), len(sizes)
    slope = t + gamma.shape - gamma.rate * mode - prior.with_concentration(mode).expected_clusters(n)
    assert abs(slope) < 1e-4 * (t + gamma.shape)


def test_a_fixed_concentration_stays():
    for prior in (CRP(2.0), PitmanYor(2.0, 0.2), MixtureOfFinite()):
        current = prior.initial().concentration
        assert not prior.is_learned
        assert prior.initial() == prior
        assert prior.draw_concentration(0, current, SIZES) == current
        assert prior.mode_concentration(SIZES) == current
        assert prior.log_concentration_prior(current) == 0.0


def test_log_prior_is_the_density_of_the_log():
    prior = CRP(Gamma(2.0, 1.5))
    grid = np.linspace(-25.0, 6.0, 4001)
    density = np.exp([prior.log_concentration_prior(c) for c in np.exp(grid)])
    assert np.sum(density) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-10)
