"""Widgets that any model can use, in a real browser; and a section that the page cannot draw."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from countless import report
from countless.report.page import assemble
from report.models import NASTY
from report.toy import ChangePoint


@pytest.fixture(scope="module")
def gallery():
    """One section of each generic widget."""
    figure = Figure(figsize=(4, 2))
    figure.add_subplot().plot([1, 3, 2])
    sections = [
        report.facts([report.fact("When?", "1891", "Between 1887 and 1895.", "good")], ["Take care."]),
        report.words("why", "Why?", ["First.", NASTY[0]], note="A note.", remarks=("A remark.",)),
        report.table("rates", "Rates", ["period", "rate"], [["b", 2.5], [NASTY[1], 11], ["c", None], ["a", 1]]),
        report.bars("when", "When?", {1890: 0.4, 1892: 0.6}, "year", chosen=1892, note="Beside."),
        report.bars("weather", "Weather", {"rain": 0.3, NASTY[2]: 0.7}),
        report.lines("traces", "Traces", {"x": np.random.default_rng(0).normal(size=(3, 90))}),
        report.image("picture", "Picture", figure, "A line."),
        report.heatmap("moves", "Moves", [[0.9, 0.1, 0.0], [0.2, np.nan, 0.8]], ["wet", "dry"], list("abc"), "chance"),
        report.Section("odd", "Odd", "constructor", {"anything": 1}),
        report.words("last", "Last", ["After the odd one."]),
    ]
    return assemble(report.Page("gallery", "All widgets", sections))


def test_every_widget_draws_and_nothing_is_complained_about(visit, gallery):
    seen = visit(gallery)
    assert seen.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in seen.requests)
    assert seen.texts("nav a") == ["Why?", "Rates", "When?", "Weather", "Traces", "Picture", "Moves", "Odd", "Last"]
    assert seen.texts("#why p") == ["A note.", "A remark.", "First.", NASTY[0]]
    assert seen.texts("#answer .value, #answer .note") == ["1891", "Take care."]
    assert seen.page.locator("#when rect").count() == 2
    assert "1891" in seen.page.locator("#when").inner_text()  # a number without draws keeps its place
    assert seen.page.locator("#weather rect").count() == 2
    assert seen.page.locator("#traces polyline").count() == 3
    assert seen.page.evaluate("document.querySelector('#picture img').naturalWidth") > 100
    assert seen.page.locator("#picture img").get_attribute("alt") == "A line."


def test_what_cannot_be_drawn_is_a_note_and_the_rest_is_there(visit, gallery):
    seen = visit(gallery)
    assert seen.texts("#odd .note") == ['This page cannot draw a section of the kind "constructor".']
    assert "After the odd one." in seen.page.locator("#last").inner_text()


def test_a_table_is_sorted_by_a_click_with_gaps_last(visit, gallery):
    seen = visit(gallery)
    rates = "#rates tbody td:nth-child(2)"
    assert seen.texts(rates) == ["2.5", "11", "", "1"]
    heading = seen.page.get_by_role("button", name="rate")
    heading.click()
    assert seen.texts(rates) == ["1", "2.5", "11", ""]
    heading.click()
    assert seen.texts(rates) == ["11", "2.5", "1", ""]
    assert seen.page.locator("#rates th[aria-sort=descending]").inner_text().startswith("rate")
    assert seen.page.locator("img[onerror], svg[onload], main script").count() == 0


@pytest.mark.parametrize(("x", "y", "words"), [(0.1, 0.2, ["0.9", "wet, a"]), (0.5, 0.8, ["missing", "dry, b"])])
def test_pointing_at_a_cell_shows_its_number(visit, gallery, x, y, words):
    seen = visit(gallery)
    canvas = seen.page.locator("#moves canvas").first
    canvas.scroll_into_view_if_needed()
    seen.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = canvas.bounding_box()
    left, top = 12 + 7 * 3, 22  # room for names of three letters, and for those of the columns
    seen.page.mouse.move(box["x"] + left + x * (box["width"] - left), box["y"] + top + y * (box["height"] - top - 2))
    assert seen.page.locator("#tip").inner_text().split("\n") == words


@pytest.mark.parametrize("width", [390, 1200])
def test_the_gallery_is_never_wider_than_the_screen(visit, gallery, width):
    seen = visit(gallery, width=width)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_of_a_model_that_is_no_partition(visit):
    model = ChangePoint(random_state=1).fit(None)
    seen = visit(report.render(model, title="Coal"))
    assert seen.complaints == []
    assert seen.page.locator("h1").inner_text() == "A change at 42"
    assert seen.texts("nav a") == ["Where is the change?", "Chains", "Settings"]
    assert seen.page.locator("#chains polyline").count() == 4
    seen.page.locator("#chains summary").click()
    table = seen.page.locator("#chains table").inner_text()
    assert "place of the change" in table
    assert all(f"{each.rhat:.3f}" in table for each in model.posterior_.diagnostics().quantities)
    assert "How the columns were read" not in seen.page.locator("#settings").inner_text()
