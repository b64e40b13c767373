"""Sentences of the library in the words of the command line: errors and advice carry fields, no sentence is edited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cli.conftest import assert_mistake, run
from countless.cli._errors import sentence
from countless.core.errors import (
    ArgumentError,
    CannotDrawMissing,
    CannotWrite,
    ColumnOfText,
    MissingCell,
    UnknownName,
    WrongRun,
)
from countless.posterior.diagnostics import Diagnostics


@pytest.mark.parametrize(
    ("error", "python", "shell"),
    [
        (
            WrongRun("run", "seed"),
            "checkpoint: run holds a run with a different seed; choose another folder, or remove this one",
            "--out: run holds a run with a different seed; choose another folder, or start again with --overwrite",
        ),
        (
            CannotWrite("checkpoint", "run", OSError(28, "No space left on device")),
            "checkpoint: cannot write into run: No space left on device",
            "--out: cannot write into run: No space left on device",
        ),
        (ArgumentError("draws", "too few"), "draws: too few", "--draws: too few"),
        (ArgumentError("X", "is empty"), "X: is empty", "is empty"),
        (
            UnknownName("--prior", "dp", ["crp"]),
            "--prior: 'dp' is not known; choose one of 'crp'",
            "--prior: 'dp' is not known; choose one of 'crp'",
        ),
        (ValueError("a sentence"), "a sentence", "a sentence"),
    ],
)
def test_errors_about_arguments_are_about_options(error, python, shell):
    assert str(error) == python
    assert sentence(error) == shell


def test_errors_have_fields():
    text, cell, missing = ColumnOfText("X", "name"), MissingCell("X", 3, 1), CannotDrawMissing("MAP", ["gibbs"])
    assert (text.argument, text.column) == ("X", "name")
    assert (cell.row, cell.column) == (3, 1)
    assert (missing.engine, missing.able) == ("MAP", ["gibbs"])
    assert str(cell).startswith(
        "X contains NaN (first in row 3, column 1); drop or fill such cells before the fit, or "
    )


def test_suggested_settings_are_arguments_or_options():
    suggested = {"warmup": 1500, "draws": 3000}
    found = Diagnostics("The chains disagree: on x", "chains disagree", [], 4, 250, suggested=suggested)
    assert found.verdict == "The chains disagree: on x; run longer, for example warmup=1500, draws=3000."
    assert found.sentence(command_line=True) == (
        "The chains disagree: on x; run longer, for example --warmup 1500 --draws 3000."
    )
    kept = replace(found, folder="my run")
    assert kept.verdict == "The chains disagree: on x; go on with countless.io.resume('my run', draws=3000)."
    assert kept.sentence(command_line=True) == (
        "The chains disagree: on x; go on with countless resume 'my run' --draws 3000."
    )
    fine = Diagnostics("Settled: 4 chains agree.", "settled", [], 4, 250)
    assert fine.verdict == fine.sentence(command_line=True) == "Settled: 4 chains agree."


def test_a_table_with_holes_says_which_options_take_it(here):
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(12, 2)).round(2).astype(str)
    cells[4, 1] = ""
    (here / "a.csv").write_text("\n".join(["x,y", *(",".join(row) for row in cells), ""]))
    says = "column 'y' has a missing cell in row 5; choose --family auto, which takes missing cells, or leave it out"
    assert_mistake(run("fit", "a.csv", "--family", "gaussian"), says, here, left=["a.csv"])
    joint = ["--columns", "x=gaussian,y=gaussian", "--inference", "map"]
    says = "cells are missing in correlated Gaussian columns, which MAP cannot draw; choose --inference "
    assert_mistake(run("fit", "a.csv", *joint), says, here, left=["a.csv"])
