"""Studies are run case by case, go on where they were stopped, and write a table, a figure and a page."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from countless.cli import app
from countless.experiments import STUDIES, Study
from countless.experiments.biclusters import (
    STEP_COUNTS,
    Biclusters,
    error_of_side,
    make_normalisation,
    make_steps,
    make_symmetric,
    step_shares,
)
from countless.experiments.hmm import Sequences
from countless.experiments.study import reproduce


class Cubes(Study):
    """Cubes of small numbers."""

    title = "Cubes"
    text = "As known since long."

    def cases(self, quick):
        return [{"x": x} for x in range(2 if quick else 5)]

    def run(self, case):
        return [{"cube": case["x"] ** 3}]

    def figure(self, table):
        from countless.plots.parts.style import Picture

        picture = Picture(figsize=(2, 2))
        picture.add_subplot().plot(table["x"], table["cube"])
        return picture


class Impatient(Cubes):
    """Stops at the fourth case."""

    def run(self, case):
        if case["x"] == 3:
            raise KeyboardInterrupt
        return super().run(case)


@pytest.mark.parametrize("jobs", [1, 2])
def test_table_figure_and_page(tmp_path, jobs):
    seen = []
    paths = reproduce(Cubes(), tmp_path, n_jobs=jobs, progress=lambda done, total: seen.append((done, total)))
    assert [path.name for path in paths] == ["table.csv", "figure.png", "index.md"]
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.to_numpy().tolist() == [[x, x**3] for x in range(5)]
    assert seen == [(done, 5) for done in range(6)]
    page = (tmp_path / "index.md").read_text()
    assert "# Cubes" in page
    assert "| 4 | 64 |" in page


def test_it_goes_on_where_it_was_stopped(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        reproduce(Impatient(), tmp_path)
    assert not (tmp_path / "table.csv").exists()
    done = sorted((tmp_path / "cases").iterdir())
    assert len(done) == 3
    done[0].write_text("damaged")
    done[1].write_text(json.dumps({"case": {"x": 1}, "rows": [{"cube": -7}]}))  # what is there is not run again
    reproduce(Cubes(), tmp_path)
    assert pd.read_csv(tmp_path / "table.csv")["cube"].tolist() == [0, -7, 8, 27, 64]


def test_the_command_lists_and_refuses():
    listed = CliRunner().invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0
    assert all(f"{name}: {study.title}" in listed.output for name, study in STUDIES.items())
    missing = CliRunner().invoke(app, ["reproduce", "nothing"])
    assert missing.exit_code == 2
    assert "'biclusters'" in missing.stderr


@pytest.mark.parametrize("make", [make_steps, make_normalisation, lambda rng: make_symmetric(-12.0, rng)])
def test_data_of_the_studies_of_biclustering(make, rng):
    X, rows, columns = make(rng)
    assert X.shape == (len(rows), len(columns))
    assert np.all(np.floor(X) == X)


def test_steps_can_be_told_apart():
    """The chance that somebody who knows all shares misplaces a feature: a sum of Bhattacharyya's bounds."""
    shares = step_shares() / step_shares().sum(axis=1, keepdims=True) / 5.0

    def bound(counts):
        roots = np.sqrt(60.0 * counts * shares.T)  # counts of a feature in the objects of each cluster
        distances = ((roots[:, None] - roots) ** 2).sum(axis=2)
        return 5.0 * (np.exp(-0.5 * distances) - np.eye(10)).sum()

    assert bound(STEP_COUNTS) < 1e-3 < 0.1 < bound(60)


def test_blocks_of_the_symmetric_model(rng):
    """A small beta puts nearly everything into one block; shares of many draws have mean 1 / 20 each."""
    one = make_symmetric(-12.0, rng)[0]
    assert (one.sum(axis=1) == 0).mean() >= 0.7
    flat = make_symmetric(8.0, rng)[0]
    assert flat.std() < 0.2 * flat.mean() + 3.0 * np.sqrt(flat.mean())


def test_items_without_counts_are_apart():
    truth, totals = np.array([0, 0, 1, 2, 3]), np.array([4.0, 4.0, 0.0, 0.0, 2.0])
    assert error_of_side(np.array([0, 0, 1, 1, 2]), truth, totals) == 0.0
    assert error_of_side(np.array([0, 0, 0, 0, 0]), truth, totals) > 0.0


def test_a_case_of_each_study():
    (steps,) = Biclusters().run({"data": "steps", "model": "symmetric", "seed": 0})
    assert steps == {"rows": 6, "columns": 10, "row error": 0.0, "column error": 0.0}
    (known,) = Sequences().run({"reading": "variance", "method": "known parameters", "seed": 0, "steps": 500})
    assert known["nmi"] > 0.8
    table = pd.DataFrame([{"data": "symmetric -2", "model": "symmetric", "seed": 0, **steps}])
    assert Biclusters().figure(table).axes[0].get_ylabel() == "share of items misplaced"
    sequences = pd.DataFrame([{"reading": "variance", "method": "gibbs", "seed": 0, "steps": 500, **known}])
    assert Sequences().figure(sequences).axes[0].get_xlabel() == "normalised mutual information"
    assert Sequences().summary(sequences)["nmi"].tolist() == [known["nmi"]]
