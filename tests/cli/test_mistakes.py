"""A mistake is one line, exit code 2 and no file; an interrupt says what is on disk; a defect has no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest

import countless as cl
from cli.conftest import GAUSSIAN, assert_mistake, environment, run, shell
from countless.core.warnings import InterruptedFit

OPTIONS = {
    "family": (["--family", "guassian"], "--family: 'guassian' is not known; choose one of 'bernoulli', "),
    "prior": (["--prior", "dp"], "--prior: 'dp' is not known; choose one of 'crp', "),
    "inference": (["--inference", "hmc"], "--inference: 'hmc' is not known; choose one of "),
    "tune": (["--tune", "hard"], "--tune: 'hard' is not known; choose one of "),
    "concentration": (["--concentration", "-1"], "concentration"),
    "chains": (["--chains", "0"], "chains must be a whole number of at least 1"),
    "setting": (["--inference", "map", "--draws", "5"], "--draws: inference 'map' has no such setting"),
    "seed": (["--seed", "-3"], "--seed"),
    "number": (["--chains", "two"], "--chains"),
    "unknown option": (["--chanis", "2"], "--chanis"),
    "column": (["--columns", "x,z"], "has no column 'z'; it has 'x', 'y', 'name'"),
    "kind": (["--columns", "x=gausian"], "--columns: 'gausian' for 'x' is not known; choose one of 'bernoulli'"),
    "kinds without a mixed table": (["--family", "gaussian", "--columns", "x=poisson"], "need --family auto"),
    "ignore": (["--ignore", "nome"], "has no column 'nome'"),
    "label": (["--label", "nome"], "has no column 'nome'"),
    "negative counts": (["--family", "poisson"], "counts"),
    "out below a file": (["--out", "table.csv/results"], "--out: cannot write into table.csv/results"),
    "out is a file": (["--out", "table.csv"], "--out: cannot write into table.csv"),
}


@pytest.mark.parametrize("mistake", OPTIONS)
def test_a_mistaken_option(here, table, mistake):
    options, says = OPTIONS[mistake]
    ignore = [] if "x,z" in options else ["--ignore", "name"]
    assert_mistake(run("fit", table, *ignore, *options), says, here, left=["table.csv"])


TABLES = {
    "text": (b"x,who\n1,Ada\n2,Jan\n", "column 'who' holds text"),
    "empty": (b"", "is empty"),
    "header only": (b"x,y\n", "no rows"),
    "ragged": (b"x,y\n1,2\n3\n", "line 3 has 1 cell"),
    "Latin-1": (b"gr\xf6\xdfe\n1\n", "is not UTF-8"),
    "same name twice": (b"x,x\n1,2\n", "two columns are called 'x'"),
    "missing cells": (b"x,y\n1,\n2,3\n", "--family auto"),
}


@pytest.mark.parametrize("mistake", TABLES)
def test_a_mistaken_table(here, mistake):
    content, says = TABLES[mistake]
    (here / "a.csv").write_bytes(content)
    assert_mistake(run("fit", "a.csv", "--family", "gaussian"), says, here, left=["a.csv"])


def test_files_that_are_not_there(here):
    assert_mistake(run("fit", "none.csv"), "none.csv: there is no such file", here)
    for command in (["report", "none"], ["resume", "none"], ["predict", "none", "none.csv"]):
        assert_stopped(run(*command), 2, "none: there is no such", here, left=[])
    assert_mistake(run("compare", "none.csv", "none.csv"), "none.csv: there is no such file", here)


def test_a_folder_for_a_file(here):
    assert_mistake(run("fit", here), "is a folder", here)


def test_a_folder_that_is_not_a_run(here):
    (here / "photos").mkdir()
    for command in (["report", "photos"], ["resume", "photos"], ["predict", "photos", "none.csv"]):
        assert_stopped(run(*command), 2, "photos is not a run of countless", here, left=["photos"])


def test_no_file_and_no_such_command(here):
    assert_mistake(run("fit"), "argument", here)
    assert_mistake(run("cluster"), "No such command 'cluster'", here)


def test_demo_checks_its_folder_first(here):
    (here / "file").write_text("")
    assert_mistake(run("demo", "--out", "file/deep"), "--out: cannot write into file/deep", here, left=["file"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "none.csv"], "there is no such file"),
        (["fit", "table.csv", "--family", "gaussian"], "column 'name' holds text"),
    ],
)
def test_mistakes_in_a_shell(here, table, arguments, says):
    result = shell(*arguments, folder=here)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr
    assert [entry.name for entry in here.iterdir()] == ["table.csv"]


# --- failures on the way -----------------------------------------------------------------------------------------


def assert_stopped(result, code, says, folder, left=("table.csv",)):
    assert result.exit_code == code
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert says in last
    assert "Traceback" not in result.output
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(left)


def test_ctrl_c_before_anything_is_on_disk(here, table, monkeypatch):
    def interrupted(self, X, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(cl.DPMixture, "fit", interrupted)
    assert_stopped(run("fit", table, *GAUSSIAN, "--ignore", "name"), 130, "interrupted; nothing was written", here)


def test_an_interrupted_fit_says_how_to_continue(here, table, monkeypatch):
    def interrupted(self, X, checkpoint):
        checkpoint.mkdir(exist_ok=True)
        (checkpoint / "run.json").write_text("{}")
        warnings.warn("the fit was interrupted: 3 draws are kept", InterruptedFit, stacklevel=2)

    monkeypatch.setattr(cl.DPMixture, "fit", interrupted)
    result = run("fit", table, *GAUSSIAN, "--ignore", "name")
    assert_stopped(result, 130, "countless resume table-countless", here, left=["table.csv", "table-countless"])


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError("the disk\nis on fire"), 2, "the disk is on fire"),
        (MemoryError(), 2, "not enough memory"),
        (TypeError("oops"), 1, "a defect of countless (TypeError: oops)"),
    ],
)
def test_other_failures_are_one_line(here, table, monkeypatch, error, code, says):
    def broken(self, X, **settings):
        raise error

    monkeypatch.setattr(cl.DPMixture, "fit", broken)
    assert_stopped(run("fit", table, *GAUSSIAN, "--ignore", "name"), code, says, here)


def test_a_full_disk_at_the_end_leaves_no_half_file(here, table, monkeypatch):
    arguments = ["fit", table, "--ignore", "name", *GAUSSIAN]
    assert run(*arguments, "--no-report").exit_code == 0
    before = {path: path.read_bytes() for path in (here / "table-countless").iterdir() if path.is_file()}

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr.splitlines()[-1]
    after = {path: path.read_bytes() for path in (here / "table-countless").iterdir() if path.is_file()}
    assert after == before


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_ctrl_c_in_a_shell(here, table):
    command = [sys.executable, "-m", "countless", "fit", table, "--label", "name", *GAUSSIAN]
    command += ["--draws", "1000000"]

    def heed_interrupts():
        # A test run in the background of a shell inherits a SIGINT that is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command,
        cwd=here,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        assert "clustering" in process.stderr.readline()
        for _ in range(1_000):
            if (here / "table-countless" / "run.json").exists():
                break
            time.sleep(0.1)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1].endswith("continue with countless resume table-countless")
    assert "Traceback" not in err
    # Known classes and the name of the table are there too.
    about = json.loads((here / "table-countless" / "about.json").read_text())
    assert (about["file"], about["label"], about["classes"][:2]) == ("table.csv", "name", ["row0", "row1"])
