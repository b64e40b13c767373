"""The report in a real browser: it asks for nothing, complains about nothing, and answers the pointer."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris

import countless as cl
from countless import report
from countless.families.columns import Column
from report.models import NASTY, blobs, mixed, model_of


@pytest.fixture(scope="module")
def iris():
    """A real fit of 150 rows, with chains that are as long as the page needs."""
    table = load_iris(as_frame=True).data
    engine = cl.inference.CollapsedGibbs(chains=4, draws=250, warmup=100)
    return report.render(cl.DPMixture(inference=engine, random_state=0).fit(table), title="iris")


@pytest.fixture(scope="module")
def large():
    return report.render(blobs(100_000, 12, draws=10))


@pytest.mark.parametrize("which", ["iris", "large"])
def test_the_page_asks_for_nothing_and_complains_about_nothing(visit, request, which):
    html = request.getfixturevalue(which)
    assert len(html.encode()) < 10_000_000
    seen = visit(html)
    seen.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    seen.page.wait_for_timeout(200)
    assert seen.requests
    assert all(url.startswith(("file:", "data:")) for url in seen.requests)
    assert seen.complaints == []


def test_the_policy_holds_back_a_script_that_was_slipped_in(visit, iris):
    """The negative control of the test above: requests and complaints are seen when there are any."""
    seen = visit(
        iris.replace("</body>", "<script>document.title = 'taken'</script><img src='http://0.0.0.0/x.png'></body>")
    )
    assert "taken" not in seen.page.title()
    assert len(seen.complaints) >= 2
    assert all("Content Security Policy" in complaint for complaint in seen.complaints)


def hover(seen, selector, points):
    """Move over a canvas until the tooltip shows; returns its text."""
    seen.page.locator(selector).scroll_into_view_if_needed()
    # The page hears of the scrolling a frame later, and hides the tooltip then.
    seen.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = seen.page.locator(selector).bounding_box()
    for x, y in points:
        seen.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if seen.page.locator("#tip").is_visible():
            return seen.page.locator("#tip").inner_text()
    return ""


GRID = [(x, y) for x in np.linspace(0.12, 0.95, 25) for y in np.linspace(0.08, 0.8, 12)]


@pytest.mark.parametrize("which", ["iris", "large"])
def test_pointing_at_a_row_shows_it(visit, request, which):
    seen = visit(request.getfixturevalue(which))
    text = hover(seen, "#scatter canvas >> nth=0", GRID)
    assert re.search(r"Row [\d,]+: cluster \d+", text)
    assert re.search(r"\d% sure", text)
    name = "petal length (cm)" if which == "iris" else "column 3"
    assert name in text
    seen.page.mouse.move(2, 2)
    assert not seen.page.locator("#tip").is_visible()


def test_what_the_tooltip_says_is_in_the_table(visit):
    """Two columns: the pixel of a row is known from its cells, so the pointer can be sent to one row."""
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [10.0, 10.0], [11.0, 9.5]])
    seen = visit(report.render(model_of(rows, [Column("x", "gaussian"), Column("y", "gaussian")], [0, 0, 1, 1])))
    area = seen.page.evaluate(
        "(() => { const c = document.querySelector('#scatter canvas'); return [c.clientWidth, c.clientHeight]; })()"
    )
    # Margins of the picture: 62 left, 10 right and top, 46 below; 4% of the range beyond the outermost rows.
    x = (62 + (10.0 + 0.44) / 11.88 * (area[0] - 72)) / area[0]
    y = (area[1] - 46 - (10.0 + 0.4) / 10.8 * (area[1] - 56)) / area[1]
    text = hover(seen, "#scatter canvas >> nth=0", [(x, y)])
    assert "Row 3: cluster 1" in text
    assert re.search(r"x\s+10\s+y\s+10", text)


def test_arrow_keys_walk_over_the_rows(visit, iris):
    seen = visit(iris)
    seen.page.locator("#scatter canvas >> nth=0").focus()
    found = []
    for _ in range(3):
        seen.page.keyboard.press("ArrowRight")
        found.append(seen.page.locator("#tip strong").inner_text())
    assert len(set(found)) == 3


def test_axes_can_be_chosen_and_clusters_picked(visit, iris):
    seen = visit(iris)
    picture = "document.querySelector('#scatter canvas').toDataURL()"
    first = seen.page.evaluate(picture)
    seen.page.get_by_label("Across").select_option(label="petal length (cm)")
    second = seen.page.evaluate(picture)
    seen.page.locator(".legend button").first.click()
    third = seen.page.evaluate(picture)
    assert len({first, second, third}) == 3
    assert seen.page.locator(".legend button").first.get_attribute("aria-pressed") == "true"
    assert seen.complaints == []


def test_dragging_looks_closer_and_back(visit, iris):
    seen = visit(iris)
    picture = "document.querySelector('#scatter canvas').toDataURL()"
    whole = seen.page.evaluate(picture)
    box = seen.page.locator("#scatter canvas >> nth=0").bounding_box()
    seen.page.mouse.move(box["x"] + 200, box["y"] + 100)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 400, box["y"] + 250)
    seen.page.mouse.up()
    assert seen.page.evaluate(picture) != whole
    seen.page.get_by_role("button", name="Show all rows").click()
    assert seen.page.evaluate(picture) == whole


def test_pointing_at_a_pair_shows_its_probability(visit, iris):
    seen = visit(iris)
    text = hover(seen, "#heat canvas", [(0.3, 0.5), (0.35, 0.6)])
    assert re.search(r"Together with probability \D?\d+%", text)
    assert text.count("row ") == 2


def test_sorting(visit):
    model = mixed()
    seen = visit(report.render(model))
    ages = model.posterior_.data.rows[:, 0]
    known = np.sort(ages[~np.isnan(ages)])
    heading = seen.page.get_by_role("button", name="age")
    heading.click()
    assert [float(cell) for cell in seen.column(6)] == known[:25].tolist()
    heading.press("Enter")  # by keyboard, the other way
    assert [float(cell) for cell in seen.column(6)] == known[::-1][:25].tolist()
    assert seen.page.locator("th[aria-sort=descending]").inner_text().startswith("age")
    seen.page.get_by_role("button", name="probability").first.click()
    shares = [float(cell.strip("<>%")) for cell in seen.column(3)]
    assert shares == sorted(shares)
    assert shares[0] < 90


def test_missing_cells_are_shown_and_sorted_last(visit):
    model = mixed()
    seen = visit(report.render(model))
    holes = int(np.isnan(model.posterior_.data.rows[:, 0]).sum())
    seen.page.get_by_role("button", name="age").click()
    seen.page.get_by_label("Rows per page").select_option("250")
    seen.page.get_by_role("button", name="Next").click()
    cells = seen.column(6)
    assert cells[-holes:] == ["missing"] * holes
    assert cells.count("missing") == holes


def test_filters(visit):
    model = mixed()
    data = model.posterior_.data
    seen = visit(report.render(model))
    seen.page.get_by_label("Rows per page").select_option("250")
    seen.page.locator("#search").fill("female Q")
    chosen = np.flatnonzero((data.rows[:, 1] == 0) & (data.rows[:, 2] == 2))
    assert [int(cell) - 1 for cell in seen.column(1)] == chosen.tolist()
    seen.page.locator("#only").select_option("1")
    assert [int(cell) - 1 for cell in seen.column(1)] == [i for i in chosen if model.labels_[i] == 1]
    seen.page.locator("#only").select_option("-1")
    seen.page.locator("#search").fill("male")
    assert set(seen.column(7)) == {"male"}  # words are found from their beginning: not in "female"
    seen.page.locator("#search").fill("no such words")
    assert seen.column(1) == []
    assert "no row matches" in seen.page.locator("#table").inner_text()
    seen.page.locator("#search").fill("")
    seen.page.locator("#unsure").check()
    assert all(float(cell.strip("<>%")) <= 90 for cell in seen.column(3))
    assert 0 < len(seen.column(3)) < 250


def test_pages_of_the_table(visit, large):
    seen = visit(large)
    assert "rows 1 to 25 of 20,000" in seen.page.locator("#table").inner_text()
    first = seen.column(1)
    seen.page.get_by_role("button", name="Next").click()
    assert set(seen.column(1)).isdisjoint(first)
    seen.page.get_by_role("button", name="Previous").click()
    assert seen.column(1) == first


def test_thinning_is_said(visit, large):
    text = visit(large).page.locator("main").inner_text()
    assert "This page holds 20,000 of the 100,000 rows" in text
    assert "300 of 100,000 rows" in text


def test_names_stay_text(visit):
    model = mixed(names=(NASTY[0], NASTY[1], NASTY[3], "children"), levels=NASTY[:3])
    seen = visit(report.render(model, title=NASTY[1], command=NASTY[0]))
    hover(seen, "#scatter canvas >> nth=0", GRID)
    assert NASTY[0] in seen.page.locator("#tip").inner_text()
    seen.page.locator("#row-table thead button").nth(6).click()
    for text in NASTY[:2]:
        assert text in seen.page.locator("#row-table thead").inner_text()
        assert text in seen.page.locator("#settings").inner_text()
    assert NASTY[2] in seen.page.locator("#row-table").inner_text()
    assert seen.page.locator("#about").inner_text() == NASTY[1]
    assert seen.page.locator("img, svg[onload], main script").count() == 0
    assert seen.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in seen.requests)


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_the_page_is_never_wider_than_the_screen(visit, width):
    seen = visit(report.render(mixed(names=("age", "s" * 80, "port of " * 20, "children"))), width=width)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_says_what_it_shows_to_those_who_do_not_see_it(visit, iris):
    seen = visit(iris)
    assert seen.page.locator("h1").count() == 1
    assert all(
        label
        for label in seen.page.eval_on_selector_all(
            "canvas[role=img], figure[role=img]", "all => all.map(e => e.getAttribute('aria-label'))"
        )
    )
    unnamed = seen.page.eval_on_selector_all("select, input", "all => all.filter(e => e.labels.length === 0).length")
    assert unnamed == 0
    levels = seen.page.eval_on_selector_all("h1, h2, h3", "all => all.map(e => Number(e.tagName[1]))")
    assert all(b - a <= 2 for a, b in pairwise(levels))


def test_a_row_far_out_does_not_hide_the_others(visit):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    rows[7] = [1e6, -1e6]
    seen = visit(report.render(model_of(rows, [Column("x", "gaussian"), Column("y", "gaussian")], np.arange(300) % 2)))
    button = seen.page.get_by_role("button", name="Show all rows (1 outside the view)")
    picture = "document.querySelector('#scatter canvas').toDataURL()"
    near = seen.page.evaluate(picture)
    button.click()
    assert seen.page.evaluate(picture) != near
    assert not button.is_visible()


def test_paper_is_white_and_pictures_are_on_it(visit, iris):
    """A canvas that is drawn again while paper is laid out comes out empty: nothing is drawn after ``beforeprint``."""
    seen = visit(iris)
    seen.page.emulate_media(color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert seen.page.evaluate(background) != "rgb(255, 255, 255)"
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert seen.page.evaluate(background) == "rgb(255, 255, 255)"
    picture = "document.querySelector('#scatter canvas').toDataURL()"
    before = seen.page.evaluate(picture)
    seen.page.set_viewport_size({"width": 700, "height": 900})
    seen.page.wait_for_timeout(100)
    assert seen.page.evaluate(picture) == before
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate(picture) != before
    seen.page.emulate_media(color_scheme="light")


def test_moving_the_cut_joins_clusters_in_the_tree_the_scatter_plot_and_the_table(visit, iris):
    seen = visit(iris)
    status = seen.page.locator("#groups output")
    assert status.inner_text() == "2 groups"
    assert seen.page.locator("#table th").nth(2).inner_text() == "group"
    assert seen.column(3) == seen.column(2)
    assert set(seen.column(3)) == {"1"}
    seen.page.locator("#cut").fill("1")
    assert status.inner_text() == "1 group"
    assert seen.texts("#groups .legend li")[0].strip() == "group 0: clusters 0, 1 (150 rows)"
    assert seen.page.locator("#rows select").nth(2).input_value() == "group"
    assert set(seen.column(3)) == {"0"}
    # A click between the clusters and their join parts them again.
    box = seen.page.locator("#tree svg").bounding_box()
    seen.page.mouse.click(box["x"] + 160, box["y"] + 15)
    assert status.inner_text() == "2 groups"
    assert seen.complaints == []
