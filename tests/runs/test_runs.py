"""Runs on disk: settings there and back, one run a folder, warm starts, interrupts, models in one file."""

from __future__ import annotations

import dataclasses
import json
import signal

import numpy as np
import pandas as pd
import pytest

import countless as cl
from cases import FAMILY_CASES
from countless.chains import jobs as run
from countless.chains.fields import Field, compact
from countless.chains.trace import Trace
from countless.core.random import BIT_GENERATORS, generator_from, generator_state
from countless.families import FAMILIES
from countless.inference import ENGINES, MAP, BlockedGibbs, CollapsedGibbs, Gibbs, Variational
from countless.models.mixture.moves.hyperparameters import HyperparameterUpdate
from countless.priors import CRP, FiniteDirichlet, Gamma, GeometricCount, MixtureOfFinite, PitmanYor, PoissonCount
from countless.priors.names import PRIORS
from countless.runs.settings import from_json, to_json
from countless.tuning import TUNINGS

from .runs_to_kill import same_posteriors

# These chains are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")

RNG = np.random.default_rng(2)
GROUPS = np.repeat([0, 1, 2], 14)
X = RNG.standard_normal((42, 2)) + 6.0 * GROUPS[:, None]
ENGINE = CollapsedGibbs(chains=2, draws=12, warmup=6)


def _fresh(engine=ENGINE, **settings):
    return cl.DPMixture(inference=engine, **{"random_state": 3, **settings})


# --- what is written down -------------------------------------------------------------------------------------


def _through_json(value):
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


@pytest.mark.parametrize("name", FAMILY_CASES)
def test_families_there_and_back(name):
    """Resolved families are fixed points of ``resolve``, which is how a file is told from one for other rows."""
    rows = FAMILY_CASES[name].suitable((30, 2))
    resolved = FAMILIES[name]().read(rows)[0].resolve(rows)
    again = _through_json(resolved)
    assert type(again) is type(resolved)
    assert again == resolved
    assert to_json(again.resolve(rows)) == to_json(resolved)


def test_every_object_of_the_other_registers_there_and_back():
    priors = [CRP(2.5), PitmanYor(Gamma(2.0, 3.0), 0.3), FiniteDirichlet(4, 2.0), MixtureOfFinite(1.0)]
    priors += [MixtureOfFinite(Gamma(1.0, 1.0), components=law) for law in (PoissonCount(3.0), GeometricCount(0.2))]
    defaults = [cls() for register in (PRIORS, ENGINES, TUNINGS) for cls in register.values()]
    own = [
        CollapsedGibbs(start=np.arange(5), extra_moves=(HyperparameterUpdate(("scale",), 2.0),)),
        cl.tuning.CrossValidation({"scale": [0.1, 1.0]}),
        cl.tuning.EmpiricalBayes(names=("scale",)),  # an infinite spread
    ]
    for thing in [*priors, *[prior.resolve(50) for prior in priors], *defaults, *own]:
        again = _through_json(thing)
        assert type(again) is type(thing)
        assert str(again) == str(thing)
        assert to_json(again) == to_json(thing)


@pytest.mark.parametrize(
    "value", [None, True, -3, 2**80, 0.1, 1e-320, np.inf, -np.inf, "ü\ud800", (1, [2, (3,)]), {"a": (1,), 2: None}]
)
def test_plain_values_there_and_back(value):
    assert _through_json(value) == value
    assert type(_through_json(value)) is type(value)


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i2", "u1", "?"])
def test_arrays_there_and_back(kind):
    array = np.array([[0, 1, 2], [3, 0, 1]]).astype(kind)
    again = _through_json(array)
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)
    odd = np.array([np.nan, np.inf, -0.0, 5e-324])
    assert _through_json(odd).tobytes() == odd.tobytes()


def test_what_cannot_be_written_down_is_said_before_anything_is(tmp_path):
    class Own:
        name = "own"

        def step(self, rng, state):
            return None

    engine = CollapsedGibbs(chains=1, draws=2, warmup=1, extra_moves=(Own(),))
    with pytest.raises(ValueError, match=r"inference: .*Own object.* cannot be saved"):
        _fresh(engine).fit(X, checkpoint=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
    model = _fresh(engine).fit(X)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_streams_there_and_back(kind):
    rng = np.random.Generator(getattr(np.random, kind)(np.random.SeedSequence(5, spawn_key=(1, 2))))
    rng.spawn(3)
    rng.integers(10, dtype=np.int32)  # leaves half of a number behind
    twin = generator_from(json.loads(json.dumps(generator_state(rng))))
    np.testing.assert_array_equal(twin.integers(9, size=5, dtype=np.int32), rng.integers(9, size=5, dtype=np.int32))
    np.testing.assert_array_equal(twin.standard_gamma(0.3, 9), rng.standard_gamma(0.3, 9))
    assert twin.spawn(1)[0].random() == rng.spawn(1)[0].random()


@pytest.mark.parametrize("change", [{"bits": {}}, {"bits": {"bit_generator": "os"}}, {"bits": None}, {}])
def test_a_stream_of_another_kind_is_refused(change):
    with pytest.raises(ValueError, match="the state of a random stream cannot be read"):
        generator_from({**change})


# --- draws in segments ------------------------------------------------------------------------------------------


FIELDS = (
    Field("labels", "labels", ("row",), of="n_clusters"),
    Field("n_clusters", "count"),
    Field("parameters/*", "number", None, per="n_clusters", optional=True),
)


def _segment(first, last):
    """Draws first ... last - 1: draw i has 1 + i % 3 clusters."""
    counts = 1 + np.arange(first, last) % 3
    drawn = np.repeat(np.arange(first, last), counts)
    return {"n_clusters": counts, "labels": np.arange(first, last)[:, None], "parameters/a": drawn[:, None] * 1.0}


@pytest.mark.parametrize("seen", [0, 1, 4, 5, 11, 12])
def test_new_draws_of_a_trace(seen):
    trace = Trace(FIELDS, [_segment(0, 4), _segment(4, 5), _segment(5, 12)])
    new = trace.since(seen)
    if seen == 12:
        assert new is None
        return
    for name, array in _segment(seen, 12).items():
        np.testing.assert_array_equal(new[name], array)


def test_labels_take_as_few_bytes_as_they_need():
    types = [compact(np.array([0, k - 1])).dtype for k in (1, 128, 129, 2**15, 2**15 + 1)]
    assert types == [np.int8, np.int8, np.int16, np.int16, np.int32]
    model = _fresh(CollapsedGibbs(chains=2, draws=3, warmup=0, start="singletons", split_merge=False), prior=CRP(1e6))
    assert model.fit(np.arange(150.0)[:, None]).posterior_.labels.dtype == np.int16
    assert _fresh().fit(X).posterior_.labels.dtype == np.int8


# --- one run a folder ----------------------------------------------------------------------------------------


def test_the_same_call_goes_on_and_a_different_one_is_refused(tmp_path):
    whole = _fresh().fit(X)
    folder = tmp_path / "run"
    _fresh(dataclasses.replace(ENGINE, draws=5)).fit(X, checkpoint=folder, checkpoint_every=0.0)
    for threads in (1, 2):
        again = _fresh(dataclasses.replace(ENGINE, n_threads=threads)).fit(X, checkpoint=str(folder))
        same_posteriors(whole.posterior_, again.posterior_)
        assert again.inference_.draws == 12
    before = {path: path.read_bytes() for path in folder.rglob("*.npz")}
    different = {
        "table": (_fresh(), X + 1e-9),
        "family": (_fresh(family="diagonal-gaussian"), X),
        "prior": (_fresh(prior=CRP(1.0)), X),
        "tune": (_fresh(tune="sample"), X),
        "inference": (_fresh(dataclasses.replace(ENGINE, thin=2)), X),
        "random_state": (_fresh(random_state=4), X),
        "choice of columns": (_fresh(family="gaussian"), pd.DataFrame(X, columns=["a", "b"])),
    }
    for word, (model, rows) in different.items():
        with pytest.raises(ValueError, match=f"^checkpoint: .*run holds a run with a different {word}; choose another"):
            model.fit(rows, checkpoint=folder)
    with pytest.raises(ValueError, match="holds a run of 12 draws, more than the 5 asked for"):
        _fresh(dataclasses.replace(ENGINE, draws=5)).fit(X, checkpoint=folder)
    assert {path: path.read_bytes() for path in folder.rglob("*.npz")} == before
    same_posteriors(whole.posterior_, _fresh(random_state=None).fit(X, checkpoint=folder).posterior_)


def test_two_processes_do_not_share_a_run(tmp_path):
    from countless.runs import RunFolder

    _fresh().fit(X, checkpoint=tmp_path)
    (tmp_path / "result.npz").unlink()
    with RunFolder.open(tmp_path).writing(), pytest.raises(ValueError, match="another process is working on this run"):
        cl.io.resume(tmp_path)
    assert cl.io.resume(tmp_path).n_clusters_ == 3


@pytest.mark.parametrize("state", [None, 7, "generator", "old", "seeds"])
def test_every_kind_of_random_state_can_be_resumed(state, tmp_path):
    def seed():
        kinds = {
            "generator": np.random.default_rng(1),
            "old": np.random.RandomState(1),
            "seeds": np.random.SeedSequence(9),
        }
        return kinds.get(state, state)

    model = _fresh(random_state=seed()).fit(X, checkpoint=tmp_path, checkpoint_every=0.0)
    if state is not None:
        same_posteriors(_fresh(random_state=seed()).fit(X).posterior_, model.posterior_)
    if state == "generator":
        stream = np.random.default_rng(1)
        streams = [_fresh(random_state=stream).fit(X, checkpoint=tmp_path / str(k)) for k in range(2)]
        assert not np.array_equal(streams[0].posterior_.concentration, streams[1].posterior_.concentration)
    longer = cl.io.resume(tmp_path, draws=20)
    np.testing.assert_array_equal(longer.posterior_.labels[:, :12], model.posterior_.labels)
    if state is not None:
        engine = dataclasses.replace(ENGINE, draws=20)
        same_posteriors(_fresh(engine, random_state=seed()).fit(X).posterior_, longer.posterior_)


def test_a_frame_keeps_its_names(tmp_path):
    frame = pd.DataFrame(X, columns=["a b", "größe"])
    model = _fresh(family="gaussian").fit(frame, checkpoint=tmp_path / "run")
    for twin in (cl.load(tmp_path / "run"), cl.load(model.save(tmp_path / "model")), cl.io.resume(tmp_path / "run")):
        assert twin.feature_names_in_.tolist() == ["a b", "größe"]
        assert twin.posterior_.data.columns == model.posterior_.data.columns
        np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match="feature names"):
            twin.predict(frame.rename(columns={"a b": "c"}))


@pytest.mark.parametrize("value", [-1, "often", True, np.inf, np.nan])
def test_a_wrong_interval_is_one_sentence(value, tmp_path):
    with pytest.raises(ValueError, match=r"^checkpoint_every must be a number of seconds of at least 0, got "):
        _fresh().fit(X, checkpoint=tmp_path / "run", checkpoint_every=value)
    assert not (tmp_path / "run").exists()


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("here first")
    with pytest.raises(ValueError, match=r"^checkpoint: cannot write into .*file is not a folder"):
        _fresh().fit(X, checkpoint=tmp_path / "file" / "run")
    model = _fresh(MAP()).fit(X)
    with pytest.raises(ValueError, match=r"^path: .* is a folder; give the name of a file"):
        model.save(tmp_path)
    with pytest.raises(ValueError, match=r"^path: cannot write into .*file is not a folder"):
        model.save(tmp_path / "file" / "model")


def test_another_version_is_worth_a_warning(tmp_path, monkeypatch):
    _fresh().fit(X, checkpoint=tmp_path)
    monkeypatch.setattr(cl, "__version__", "99.0")
    with pytest.warns(UserWarning, match="was begun with a different version of countless: new draws may differ"):
        cl.io.resume(tmp_path, draws=15)
    assert cl.load(tmp_path).posterior_.labels.shape == (2, 15, 42)


# --- models in one file ---------------------------------------------------------------------------------------


MODELS = {
    "collapsed": {"inference": ENGINE},
    "uncollapsed": {"inference": Gibbs(chains=2, draws=9, warmup=6)},
    "blocked": {"inference": BlockedGibbs(chains=2, draws=9, warmup=6)},
    "learned": {"inference": ENGINE, "tune": "sample"},
    "empirical Bayes": {"inference": MAP(), "tune": "empirical-bayes"},
    "map": {"inference": MAP()},
    "parameters after empirical Bayes": {
        "inference": Gibbs(chains=2, draws=9, warmup=6),
        "tune": "empirical-bayes",
        "family": "gaussian-known-covariance",
    },
    "variational": {"inference": Variational()},
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_loaded_model_answers_as_the_fitted_one(kind, tmp_path):
    model = cl.DPMixture(random_state=0, **MODELS[kind]).fit(X, checkpoint=tmp_path / "run")
    new = X[::5] + 0.3
    for path in (model.save(tmp_path / "deep" / "model.npz"), tmp_path / "run"):
        twin = cl.load(path)
        same_posteriors(model.posterior_, twin.posterior_)
        for name in ("labels_", "n_clusters_", "concentration_", "n_features_in_"):
            np.testing.assert_array_equal(getattr(twin, name), getattr(model, name))
        for name in ("family_", "prior_", "inference_"):
            assert getattr(twin, name) == getattr(model, name)
        assert twin.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        assert twin.posterior_.data.family == model.posterior_.data.family
        np.testing.assert_array_equal(twin.posterior_.data.rows, X)
        np.testing.assert_array_equal(twin.predict(new, new_clusters=True), model.predict(new, new_clusters=True))
        np.testing.assert_array_equal(twin.predict_proba(new), model.predict_proba(new))
        np.testing.assert_array_equal(twin.score_samples(new), model.score_samples(new))
        np.testing.assert_array_equal(twin.sample(5)[0], model.sample(5)[0])
        again = cl.load(twin.save(tmp_path / "again"))
        same_posteriors(model.posterior_, again.posterior_)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "deep" / "model.npz").read_bytes()


def test_weights_of_rows_are_kept(tmp_path):
    weights = np.linspace(0.5, 2.0, len(X))
    model = _fresh(Variational()).fit(X, sample_weight=weights, checkpoint=tmp_path / "run")
    for path in (model.save(tmp_path / "model"), tmp_path / "run"):
        np.testing.assert_array_equal(cl.load(path).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="holds a run with a different table"):
        _fresh(Variational()).fit(X, checkpoint=tmp_path / "run")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        _fresh().save(tmp_path / "model")


# --- warm starts and interrupts -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["collapsed", "uncollapsed", "blocked", "learned"])
def test_a_warm_start_goes_on(kind):
    settings = {**MODELS[kind]}
    engine = settings.pop("inference")
    whole = _fresh(dataclasses.replace(engine, draws=12), **settings).fit(X)
    model = _fresh(dataclasses.replace(engine, draws=4), warm_start=True, **settings)
    for _ in range(3):
        model.fit(X)
    same_posteriors(whole.posterior_, model.posterior_)
    assert model.inference_.draws == 12
    assert model.inference.draws == 4
    assert model.set_params(warm_start=False).fit(X).posterior_.labels.shape[1] == 4


def test_a_warm_start_of_something_else_is_refused():
    model = _fresh(warm_start=True).fit(X)
    with pytest.raises(ValueError, match=r"^warm_start: the last fit had a different table; set warm_start=False"):
        model.fit(X + 1.0)
    with pytest.raises(ValueError, match=r"^warm_start: the last fit had a different prior"):
        model.set_params(prior=CRP(3.0)).fit(X)
    fitted = _fresh(MAP(), warm_start=True).fit(X)
    assert fitted.fit(X + 1.0).n_clusters_ == fitted.n_clusters_


def _interrupt_at(monkeypatch, step):
    advance = run.Monitor.advance

    def pressing(self, status=""):
        advance(self, status)
        if self.done == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(run.Monitor, "advance", pressing)


@pytest.mark.parametrize("recorded", ["folder", "memory"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_fit_is_completed(recorded, threads, tmp_path, monkeypatch):
    """With one thread the second chain has not begun."""
    engine = CollapsedGibbs(chains=2, draws=400, warmup=20, n_threads=threads)
    whole = _fresh(engine).fit(X)
    model = _fresh(engine, warm_start=recorded == "memory")
    place = {"checkpoint": tmp_path / "run"} if recorded == "folder" else {}
    with monkeypatch.context() as patched:
        _interrupt_at(patched, 150)
        with pytest.warns(UserWarning, match="the fit was interrupted") as caught:
            model.fit(X, **place)
    assert model.posterior_.interrupted
    if recorded == "memory":
        same_posteriors(whole.posterior_, model.fit(X).posterior_)
        return
    assert f"continue with countless.io.resume({str(tmp_path / 'run')!r})" in str(caught[0].message)
    part = cl.load(tmp_path / "run")
    same_posteriors(model.posterior_, part.posterior_)
    np.testing.assert_array_equal(part.labels_, model.labels_)
    same_posteriors(whole.posterior_, cl.io.resume(tmp_path / "run").posterior_)


def test_an_interrupt_in_the_warm_up_says_how_to_go_on(tmp_path, monkeypatch):
    engine = CollapsedGibbs(chains=2, draws=5, warmup=500)
    with monkeypatch.context() as patched:
        _interrupt_at(patched, 100)
        with pytest.raises(
            KeyboardInterrupt, match=r"before the first draw was kept; continue with countless\.io.resume"
        ):
            _fresh(engine).fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"holds no draws yet; continue it with countless\.io.resume"):
        cl.load(tmp_path)
    same_posteriors(_fresh(engine).fit(X).posterior_, cl.io.resume(tmp_path).posterior_)


def test_warnings_point_at_the_line_of_the_user(tmp_path):
    engine = CollapsedGibbs(chains=2, draws=20, warmup=0, split_merge=False)
    with pytest.warns(cl.ConvergenceWarning) as caught:
        _fresh(engine).fit(X, checkpoint=tmp_path)
    assert caught[0].filename == __file__
    (tmp_path / "result.npz").unlink()
    with pytest.warns(cl.ConvergenceWarning) as caught:
        cl.io.resume(tmp_path)
    assert caught[0].filename == __file__


def test_only_chains_can_be_made_longer(tmp_path):
    _fresh(MAP()).fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"^draws: .* is a run of MAP, which has no chains to make longer"):
        cl.io.resume(tmp_path, draws=10)
    with pytest.raises(ValueError, match="there is no such folder"):
        cl.io.resume(tmp_path / "none")


def test_a_broken_snapshot_would_be_noticed(monkeypatch):
    """The negative control: a chain that goes on without its caches, or with another stream, ends elsewhere."""
    from countless.chains import checkpoint

    whole = _fresh(dataclasses.replace(ENGINE, draws=30)).fit(X)
    take = checkpoint.take_snapshot

    def forgetful(sweep, rng, state, schedules):
        snapshot = take(sweep, rng, state, schedules)
        return snapshot._replace(numbers={**snapshot.numbers, "rng": generator_state(np.random.default_rng(0))})

    monkeypatch.setattr("countless.chains.sampler.take_snapshot", forgetful)
    model = _fresh(dataclasses.replace(ENGINE, draws=15), warm_start=True).fit(X).fit(X)
    with pytest.raises(AssertionError):
        same_posteriors(whole.posterior_, model.posterior_)


def test_progress_shows_clusters_and_log_joint(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    _fresh(CollapsedGibbs(chains=1, draws=300, warmup=300), progress=True).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "clusters, log joint -" in err
