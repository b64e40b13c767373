"""The consensus against all partitions of seven rows, against the best draw, and on draws made to trip it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import countless as cl
from countless import metrics
from countless.core.validate import by_first_appearance
from countless.posterior.partition import consensus as search
from countless.posterior.partition.consensus import consensus, expected_loss
from countless.posterior.partition.similarity import LOSSES, condense, losses, weighted_loss

from .problems import EVERY, KINDS, NUMBER, exact_losses, problem

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
# The partition of least expected loss, whatever the number of its clusters.
PLAIN = {"max_clusters": 0, "settle": False}
every_loss = pytest.mark.parametrize("loss", sorted(LOSSES))


def noisy_draws(rng, n_rows=60, n_draws=40, n_clusters=4, noise=0.2):
    labels = np.repeat(rng.integers(n_clusters, size=n_rows)[None], n_draws, axis=0)
    moved = rng.random(labels.shape) < noise
    labels[moved] = rng.integers(n_clusters + 1, size=moved.sum())
    return labels


# --- losses -----------------------------------------------------------------------------------------------------


def test_losses_are_those_of_metrics(rng):
    candidates, draws = noisy_draws(rng)[:5], noisy_draws(rng)[:7]
    n = candidates.shape[1]
    oracles = {
        "vi": metrics.variation_of_information,
        "binder": lambda a, b: (1.0 - metrics.rand_index(a, b)) * (n - 1) / n,
        "omari": lambda a, b: 1.0 - metrics.adjusted_rand_index(a, b),
    }
    assert set(oracles) == set(LOSSES)
    for name, oracle in oracles.items():
        expected = [[oracle(a, b) for b in draws] for a in candidates]
        np.testing.assert_allclose(losses(candidates, draws, LOSSES[name]), expected, rtol=0, atol=1e-12)


@every_loss
def test_losses_of_more_clusters_than_rows_have_room_for(loss, rng):
    draws = np.array([rng.permutation(30) for _ in range(3)])
    draws[1:, :9] = draws[1:, 9:18]
    # Forty rows for each: as many as there are cells, so that the whole table is read.
    wide, counted = np.tile(draws, 40), losses(draws, draws, LOSSES[loss], np.full(30, 40))
    np.testing.assert_allclose(losses(wide, wide, LOSSES[loss]), counted, atol=1e-12)
    assert losses(draws, draws, LOSSES[loss]).diagonal() == pytest.approx(0.0, abs=1e-12)


@every_loss
def test_condensed_draws_have_the_same_expected_losses(loss, rng):
    draws = noisy_draws(rng, noise=0.03)[rng.integers(12, size=40)]
    data = condense(draws)
    assert len(data.draws) <= 12
    assert data.draws.shape[1] < draws.shape[1]
    assert data.draw_weights.sum() == 40
    np.testing.assert_array_equal(np.unique(data.draws[:, data.row_of], axis=0), np.unique(draws, axis=0))
    few = losses(data.draws, data.draws, LOSSES[loss], data.row_weights) @ data.draw_weights / 40
    many = losses(data.draws[:, data.row_of], draws, LOSSES[loss]).mean(axis=1)
    np.testing.assert_allclose(few, many, atol=1e-12)


# --- all partitions of seven rows -----------------------------------------------------------------------------


def misses(loss, kind, n_problems, weight=1.0, **settings):
    found = 0
    for number in range(n_problems):
        draws = problem(kind, number)
        exact = exact_losses(loss, draws, weight)
        labels = by_first_appearance(consensus(draws, loss, **{**PLAIN, "weight": weight, **settings}))
        found += exact[NUMBER[tuple(labels.tolist())]] > exact.min() + 1e-9
    return found


@every_loss
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_problems", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_the_exact_minimiser_of_seven_rows(loss, kind, n_problems):
    assert misses(loss, kind, n_problems) <= 0.01 * n_problems


@pytest.mark.parametrize("loss", ["binder", "vi"])
@pytest.mark.parametrize(
    ("kind", "weight"),
    [
        # Posteriors take long to sample.
        pytest.param(
            kind, weight, marks=pytest.mark.slow if kind.startswith("posterior") and weight in (0.1, 1.4) else ()
        )
        for kind in KINDS
        for weight in (0.1, 0.6, 1.4, 1.9)
    ],
)
def test_the_exact_minimiser_for_other_weights(loss, kind, weight):
    assert misses(loss, kind, 10, weight) == 0


@pytest.mark.parametrize("loss", ["binder", "vi"])
def test_costs_the_wrong_way_round_would_not_do(loss, monkeypatch):
    swapped = lambda name, weight: weighted_loss(name, 2.0 - weight)  # noqa: E731
    monkeypatch.setattr(search, "weighted_loss", swapped)
    assert misses(loss, "a noisy partition", 25, 0.6) > 1


@pytest.mark.parametrize("loss", ["binder", "vi"])
def test_weighted_losses_against_the_formulas(loss):
    draws = problem("a noisy partition", 3)
    for weight in (0.1, 0.6, 1.0, 1.7):
        found = losses(EVERY, draws, weighted_loss(loss, weight)).mean(axis=1)
        np.testing.assert_allclose(found, exact_losses(loss, draws, weight), rtol=0, atol=1e-12)
        assert expected_loss(EVERY[9], draws, loss, weight) == pytest.approx(found[9], abs=1e-12)


@pytest.mark.parametrize("loss", ["binder", "vi"])
def test_dearer_separation_gives_fewer_clusters(loss, rng):
    draws = noisy_draws(rng, n_rows=40, noise=0.3)
    counts = [int(consensus(draws, loss, weight=weight, **PLAIN).max()) + 1 for weight in (0.2, 1.0, 1.8)]
    assert counts[0] > counts[1] > counts[2]


def test_one_restart_would_not_do(monkeypatch):
    monkeypatch.setattr(search, "_search_from", lambda *arguments: None)
    assert misses("vi", "five draws at random", 100, n_restarts=1) > 1


def test_it_opens_clusters_that_no_draw_has():
    # Each draw joins two of three pairs of rows: the loss is least where all three stay apart.
    draws = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])
    assert consensus(draws, "vi", **PLAIN).tolist() == [0, 0, 1, 1, 2, 2]
    assert consensus(draws, "binder", **PLAIN).tolist() == [0, 0, 1, 1, 2, 2]
    assert consensus(draws).max() == 1


@every_loss
def test_a_largest_number_of_clusters_is_kept_to(loss):
    for number in range(10):
        draws = problem("a noisy partition", number)
        exact = exact_losses(loss, draws)
        for most in (1, 2, 3):
            exact_there = exact[EVERY.max(axis=1) < most].min()
            labels = consensus(draws, loss, max_clusters=most, settle=False)
            assert labels.max() < most
            assert expected_loss(labels, draws, loss) == pytest.approx(exact_there, abs=1e-9)


@every_loss
@pytest.mark.parametrize("kind", KINDS)
def test_no_more_clusters_than_the_draws_support(loss, kind):
    for number in range(10):
        draws = problem(kind, number)
        supported = np.sort(draws.max(axis=1))[int(np.ceil(0.975 * len(draws))) - 1]
        labels = consensus(draws, loss, settle=False)
        assert labels.max() <= supported
        exact = exact_losses(loss, draws)[EVERY.max(axis=1) <= supported].min()
        assert expected_loss(labels, draws, loss) == pytest.approx(exact, abs=1e-9)


def test_one_draw_in_forty_does_not_raise_the_limit():
    draws = np.array([[0, 0, 0, 1, 1, 1]] * 20 + [[0, 0, 1, 1, 2, 2]] * 19 + [[0, 1, 2, 3, 4, 5]])
    assert search._most_clusters(draws, None) == 3
    assert search._most_clusters(draws, 5) == 5
    assert search._most_clusters(draws, 0) == 6


def test_draws_with_nothing_in_common_do_not_give_a_cluster_to_each_row(rng):
    draws = rng.integers(20, size=(200, 60))
    assert consensus(draws, **PLAIN).max() == 59
    assert consensus(draws, settle=False).max() < 20
    assert consensus(draws).max() == 0


# --- larger sets of draws ---------------------------------------------------------------------------------------


@every_loss
def test_never_worse_than_the_best_draw_and_a_local_minimum(loss, rng):
    draws = noisy_draws(rng)
    labels = consensus(draws, loss, **PLAIN)
    least = expected_loss(labels, draws, loss)
    assert least < losses(draws, draws, LOSSES[loss]).mean(axis=1).min()
    for i in range(len(labels)):
        for k in range(labels.max() + 2):
            moved = labels.copy()
            moved[i] = k
            assert expected_loss(moved, draws, loss) > least - 1e-6


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")  # short chains, on purpose
@pytest.mark.parametrize("name", ["galaxies", "faithful"])
def test_never_worse_than_the_best_draw_of_a_fit(name):
    X = getattr(cl.datasets, f"load_{name}")()
    engine = cl.inference.CollapsedGibbs(chains=2, draws=100, warmup=100)
    posterior = cl.DPMixture(inference=engine, random_state=0).fit(X).posterior_
    draws = posterior.flat_labels()
    for loss in LOSSES:
        best = losses(draws, draws, LOSSES[loss]).mean(axis=1).min()
        assert expected_loss(posterior.consensus(loss, **PLAIN), draws, loss) <= best + 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of shared tables is not there")
@pytest.mark.parametrize("name", ["galaxy", "faithful", "iris", "wine", "pima"])
def test_never_worse_than_the_best_draw_on_tables(name):
    import pandas as pd

    X = pd.read_csv(DATA / f"{name}.csv").select_dtypes("number")
    posterior = cl.DPMixture(random_state=0).fit(X).posterior_
    draws = posterior.flat_labels()
    for loss in LOSSES:
        best = losses(draws, draws, LOSSES[loss]).mean(axis=1).min()
        assert expected_loss(posterior.consensus(loss, **PLAIN), draws, loss) <= best + 1e-12


def test_more_clusters_than_there_was_room_for(rng):
    # Any two rows share a cluster in a third of the draws: Binder's loss wants them all apart.
    draws = rng.integers(3, size=(400, 40))
    assert consensus(draws, "binder", **PLAIN).tolist() == list(range(40))


@every_loss
def test_same_draws_same_consensus_whatever_the_threads(loss, rng, monkeypatch):
    draws = noisy_draws(rng, n_rows=400, n_draws=300, n_clusters=6)
    first = consensus(draws, loss, **PLAIN)
    monkeypatch.setattr(search, "QUICK", 0.0)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    alone = consensus(draws, loss, **PLAIN)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    np.testing.assert_array_equal(consensus(draws, loss, **PLAIN), alone)
    assert expected_loss(alone, draws, loss) == pytest.approx(expected_loss(first, draws, loss), abs=1e-4)


def test_names_of_clusters_and_their_type_do_not_matter(rng):
    draws = noisy_draws(rng)
    renamed = np.array([rng.permutation(int(draw.max()) + 1)[draw] for draw in draws])
    expected = expected_loss(consensus(draws), draws)
    assert expected_loss(consensus(renamed.astype(np.uint8)), draws) == pytest.approx(expected, abs=1e-9)


def test_labels_up_to_255_in_bytes(rng):
    # One more than the largest label does not fit into a byte.
    draws = np.array([rng.permutation(256) for _ in range(5)], dtype=np.uint8)
    assert consensus(draws).tolist() == list(range(256))


def test_draws_are_thinned_to_what_fits(rng, monkeypatch):
    draws = noisy_draws(rng, n_draws=200)
    monkeypatch.setattr(search, "MOST_LOOKED_AT", 50 * draws.shape[1])
    assert len(search._affordable(draws)) == 50
    monkeypatch.setattr(search, "MOST_COUNTS", 20 * 5 * 16)
    assert len(search._affordable(draws)) < 50
    labels = consensus(draws)
    assert metrics.adjusted_rand_index(labels, consensus(draws[::4])) > 0.9


def test_too_many_clusters_to_search_among_give_the_best_draw(rng, monkeypatch):
    monkeypatch.setattr(search, "MOST_COUNTS", 100_000)
    draws = np.array([by_first_appearance(rng.permutation(400) // width) for width in (1, 1, 2, 2, 2, 2)])
    labels = consensus(draws, **PLAIN)
    best = losses(draws, draws, LOSSES["vi"]).mean(axis=1)
    assert expected_loss(labels, draws) == pytest.approx(best.min())


def test_a_limit_of_work_ends_the_search(rng, monkeypatch):
    draws = noisy_draws(rng, n_rows=200)
    monkeypatch.setattr(search, "LONGEST", 1.0)
    monkeypatch.setattr(search, "BUDGET", 1.0)
    monkeypatch.setattr(search, "QUICK", 0.0)
    labels = consensus(draws, **PLAIN)
    assert expected_loss(labels, draws) <= losses(draws, draws, LOSSES["vi"]).mean(axis=1).min()


def test_single_draw_and_single_row():
    assert consensus(np.array([[2, 2, 0, 1]])).tolist() == [0, 0, 1, 2]
    assert consensus(np.array([[2, 0, 0, 1]])).tolist() == [1, 0, 0, 2]
    assert consensus(np.array([[0], [0]])).tolist() == [0]
    assert consensus(np.array([[0, 1, 2, 3]]), max_clusters=2).max() == 1


def test_settings_are_checked(rng):
    draws = noisy_draws(rng)
    with pytest.raises(ValueError, match=r"^loss: 'rand' is not known; choose one of 'binder', 'omari', 'vi'"):
        consensus(draws, "rand")
    with pytest.raises(ValueError, match=r"^max_clusters must be a whole number of at least 0, got -1"):
        consensus(draws, max_clusters=-1)
    for weight in (0.0, 2.0, np.nan, True, "much"):
        with pytest.raises(ValueError, match=r"^weight must be a number above 0 and below 2, got "):
            consensus(draws, weight=weight)
    with pytest.raises(ValueError, match=r"^weight: the loss 'omari' has none; leave it out, or choose 'vi'"):
        consensus(draws, "omari", weight=1.5)
    with pytest.raises(ValueError, match=r"^n_restarts must be a whole number of at least 1, got 0"):
        consensus(draws, n_restarts=0)
