"""A report of any model: sections, generic widgets, chains and settings, without a mixture."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.figure import Figure

import countless as cl
from countless import report
from countless.report.page import assemble
from report.models import NASTY
from report.toy import ChangePoint


def embedded(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


@pytest.fixture
def toy():
    return ChangePoint(random_state=3).fit(np.zeros(90))


def test_a_model_that_is_no_partition_has_a_page(toy, tmp_path):
    path = report.write(toy, tmp_path / "toy.html", title="Coal", command="countless change series.csv")
    html = path.read_text()
    assert "<h1>A change at 42</h1>" in html
    assert "<title>A change at 42: Coal</title>" in html
    page = embedded(html)
    assert [section["name"] for section in page["sections"]] == ["answer", "where", "chains", "settings"]
    assert [section["widget"] for section in page["sections"]] == ["facts", "bars", "lines", "settings"]
    answer, where, chains, settings = (section["content"] for section in page["sections"])
    assert [card["state"] for card in answer["facts"]] == ["plain", "unknown"]  # a hundred draws are too few
    values, counts = np.unique(toy.posterior_.quantities()["change"], return_counts=True)
    assert where["bars"] == [[int(v), pytest.approx(c / 100)] for v, c in zip(values, counts, strict=True)]
    assert [line["name"] for line in chains["lines"]] == ["place of the change", "log joint"]
    assert chains["lines"][0]["chains"] == toy.posterior_.quantities()["change"].tolist()
    assert [row[0] for row in chains["details"]["rows"]] == ["place of the change", "log joint"]
    assert settings["shell"] == "countless change series.csv"
    assert settings["columns"] is None
    made = settings["python"].split("model = ")[1].split(".fit(X)")[0]
    assert "from report.toy import ChangePoint" in settings["python"]
    assert repr(eval(made, {"ChangePoint": ChangePoint})) == repr(toy)


@pytest.mark.parametrize(
    ("kind", "name"), [("optimum", "log joint"), ("approximation", "lower bound on the log evidence")]
)
def test_a_search_shows_its_steps_instead_of_chains(kind, name):
    model = ChangePoint().fit(np.zeros(9), kind)
    section = report.chains(model.posterior_)
    assert section.content["lines"][0]["name"] == name
    assert section.content["lines"][0]["chains"] == [pytest.approx(np.linspace(-9.0, -1.0, 7), rel=1e-5)]
    assert section.content["details"] is None
    without = model.posterior_.draws.replaced(objective=np.empty(0))
    assert report.chains(type(model.posterior_)(without)) is None


def test_an_interrupted_run_of_any_model(toy):
    assert report.unfinished(toy.posterior_) is None
    stopped = type(toy.posterior_)(toy.posterior_.draws.replaced(interrupted=True))
    assert "50 draws of each of 2 chains" in report.unfinished(stopped)


def test_a_seed_that_was_not_fixed_is_noted(toy):
    assert report.settings(toy).content["note"] == ""
    assert "no fixed seed" in report.settings(ChangePoint().fit(None)).content["note"]


def test_traces_of_any_model_can_be_drawn(toy):
    ax = cl.plots.traces(toy, "change")
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], toy.posterior_.quantities()["change"])
    assert len(cl.plots.chains(toy).axes) == 4
    with pytest.raises(ValueError, match="ChangePoint has no labels_"):
        cl.plots.sizes(toy)


@dataclass
class Ours:
    """A setting that the library does not know."""

    inside: object = None


def test_the_snippet_imports_classes_of_the_user(toy):
    toy.window = [Ours(cl.priors.CRP(2.0))]
    code = report.settings(toy).content["python"]
    assert "window=[Ours(inside=cl.priors.CRP(concentration=2.0))]" in code
    assert f"from {__name__} import Ours\n" in code


# --- sections ------------------------------------------------------------------------------------------------------


def test_names_of_sections_are_addresses_and_unique():
    for wrong in ("", "Two Words", "ä", "1st", 'a"b'):
        with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
            report.Section(wrong, "", "words", [])
    twin = report.words("twin", "Twin", [])
    with pytest.raises(ValueError, match="two of them are called 'twin'"):
        report.Page("t", "h", [twin, twin])
    assert report.Page("t", "h", [None, twin]).sections == (twin,)


@pytest.mark.parametrize("content", [float("nan"), [np.inf], {1, 2}, np.zeros(2)])
def test_content_that_is_not_json_is_one_sentence(content):
    page = report.Page("t", "h", [report.Section("odd", "Odd", "words", content)])
    with pytest.raises(ValueError, match="section 'odd': its content cannot be written as JSON"):
        assemble(page)


def test_a_model_without_a_page_is_one_sentence():
    with pytest.raises(ValueError, match="dict has no report; its class needs a method report_page"):
        report.render({})


def test_no_content_becomes_markup():
    page = report.Page(NASTY[0], NASTY[1], [report.words("w", NASTY[2], [*NASTY], note=NASTY[0], link=NASTY[1])])
    html = assemble(page)
    assert not any(text in html for text in NASTY[:3])
    assert html.count("<script") == 2
    section = embedded(html)["sections"][0]
    assert (section["title"], section["content"], section["link"]) == (NASTY[2], NASTY, NASTY[1])


# --- generic widgets -----------------------------------------------------------------------------------------------


def test_bars_of_numbers_are_in_order_and_names_as_given():
    assert report.bars("b", "B", {3: 0.25, 1: 0.75}).content["bars"] == [[1, 0.75], [3, 0.25]]
    named = report.bars("b", "B", {"rain": 0.25, "dry": 0.75}, chosen="dry").content
    assert named["bars"] == [["rain", 0.25], ["dry", 0.75]]
    assert named["chosen"] == "dry"


def test_lines_are_thinned_with_both_ends(rng):
    values = rng.normal(size=(10, 5_000))
    section = report.lines("l", "L", {"x": values})
    line = section.content["lines"][0]
    at = np.array(line["at"])
    assert (at[0], at[-1]) == (1, 5_000)
    assert len(at) == 400
    assert len(line["chains"]) == 8
    np.testing.assert_allclose(line["chains"][2], values[2, at - 1], rtol=1e-5)
    assert section.remarks == ("The first 8 of 10 chains are drawn.",)


def test_tables_hold_text_numbers_and_gaps():
    section = report.table("t", "T", ["a", "b"], [["x", np.float64(1 / 3)], [None, np.int64(7)], ["y", np.nan]])
    assert section.content["rows"] == [["x", 0.333333], [None, 7], ["y", None]]
    with pytest.raises(ValueError, match="each needs 2 cells"):
        report.table("t", "T", ["a", "b"], [["x"]])


def test_images_are_data(tmp_path):
    figure = Figure(figsize=(1, 1))
    source = report.image("i", "I", figure, "nothing").content["source"]
    assert base64.b64decode(source.partition(",")[2]).startswith(b"\x89PNG")
    drawing = report.image("i", "I", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "nothing").content["source"]
    assert drawing.startswith("data:image/svg+xml;base64,")
    for wrong in ("http://example.org/x.png", "data:text/html,x", 7):
        with pytest.raises(ValueError, match="data URI of an image"):
            report.image("i", "I", wrong, "nothing")


def test_heat_maps_have_names_and_ends():
    content = report.heatmap("h", "H", [[1.0, np.nan], [3.0, 2.5]], columns=["a", "b"]).content
    assert content["values"] == [[1, None], [3, 2.5]]
    assert content["rows"] == ["1", "2"]
    assert content["ends"] == [1, 3]
    with pytest.raises(ValueError, match="a matrix is needed"):
        report.heatmap("h", "H", [1.0])
    with pytest.raises(ValueError, match="names for a matrix"):
        report.heatmap("h", "H", [[1.0]], rows=["a", "b"])


def test_facts_have_known_states():
    with pytest.raises(ValueError, match="state: choose one of 'plain', 'good'"):
        report.fact("Q", "V", "W", "superb")
