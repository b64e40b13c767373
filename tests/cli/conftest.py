"""A folder to work in, tables, and the two ways to call the command: in this process and in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from countless.cli import app

SHORT = ["--chains", "2", "--draws", "20", "--warmup", "20"]
GAUSSIAN = ["--family", "gaussian", *SHORT]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def two_groups(n=40):
    """Rows in two clear groups, with a column of names."""
    rows = [f"{10 * (i % 2) + 0.1 * (i % 7):.1f},{5 * (i % 2) - 0.1 * (i % 5):.1f},row{i}" for i in range(n)]
    return "\n".join(["x,y,name", *rows, ""])


@pytest.fixture
def table(here):
    """Forty rows in two clear groups, with a column of names."""
    (here / "table.csv").write_text(two_groups())
    return "table.csv"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def shell(*arguments, folder, **more):
    return subprocess.run(
        [sys.executable, "-m", "countless", *map(str, arguments)],
        cwd=folder,
        env=environment(**more),
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
