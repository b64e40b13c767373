"""What goes in (frames, lists, integers, any memory order) and what the seed promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.inference import CollapsedGibbs
from countless.models.mixture.engines import choice

from .cases import ENGINES, FAMILY_NAMES, GIBBS, PRIORS, SEARCH, alternating, first_appearance, model, two_groups

X = two_groups("gaussian")

# Twenty draws after twenty sweeps are too few where hyperparameters are learned.
LONGER = CollapsedGibbs(chains=1, draws=80, warmup=80, n_threads=1)


def _readonly(rows):
    rows = rows.copy()
    rows.setflags(write=False)
    return rows


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: rows.tolist(),
        lambda rows: tuple(map(tuple, rows)),
        np.asfortranarray,
        _readonly,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        lambda rows: rows.astype(object),
        lambda rows: rows.astype(">f8"),
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
        lambda rows: pd.DataFrame(rows, columns=["a", "b"], dtype="Float64"),
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]).astype(object),
        lambda rows: np.ma.array(rows, mask=False),
    ],
    ids=[
        "list",
        "tuple",
        "fortran",
        "readonly",
        "strided",
        "object",
        "big-endian",
        "frame",
        "nullable-frame",
        "object-frame",
        "masked-nowhere",
    ],
)
def test_every_form_of_the_same_numbers_gives_the_same_draws(form):
    given = form(X)
    expected = model().fit(X)
    fitted = model().fit(given)
    np.testing.assert_array_equal(fitted.posterior_.labels, expected.posterior_.labels)
    np.testing.assert_array_equal(fitted.posterior_.log_joint, expected.posterior_.log_joint)
    np.testing.assert_array_equal(fitted.predict(given), expected.predict(X))


@pytest.mark.filterwarnings("ignore:X. 2 columns hold nothing but 0 and 1")
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, bool])
def test_narrow_numbers_are_widened_before_any_arithmetic(dtype):
    rows = np.abs(np.round(X)).astype(dtype)
    fitted = model().fit(rows)
    expected = model().fit(rows.astype(np.float64))
    np.testing.assert_array_equal(fitted.posterior_.log_joint, expected.posterior_.log_joint)


def test_the_rows_that_were_handed_in_stay_as_they_were():
    rows = X.copy()
    model().fit(rows).predict(rows)
    np.testing.assert_array_equal(rows, X)


def test_rows_that_change_after_the_fit_do_not_change_predictions():
    rows = X.copy()
    fitted = model().fit(rows)
    before = fitted.score_samples(X)
    rows[:] = 0.0
    np.testing.assert_array_equal(fitted.score_samples(X), before)


def test_names_of_columns_are_kept_and_asked_for_again():
    frame = pd.DataFrame(X, columns=["height", "weight"])
    fitted = model().fit(frame)
    assert fitted.feature_names_in_.tolist() == ["height", "weight"]
    assert fitted.n_features_in_ == 2
    for renamed in (frame[["weight", "height"]], frame.rename(columns={"height": "length"})):
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(renamed)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)
    assert not hasattr(model().fit(X), "feature_names_in_")


def test_a_column_of_integer_categories_in_a_frame_is_taken_as_codes():
    codes = two_groups("categorical").astype(int)
    frame = pd.DataFrame({f"q{j}": pd.Categorical(column) for j, column in enumerate(codes.T)})
    expected = model("categorical").fit(codes)
    np.testing.assert_array_equal(model("categorical").fit(frame).labels_, expected.labels_)


def test_fit_returns_self_and_fit_predict_the_labels():
    estimator = model()
    assert estimator.fit(X) is estimator
    np.testing.assert_array_equal(model().fit_predict(X), estimator.labels_)
    np.testing.assert_array_equal(model().fit_predict(X, y=np.zeros(len(X))), estimator.labels_)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize(
    "make", [lambda: 7, lambda: np.int64(7), lambda: np.random.default_rng(7)], ids=["int", "numpy-int", "generator"]
)
def test_a_seed_fixes_every_draw(engine, make):
    one, other = (model(inference=ENGINES[engine], random_state=make()).fit(X) for _ in range(2))
    expected = model(inference=ENGINES[engine], random_state=7).fit(X)
    for fitted in (one, other):
        np.testing.assert_array_equal(fitted.posterior_.labels, expected.posterior_.labels)
        np.testing.assert_array_equal(fitted.posterior_.log_joint, expected.posterior_.log_joint)


def test_a_random_state_object_of_the_old_kind():
    one, other = (model(random_state=np.random.RandomState(3)).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.posterior_.log_joint, other.posterior_.log_joint)


def test_a_generator_moves_on_and_another_seed_gives_other_draws():
    rng = np.random.default_rng(7)
    first, second = (model(random_state=rng).fit(X).posterior_.concentration for _ in range(2))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, model(random_state=8).fit(X).posterior_.concentration)


def test_neither_threads_nor_global_seeds_matter():
    def fitted(n_threads):
        engine = CollapsedGibbs(chains=3, draws=10, warmup=10, n_threads=n_threads)
        return model(inference=engine).fit(X).posterior_

    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    one = fitted(1)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    np.random.seed(1)
    several = fitted(3)
    np.testing.assert_array_equal(one.labels, several.labels)
    np.testing.assert_array_equal(one.log_joint, several.log_joint)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_any_family_with_any_prior_and_any_engine(family, prior, engine):
    rows = two_groups(family)
    fitted = model(family, prior, LONGER if engine == "gibbs" else ENGINES[engine]).fit(rows)
    np.testing.assert_array_equal(fitted.labels_, alternating())
    assert fitted.n_clusters_ == 2
    assert all(first_appearance(draw) for draw in fitted.posterior_.flat_labels())
    np.testing.assert_array_equal(fitted.posterior_.labels.max(axis=-1) + 1, fitted.posterior_.n_clusters)
    assert np.isfinite(fitted.posterior_.log_joint).all()
    assert fitted.concentration_ > 0.0
    np.testing.assert_array_equal(fitted.predict(rows), fitted.labels_)
    assert np.isfinite(fitted.score_samples(rows)).all()
    sampled, labels = fitted.sample(5)
    assert sampled.shape == (5, rows.shape[1])
    assert labels.shape == (5,)
    fitted.family_.check(sampled)


@pytest.mark.parametrize("engine", [*ENGINES, "variational"])
def test_clusters_are_numbered_by_size_and_everything_follows(engine, tmp_path):
    # Three groups; the rows of the smallest come first.
    rng = np.random.default_rng(0)
    truth = np.repeat([2, 0, 1], [6, 20, 12])
    rows = rng.normal(size=(38, 2)) + np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])[truth]
    engines = {**ENGINES, "variational": cl.inference.Variational(restarts=1, draws=5)}
    fitted = model("spherical-gaussian", inference=engines[engine]).fit(rows)
    np.testing.assert_array_equal(fitted.labels_, truth)
    np.testing.assert_array_equal(fitted.predict(rows), truth)
    np.testing.assert_array_equal(fitted.predict_proba(rows).argmax(axis=1), truth)
    np.testing.assert_array_equal(fitted.certainty_.probability > 0.9, True)
    assert first_appearance(fitted.posterior_.flat_labels()[0])
    sampled, labels = fitted.sample(50)
    known = labels >= 0
    np.testing.assert_array_equal(fitted.predict(sampled)[known], labels[known])
    assert [each.size for each in fitted.posterior_.summaries()] == [20, 12, 6]
    assert fitted.posterior_.credible_ball().center.tolist() == truth.tolist()
    fitted.save(tmp_path / "run")
    again = cl.load(tmp_path / "run")
    np.testing.assert_array_equal(again.labels_, truth)
    np.testing.assert_allclose(again.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-12)


def test_rows_count_by_their_weights_when_clusters_are_numbered():
    rows = np.concatenate([np.linspace(0.0, 1.0, 6), np.linspace(40.0, 41.0, 20)])[:, None]
    heavy = np.repeat([10.0, 1.0], [6, 20])
    fitted = model("spherical-gaussian", inference="variational").fit(rows, sample_weight=heavy)
    np.testing.assert_array_equal(fitted.labels_, np.repeat([0, 1], [6, 20]))
    np.testing.assert_array_equal(fitted.predict(rows), fitted.labels_)
    assert [each.size for each in fitted.posterior_.summaries()] == [6, 20]


def test_the_learned_names_are_objects_with_everything_set():
    fitted = model("poisson", "pitman-yor").fit(two_groups("poisson"))
    assert fitted.family_.shape is not None
    assert fitted.family_.rate is not None
    assert isinstance(fitted.prior_, cl.priors.PitmanYor)
    assert fitted.prior_.concentration is not None
    assert fitted.inference_ is GIBBS


@pytest.mark.parametrize(("limit", "engine"), [(10**9, cl.inference.CollapsedGibbs), (1, cl.inference.Variational)])
def test_auto_picks_by_the_size_of_the_problem(monkeypatch, limit, engine):
    monkeypatch.setattr(choice, "SAMPLING_LIMIT", limit)
    assert type(model(inference="auto").fit(X[:6]).inference_) is engine


@pytest.mark.parametrize(("name", "engine"), [("gibbs", cl.inference.CollapsedGibbs), ("map", cl.inference.MAP)])
def test_an_engine_by_name(name, engine):
    assert model(inference=name).fit(X[:6]).inference_ == engine()


def test_the_search_reports_every_step_and_never_falls():
    objective = model(inference=SEARCH).fit(X).posterior_.objective
    assert len(objective) > 1
    assert np.all(np.diff(objective) >= -1e-6)
