"""What the page holds, against figures computed another way; and that it stays small and safe."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless import report
from countless.families.columns import Column
from countless.plots.parts.fit import fitted, likely
from countless.plots.parts.pick import spread
from countless.report import numbers
from countless.report.page import as_script_text
from countless.report.profiles import such_as
from countless.report.settings import code, python_code
from report.models import NASTY, blobs, mixed, model_of


def embedded(html):
    """The data of a page, as a browser reads them."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def contents(html):
    """Contents of the sections of a page by name, and what they share."""
    page = embedded(html)
    return {"shared": page["shared"], **{section["name"]: section["content"] for section in page["sections"]}}


@pytest.fixture(scope="module")
def sections():
    return {section["name"]: section for section in embedded(report.render(mixed()))["sections"]}


@pytest.fixture(scope="module")
def rows():
    return embedded(report.render(mixed()))["shared"]["rows"]


def test_the_sections_of_a_mixture_are_in_their_order(sections):
    names = ["answer", "rows", "clusters", "how-many", "pairs", "chains", "table", "settings"]
    assert list(sections) == names
    assert all(section["title"] and section["link"] for section in list(sections.values())[1:])


def test_cells_and_certainty_are_those_of_the_model(rows, sections):
    model = mixed()
    data = model.posterior_.data
    assert rows["number"] == list(range(1, 301))
    assert rows["cluster"] == model.labels_.tolist()
    for j, column in enumerate(rows["columns"]):
        cells = [np.nan if cell is None else cell for cell in column["cells"]]
        np.testing.assert_allclose(cells, data.rows[:, j], rtol=1e-9)
        assert column["missing"] == np.isnan(data.rows[:, j]).sum()
    sizes = [profile["size"] for profile in sections["clusters"]["content"]["clusters"]]
    assert sizes == sorted(np.bincount(model.labels_).tolist(), reverse=True)


def test_pairs_are_shares_of_draws(sections):
    model, pairs = mixed(), sections["pairs"]["content"]
    rows = np.array(pairs["number"]) - 1
    draws = model.posterior_.flat_labels()
    bytes_ = np.frombuffer(base64.b64decode(pairs["share"]), dtype=np.uint8)
    exact = np.array([(draws[:, rows[i]] == draws[:, rows[j]]).mean() for i in range(len(rows)) for j in range(i)])
    np.testing.assert_allclose(bytes_ / 250.0, exact, atol=0.5 / 250.0 + 1e-12)


def test_probabilities_of_the_number_of_clusters_add_up(sections):
    shown = sections["how-many"]["content"]
    assert sum(share for _, share in shown["bars"]) == pytest.approx(1.0, abs=0.002)
    assert shown["chosen"] == 3


@pytest.mark.parametrize(
    ("pmf", "found"),
    [
        ({2: 1.0}, (2, 2)),
        ({2: 0.96, 3: 0.04}, (2, 2)),
        ({1: 0.03, 2: 0.5, 3: 0.45, 9: 0.02}, (2, 3)),
        ({2: 0.05, 3: 0.9, 4: 0.05}, (2, 3)),
    ],
)
def test_the_range_of_the_number_is_the_shortest_that_holds_its_share(pmf, found):
    assert likely(pmf) == found


def test_the_plane_is_that_of_the_singular_values(rng):
    rows = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    model = model_of(rows, [Column(f"c{j}", "gaussian") for j in range(4)], np.arange(50) % 2)
    plane = contents(report.render(model))["shared"]["rows"]["plane"]
    u, s, _ = np.linalg.svd((rows - rows.mean(0)) / rows.std(0), full_matrices=False)
    shares = s**2 / np.sum(s**2)
    assert f"({shares[0]:.0%} of the variance)" in plane["names"][0]
    assert f"({shares[1]:.0%})" in plane["names"][1]
    for k, key in enumerate("xy"):
        own = np.array(plane[key])
        np.testing.assert_allclose(np.abs(own @ u[:, k]), s[k], rtol=1e-3)


def test_profiles_are_those_of_the_rows(rows, sections):
    """Means, shares and quartiles by pandas, of the rows that the page itself holds."""
    import pandas as pd

    frame = pd.DataFrame({column["name"]: column["cells"] for column in rows["columns"]}, dtype=float)
    cluster = np.array(rows["cluster"])
    kinds = set()
    for profile in sections["clusters"]["content"]["clusters"]:
        mine, others = frame[cluster == profile["label"]], frame[cluster != profile["label"]]
        for trait in profile["traits"]:
            bar, name = trait["bar"], trait["text"].split()[0].rstrip(":")
            kinds.add(bar["kind"])
            if bar["kind"] == "range":
                np.testing.assert_allclose(bar["own"][2], mine[name].mean(), rtol=1e-4)
                np.testing.assert_allclose(bar["own"][:2], mine[name].quantile([0.25, 0.75]), rtol=1e-4)
                np.testing.assert_allclose(bar["others"], others[name].quantile([0.25, 0.75]), rtol=1e-4)
            else:
                level = next(column["levels"] for column in rows["columns"] if column["name"] == name)
                first, second = trait["text"].split()[1:3]
                lacks, code = first == "not", level.index(second if first == "not" else first)
                for share, part in ((bar["own"], mine), (bar["others"], others)):
                    np.testing.assert_allclose(share, ((part[name].dropna() == code) != lacks).mean(), atol=1e-4)
    assert kinds == {"range", "share"}


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([5.1, 4.9, 6.0], [5.1, 4.9, 6]),
        ([1 / 3, 2 / 3, np.nan], [0.333333, 0.666667, None]),
        ([100000.123, 100000.124, 100000.125], [100000.123, 100000.124, 100000.125]),
        ([1234567.0, 12.0, 0.0], [1234567, 12, 0]),
        ([1e-9, 2e-9, 1.0], [1e-9, 2e-9, 1]),
        ([1e300, -1e300, 0.0], [1e300, -1e300, 0]),
        ([7.25, 7.25, 7.25], [7.25, 7.25, 7.25]),
    ],
)
def test_cells_keep_the_digits_that_tell_them_apart(values, shown):
    column = np.array(values)
    assert numbers.plain(column, numbers.digits(column)) == shown


def test_what_is_not_certain_is_not_rounded_to_certainty():
    found = numbers.shares(np.array([0.0, 1e-9, 0.25, 0.9999, 1.0]))
    assert found == [0.0, 0.001, 0.25, 0.999, 1.0]


def test_rows_are_thinned_with_small_clusters_whole():
    labels = np.concatenate([np.zeros(50_000, dtype=int), np.ones(30), np.full(49_970, 2)])
    rows = spread(labels, 5_000, 100)
    assert len(rows) == 5_000
    assert len(np.unique(rows)) == 5_000
    assert (np.diff(rows) > 0).all()
    assert (labels[rows] == 1).sum() == 30
    share = (labels[rows] == 0).mean()
    assert abs(share - 0.5) < 5 * np.sqrt(0.25 / 5_000)
    assert len(spread(np.arange(1_000), 300, 5)) == 300


def test_a_hundred_thousand_rows_of_many_columns_stay_below_ten_megabytes():
    html = report.render(blobs(100_000, 5, n_columns=90, chains=1, draws=4))
    rows = contents(html)["shared"]["rows"]
    assert len(html.encode()) < 10_000_000
    assert rows["n_columns"] == 90
    assert len(rows["columns"]) == 60


def test_long_categories_make_fewer_rows_not_a_larger_page():
    n = 30_000
    levels = tuple(f"{i}-" + "x" * 600 for i in range(10_000))
    rows = np.stack([np.arange(n) % 10_000, np.arange(n, dtype=float)], axis=1)
    model = model_of(rows, [Column("id", "categorical", levels), Column("x", "gaussian")], np.arange(n) % 3, draws=2)
    html = report.render(model)
    assert len(html.encode()) < 10_000_000


def test_the_columns_that_tell_most_are_kept(rng):
    rows = rng.normal(size=(200, 80))
    labels = np.arange(200) % 2
    rows[:, 70] += 8 * labels
    model = model_of(rows, [Column(f"c{j}", "gaussian") for j in range(80)], labels)
    assert "c70" in [column["name"] for column in contents(report.render(model))["shared"]["rows"]["columns"]]


# --- safety ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*NASTY, "<!--", "]]>", "\ud800", "\u2029"])
def test_text_for_a_script_element_is_inert_and_comes_back_whole(text):
    safe = as_script_text([text])
    assert not set(safe) & set("<>&\u2028\u2029")
    assert safe.isascii()
    assert json.loads(safe) == [text]


def test_no_name_becomes_markup():
    model = mixed(names=(NASTY[0], NASTY[1], NASTY[2], NASTY[3]), levels=NASTY[:3])
    html = report.render(model, title=NASTY[1], command=NASTY[0])
    for text in NASTY[:3]:
        assert text not in html
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert contents(html)["shared"]["rows"]["columns"][0]["name"] == NASTY[0]


def test_the_policy_names_the_script_and_the_style_by_their_hashes():
    html = report.render(blobs(20, 2))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', html)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", html, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_the_same_model_gives_the_same_page():
    assert report.render(mixed()) == report.render(mixed())


# --- words ------------------------------------------------------------------------------------------------------


def test_what_a_single_partition_does_not_know_is_said():
    rows = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    found = contents(report.render(cl.DPMixture(inference="map", random_state=0).fit(rows)))
    assert "how-many" not in found
    assert "pairs" not in found
    assert "The probability of this number of clusters is unknown" in found["answer"]["notes"][0]
    assert "its probability is unknown" in found["answer"]["facts"][0]["words"]
    assert found["answer"]["facts"][2]["value"] == "Unknown"


def test_a_variational_fit_claims_no_probability_of_the_number():
    rows = np.concatenate([np.zeros(20), np.full(20, 9.0)])[:, None] + np.linspace(0, 1, 40)[:, None]
    found = contents(report.render(cl.DPMixture(inference="variational", random_state=0).fit(rows)))
    assert "how-many" not in found
    assert "pairs" in found
    assert [line["name"] for line in found["chains"]["lines"]] == ["lower bound on the log evidence"]
    assert "The probability of this number of clusters is unknown" in found["answer"]["notes"][0]


def test_an_interrupted_run_is_reported_as_such():
    model = blobs(50, 2)
    assert contents(report.render(model))["answer"]["notes"] == []
    posterior = model.posterior_
    model.posterior_ = type(posterior)(posterior.draws.replaced(interrupted=True), posterior.data)
    notes = contents(report.render(model))["answer"]["notes"]
    assert len(notes) == 1
    assert "interrupted. The page shows 30 draws of each of 2 chains" in notes[0]


def test_two_columns_of_categories_are_columns_of_categories(sections):
    words = sections["answer"]["content"]["facts"][3]["words"]
    assert words.startswith("2 numeric columns and 2 columns of categories; ")


def test_one_row_and_one_cluster():
    assert "1 cluster in 1 row" in report.render(cl.DPMixture(random_state=0).fit([[1.0]]))
    assert "1 cluster in 50 rows" in report.render(blobs(50, 1))


def test_a_model_that_was_not_fitted(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        report.render(cl.DPMixture())
    with pytest.raises(NotFittedError):
        report.write(cl.DPMixture(), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model",
    [
        cl.DPMixture(random_state=3),
        cl.DPMixture(family="poisson", prior="pitman-yor", inference="map"),
        cl.DPMixture(family=cl.families.Gaussian(dof=7.0), prior=cl.priors.CRP(0.5), random_state=1),
        cl.DPMixture(inference=cl.inference.CollapsedGibbs(chains=2, draws=50), tune="sample"),
        cl.DPMixture(family=cl.families.DiagonalGaussian(mean=[1.5, 2.0])),
    ],
)
def test_the_snippet_makes_the_same_model(model):
    text = python_code(model)
    made = text.split("model = ")[1].split(".fit(X)")[0]
    again = eval(made, {"cl": cl})
    assert repr(again.get_params()) == repr(model.get_params())


def test_settings_as_code():
    assert code({"age": "gaussian", "n": (1,)}) == "{'age': 'gaussian', 'n': (1,)}"
    assert code([np.float64(0.5), None]) == "[0.5, None]"
    assert (
        code(cl.families.DiagonalGaussian(mean=np.array([1.5, 2.0]))) == "cl.families.DiagonalGaussian(mean=[1.5, 2.0])"
    )


def test_clusters_name_some_of_their_rows():
    rows = np.repeat([[0.0], [9.0]], 8, axis=0) + np.linspace(0.0, 1.0, 16)[:, None]
    model = cl.DPMixture("gaussian", inference="map", random_state=0)

    def named(names):
        fit = fitted(model.fit(pd.DataFrame(rows, columns=["x"], index=names)))
        return such_as(fit, int(fit.labels[0]), 3)

    some = named([f"{animal} {i}" for animal in ("cow", "seal") for i in range(8)])
    assert re.fullmatch(r"cow \d, cow \d, cow \d and 5 more", some)
    assert named([str(i) for i in range(16)]) is None
