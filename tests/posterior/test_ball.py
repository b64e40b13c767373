"""Credible balls against the definition, written out over all draws in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless import metrics
from countless.core.validate import by_first_appearance
from countless.posterior.partition.ball import CredibleBall, credible_ball

from .problems import KINDS, draws_of_seven


def distance(loss, a, b):
    if loss == "vi":
        return metrics.variation_of_information(a, b)
    return (1.0 - metrics.rand_index(a, b)) * (len(a) - 1) / len(a)


def oracle(draws, center, level, loss):
    """Radius and bounds by the definitions of Wade and Ghahramani."""
    far = [round(distance(loss, center, draw), 12) for draw in draws]
    radius = next(r for r in sorted(set(far)) if np.mean([d <= r for d in far]) >= level - 1e-12)
    inside = [(tuple(draw), d, len(set(draw))) for draw, d in zip(draws.tolist(), far, strict=True) if d <= radius]
    fewest, most = min(k for *_, k in inside), max(k for *_, k in inside)

    def edge(those):
        return {draw for draw, d, _ in those if d == max(d for _, d, _ in those)}

    upper, lower = ([entry for entry in inside if entry[2] == k] for k in (fewest, most))
    return radius, edge(upper), edge(lower), edge(inside)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.95, 1.0])
def test_the_ball_is_the_one_of_the_definition(loss, kind, level, rng):
    draws = draws_of_seven(kind, rng)
    center = draws[0]
    ball = credible_ball(draws, center, level, loss)
    radius, upper, lower, horizontal = oracle(draws, center, level, loss)
    assert ball.radius == pytest.approx(radius, abs=1e-9)
    for found, expected in (
        (ball.vertical_upper, upper),
        (ball.vertical_lower, lower),
        (ball.horizontal, horizontal),
    ):
        assert len(found) == len(expected)
        assert set(map(tuple, found.tolist())) == expected
    assert ball.probability >= level
    np.testing.assert_allclose(ball.distances, [distance(loss, center, draw) for draw in draws], atol=1e-12)
    assert [ball.contains(draw) for draw in draws] == (ball.distances <= ball.radius + 1e-12).tolist()


def test_a_known_posterior():
    # Probabilities 0.6, 0.3 and 0.1; the second is one row away, the third all rows apart.
    draws = np.repeat([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 1, 2, 3, 4]], [6, 3, 1], axis=0)
    narrow, wide = credible_ball(draws, draws[0], 0.6), credible_ball(draws, draws[0], 0.9)
    assert narrow.radius == 0.0
    assert narrow.horizontal.tolist() == [[0, 0, 0, 1, 1]]
    assert wide.radius == pytest.approx(metrics.variation_of_information(draws[0], draws[7]))
    assert wide.horizontal.tolist() == wide.vertical_upper.tolist() == wide.vertical_lower.tolist()
    whole = credible_ball(draws, draws[0], 0.95)
    assert whole.vertical_lower.tolist() == [[0, 1, 2, 3, 4]]
    assert whole.vertical_upper.tolist() == [[0, 0, 1, 1, 1]]
    assert whole.probability == 1.0


def test_names_do_not_matter(rng):
    draws = draws_of_seven("a noisy partition", rng)
    renamed = np.array([rng.permutation(7)[draw] for draw in draws])
    one = credible_ball(draws, draws[3])
    other = credible_ball(np.array([by_first_appearance(draw) for draw in renamed]), renamed[3])
    for a, b in zip(vars(one).values(), vars(other).values(), strict=True):
        assert a == b if isinstance(a, str) else np.allclose(a, b)


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")  # short chains, on purpose
def test_of_a_fit():
    X = cl.datasets.load_galaxies()
    posterior = cl.DPMixture(inference=cl.inference.CollapsedGibbs(2, draws=50, warmup=50), random_state=0).fit(X)
    ball = posterior.posterior_.credible_ball(0.8)
    assert isinstance(ball, CredibleBall)
    np.testing.assert_array_equal(ball.center, posterior.labels_)
    assert ball.distances.shape == (100,)
    assert ball.vertical_upper.max() <= ball.vertical_lower.max()
    binder = posterior.posterior_.credible_ball(0.8, loss="binder")
    np.testing.assert_array_equal(binder.center, posterior.posterior_.consensus("binder"))


def test_settings_are_checked(rng):
    draws = draws_of_seven("a noisy partition", rng)
    with pytest.raises(ValueError, match=r"^loss: 'omari' is not known; choose one of 'binder', 'vi'"):
        credible_ball(draws, draws[0], loss="omari")
    for level in (0.0, 1.5, -1, True, "much", np.nan):
        with pytest.raises(ValueError, match=r"^level must be a number above 0 and at most 1, got "):
            credible_ball(draws, draws[0], level)
    with pytest.raises(ValueError, match=r"^labels must hold 7 labels, one per row, got shape \(3,\)"):
        credible_ball(draws, [0, 1, 2])
