"""A run that is killed and resumed equals the run that was never stopped, draw for draw."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countless as cl
from countless import report
from countless.core import files as _files
from countless.inference import BlockedGibbs, CollapsedGibbs
from countless.runs import folder as run_folder

from .runs_to_kill import CASES, model, same_posteriors, table

# These chains are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")

PROGRAM = Path(__file__).with_name("runs_to_kill.py")


def _started(case: str, folder: Path) -> subprocess.Popen[bytes]:
    """The fit of a case in a process of its own."""
    source = str(Path(cl.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen([sys.executable, str(PROGRAM), case, str(folder)], env=environment)


def _never_stopped(case: str, folder: Path) -> Any:
    """The whole fit, made by a process that finds all kernels compiled.

    The one that compiles them may round differently: verbs of composed families are not inlined, there are several
    copies of them, and which one is linked depends on the order in which kernels were compiled or loaded.
    """
    for number in range(2):
        assert _started(case, folder / f"whole {number}").wait() == 0
    return cl.load(folder / "whole 1")


def _killed(case: str, folder: Path, delay: float) -> None:
    """Start, or take up, the fit of a case in a process of its own, and kill it so long after a checkpoint."""
    before = _states(folder)
    process = _started(case, folder)
    try:
        while process.poll() is None and _states(folder) == before:
            time.sleep(0.005)
        time.sleep(delay)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _states(folder: Path) -> set[int]:
    return {path.stat().st_mtime_ns for path in folder.glob("chain-*/state.npz")}


def _draws_on_disk(folder: Path) -> int:
    run = run_folder.RunFolder.open(folder)
    return sum(sum(len(part["log_joint"]) for part in found[1]) for k in range(2) if (found := run.load(k)))


@pytest.mark.parametrize("case", ["collapsed, learned", "blocked", "until they suffice", "sequences"])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(case, rng, tmp_path):
    _killed(case, tmp_path / "run", rng.uniform(0.0, 0.3))
    assert not (tmp_path / "run" / "result.npz").exists(), "the run was over before it was killed"
    resumed = cl.io.resume(tmp_path / "run")
    whole = model(case).fit(table(case))
    same_posteriors(whole.posterior_, resumed.posterior_)
    np.testing.assert_array_equal(whole.labels_, resumed.labels_)
    same_posteriors(whole.posterior_, cl.load(tmp_path / "run").posterior_)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_runs_killed_at_random_moments(case, rng, tmp_path):
    """Four of each sampler, 20 in all, some of them killed a second and a third time."""
    whole = _never_stopped(case, tmp_path)
    for number in range(4):
        folder = tmp_path / str(number)
        reached = []
        for _ in range(1 + number % 3):
            _killed(case, folder, rng.uniform(0.0, 4.0 if "table" in case else 1.0))
            reached.append(_draws_on_disk(folder))
        assert reached == sorted(reached)
        resumed = cl.io.resume(folder)
        print(f"{case}, run {number}: killed at {reached} of {whole.posterior_.n_draws} draws")
        same_posteriors(whole.posterior_, resumed.posterior_)
        np.testing.assert_array_equal(whole.labels_, resumed.labels_)


# --- every moment at which files change ----------------------------------------------------------------------


class Death(BaseException):
    """The process ends here, as far as its files can tell."""


ENGINES = {
    "collapsed": CollapsedGibbs(chains=2, draws=6, warmup=3, n_threads=1),
    "blocked": BlockedGibbs(chains=2, draws=6, warmup=4, n_threads=1),
}


def test_a_run_that_decides_its_length_is_made_longer_by_rounds(tmp_path):
    """Written down or not, in one go or in two: the draws are the same, and so is their number."""
    X = np.random.default_rng(0).standard_normal((12, 1))
    engine = CollapsedGibbs(chains=2, warmup=20)
    short = cl.DPMixture(inference=engine, random_state=4).fit(X, checkpoint=tmp_path)
    made = short.posterior_.draws.made
    same_posteriors(short.posterior_, cl.load(tmp_path).posterior_)
    assert cl.load(tmp_path).posterior_.draws.made == made
    again = cl.DPMixture(inference=engine, random_state=4).fit(X, checkpoint=tmp_path)
    same_posteriors(short.posterior_, again.posterior_)
    longer = cl.io.resume(tmp_path, draws=made + 1)
    assert longer.posterior_.draws.made == 2 * made
    assert longer.inference_ == engine
    same_posteriors(longer.posterior_, cl.load(tmp_path).posterior_)
    with pytest.raises(ValueError, match="a different inference"):
        cl.DPMixture(inference=CollapsedGibbs(chains=2, warmup=20, draws=300), random_state=4).fit(
            X, checkpoint=tmp_path
        )
    warm = cl.DPMixture(inference=engine, random_state=4, warm_start=True).fit(X)
    same_posteriors(short.posterior_, warm.posterior_)
    same_posteriors(longer.posterior_, warm.fit(X).posterior_)


def test_a_run_stopped_by_the_clock_continues(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 1))
    length = {"chains": 2, "draws": 20, "warmup": 10}
    whole = cl.DPMixture(inference=CollapsedGibbs(**length), random_state=4, tune=None).fit(X)
    # Less time than one draw takes: however fast or slow the machine, every part of the run adds one draw.
    timed = CollapsedGibbs(**length, max_seconds=1e-6)
    model = cl.DPMixture(inference=timed, random_state=4, tune=None).fit(X, checkpoint=tmp_path, checkpoint_every=0.0)
    assert model.posterior_.interrupted
    while model.posterior_.interrupted:
        assert "stopped by max_seconds" in report.unfinished(model.posterior_)
        model = cl.io.resume(tmp_path)
    same_posteriors(whole.posterior_, model.posterior_)


def _die_at(monkeypatch, moment: int) -> None:
    """Nothing reaches the disk from the given change of a file on; half of that file may be there."""
    changes = itertools.count()
    stage, replace = _files._stage, Path.replace

    def staging(folder, content):
        if next(changes) >= moment:
            (folder / f"{_files.STAGE}dead.tmp").write_bytes(b"PK half of it")
            raise Death
        return stage(folder, content)

    def replacing(self, target):
        if next(changes) >= moment:
            raise Death
        return replace(self, target)

    monkeypatch.setattr(_files, "_stage", staging)
    monkeypatch.setattr(Path, "replace", replacing)


@pytest.mark.parametrize("engine", ENGINES)
def test_death_at_every_change_of_a_file(engine, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((25, 2)) + np.repeat([0.0, 8.0], [12, 13])[:, None]

    def fresh():
        return cl.DPMixture(inference=ENGINES[engine], random_state=4)

    whole = fresh().fit(X)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # the power stays on
    survived, moment = False, 0
    while not survived:
        folder = tmp_path / str(moment)
        with monkeypatch.context() as patched:
            _die_at(patched, moment)
            try:
                fresh().fit(X, checkpoint=folder, checkpoint_every=0.0)
                survived = True
            except Death:
                pass
        again = fresh().fit(X, checkpoint=folder)
        same_posteriors(whole.posterior_, again.posterior_)
        assert not list(folder.rglob("*.tmp"))
        moment += 5  # files change four times a sweep, so that every kind of moment has its turn
    assert moment > 40
