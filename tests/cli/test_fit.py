"""``countless fit``: what it prints and writes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

import countless as cl
from cli.conftest import GAUSSIAN, SHORT, run, shell, two_groups

WRITTEN = ["labels.csv", "report.html", "summary.json", "summary.png"]


def written(folder):
    """Files for people; the others are the run's own."""
    return sorted(path.name for path in folder.iterdir() if path.name in WRITTEN)


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_fit_writes_labels_summary_figure_and_page(here, table):
    result = run("fit", table, "--ignore", "name", "--out", "found", *GAUSSIAN)
    assert result.exit_code == 0, result.output
    assert "2 clusters in 40 rows" in result.stdout
    assert "Open found/report.html in a browser" in result.stdout
    assert written(here / "found") == WRITTEN
    rows = rows_of(here / "found" / "labels.csv")
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 41)]
    assert [row["label"] for row in rows] == ["0", "1"] * 20
    assert all(0.5 < float(row["probability"]) <= 1.0 for row in rows)
    assert {row["runner_up"] for row in rows} <= {"", "0", "1"}
    assert all(row["runner_up"] != row["label"] for row in rows)
    assert "2 clusters in 40 rows" in (here / "found" / "report.html").read_text()
    assert (here / "found" / "summary.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((here / "found" / "summary.json").read_text())
    assert summary["n_clusters"] == 2
    assert [cluster["size"] for cluster in summary["clusters"]] == [20, 20]
    assert sum(summary["n_clusters_probability"].values()) == pytest.approx(1.0)
    assert (summary["data"]["file"], summary["data"]["rows"]) == ("table.csv", 40)
    assert [column["name"] for column in summary["data"]["columns"]] == ["x", "y"]
    assert summary["family"]["name"] == "Gaussian"
    assert len(summary["family"]["mean"]) == 2
    assert summary["prior"]["concentration"] == {"name": "Gamma", "shape": 0.25, "rate": 1.0}
    assert (summary["inference"]["chains"], summary["inference"]["draws"]) == (2, 20)
    assert summary["seed"] == 0
    assert summary["versions"]["countless"] == cl.__version__


def test_the_folder_is_named_after_the_table(here, table):
    assert run("fit", table, "--ignore", "name", "--no-report", *GAUSSIAN).exit_code == 0
    assert written(here / "table-countless") == [name for name in WRITTEN if name != "report.html"]


def test_the_same_seed_writes_the_same_files(here, table):
    arguments = ["fit", table, "--columns", "x,y", "--seed", "5", *GAUSSIAN, "--out"]
    for folder in ("one", "two"):
        assert run(*arguments, folder).exit_code == 0
    for name in WRITTEN:
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()


def test_the_command_of_the_summary_finds_the_same(here, table):
    arguments = ["fit", table, "--columns", "x,y", "--columns", "x", "--seed", "5", *GAUSSIAN]
    assert run(*arguments, "--out", "one").exit_code == 0
    command = json.loads((here / "one" / "summary.json").read_text())["command"].split()
    assert command[:2] == ["countless", "fit"]
    assert run(*command[1:], "--out", "two").exit_code == 0
    assert (here / "one" / "labels.csv").read_bytes() == (here / "two" / "labels.csv").read_bytes()


def test_map_with_a_fixed_concentration(here, table):
    options = ["--family", "gaussian", "--inference", "map", "--concentration", "0.5"]
    result = run("fit", table, "--columns", "y", *options)
    assert result.exit_code == 0, result.output
    summary = json.loads((here / "table-countless" / "summary.json").read_text())
    assert summary["inference"]["name"] == "MAP"
    assert summary["prior"] == {"name": "CRP", "concentration": 0.5}
    assert [column["name"] for column in summary["data"]["columns"]] == ["y"]
    assert summary["n_clusters_probability"] is None


def test_json_is_all_of_the_output(here, table):
    result = shell("fit", table, "--ignore", "name", "--json", *GAUSSIAN, folder=here)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["n_clusters"] == 2
    assert found["run"] == "table-countless"
    assert sorted(name.split("/")[1] for name in found["files"]) == WRITTEN
    assert found["command"] == "countless fit table.csv --ignore name " + " ".join(GAUSSIAN)


def test_fit_in_a_shell_has_no_bars_and_no_colours(here, table):
    result = shell("fit", table, "--ignore", "name", *GAUSSIAN, folder=here)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_known_classes_are_compared_and_never_clustered(here):
    frame = pd.DataFrame({"x": np.r_[np.zeros(20), np.full(20, 9.0)] + np.tile(np.arange(20), 2) / 10})
    frame["kind"] = ["a"] * 20 + ["b"] * 19 + [""]
    frame.to_csv(here / "a.csv", index=False)
    result = run("fit", "a.csv", "--label", "kind", "--json", *GAUSSIAN)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["compared"]["label"] == "kind"
    assert (found["compared"]["rows"], found["compared"]["classes"]) == (39, 2)
    assert found["compared"]["ari"] == found["compared"]["purity"] == 1.0
    assert found["compared"]["vi"] == 0.0
    assert [column["name"] for column in found["data"]["columns"]] == ["x"]
    shown = run("fit", "a.csv", "--label", "kind", *GAUSSIAN)
    assert "Against 'kind' (2 classes, 39 rows): adjusted Rand index 1.000" in shown.stdout


def test_a_mixed_table_with_holes_needs_no_option(here):
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(20 + 30 * group, 2), 2),
            "kind": np.where(rng.random(60) < 0.9, np.where(group, "oak", "elm"), "ash"),
            "name": [f"tree {i}" for i in range(60)],
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "kind"] = None
    frame.to_csv(here / "trees.csv", index=False)
    result = run("fit", "trees.csv", *SHORT)
    assert result.exit_code == 0, result.output
    for words in ("size", "kind", "name", "ignore"):
        assert words in result.stdout
    summary = json.loads((here / "trees-countless" / "summary.json").read_text())
    read = {column["name"]: (column["family"], column["missing"]) for column in summary["data"]["columns"]}
    assert read["kind"] == ("categorical", 9)
    assert read["size"][1] == 7
    assert read["name"][0] == "ignore"
    labels = [int(row["label"]) for row in rows_of(here / "trees-countless" / "labels.csv")]
    assert cl.metrics.adjusted_rand_index(labels, group) > 0.8
    new = pd.DataFrame({"size": [20.0, 50.0, None], "kind": ["elm", "unheard of", "oak"]})
    new.to_csv(here / "new.csv", index=False)
    result = run("predict", "trees-countless", "new.csv")
    assert result.exit_code == 0, result.output
    assert [int(row["label"]) for row in rows_of(here / "new-labels.csv")] == [labels[2], labels[1], labels[1]]


def test_a_run_in_the_folder_is_kept_unless_it_is_to_be_replaced(here, table):
    arguments = ["fit", table, "--ignore", "name", *GAUSSIAN]
    assert run(*arguments).exit_code == 0
    before = (here / "table-countless" / "labels.csv").read_bytes()
    again = run(*arguments)  # the same: read, not computed
    assert again.exit_code == 0
    other = run(*arguments, "--seed", "1")
    assert other.exit_code == 2
    assert "--overwrite" in other.stderr.splitlines()[-1]
    assert (here / "table-countless" / "labels.csv").read_bytes() == before
    (here / "table-countless" / "mine.txt").write_text("keep me")
    assert run(*arguments, "--seed", "1", "--overwrite").exit_code == 0
    assert json.loads((here / "table-countless" / "summary.json").read_text())["seed"] == 1
    assert (here / "table-countless" / "mine.txt").read_text() == "keep me"


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "feather"])
def test_kinds_of_files(here, suffix):
    frame = pd.DataFrame({"x": [float(line.split(",")[0]) for line in two_groups().splitlines()[1:]]})
    if suffix == "tsv":
        frame.to_csv(here / "a.tsv", sep="\t", index=False)
    else:
        pytest.importorskip("pyarrow")
        getattr(frame, f"to_{suffix}")(here / f"a.{suffix}")
    result = run("fit", f"a.{suffix}", "--json", "--no-report", *GAUSSIAN)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_clusters"] == 2
