"""Chains and restarts: seeds, threads, starts, settings, and an interrupt that keeps what was drawn."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import countless as cl
from countless.chains import jobs
from countless.inference import MAP, CollapsedGibbs, Problem, Variational, Watch, resolve_inference
from countless.partitions.starts import DISPERSED, STARTS, start_labels
from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor

ENGINES = {
    "gibbs": CollapsedGibbs(chains=3, draws=15, warmup=10),
    "gibbs-fixed-proposals": CollapsedGibbs(chains=2, draws=8, warmup=5, thin=2, split_merge=4),
    "gibbs-sweeps-only": CollapsedGibbs(chains=2, draws=8, warmup=0, split_merge=False),
    "map": MAP(restarts=4, perturbations=3),
}
every_engine = pytest.mark.parametrize("engine", ENGINES)


def _rows(rng, n=60):
    return np.ascontiguousarray(rng.standard_normal((n, 2)) + 5.0 * rng.integers(0, 3, size=(n, 1)))


def _problem(rng, n=60, prior=None):
    X = _rows(rng, n)
    return Problem.of(X, cl.families.Gaussian().resolve(X), prior or CRP(Gamma(1.0, 1.0)))


def _draws(engine, problem, seed, **changes):
    settings = {**vars(engine), **changes}
    return type(engine)(**settings).run(problem, np.random.default_rng(seed), Watch(progress=False))


def _same(a, b):
    return list(a.arrays) == list(b.arrays) and all(np.array_equal(a[name], b[name]) for name in a.arrays)


@every_engine
def test_threads_do_not_matter(engine, rng):
    problem = _problem(rng)
    one = _draws(ENGINES[engine], problem, 3, n_threads=1)
    assert _same(one, _draws(ENGINES[engine], problem, 3, n_threads=2))
    assert _same(one, _draws(ENGINES[engine], problem, 3, n_threads=None))


def test_seeds_matter(rng):
    problem = _problem(rng)
    engine = ENGINES["gibbs"]
    one = _draws(engine, problem, 3)
    assert not np.array_equal(one.labels, _draws(engine, problem, 4).labels)
    assert not np.array_equal(one.concentration, _draws(engine, problem, 4).concentration)


def test_chains_differ(rng):
    draws = _draws(ENGINES["gibbs"], _problem(rng), 3, start="one")
    assert len({chain.tobytes() for chain in draws.concentration}) == 3


@every_engine
def test_an_estimator_with_a_seed_repeats_itself(engine, rng):
    X = _rows(rng)
    state = np.random.get_state()[1].copy()
    fits = [cl.DPMixture(inference=ENGINES[engine], random_state=7).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].posterior_.labels, fits[1].posterior_.labels)
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # global state is left alone


@every_engine
def test_shapes(engine, rng):
    settings = ENGINES[engine]
    draws = _draws(settings, _problem(rng), 0)
    chains, kept = (1, 1) if isinstance(settings, MAP) else (settings.chains, settings.draws)
    assert draws.labels.shape == (chains, kept, 60)
    for field in (draws.n_clusters, draws.log_joint, draws.concentration):
        assert field.shape == (chains, kept)
    np.testing.assert_array_equal(draws.labels.max(axis=2) + 1, draws.n_clusters)
    assert np.all(draws.labels[..., 0] == 0)  # numbered by first appearance
    assert np.isfinite(draws.log_joint).all()
    assert not draws.interrupted


def test_thinning_keeps_every_so_many_sweeps(rng):
    problem = _problem(rng)
    settings = {"chains": 1, "warmup": 4, "split_merge": 3, "start": "one"}
    dense = CollapsedGibbs(draws=12, **settings).run(problem, np.random.default_rng(1), Watch(progress=False))
    sparse = CollapsedGibbs(draws=4, thin=3, **settings).run(problem, np.random.default_rng(1), Watch(progress=False))
    np.testing.assert_array_equal(sparse.labels, dense.labels[:, 2::3])
    np.testing.assert_array_equal(sparse.concentration, dense.concentration[:, 2::3])


def test_the_number_of_proposals_is_fixed_after_the_warm_up(rng):
    """A number that followed the state would no longer leave the posterior alone."""
    problem = _problem(rng, 80, CRP(200.0))
    schedule = CollapsedGibbs().schedule()
    move = next(move for move in schedule.moves if move.name == "split-merge")
    state = cl.inference.State(problem, np.arange(80), 200.0)
    schedule.adapt(state)
    many = move._adapted
    state = cl.inference.State(problem, np.zeros(80, dtype=np.int64), 200.0)
    schedule.step(rng, state)
    assert move._adapted == many > 10


# --- starts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior",
    [CRP(2.0), PitmanYor(Gamma(1.0, 1.0), 0.3), FiniteDirichlet(4, 2.0), MixtureOfFinite(1.0)],
    ids=["crp", "pitman-yor", "finite-dirichlet", "mixture-of-finite"],
)
@pytest.mark.parametrize("kind", [*STARTS, "dispersed"])
def test_starts(kind, prior, rng):
    problem = _problem(rng, 25, prior)
    for number in range(len(DISPERSED)):
        labels = start_labels(kind, number, problem.state(np.zeros(25, dtype=np.int64)), rng)
        assert labels.shape == (25,)
        assert labels.dtype == np.int64
        assert labels.max() + 1 <= prior.max_clusters(25)
        assert set(labels) == set(range(labels.max() + 1))
    for settings in (CollapsedGibbs(chains=4, draws=2, warmup=1, start=kind), MAP(restarts=4, start=kind)):
        draws = settings.run(problem, rng, Watch(progress=False))
        assert np.isfinite(draws.log_joint).all()


def test_dispersed_chains_begin_in_different_places(rng):
    problem = _problem(rng, 80, CRP(5.0))
    starts = {
        start_labels("dispersed", number, problem.state(np.zeros(80, dtype=np.int64)), rng).tobytes()
        for number in range(4)
    }
    assert len(starts) == 4


def test_given_labels_are_where_a_chain_starts(rng):
    problem = _problem(rng, 6)
    given = np.array([5, 5, 2, 2, 5, 9])
    state = problem.state(np.zeros(6, dtype=np.int64))
    np.testing.assert_array_equal(start_labels(given, 0, state, rng), [0, 0, 1, 1, 0, 2])
    np.testing.assert_array_equal(start_labels(["b", "b", "a", "a", "b", "c"], 0, state, rng), [0, 0, 1, 1, 0, 2])


@pytest.mark.parametrize("settings", [CollapsedGibbs, MAP])
@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("kmeans", ["start", "'kmeans'", *[repr(name) for name in STARTS], "'dispersed'", "array of labels"]),
        ([0, 1, 2], ["start", "labels", "(3,)"]),
        (np.zeros((2, 3)), ["start", "labels", "(2, 3)"]),
        ([0, 1, 2, 3, 4, 5], ["start", "6 clusters", "at most 3"]),
    ],
    ids=["unknown", "short", "matrix", "too-many-clusters"],
)
def test_a_wrong_start_is_one_sentence(settings, start, words, rng):
    problem = _problem(rng, 6, FiniteDirichlet(3, 1.0))
    with pytest.raises(ValueError, match="start") as caught:
        settings(start=start).run(problem, rng, Watch(progress=False))
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (lambda: CollapsedGibbs(chains=0), "chains"),
        (lambda: CollapsedGibbs(draws=0), "draws"),
        (lambda: CollapsedGibbs(draws=2.5), "draws"),
        (lambda: CollapsedGibbs(warmup=-1), "warmup"),
        (lambda: CollapsedGibbs(thin=True), "thin"),
        (lambda: CollapsedGibbs(split_merge=-1), "split_merge"),
        (lambda: MAP(restarts=0), "restarts"),
        (lambda: MAP(perturbations=-1), "perturbations"),
        (lambda: MAP(max_sweeps=0), "max_sweeps"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings, name):
    with pytest.raises(ValueError, match=f"^{name} must be a whole number of at least [01], got ") as caught:
        settings()
    assert "\n" not in str(caught.value)


def test_a_wrong_number_of_threads_is_one_sentence(rng):
    with pytest.raises(ValueError, match=r"^n_threads must be a whole number of at least 1, got 0"):
        CollapsedGibbs(n_threads=0).run(_problem(rng), rng, Watch(progress=False))


def test_engines_by_name():
    narrow, wide = (cl.families.Gaussian().resolve(np.eye(d) + 1.0) for d in (2, 10))
    prior, without_sticks = CRP(1.0), MixtureOfFinite(1.0)
    assert resolve_inference("gibbs", 10, narrow, prior) == CollapsedGibbs()
    assert resolve_inference("map", 10, narrow, prior) == MAP()
    assert resolve_inference("auto", 100, narrow, prior) == CollapsedGibbs()
    assert resolve_inference("auto", 10**7, wide, prior) == Variational()
    assert resolve_inference("auto", 10**7, wide, without_sticks) == MAP()
    assert resolve_inference("auto", 100, narrow, prior, weighted=True) == Variational()
    with pytest.raises(ValueError, match=r"sample_weight: MAP counts every row once; choose inference='variational'"):
        resolve_inference("map", 100, narrow, prior, weighted=True)
    own = CollapsedGibbs(draws=3)
    assert resolve_inference(own, 10**7, wide, prior) is own
    with pytest.raises(ValueError, match=r"inference: 'nuts' is not known; choose one of .*'gibbs'.*'map'"):
        resolve_inference("nuts", 10, narrow, prior)


def test_the_width_of_a_family_decides_what_sampling_costs():
    """The same table: two thousand numbers a row are too many to sample from, forty are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 60))
    prior = CRP(1.0)
    assert resolve_inference("auto", 10**4, cl.families.DiagonalGaussian().resolve(X), prior) == Variational()
    assert resolve_inference("auto", 10**3, cl.families.DiagonalGaussian().resolve(X), prior) == CollapsedGibbs()
    assert resolve_inference("auto", 10**3, cl.families.Gaussian().resolve(X), prior) == Variational()
    five = cl.families.Gaussian().resolve(X[:, :5])
    assert resolve_inference("auto", 10**5, five, prior) == Variational()
    assert resolve_inference("auto", 10**4, five, prior) == CollapsedGibbs()


# --- interrupts ----------------------------------------------------------------------------------------------


def _interrupt_at(monkeypatch, step):
    """Press Ctrl-C when so many steps are done over all chains; the signal reaches the main thread."""
    advance = jobs.Monitor.advance

    def pressing(self, status=""):
        advance(self, status)
        if self.done == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(jobs.Monitor, "advance", pressing)


def test_an_interrupt_keeps_the_draws(rng, monkeypatch):
    problem = _problem(rng)
    _interrupt_at(monkeypatch, 2000)
    engine = CollapsedGibbs(chains=2, draws=10**6, warmup=10, n_threads=2)
    draws = engine.run(problem, rng, Watch(progress=False))
    assert draws.interrupted
    chains, kept, n_rows = draws.labels.shape
    assert (chains, n_rows) == (2, 60)
    assert 1 <= kept < 10**6
    assert draws.n_clusters.shape == draws.log_joint.shape == draws.concentration.shape == (2, kept)
    np.testing.assert_array_equal(draws.labels.max(axis=2) + 1, draws.n_clusters)


def test_an_interrupted_fit_is_a_fit_with_a_warning(rng, monkeypatch):
    _interrupt_at(monkeypatch, 2000)
    engine = CollapsedGibbs(chains=2, draws=10**6, warmup=10, n_threads=2)
    model = cl.DPMixture(inference=engine, random_state=0)
    X = _rows(rng)
    with pytest.warns(UserWarning, match="interrupted: [0-9]+ draws of each of 2 chains are kept"):
        model.fit(X)
    assert model.posterior_.labels.shape[1] >= 1
    assert model.predict(X).shape == (60,)


def test_chains_that_had_no_turn_are_left_out(rng, monkeypatch):
    """One thread, so that the first chain is interrupted before the others begin."""
    _interrupt_at(monkeypatch, 2000)
    engine = CollapsedGibbs(chains=3, draws=10**6, warmup=10, n_threads=1)
    draws = engine.run(_problem(rng), rng, Watch(progress=False))
    assert draws.interrupted
    assert draws.labels.shape[0] == 1


def test_an_interrupt_before_the_first_draw_is_an_interrupt(rng, monkeypatch):
    _interrupt_at(monkeypatch, 2000)
    engine = CollapsedGibbs(chains=2, draws=5, warmup=10**6)
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        engine.run(_problem(rng), rng, Watch(progress=False))


def test_an_interrupted_search_keeps_the_best(rng, monkeypatch):
    _interrupt_at(monkeypatch, 50)
    draws = MAP(restarts=2, perturbations=10**6).run(_problem(rng), rng, Watch(progress=False))
    assert draws.interrupted
    assert np.isfinite(draws.log_joint).all()


def test_an_error_in_a_chain_is_raised(rng, monkeypatch):
    def failing(self, status=""):
        raise RuntimeError("chain broke")

    monkeypatch.setattr(jobs.Monitor, "advance", failing)
    with pytest.raises(RuntimeError, match="chain broke"):
        CollapsedGibbs(chains=2, draws=3).run(_problem(rng), rng, Watch(progress=False))


def test_progress_goes_to_standard_error(rng, capfd):
    CollapsedGibbs(chains=2, draws=5, warmup=5).run(_problem(rng), rng, Watch(progress=True))
    assert capfd.readouterr().out == ""
