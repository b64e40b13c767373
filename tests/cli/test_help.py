"""The command as people meet it: versions, help, completion; nothing heavy is loaded for these."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import countless as cl
from cli.conftest import environment, run, shell

COMMANDS = ("fit", "report", "predict", "resume", "compare", "demo")


def test_version_is_quick(here):
    start = time.perf_counter()
    result = shell("--version", folder=here)
    assert (result.returncode, result.stdout) == (0, f"countless {cl.__version__}\n")
    assert time.perf_counter() - start < 10.0  # a busy machine; the next test is the sharp one


def test_version_imports_nothing_heavy(here):
    code = (
        "import sys, countless.cli; print(sorted({'numpy','numba','pandas','matplotlib','scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["--help", *COMMANDS])
def test_help_stays_on_one_screen(name, monkeypatch):
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 100)
    lines = run(name, "--help").stdout.rstrip().splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("arguments", [["--help"], *([name, "-h"] for name in COMMANDS), []])
def test_help(arguments):
    result = run(*arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert result.stderr == ""


def test_the_first_help_names_every_command_and_every_exit_code():
    text = " ".join(run("--help").stdout.split())
    places = [text.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)
    for code in ("0 fine", "1 a defect", "2 a mistake", "130 interrupted"):
        assert code in text


def test_help_of_fit_names_every_option():
    text = run("fit", "--help").stdout
    named = (
        *("family", "prior", "inference", "concentration", "tune", "chains", "draws", "warmup", "seed"),
        *("columns", "ignore", "label", "out", "overwrite", "json", "no-report"),
    )
    for option in named:
        assert f"--{option}" in text


@pytest.mark.parametrize("name", COMMANDS[:-1])
def test_help_shows_examples(name):
    assert f"countless {name} " in run(name, "--help").stdout.partition("Examples")[2]


def complete(words, here):
    """What bash would offer after these words."""
    more = {"_COUNTLESS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    return shell(folder=here, **more).stdout.split()


def test_completion_in_bash(here):
    assert set(complete("countless ", here)) >= set(COMMANDS)
    assert "--family" in complete("countless fit --fa", here)
    assert complete("countless fit --family diag", here) == ["diagonal-gaussian"]
    assert complete("countless fit --inference va", here) == ["variational"]


def test_completion_can_be_installed(here):
    # Not by --show-completion, which asks the processes above it for the shell: a test may have none.
    script = shell(folder=here, _COUNTLESS_COMPLETE="source_bash")
    assert "countless" in script.stdout
    assert "Traceback" not in script.stderr
