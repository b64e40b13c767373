"""Results, predictions, files, kill and resume, mistakes: mixed effects as users meet them."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, multivariate_normal

import countless as cl
from countless import report
from countless.models.mixed_effects import figures
from countless.models.mixed_effects.engines.gibbs import MixedEffectsGibbs
from countless.models.mixed_effects.visits.formula import Formula
from countless.models.mixed_effects.visits.subjects import packed
from helpers import batch_error

ENGINE = MixedEffectsGibbs(chains=2, draws=60, warmup=40, n_threads=1)


def table(seed=2, n=40, gap=6.0):
    rng = np.random.default_rng(seed)
    subject, time_ = np.repeat(np.arange(n), 4), np.tile(np.arange(4.0), n)
    slopes = np.where(np.arange(n) % 2, gap, 0.0) + 0.3 * rng.normal(size=n)
    shared = rng.normal(size=4 * n)
    y = 10.0 + rng.normal(size=n)[subject] + slopes[subject] * time_ + 2.0 * shared + rng.normal(size=4 * n)
    return np.column_stack([np.ones(4 * n), time_]), y, np.array([f"s{i}" for i in subject]), shared[:, None]


def fitted(family="gaussian", **settings):
    X, y, subject, shared = table()
    inference = settings.pop("inference", ENGINE)
    return cl.MixedEffects(family, inference=inference, random_state=3, **settings).fit(X, y, subject, shared)


@pytest.fixture(scope="module")
def model():
    return fitted()


def apart_in_noise(seed=4, n=60, v=6):
    """Subjects of one population whose outcomes are precise in one half and noisy in the other."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(n), v)
    deviation = np.where(np.arange(n) % 2, 3.0, 0.5)
    y = 10.0 + rng.normal(size=n)[subject] + deviation[subject] * rng.normal(size=n * v)
    return np.ones((n * v, 1)), y, subject


@pytest.fixture(scope="module")
def noisy():
    engine = MixedEffectsGibbs(chains=2, draws=60, warmup=60, n_threads=1)
    return cl.MixedEffects(inference=engine, random_state=3, cluster_noise=True).fit(*apart_in_noise())


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian", "gaussian-known-covariance"])
def test_every_family_finds_two_groups(family):
    found = fitted(family)
    assert found.labels_.shape == (40,)
    assert cl.metrics.compare(found.labels_, np.arange(40) % 2, metrics=("nmi",))["nmi"] > 0.6
    assert found.fixed_effects_["mean"].iloc[0] == pytest.approx(2.0, abs=0.4)
    assert found.noise_ == pytest.approx(1.0, abs=0.4)


def test_results(model):
    assert model.n_clusters_ == 2
    assert model.subjects_[:3].tolist() == ["s0", "s1", "s2"]
    assert model.posterior_.labels.shape == (2, 60, 40)
    effects = model.effects_
    assert effects.shape == (40, 8)
    assert np.all(effects["X 1", "2.5%"] < effects["X 1", "97.5%"])
    clusters = model.cluster_effects_
    assert sorted(clusters["X 1", "mean"].round(0).tolist()) == [0.0, 6.0]
    assert "sd of noise" in model.summary().index
    assert model.certainty_.probability.min() > 0.5


def test_order_and_names_of_visits_do_not_matter(model):
    """The same subjects in another order of visits, with numbers for names: the same effects by subject."""
    X, y, subject, shared = table()
    order = np.random.default_rng(1).permutation(len(y))
    numbers = np.array([int(name[1:]) + 100 for name in subject])
    other = cl.MixedEffects(inference=ENGINE, random_state=3).fit(X[order], y[order], numbers[order], shared[order])
    mine = model.effects_["X 1", "mean"]
    theirs = other.effects_["X 1", "mean"]
    assert np.corrcoef(mine, [theirs[int(name[1:]) + 100] for name in mine.index])[0, 1] > 0.999


def test_units_do_not_matter():
    """Outcomes and columns in other units, far from zero: the same posterior, up to Monte Carlo error."""
    X, y, subject, shared = table()
    moved = np.column_stack([X[:, 0], 2000.0 + 0.1 * X[:, 1]])
    engine = MixedEffectsGibbs(chains=1, draws=800, warmup=100)
    one = cl.MixedEffects(inference=engine, random_state=3).fit(X, y, subject, shared)
    other = cl.MixedEffects(inference=engine, random_state=3).fit(moved, 1e4 * y + 1e6, subject, 7.0 * shared)
    assert np.mean(one.labels_ == other.labels_) > 0.95
    first, second = one.posterior_.noise[0], other.posterior_.noise[0] / 1e8
    assert abs(first.mean() - second.mean()) < 4.5 * np.hypot(batch_error(first), batch_error(second))
    assert other.n_clusters_ == 2


def test_predictions_of_known_and_new_subjects(model):
    X, y, subject, shared = table()
    known = model.predict(X, subject, shared)
    assert np.mean((known - y) ** 2) < 1.3
    seen = X[:, 1] < 3.0
    earlier = cl.MixedEffects(inference=ENGINE, random_state=3).fit(X[seen], y[seen], subject[seen], shared[seen])
    bands = earlier.predict(X[~seen], subject[~seen], shared[~seen], interval=0.8)
    inside = np.sum((bands.lower < y[~seen]) & (y[~seen] < bands.upper))
    assert binomtest(int(inside), 40, 0.8).pvalue > 1e-3
    fresh = model.predict([[1.0, 3.0]], ["stranger"], [[0.0]], interval=0.95)
    assert fresh.lower[0] < 11.0 < 27.0 < fresh.upper[0]
    assert model.score(X, y, subject, shared) > model.score(X, y, [f"new {name}" for name in subject], shared)


@pytest.mark.slow
def test_clusters_that_differ_in_noise_alone(noisy):
    assert noisy.n_clusters_ == 2
    assert cl.metrics.compare(noisy.labels_, np.arange(60) % 2, metrics=("nmi",))["nmi"] > 0.6
    table = noisy.cluster_effects_.sort_values(("", "noise"))
    assert table["", "noise 2.5%"].iloc[0] < 0.25 < table["", "noise 97.5%"].iloc[0] < 1.0
    assert table["", "noise 2.5%"].iloc[1] < 9.0 < table["", "noise 97.5%"].iloc[1]
    assert noisy.noise_ == pytest.approx(4.6, abs=1.2)
    widths = noisy.predict([[1.0]] * 2, [0, 1], interval=0.95).pipe(lambda found: found.upper - found.lower)
    assert widths[0] < 4.0 < 10.0 < widths[1]
    (best,) = noisy.score_subjects([[1.0]], [10.0], [0])
    (other,) = noisy.score_subjects([[1.0]], [10.0], [1])
    assert best > other + 0.5


def test_map_with_a_noise_of_each_cluster_never_falls():
    found = cl.MixedEffects(inference="map", random_state=0, cluster_noise=True).fit(*apart_in_noise())
    assert np.all(np.diff(found.posterior_.objective) >= -1e-9)
    assert found.n_clusters_ == 2
    assert found.posterior_.log_joint.item() == pytest.approx(found.posterior_.objective[-1], abs=1e-9)


@pytest.mark.slow
def test_the_density_of_new_visits_with_a_noise_of_each_cluster(noisy):
    """New subjects under one draw at a time, and subjects of the fit given what they left, by scipy."""
    X, y, posterior, given = np.ones((3, 1)), np.array([9.0, 12.0, 10.5]), noisy.posterior_, noisy._given
    X_fit, y_fit, subject = apart_in_noise()
    new, known = [], []
    for number in given.some():
        at = np.unravel_index(number, posterior.shape)
        parts, labels = posterior.parameters_of(number), posterior.labels[at]
        means = [*parts["mean"], posterior["new/mean"][at]]
        spreads = [*parts["covariance"], posterior["new/covariance"][at]]
        noises = [*parts["noise"], posterior["new/noise"][at]]
        laws = list(zip(means, spreads, noises, strict=True))
        here = subject == 7
        both = np.append(y_fit[here], y), np.ones((int(here.sum()) + 3, 1))

        def value(law, y, X):
            mean, spread, noise = law
            return multivariate_normal(X @ mean, X @ spread @ X.T + noise * np.eye(len(y))).logpdf(y)

        weights = given.draw(number).log_weights
        new.append(np.logaddexp.reduce(weights + np.array([value(law, y, X) for law in laws])))
        own = laws[labels[7]]
        known.append(value(own, *both) - value(own, y_fit[here], X_fit[here]))
    for values, name in ((new, "stranger"), (known, 7)):
        expected = np.logaddexp.reduce(values) - np.log(len(values))
        groups = [-1] * 3 if name == "stranger" else [name] * 3
        assert 3.0 * noisy.score(X, y, groups) == pytest.approx(expected, rel=1e-8)


def test_the_density_of_new_visits_is_a_mixture_of_normals(model):
    """One draw at a time, by scipy."""
    X, y = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 5.0]]), np.array([11.0, 20.0, 40.0])
    shared = np.array([[0.3], [-1.0], [0.5]])
    given, posterior = model._given, model.posterior_
    total = []
    for number in given.some():
        at = np.unravel_index(number, posterior.shape)
        one, parts = given.draw(number), posterior.parameters_of(number)
        means = [*parts["mean"], posterior["new/mean"][at]]
        covariances = [*parts["covariance"], posterior["new/covariance"][at]]
        noise, gamma = posterior.noise[at], posterior.fixed[at]
        values = [
            multivariate_normal(X @ mean + shared @ gamma, X @ spread @ X.T + noise * np.eye(3)).logpdf(y)
            for mean, spread in zip(means, covariances, strict=True)
        ]
        total.append(np.logaddexp.reduce(one.log_weights + np.array(values)))
    expected = np.logaddexp.reduce(total) - np.log(len(total))
    assert 3.0 * model.score(X, y, ["a"] * 3, shared) == pytest.approx(expected, rel=1e-8)


def test_the_density_of_effects_is_one(model):
    """That of a new subject, and the parts of the clusters together."""
    points = np.linspace(-60.0, 70.0, 4000)
    total, parts = model._given.densities(1, points, model.labels_)
    assert np.trapezoid(total, points) == pytest.approx(1.0, abs=0.01)
    assert np.trapezoid(parts.sum(axis=0), points) == pytest.approx(1.0, abs=1e-3)
    assert np.trapezoid(parts, points, axis=1) == pytest.approx(np.bincount(model.labels_) / 40, abs=0.01)


def test_the_log_joint_counts_outcomes_given_parameters(model):
    """Differences of the log joint between two noises, against scipy's normal densities."""
    problem = model._description.data.problem()
    rng = np.random.default_rng(0)
    state = problem.start("one", 0, rng)
    before = state.log_joint()
    noise = problem.noise.log_density(state.noise_precision)
    state.noise_precision *= 1.7
    after = state.log_joint() - problem.noise.log_density(state.noise_precision) + noise
    data, units, theta = model._description.data, problem.units, state.theta
    mean, covariance = units.means(theta.means)[0], units.covariances(np.linalg.inv(theta.precisions))[0]
    left = data.y - data.fixed @ (state.fixed * units.fixed_scale + units.fixed_centre)

    def value(precision):
        total = 0.0
        for i in range(data.n_subjects):
            here = data.codes == i
            spread = data.X[here] @ covariance @ data.X[here].T + units.noise**2 / precision * np.eye(here.sum())
            total += multivariate_normal(data.X[here] @ mean, spread).logpdf(left[here])
        return total

    expected = value(state.noise_precision) - value(state.noise_precision / 1.7)
    assert after - before == pytest.approx(expected, rel=1e-6)


def test_map_never_falls():
    found = fitted(inference="map")
    assert np.all(np.diff(found.posterior_.objective) >= -1e-9)
    assert found.posterior_.log_joint.item() == pytest.approx(found.posterior_.objective[-1], abs=1e-9)
    assert found.n_clusters_ == 2
    assert found.posterior_.diagnostics().verdict.startswith("A single optimum")


def test_missing_outcomes_and_single_visits():
    X, y, subject, shared = table()
    y = y.copy()
    y[::7] = np.nan
    y[1:4] = np.nan
    found = cl.MixedEffects(inference=ENGINE, random_state=0).fit(X, y, subject, shared)
    assert len(found.subjects_) == 40 - int(np.isnan(y[:4]).all())
    few = np.concatenate([np.arange(4), np.arange(4, 160, 4)])
    found = cl.MixedEffects(inference=ENGINE, random_state=0).fit(X[few], table()[1][few], subject[few])
    assert len(found.effects_) == 40


def test_outcomes_that_never_vary():
    X, _, subject, _ = table()
    with np.errstate(all="raise"):
        found = cl.MixedEffects(inference=ENGINE, random_state=0).fit(X, np.full(len(X), 5.0), subject)
    assert np.isfinite(found.posterior_.log_joint).all()
    assert found.predict([[1.0, 1.0]]) == pytest.approx(5.0, abs=0.1)


# --- files --------------------------------------------------------------------------------------------------------


def _same(one, other):
    assert list(one.draws.arrays) == list(other.draws.arrays)
    for name, array in one.draws.arrays.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def _fit(draws, family="gaussian", cluster_noise=False, **more):
    X, y, subject, shared = table()
    engine = MixedEffectsGibbs(chains=2, draws=draws, warmup=20, n_threads=1)
    model = cl.MixedEffects(family, inference=engine, random_state=5, cluster_noise=cluster_noise)
    return model.fit(X, y, subject, shared, **more)


@pytest.mark.parametrize(
    ("family", "own"),
    [
        ("gaussian", False),
        ("gaussian-known-covariance", False),
        pytest.param("gaussian", True, marks=pytest.mark.slow),
    ],
)
def test_saved_loaded_and_made_longer(tmp_path, family, own):
    one = _fit(30, family, own, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    for twin in (cl.load(tmp_path / "run"), cl.load(one.save(tmp_path / "model.npz"))):
        _same(one.posterior_, twin.posterior_)
        X, _, subject, shared = table()
        np.testing.assert_array_equal(one.predict(X, subject, shared), twin.predict(X, subject, shared))
        np.testing.assert_array_equal(one.labels_, twin.labels_)
    longer = cl.io.resume(tmp_path / "run", draws=50)
    _same(_fit(50, family, own).posterior_, longer.posterior_)


PROGRAM = """
import sys
from models.mixed_effects.test_interface import _fit
_fit(1500, checkpoint=sys.argv[1], checkpoint_every=0.01)
"""


def test_a_killed_run_continues_draw_for_draw(tmp_path):
    tests = Path(__file__).parents[2]
    paths = os.pathsep.join([str(Path(cl.__file__).parents[1]), str(tests)])
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path / "run")], env=environment)
    try:
        while process.poll() is None and len(list((tmp_path / "run").glob("chain-*/state.npz"))) < 1:
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "run" / "result.npz").exists(), "the run was over before it was killed"
    _same(_fit(1500).posterior_, cl.io.resume(tmp_path / "run").posterior_)


def _loaded(target):
    try:
        return cl.load(target)
    except ValueError as error:
        sentence = str(error)
    assert "\n" not in sentence
    return None


def test_mutated_files_load_correctly_or_are_refused_with_one_sentence(tmp_path, rng):
    one = _fit(8, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    for number in range(40):
        target = tmp_path / str(number)
        shutil.copytree(tmp_path / "run", target)
        files = sorted(path for path in target.rglob("*") if path.suffix in (".json", ".npz"))
        path = files[int(rng.integers(len(files)))]
        content = bytearray(path.read_bytes())
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content[: len(content) if rng.random() < 0.7 else int(rng.integers(len(content)))])
        found = _loaded(target)
        if found is not None:
            _same(one.posterior_, found.posterior_)


def test_a_forged_state_is_refused(tmp_path):
    """A state with a valid checksum whose effects are no numbers."""
    from countless.runs.format import read_arrays, write_arrays

    _fit(8, checkpoint=tmp_path, checkpoint_every=0.0)
    (tmp_path / "result.npz").unlink()
    path = tmp_path / "chain-0" / "state.npz"
    about, arrays = read_arrays(path, "state")
    kept = {name: value for name, value in about.items() if name not in ("format", "version", "part", "sha256")}
    for name, forged in {
        "effects": np.full_like(arrays["effects"], np.nan),
        "theta": arrays["theta"][:, :1],
        "fixed": np.zeros(3),
    }.items():
        write_arrays(path, "state", kept, {**arrays, name: forged})
        with pytest.raises(ValueError, match="the state of a chain"):
            cl.io.resume(tmp_path, draws=20)
    write_arrays(path, "state", kept, arrays)


def test_report_figures_and_arviz(model, tmp_path):
    page = model.report_page("Growth")
    names = [section.name for section in page.sections]
    assert names == [
        "answer",
        "trajectories",
        "clusters",
        "summary",
        "number",
        "effects",
        "density",
        "subjects",
        "chains",
        "settings",
    ]
    assert "2 clusters among 40 subjects" in report.write(model, tmp_path / "page.html").read_text()
    for draw in (figures.trajectories, figures.effects, figures.density, figures.caterpillar):
        buffer = io.BytesIO()
        draw(model).figure.savefig(buffer)
        assert buffer.tell() > 1000
    tree = model.posterior_.to_arviz(labels=True)
    assert tree["posterior"]["labels"].dims == ("chain", "draw", "subject")
    assert tree["posterior"]["fixed"].dims == ("chain", "draw", "fixed")


def test_cross_validation_by_subject_and_by_visit():
    from sklearn.model_selection import KFold

    X, y, subject, shared = table()
    estimator = cl.MixedEffects(inference="map", random_state=0)
    by_subject = estimator.cross_validate(X, y, subject, shared, cv=3)
    by_visit = estimator.cross_validate(X, y, subject, shared, cv=KFold(3, shuffle=True, random_state=0))
    assert by_subject.shape == by_visit.shape == (3,)
    assert np.isfinite(by_subject).all()
    assert np.isfinite(by_visit).all()


# --- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y, g, f: (X, y, g[:-1], f), r"groups must name the subject of each of 160 visits"),
        (lambda X, y, g, f: (X, y[:-1], g, f), r"y must hold 160 outcomes"),
        (lambda X, y, g, f: (X, y, g, f[:-1]), r"fixed has 159 rows, but there are 160 visits"),
        (lambda X, y, g, f: (np.column_stack([X, X[:, 0] * 3]), y, g, f), r"'X 2' is constant, as 'X 0' is"),
        (lambda X, y, g, f: (np.column_stack([X, X @ [1, 2]]), y, g, f), r"'X 2' is a combination of 'X 0', 'X 1'"),
        (lambda X, y, g, f: (np.column_stack([X, 0 * y]), y, g, f), r"'X 2' is zero in every visit"),
        (lambda X, y, g, f: (X, y, g, X[:, :1]), r"fixed: column 'fixed 0' is constant, as 'X 0' is"),
        (lambda X, y, g, f: (np.where(X == 3, np.nan, X), y, g, f), r"X contains NaN \(column 1, row 3\)"),
        (lambda X, y, g, f: (X, y * np.nan, g, f), r"y holds no outcome"),
        (lambda X, y, g, f: (X, y * 1e200, g, f), r"y holds numbers beyond 1e\+120"),
        (lambda X, y, g, f: (1e200 * X, y, g, f), r"X: column 0 holds numbers beyond 1e\+120"),
        (lambda X, y, g, f: (pd.DataFrame(np.where(X == 0, np.inf, X), columns=["a", "b"]), y, g, f), "'b', row 0"),
        (lambda X, y, g, f: (X, y + 1j, g, f), r"y must hold real numbers"),
        (lambda X, y, g, f: (X, y, None, f), r"groups must name the subject"),
        (lambda X, y, g, f: (X, [None] * 160, g, f), r"y holds no outcome|y must hold numbers"),
        (lambda X, y, g, f: (pd.DataFrame({"a": list("ab") * 80}), y, g, f), r"column 'a' holds text"),
    ],
)
def test_mistakes_get_one_sentence(change, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence) as error:
        cl.MixedEffects(inference=ENGINE).fit(*change(*table()))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"noise": -1.0}, "noise must be a number above 0"),
        ({"cluster_noise": "yes"}, "cluster_noise must be True or False, got 'yes'"),
        ({"noise": 2.0, "cluster_noise": True}, "cluster_noise: the noise is given, 2; leave it out"),
        ({"family": "poisson"}, "effects .*cannot be Poisson; choose 'gaussian'"),
        ({"inference": "variational"}, "inference: 'variational' is not known"),
        ({"inference": cl.inference.CollapsedGibbs()}, "CollapsedGibbs does not serve mixed effects"),
        ({"fixed_variance": 0.0}, "fixed_variance must hold finite numbers above 0"),
    ],
)
def test_settings_that_do_not_fit(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        cl.MixedEffects(**settings).fit(*table())


def test_new_visits_that_differ(model):
    with pytest.raises(ValueError, match="X has 3 columns, but the model was fitted with 2"):
        model.predict(np.ones((2, 3)), ["s0", "s1"], [[0.0], [0.0]])
    with pytest.raises(ValueError, match="interval must be a probability"):
        model.predict(np.ones((1, 2)), ["s0"], [[0.0]], interval="wide")
    by_number = cl.MixedEffects(inference="map", random_state=0).fit(*table()[:2], np.arange(160) // 4)
    with pytest.raises(ValueError, match="groups: '3' is text, but the subjects of the fit are numbers"):
        by_number.predict(np.ones((1, 2)), ["3"])
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2, got 'a'"):
        by_number.cross_validate(*table()[:2], np.arange(160) // 4, cv="a")
    with pytest.raises(ValueError, match="fixed: the model was fitted with 1 columns, got none"):
        model.predict(np.ones((2, 2)), ["s0", "s1"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("y", "one '~' must separate"),
        ("~ x + (1 | g)", r"no outcome before '~' \(position 1\)"),
        ("y ~ x", "needs a bracket such as"),
        ("y ~ x + (1 | g", r"'\(' at position 9 is not closed"),
        ("y ~ x + 1 | g)", r"'\)' at position 14 closes no bracket"),
        ("y ~ x (1 | g)", r"a '\+' must stand before '\(' \(position 7\)"),
        ("y ~ (1 | g) + (x | h)", r"a second one at position 15"),
        ("y ~ ( | g)", "effects before"),
        ("y ~ (1 | )", "a column of subjects after"),
        ("y ~ scale(x) + (1 | g)", r"scale\(...\) at position 5 looks at the whole column"),
        ("y ~ x + y + (1 | g)", "the outcome 'y' is also at position 9"),
        ("y ~ exit() + (1 | g)", r"exit\(...\) at position 5 is no function of formulas"),
        ("y ~ __import__('os') + (1 | g)", r"'__' at position 5 has no place in a formula"),
        ("y ~ x[0] + (1 | g)", r"'\[' at position 6 has no place in a formula"),
    ],
)
def test_formulas_that_are_none(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        Formula.parse(text)


def test_a_formula_in_its_parts():
    found = Formula.parse("log(y) ~ age * sex + (1 + time | subject) + site")
    assert found == Formula("log(y)", "age * sex+site", "1 + time", "subject")


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
def test_formulas_and_the_command(tmp_path):
    pytest.importorskip("formulaic")
    from typer.testing import CliRunner

    from countless.cli._app import app

    X, y, subject, shared = table()
    frame = pd.DataFrame({"y": y, "t": X[:, 1], "id": subject, "x": shared[:, 0]})
    frame["sex"] = np.where(frame.id.str[1:].astype(int) % 4 < 2, "male", "female")
    text = "y ~ x + sex + (1 + t | id)"
    found = cl.MixedEffects.from_formula(text, frame, inference=ENGINE, random_state=3)
    assert list(found.feature_names_) == ["Intercept", "t"]
    assert list(found.fixed_effects_.index) == ["x", "sex[T.male]"]
    twin = cl.load(found.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(twin.predict(frame.iloc[:3]), found.predict(frame.iloc[:3]))
    with pytest.raises(ValueError, match="column 'sex': 'none' was not there in the fit"):
        found.predict(frame.iloc[:3].assign(sex="none"))
    for wrong, sentence in {
        "y ~ t +* x + (1 | id)": r"operator '\+\*' at position 7 cannot stand there",
        "y ~ hole + (1 | id)": "'hole' is missing in row 2; only outcomes may be missing",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            cl.MixedEffects.from_formula(wrong, frame.assign(hole=frame.x.where(frame.index != 1)))
    with pytest.raises(ValueError, match=r"has no column 'nothing' \(position 5\)"):
        cl.MixedEffects.from_formula("y ~ nothing + (1 | id)", frame)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    words = [str(tmp_path / "visits.csv"), "--formula", text, "--chains", "2", "--draws", "30", "--warmup", "30"]
    done = CliRunner().invoke(app, ["mixed", *words, "--out", str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    assert {"effects.csv", "clusters.csv", "summary.json", "report.html"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
    assert pd.read_csv(tmp_path / "run" / "effects.csv").shape == (40, 11)
    words = [*words[:3], "--inference", "map", "--cluster-noise", "--out", str(tmp_path / "own")]
    done = CliRunner().invoke(app, ["mixed", *words])
    assert done.exit_code == 0, done.output
    assert {"noise", "noise 2.5%"} < set(pd.read_csv(tmp_path / "own" / "clusters.csv").columns)


def test_packing_is_that_of_the_kernels():
    matrix = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    assert packed(matrix).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
