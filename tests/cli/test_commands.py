"""The commands: what they print and write, their exit codes, and that a mistake writes nothing."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import countless as cl
from countless.cli import app

SHORT = ["--chains", "2", "--draws", "20", "--warmup", "20"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(here):
    """Forty rows in two clear groups, with a column of names."""
    rows = [f"{10 * (i % 2) + 0.1 * (i % 7)},{5 * (i % 2) - 0.1 * (i % 5)},row{i}" for i in range(40)]
    (here / "table.csv").write_text("\n".join(["x,y,name", *rows, ""]))
    return "table.csv"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def shell(*arguments, folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "countless", *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def assert_mistake(result, says, folder, left=()):
    """Exit code 2, one line on standard error that says so, and no file but those that were there."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert says in lines[0]
    assert sorted(entry.name for entry in Path(folder).iterdir()) == sorted(left)


# --- good runs ------------------------------------------------------------------------------------------------


def test_version_is_quick(here):
    start = time.perf_counter()
    result = shell("--version", folder=here)
    assert (result.returncode, result.stdout) == (0, f"countless {cl.__version__}\n")
    assert time.perf_counter() - start < 10.0  # a busy machine; the next test is the sharp one


def test_version_imports_nothing_heavy(here):
    code = (
        "import sys, countless.cli; print(sorted({'numpy','numba','pandas','matplotlib','scipy'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["fit", "--help"], []])
def test_help(arguments):
    result = run(*arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert result.stderr == ""


def test_help_of_fit_names_every_option():
    text = run("fit", "--help").stdout
    for option in ("family", "prior", "inference", "chains", "draws", "warmup", "seed", "ignore", "columns", "out"):
        assert f"--{option}" in text


def test_demo_in_a_shell(here):
    result = shell("demo", folder=here)
    assert result.returncode == 0, result.stderr
    assert "How many clusters?" in result.stdout
    assert "long ones (4.3 min, the next after 80 min)" in result.stdout
    assert "seconds" in result.stdout
    assert "compiles" in result.stderr
    assert "Traceback" not in result.stderr
    assert [path.name for path in (here / "countless-demo").iterdir()] == ["old-faithful.png"]
    assert (here / "countless-demo" / "old-faithful.png").read_bytes().startswith(b"\x89PNG")


def test_fit_writes_labels_summary_and_figure(here, table):
    result = run("fit", table, "--ignore", "name", "--out", "found", *SHORT)
    assert result.exit_code == 0, result.output
    assert "2 clusters in 40 rows" in result.stdout
    assert sorted(path.name for path in (here / "found").iterdir()) == ["labels.csv", "summary.json", "summary.png"]
    with (here / "found" / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 41)]
    assert [row["label"] for row in rows] == ["0", "1"] * 20
    assert all(0.5 < float(row["probability"]) <= 1.0 for row in rows)
    summary = json.loads((here / "found" / "summary.json").read_text())
    assert summary["n_clusters"] == 2
    assert summary["sizes"] == [20, 20]
    assert sum(summary["n_clusters_probability"].values()) == pytest.approx(1.0)
    assert summary["data"] == {"file": "table.csv", "rows": 40, "columns": ["x", "y"]}
    assert summary["family"]["name"] == "Gaussian"
    assert len(summary["family"]["mean"]) == 2
    assert summary["prior"]["concentration"] == {"name": "Gamma", "shape": 1.0, "rate": 1.0}
    assert (summary["inference"]["chains"], summary["inference"]["draws"]) == (2, 20)
    assert summary["seed"] == 0
    assert summary["versions"]["countless"] == cl.__version__


def test_the_same_seed_writes_the_same_files(here, table):
    arguments = ["fit", table, "--columns", "x,y", "--seed", "5", *SHORT, "--out"]
    for folder in ("one", "two"):
        assert run(*arguments, folder).exit_code == 0
    for name in ("labels.csv", "summary.json", "summary.png"):
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()


def test_map_with_a_fixed_concentration(here, table):
    result = run("fit", table, "--columns", "y", "--inference", "map", "--concentration", "0.5")
    assert result.exit_code == 0, result.output
    summary = json.loads((here / "countless-fit" / "summary.json").read_text())
    assert summary["inference"]["name"] == "MAP"
    assert summary["prior"] == {"name": "CRP", "concentration": 0.5}
    assert summary["data"]["columns"] == ["y"]


def test_fit_in_a_shell_has_no_bars_and_no_colours(here, table):
    result = shell("fit", table, "--ignore", "name", *SHORT, folder=here)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert len(result.stderr.splitlines()) == 1


# --- mistakes -------------------------------------------------------------------------------------------------

OPTIONS = {
    "family": (["--family", "guassian"], "--family: 'guassian' is not known; choose one of 'bernoulli', "),
    "prior": (["--prior", "dp"], "--prior: 'dp' is not known; choose one of 'crp', "),
    "inference": (["--inference", "hmc"], "--inference: 'hmc' is not known; choose one of "),
    "concentration": (["--concentration", "-1"], "concentration"),
    "chains": (["--chains", "0"], "chains must be a whole number of at least 1"),
    "setting": (["--inference", "map", "--draws", "5"], "--draws: inference 'map' has no such setting"),
    "seed": (["--seed", "-3"], "--seed"),
    "number": (["--chains", "two"], "--chains"),
    "unknown option": (["--chanis", "2"], "--chanis"),
    "column": (["--columns", "x,z"], "has no column 'z'; it has 'x', 'y', 'name'"),
    "ignore": (["--ignore", "nome"], "has no column 'nome'"),
    "negative counts": (["--family", "poisson"], "counts"),
    "out below a file": (["--out", "table.csv/results"], "--out: cannot write into table.csv/results"),
    "out is a file": (["--out", "table.csv"], "--out: cannot write into table.csv"),
}


@pytest.mark.parametrize("mistake", OPTIONS)
def test_a_mistaken_option(here, table, mistake):
    options, says = OPTIONS[mistake]
    ignore = [] if "--columns" in options else ["--ignore", "name"]
    assert_mistake(run("fit", table, *ignore, *options), says, here, left=["table.csv"])


TABLES = {
    "text": (b"x,who\n1,Ada\n2,Jan\n", "column 'who' holds text"),
    "empty": (b"", "is empty"),
    "header only": (b"x,y\n", "no rows"),
    "ragged": (b"x,y\n1,2\n3\n", "line 3 has 1 cell"),
    "Latin-1": (b"gr\xf6\xdfe\n1\n", "is not UTF-8"),
    "same name twice": (b"x,x\n1,2\n", "two columns are called 'x'"),
    "missing cells": (b"x,y\n1,\n2,3\n", "column 'y' has 1 empty cell"),
}


@pytest.mark.parametrize("mistake", TABLES)
def test_a_mistaken_table(here, mistake):
    content, says = TABLES[mistake]
    (here / "a.csv").write_bytes(content)
    assert_mistake(run("fit", "a.csv"), says, here, left=["a.csv"])


def test_a_file_that_is_not_there(here):
    assert_mistake(run("fit", "none.csv"), "none.csv: there is no such file", here)


def test_a_folder_for_a_file(here):
    assert_mistake(run("fit", here), "is a folder", here)


def test_no_file_and_no_such_command(here):
    assert_mistake(run("fit"), "argument", here)
    assert_mistake(run("cluster"), "No such command 'cluster'", here)


def test_demo_checks_its_folder_first(here):
    (here / "file").write_text("")
    assert_mistake(run("demo", "--out", "file/deep"), "--out: cannot write into file/deep", here, left=["file"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["fit", "none.csv"], "there is no such file"), (["fit", "table.csv"], "column 'name' holds text")],
)
def test_mistakes_in_a_shell(here, table, arguments, says):
    result = shell(*arguments, folder=here)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr
    assert [entry.name for entry in here.iterdir()] == ["table.csv"]


# --- failures on the way -----------------------------------------------------------------------------------------


def assert_stopped(result, code, says, folder):
    assert result.exit_code == code
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert says in last
    assert "Traceback" not in result.output
    assert [entry.name for entry in folder.iterdir()] == ["table.csv"]


def test_ctrl_c_during_the_fit(here, table, monkeypatch):
    def interrupted(self, X):
        raise KeyboardInterrupt

    monkeypatch.setattr(cl.DPMixture, "fit", interrupted)
    assert_stopped(run("fit", table, "--ignore", "name"), 130, "interrupted; nothing was written", here)


def test_a_fit_that_keeps_what_it_has_is_given_up(here, table, monkeypatch):
    def interrupted(self, X):
        warnings.warn("the fit was interrupted: 3 draws are kept", stacklevel=2)

    monkeypatch.setattr(cl.DPMixture, "fit", interrupted)
    assert_stopped(run("fit", table, "--ignore", "name"), 130, "interrupted; nothing was written", here)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError("the disk\nis on fire"), 2, "the disk is on fire"),
        (MemoryError(), 2, "not enough memory"),
        (TypeError("oops"), 1, "a defect of countless (TypeError: oops)"),
    ],
)
def test_other_failures_are_one_line(here, table, monkeypatch, error, code, says):
    def broken(self, X):
        raise error

    monkeypatch.setattr(cl.DPMixture, "fit", broken)
    assert_stopped(run("fit", table, "--ignore", "name"), code, says, here)


def test_a_full_disk_at_the_end_leaves_nothing(here, table, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("fit", table, "--ignore", "name", *SHORT)
    assert_stopped(result, 2, "No space left on device", here)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_ctrl_c_in_a_shell(here, table):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "countless", "fit", table, "--ignore", "name", "--draws", "1000000"]

    def heed_interrupts():
        # A test run in the background of a shell inherits a SIGINT that is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command,
        cwd=here,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        assert "clustering" in process.stderr.readline()
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert (out, err) == ("", "error: interrupted; nothing was written\n")
    assert [entry.name for entry in here.iterdir()] == ["table.csv"]
