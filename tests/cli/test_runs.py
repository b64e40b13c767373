"""What can be done with a run: its page, new rows, more draws, comparisons; and the demonstration."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest
from scipy.stats import hypergeom

import countless as cl
from cli.conftest import GAUSSIAN, run, shell, two_groups


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run that tests only read."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "table.csv").write_text(two_groups())
    result = run("fit", folder / "table.csv", "--ignore", "name", "--out", folder / "run", *GAUSSIAN)
    assert result.exit_code == 0, result.output
    return folder / "run"


def test_demo_in_a_shell(here):
    result = shell("demo", folder=here)
    assert result.returncode == 0, result.stderr
    assert "How many clusters?" in result.stdout
    assert "long ones (4.3 min, the next after 80 min)" in result.stdout
    assert "seconds" in result.stdout
    assert "clustering 272 rows x 2 columns" in result.stderr
    assert "Traceback" not in result.stderr
    folder = here / "countless-demo"
    assert sorted(path.name for path in folder.iterdir()) == ["old-faithful.png", "report.html"]
    assert (folder / "old-faithful.png").read_bytes().startswith(b"\x89PNG")


def test_report_of_a_run(here, finished):
    result = run("report", finished, "--out", "deep/page.html")
    assert (result.exit_code, result.stdout) == (0, "Wrote deep/page.html\n"), result.output
    assert (here / "deep" / "page.html").read_bytes() == (finished / "report.html").read_bytes()


def test_report_goes_into_the_run_and_opens(here, finished, monkeypatch):
    import typer

    opened = []
    monkeypatch.setattr(typer, "launch", opened.append)
    shutil.copytree(finished, here / "run")
    (here / "run" / "report.html").unlink()
    (here / "run" / "about.json").write_text("not JSON")  # file and command are then not known
    assert run("report", "run", "--open").exit_code == 0
    assert opened == [(here / "run" / "report.html").as_uri()]


def test_predict(here, finished):
    (here / "new.csv").write_text("y,other,x\n0,a,0.2\n5,b,10.2\n500,c,-1000\n")
    result = run("predict", finished, "new.csv")
    assert result.exit_code == 0, result.output
    with (here / "new-labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    model = cl.load(finished)
    new = np.array([[0.2, 0], [10.2, 5], [-1000, 500]])
    assert [int(row["label"]) for row in rows[:2]] == [0, 1]
    import pandas as pd

    frame = pd.DataFrame(new, columns=["x", "y"])
    np.testing.assert_allclose([float(row["log_density"]) for row in rows], model.score_samples(frame), atol=1e-4)
    np.testing.assert_allclose(
        [float(row["new_cluster"]) for row in rows], model.predict_proba(frame)[:, -1], atol=1e-4
    )
    assert float(rows[0]["log_density"]) > float(rows[2]["log_density"])
    assert "Where do the new rows belong?" in result.stdout


def test_predict_as_json_writes_nothing(here, finished):
    (here / "new.csv").write_text("x,y\n0,0\n10,5\n")
    result = run("predict", finished, "new.csv", "--json")
    found = json.loads(result.stdout)
    assert (found["rows"], found["label"]) == (2, [0, 1])
    assert [path.name for path in here.iterdir()] == ["new.csv"]


def test_predict_without_a_column_of_the_fit(here, finished):
    (here / "new.csv").write_text("x,z\n0,0\n")
    result = run("predict", finished, "new.csv")
    assert result.exit_code == 2
    assert "new.csv has no column 'y'; it has 'x', 'z'" in result.stderr
    assert [path.name for path in here.iterdir()] == ["new.csv"]


def test_resume_makes_a_run_longer(here, finished):
    shutil.copytree(finished, here / "run")
    result = run("resume", "run", "--draws", "30", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["data"]["file"] == "table.csv"
    assert cl.load(here / "run").posterior_.labels.shape == (2, 30, 40)
    assert found["n_clusters"] == 2


@pytest.mark.parametrize("about", ["{}", "[]", '{"file": 3}', '{"classes": 7}', '{"other": 1}', "\\x00", None])
def test_what_is_kept_beside_a_run_may_be_damaged(here, finished, about):
    shutil.copytree(finished, here / "run")
    (here / "run" / "about.json").unlink()
    if about is not None:
        (here / "run" / "about.json").write_text(about)
    result = run("report", "run", "--out", "page.html")
    assert result.exit_code == 0, result.output
    assert ">run</p>" in (here / "page.html").read_text()  # the folder's name, where the file's is not known


def test_resume_of_a_finished_run_writes_its_files_again(here, finished):
    shutil.copytree(finished, here / "run")
    for name in ("labels.csv", "report.html", "summary.png"):
        (here / "run" / name).unlink()
    assert run("resume", "run").exit_code == 0
    for name in ("labels.csv", "summary.json", "summary.png"):
        assert (here / "run" / name).read_bytes() == (finished / name).read_bytes()


# --- compare ---------------------------------------------------------------------------------------------------


def test_compare_two_files(here):
    (here / "a.csv").write_text("label\n" + "0\n0\n0\n1\n1\n1\n1\n")
    (here / "b.csv").write_text("id,class\n" + "".join(f"{i},{c}\n" for i, c in enumerate("xxxyyyz")))
    result = run("compare", "a.csv", "b.csv", "--column", "label", "--column", "class", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    expected = cl.metrics.compare([0, 0, 0, 1, 1, 1, 1], list("xxxyyyz"))
    assert {name: entry["value"] for name, entry in found["metrics"].items()} == pytest.approx(expected)
    assert (found["rows"], found["clusters_a"], found["clusters_b"]) == (7, 2, 3)


def test_p_values_are_those_of_permutations(here):
    """Two clusters of 4 among 8 rows, equal: of the tables with these margins, those at least as good are the two with
    all of a cluster together, 2 / C(8, 4) by the hypergeometric law."""
    (here / "a.csv").write_text("label\n" + "0\n" * 4 + "1\n" * 4)
    result = run("compare", "a.csv", "a.csv", "--json", "--permutations", "20000")
    exact = hypergeom.pmf(4, 8, 4, 4) + hypergeom.pmf(0, 8, 4, 4)
    error = np.sqrt(exact * (1 - exact) / 20_000)
    for name in ("ari", "nmi", "vi", "purity", "assignment_error"):
        assert json.loads(result.stdout)["metrics"][name]["p_value"] == pytest.approx(exact, abs=5 * error)


def test_rows_are_matched_by_their_numbers(here, finished):
    lines = (finished / "labels.csv").read_text().splitlines()
    (here / "turned.csv").write_text("\n".join([lines[0], *lines[:0:-1], ""]))
    result = run("compare", finished, "turned.csv")
    assert result.exit_code == 0, result.output
    assert "40 rows: 2 clusters" in result.stdout
    assert "ari " in result.stdout
    found = json.loads(run("compare", finished, "turned.csv", "--json").stdout)
    assert found["metrics"]["ari"]["value"] == 1.0


def test_an_index_that_is_not_defined_is_null(here):
    (here / "a.csv").write_text("label\n0\n0\n0\n")
    found = json.loads(run("compare", "a.csv", "a.csv", "--json").stdout)
    assert found["metrics"]["hubert"]["value"] is None
    assert "undefined" in run("compare", "a.csv", "a.csv").stdout


@pytest.mark.parametrize(
    ("b", "options", "says"),
    [
        ("label\n0\n1\n", [], "a.csv has 3 rows and b.csv 2; only labels of the same rows"),
        ("x,y\n0,1\n1,2\n3,4\n", [], "b.csv: which column holds the labels? It has 'x', 'y'; choose with --column"),
        ("x,y\n0,1\n1,2\n3,4\n", ["--column", "label", "--column", "z"], "b.csv has no column 'z'; it has 'x', 'y'"),
        ("row,label\n1,0\n2,1\n4,1\n", [], "number different rows"),
        ("label,x\na,1\n,1\nb,2\n", [], "'label' has empty cells (first in row 2)"),
    ],
)
def test_what_cannot_be_compared(here, b, options, says):
    numbered = b.startswith("row")
    (here / "a.csv").write_text("row,label\n1,0\n2,0\n3,1\n" if numbered else "label\n0\n0\n1\n")
    (here / "b.csv").write_text(b)
    result = run("compare", "a.csv", "b.csv", *options)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
