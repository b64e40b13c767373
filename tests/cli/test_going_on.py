"""What a fit says while it runs and at its end: quiet, progress, reuse, advice that works, no false certainty."""

from __future__ import annotations

import copy
import json
import re
import shlex
import threading

import numpy as np
import pytest

import countless as cl
from cli.conftest import GAUSSIAN, SHORT, run
from countless.chains import jobs
from countless.models.command import About
from countless.models.mixture.command import _bars, results
from countless.plots.parts.fit import fitted


def _fit(*more):
    return run("fit", "table.csv", "--ignore", "name", *GAUSSIAN, "--no-report", *more)


def test_quiet_says_nothing_and_writes_everything(table, here):
    result = _fit("--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (here / "table-countless" / "labels.csv").is_file()
    again = run("resume", "table-countless", "--draws", "25", "--no-report", "-q")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "")
    assert cl.load("table-countless").posterior_.shape == (2, 25)


def test_a_finished_fit_is_reused_and_says_so(table, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("countless.core.jit.cache_directory", lambda: tmp_path)
        said = _fit().stderr.splitlines()[0]
    assert said == "clustering 40 rows x 2 columns (the first run compiles, a minute or two) ..."
    again = _fit()
    assert again.exit_code == 0
    assert again.stderr == "table-countless holds this fit, finished: it is reused (--overwrite starts again)\n"


def test_the_advice_is_a_command_that_works(table, here):
    result = _fit("--draws", "20")
    advice = next(line for line in result.stdout.splitlines() if "go on with" in line)
    command = advice.partition("go on with ")[2].rstrip(".")
    assert command.startswith("countless resume table-countless --draws ")
    summary = json.loads((here / "table-countless" / "summary.json").read_text())
    # A folder may be moved with its files.
    assert summary["verdict"].endswith(f"go on with {command.replace('table-countless', 'RUN')}.")
    assert "draws of each chain takes about" in result.stdout
    assert run(*shlex.split(command)[1:], "--no-report").exit_code == 0
    model = cl.load("table-countless")
    assert model.posterior_.shape[1] == int(command.split()[-1])
    if not model.posterior_.diagnostics().converged:
        assert "countless.io.resume('table-countless', draws=" in model.posterior_.diagnostics().verdict


@pytest.fixture(scope="module")
def split():
    """A fit whose two chains hold different numbers of clusters."""
    X = np.repeat([[0.0], [5.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(60, 1))
    engine = cl.inference.CollapsedGibbs(chains=2, draws=200, warmup=20)
    model = cl.DPMixture("gaussian", inference=engine, random_state=0, tune=None).fit(X)
    labels = model.posterior_.labels.astype(np.int64).copy()
    labels[0], labels[1] = np.repeat([0, 1], [20, 40]), np.repeat([0, 1, 2], 20)
    changed = {"labels": labels, "n_clusters": labels.max(axis=2) + 1}
    draws = model.posterior_.draws
    draws = type(draws)({**draws.arrays, **changed}, draws.fields, draws.axes, draws.kind)
    model._take(model._description.data.problem(), draws, model._description, None)
    return model


def test_chains_that_disagree_say_so_before_any_probability(split):
    found = results(split, About("table.csv"))
    assert found.summary["state"] == "chains disagree"
    assert found.summary["n_clusters_probability"] is None
    assert found.summary["n_clusters_by_chain"] == [2, 3]
    assert found.summary["found"].startswith(
        "Chains disagree: 2 or 3 clusters in 60 rows; the consensus of all draws has "
    )
    grid, warning, counts = found.screen[:3]
    assert grid.title == "How were the columns read?"
    assert warning == f"WARNING: {found.summary['found']}."
    assert counts.header[1] == "share of draws, no probability"
    assert cl.plots.sentence(split) == found.summary["found"]
    page = split.report_page()
    assert page.headline == "Chains disagree: 2 or 3 clusters"
    card = page.sections[0].content["facts"][0]
    assert (card["value"], card["state"]) == ("2 or 3", "bad")
    assert card["words"].startswith("The chains disagree, so that shares of their draws are no probabilities.")


def test_how_many_leads_with_the_distribution():
    rng = np.random.default_rng(1)
    engine = cl.inference.CollapsedGibbs(chains=2, draws=300, warmup=50)
    model = cl.DPMixture("gaussian", inference=engine, random_state=0, tune=None).fit(rng.normal(size=(40, 1)))
    pmf = fitted(model).posterior.n_clusters_pmf()
    card = model.report_page().sections[0].content["facts"][0]
    likely = max(pmf, key=lambda k: pmf[k])
    if fitted(model).disagreement is None and pmf[likely] < 0.95:
        low, high = map(int, re.split(" to | or ", card["value"]))
        assert low <= likely <= high
        assert f"the most probable number is {likely} (" in card["words"]
        assert card["words"].endswith(f"The consensus of all draws, which this page shows, has {model.n_clusters_}.")


def test_a_line_of_progress_now_and_then_where_there_is_no_terminal(capfd, monkeypatch):
    monkeypatch.setattr(jobs, "LINE_EVERY", 0.0)
    X = np.random.default_rng(0).normal(size=(60, 1))
    engine = cl.inference.CollapsedGibbs(chains=1, draws=400, warmup=20)
    model = cl.DPMixture("gaussian", inference=engine, random_state=0, tune=None)
    model.fit(X)
    assert capfd.readouterr().err == ""
    with jobs.showing(jobs.LINES):
        model.fit(X)
    lines = capfd.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("collapsed Gibbs: ") and " of 420 after " in line for line in lines)
    with jobs.showing(jobs.QUIET):
        model.fit(X)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("engine", [cl.inference.MAP(restarts=1), cl.inference.Variational(restarts=1)])
def test_searches_count_their_passes_and_heed_a_stop(engine):
    X = np.random.default_rng(0).normal(size=(60, 1))
    monitors = []

    class Monitor(jobs.Monitor):
        def __init__(self, total, stopping):
            super().__init__(total, stopping)
            monitors.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "Monitor", Monitor)
        cl.DPMixture("gaussian", inference=engine, random_state=0, tune=None).fit(X)
    assert monitors[0].passes > 3
    assert "passes" in monitors[0].words
    stopped = jobs.Monitor(1, threading.Event())
    stopped.stopping.set()
    assert stopped.tick() is True


def test_the_first_search_says_how_long_it_may_take():
    monitor = jobs.Monitor(1, threading.Event())
    monitor.usual_passes, monitor.passes = 150, 30
    assert jobs._bar(None, "variational", monitor)._line(20.0) == (
        "variational: 0 of 1 after 20 s, about 80 s left; 30 passes"
    )
    monitor.passes = 1000
    assert monitor.share == jobs.NEARLY
    monitor.advance()
    assert monitor.share == 1.0


def test_many_numbers_of_clusters_are_shown_in_ranges():
    assert _bars({2: 0.6, 3: 0.4, 9: 0.001}) == [(2, 2, 0.6), (3, 3, 0.4)]
    bars = _bars(dict.fromkeys(range(31, 71), 0.025))
    assert len(bars) <= 16
    assert (bars[0][:2], bars[-1][:2]) == ((31, 33), (70, 72))
    assert sum(share for _, _, share in bars) == pytest.approx(1.0)


def test_a_column_that_is_called_class_is_clustered_and_says_so(here):
    rows = (f"{i % 2}.{i},{i % 7}.5,{'ab'[i % 2]}" for i in range(40))
    (here / "flowers.csv").write_text("\n".join(["x,y,class", *rows]))
    short = ["fit", "flowers.csv", "--columns", "x=gaussian,y=gaussian", *SHORT, "--no-report"]
    says = "'class' was clustered like the other columns; --label class would only compare it with the clusters."
    assert says in run(*short).stdout.splitlines()
    assert says not in run(*short, "--label", "class", "--out", "labelled").stdout


def test_an_interrupt_says_truly_what_is_kept(table, here, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cl.inference.MAP, "_search", interrupted)
    result = run("fit", "table.csv", "--ignore", "name", "--family", "gaussian", "--inference", "map")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "error: interrupted before anything was kept: countless resume table-countless begins again"
    )


def test_an_interrupt_while_files_are_written_keeps_the_fit(table, here, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cl.plots, "summary", interrupted)
        result = _fit()
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "error: interrupted; table-countless holds the finished fit: countless resume table-countless writes its files"
    )
    assert run("resume", "table-countless", "--no-report", "-q").exit_code == 0
    assert (here / "table-countless" / "labels.csv").is_file()


def test_settings_that_change_the_engine_or_cost_much_say_so():
    rng = np.random.default_rng(0)
    model = cl.DPMixture("gaussian", random_state=0, tune=None)
    with pytest.warns(UserWarning, match=r"^sample_weight: samplers count every row once, so that"):
        model.fit(rng.normal(size=(60, 1)), sample_weight=np.full(60, 2.0))
    with pytest.warns(UserWarning, match=r"^X: 220 columns have 24,531 means and covariances in every cluster, with"):
        cl.models.rows.warn_of_cost(cl.families.Gaussian().resolve(rng.normal(size=(5, 220))), 220)


def test_a_number_of_clusters_that_is_wanted(table, here):
    assert _fit("--clusters", "3", "-q", "--out", "three").exit_code == 0
    assert cl.load("three").prior == cl.priors.FiniteDirichlet(3, 3.0)
    shown = _fit("--at-most", "6", "--out", "six")
    assert cl.load("six").prior == cl.priors.FiniteDirichlet(6)
    assert "6 clusters were allowed; the rows fill 2." in shown.stdout
    for options, says in (
        (["--clusters", "3", "--at-most", "4"], "--clusters and --at-most: give one of them"),
        (["--clusters", "3", "--prior", "pitman-yor"], "--clusters: it sets the prior to finite-dirichlet; leave out"),
        (["--at-most", "41"], "--at-most: 41 clusters are more than the 40 rows of the table"),
    ):
        refused = _fit(*options, "--out", "none")
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"error: {says}")


def test_runs_are_ranked_and_densities_that_differ_in_kind_are_not(table, here):
    (here / "binary.csv").write_text("\n".join(["x,b", *(f"{i % 7}.{i},{i % 2}" for i in range(40)), ""]))
    assert run("fit", "binary.csv", *SHORT, "-q", "--no-report", "--out", "mixed").exit_code == 0
    plain = run("fit", "binary.csv", *GAUSSIAN, "-q", "--no-report", "--out", "plain")
    assert plain.stderr.splitlines()[0] == (
        "warning: X: 1 column holds nothing but 0 and 1 (b), and the family 'gaussian' takes them for measurements; "
        "the family 'auto' takes them for categories"
    )
    says = (
        "'mixed' and 'plain' cannot be compared: column 'b' is a category or a count (a probability) in 'mixed' and a "
        "measurement (a density) in 'plain'"
    )
    two = run("compare", "mixed", "plain", "--permutations", "9")
    assert two.exit_code == 0
    assert f"Not ranked: {says}." in " ".join(two.stdout.split())
    assert _fit("-q").exit_code == _fit("-q", "--clusters", "1", "--out", "one").exit_code == 0
    three = run("compare", "mixed", "plain", "table-countless")
    assert three.exit_code == 2
    assert three.stderr.startswith("error: 'mixed' and 'plain' cannot be compared")
    best = json.loads(run("compare", "one", "table-countless", "--json", "--permutations", "9").stdout)
    assert [fit["name"] for fit in best["fits"]] == ["table-countless", "one"]
    assert best["verdict"].startswith("table-countless predicts best: every other fit is worse")
    assert best["metrics"]["ari"]["value"] == 0.0
    shown = run("compare", "one", "table-countless", "--permutations", "9").stdout
    assert "Which fit predicts a row best from the 39 others?" in shown
    other = cl.DPMixture("gaussian", inference="map", random_state=0).fit(np.arange(5.0)[:, None])
    with pytest.raises(ValueError, match="column 'column 0' is part of the fit 'b' only; fit the same columns"):
        cl.compare({"a": cl.load("one"), "b": other})


def test_chains_that_have_the_same_clusters_say_what_they_disagree_on(split):
    model = copy.copy(split)
    draws = model.posterior_.draws
    labels = np.broadcast_to(np.repeat([0, 1], [20, 40]), draws["labels"].shape)
    apart = draws["log_joint"] + np.array([[0.0], [100.0]])
    changed = {"labels": labels, "n_clusters": labels.max(axis=2) + 1, "log_joint": apart}
    other = type(draws)({**draws.arrays, **changed}, draws.fields, draws.axes, draws.kind)
    model._take(model._description.data.problem(), other, model._description, None)
    assert cl.plots.sentence(model) == (
        "Chains disagree on the log joint: 2 clusters in 60 rows; the consensus of all draws has 2 clusters"
    )
