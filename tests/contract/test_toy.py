"""A model that is no partition goes through everything that a mixture does; nothing outside its file mentions it."""

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
import pytest
from scipy.stats import norm

import countless as cl
from countless import report
from countless.chains import ENGINES
from countless.runs import ESTIMATORS
from helpers import batch_error

from . import change_point
from .change_point import ChangePoint, ChangeSampler

SERIES = np.random.default_rng(3).normal(np.repeat([0.0, 1.2], [12, 8]), 1.0)
FILE = Path(change_point.__file__)
TESTS = FILE.parents[1]


@pytest.fixture(autouse=True)
def _registered():
    """Other tests may have taken the names out of the registers."""
    ESTIMATORS.add("ChangePoint")(ChangePoint)
    ENGINES.add("change-point")(ChangeSampler)
    yield
    ESTIMATORS.remove("ChangePoint")
    ENGINES.remove("change-point")


def _model(draws=200, seed=5, **settings):
    return ChangePoint(ChangeSampler(chains=3, draws=draws, warmup=20, **settings), random_state=seed)


def _same(one, other):
    assert list(one.draws.arrays) == list(other.draws.arrays)
    for name, array in one.draws.arrays.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_it_is_short_and_nothing_else_mentions_it():
    assert len(FILE.read_text().splitlines()) < 80
    sources = Path(cl.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "change_point" in path.read_text() or "ChangePoint" in path.read_text()]


def test_its_draws_follow_the_exact_posterior():
    """The means integrated out by hand: a normal law of the sum of each side."""

    def evidence(part):
        covariance = np.eye(len(part)) + 100.0
        return float(-0.5 * (part @ np.linalg.solve(covariance, part) + np.linalg.slogdet(covariance)[1]))

    scores = np.array([evidence(SERIES[:c]) + evidence(SERIES[c:]) for c in range(1, len(SERIES))])
    exact = np.exp(scores - np.logaddexp.reduce(scores))
    drawn = _model(3000).fit(SERIES).posterior_["change"]
    for place in np.flatnonzero(exact > 0.02) + 1:
        hits = [(chain == place).astype(float) for chain in drawn]
        error = np.sqrt(sum(batch_error(chain) ** 2 for chain in hits)) / len(hits)
        assert abs(np.mean(hits) - exact[place - 1]) < 4.5 * error


def test_the_log_joint_is_that_of_the_draw():
    posterior = _model(20).fit(SERIES).posterior_
    change, means = posterior["change"][1, 7], posterior["means"][1, 7]
    expected = norm.logpdf(SERIES[:change], means[0]).sum() + norm.logpdf(SERIES[change:], means[1]).sum()
    expected += norm.logpdf(means, 0.0, 10.0).sum() - np.log(len(SERIES) - 1)
    assert posterior.log_joint[1, 7] == pytest.approx(expected, rel=1e-12)


def test_threads_do_not_matter_and_progress_is_shown(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    quiet = _model(n_threads=1).fit(SERIES)
    model = _model(1500, n_threads=2)
    model.progress = True
    _same(_model(1500).fit(SERIES).posterior_, model.fit(SERIES).posterior_)
    np.testing.assert_array_equal(quiet.posterior_["change"], model.posterior_["change"][:, :200])
    assert "log joint" in capfd.readouterr().err


def test_it_knows_when_it_is_done(tmp_path):
    """No partition: numbers alone decide. Interrupted by the clock and continued, it is the same run."""
    whole = ChangePoint(random_state=5).fit(SERIES)
    assert whole.posterior_.diagnostics().state == "settled"
    begin = time.perf_counter()
    _same(whole.posterior_, ChangePoint(random_state=5).fit(SERIES).posterior_)
    part = (time.perf_counter() - begin) / 4.0
    timed = ChangePoint(ChangeSampler(max_seconds=part), random_state=5)
    model = timed.fit(SERIES, checkpoint=tmp_path)
    stops = 0
    while model.posterior_.interrupted:
        model, stops = cl.io.resume(tmp_path), stops + 1
    assert stops > 0
    _same(whole.posterior_, model.posterior_)
    _same(whole.posterior_, cl.load(tmp_path).posterior_)


def test_saved_loaded_and_made_longer(tmp_path):
    model = _model().fit(SERIES, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    for twin in (cl.load(tmp_path / "run"), cl.load(model.save(tmp_path / "model.npz"))):
        _same(model.posterior_, twin.posterior_)
        assert twin.inference_ == model.inference_
    _same(_model(300).fit(SERIES).posterior_, cl.io.resume(tmp_path / "run", draws=300).posterior_)
    with pytest.raises(ValueError, match=r"holds a run with a different series"):
        _model(300).fit(SERIES + 1.0, checkpoint=tmp_path / "run")


PROGRAM = """
import sys
import numpy as np
from contract.change_point import ChangePoint, ChangeSampler
series = np.array({series})
engine = ChangeSampler(chains=3, draws=2500, warmup=20)
ChangePoint(engine, random_state=5).fit(series, checkpoint=sys.argv[1], checkpoint_every=0.01)
"""


def test_a_killed_run_continues_draw_for_draw(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(cl.__file__).parents[1]), str(TESTS)])}
    program = PROGRAM.format(series=SERIES.tolist())
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "run")], env=environment)
    try:
        while process.poll() is None and len(list((tmp_path / "run").glob("chain-*/state.npz"))) < 2:
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "run" / "result.npz").exists(), "the run was over before it was killed"
    resumed = cl.io.resume(tmp_path / "run")
    _same(_model(2500).fit(SERIES).posterior_, resumed.posterior_)


def _loaded(target):
    """The model, or None where it was refused with one sentence."""
    try:
        return cl.load(target)
    except ValueError as error:
        sentence = str(error)
    assert "\n" not in sentence
    return None


def test_mutated_files_load_correctly_or_are_refused_with_one_sentence(tmp_path, rng):
    model = _model(12).fit(SERIES, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    loaded = 0
    for number in range(60):
        target = tmp_path / str(number)
        shutil.copytree(tmp_path / "run", target)
        files = sorted(path for path in target.rglob("*") if path.suffix in (".json", ".npz"))
        path = files[int(rng.integers(len(files)))]
        content = bytearray(path.read_bytes())
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content[: len(content) if rng.random() < 0.7 else int(rng.integers(len(content)))])
        found = _loaded(target)
        if found is not None:
            _same(model.posterior_, found.posterior_)
            loaded += 1
    assert loaded < 30


def test_a_forged_state_is_refused(tmp_path):
    """A state with a valid checksum whose change lies beyond the series."""
    from countless.runs.format import read_arrays, write_arrays

    _model(12).fit(SERIES, checkpoint=tmp_path, checkpoint_every=0.0)
    (tmp_path / "result.npz").unlink()
    path = tmp_path / "chain-0" / "state.npz"
    about, arrays = read_arrays(path, "state")
    for change in (np.int64(0), np.int64(10**6), np.float64(3.0), np.array([3])):
        kept = {name: value for name, value in about.items() if name not in ("format", "version", "part", "sha256")}
        write_arrays(path, "state", kept, {**arrays, "change": np.asarray(change)})
        with pytest.raises(ValueError, match="the state of a chain"):
            cl.io.resume(tmp_path, draws=20)


def test_diagnostics_and_arviz():
    posterior = _model().fit(SERIES).posterior_
    found = posterior.diagnostics()
    assert found.converged
    assert [each.words for each in found.quantities] == ["log joint", "place of the change"]
    assert found.distance is None
    tree = posterior.to_arviz(labels=True)
    assert tree["posterior"]["means"].dims == ("chain", "draw", "side")
    np.testing.assert_array_equal(tree["posterior"]["change"].values, posterior["change"])
    with pytest.raises(ValueError, match="is not an axis whose items are grouped"):
        posterior.partition("row")
    apart = _model().fit(SERIES).posterior_.draws.replaced(change=posterior["change"] + 5 * np.arange(3)[:, None])
    assert not type(posterior)(apart).diagnostics().converged


def test_a_report_with_a_section_of_its_own(tmp_path):
    model = _model().fit(SERIES)
    page = model.report_page("Coal")
    assert [section.name for section in page.sections] == ["answer", "where", "chains", "settings"]
    text = report.write(model, tmp_path / "page.html", title="Coal").read_text()
    assert "Where is the change?" in text
    assert "place of the change" in text


def test_figures_of_chains():
    buffer = io.BytesIO()
    cl.plots.traces(_model().fit(SERIES)).figure.savefig(buffer)
    assert buffer.tell() > 1000
