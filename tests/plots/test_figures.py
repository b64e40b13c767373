"""Figures say what the model says: bars, curves, names and matrices against the numbers behind them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle

import countless as cl
from countless import plots
from countless.plots import _style


def draw(ax):
    """Lay out and draw everything, so that a warning of the layout is an error here."""
    ax.figure.draw_without_rendering()
    return ax


def texts(ax):
    return {text.get_text() for text in ax.texts}


@pytest.fixture(params=["faithful", "galaxies", "five_columns", "counts_of_events", "single_partition", "large"])
def fitted(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def figure():
    return Figure(layout="constrained")


# --- clusters -----------------------------------------------------------------------------------------------


def test_every_cluster_is_named(fitted):
    model, X = fitted
    ax = draw(plots.clusters(model, X))
    assert {str(k) for k in range(model.n_clusters_)} <= texts(ax)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert f"{len(X):,} row" in ax.get_title(loc="left")


def test_two_columns_are_a_scatter_with_ellipses(faithful):
    model, X = faithful
    ax = plots.clusters(model, X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eruptions", "waiting")
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_array_equal(np.sort(points[:, 1]), np.sort(X["waiting"]))
    sizes = np.bincount(model.labels_)
    assert sum(isinstance(patch, Ellipse) for patch in ax.patches) == (sizes >= 5).sum()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[0] == f"cluster 0: {sizes[0]} rows"
    assert len(legend) == model.n_clusters_


def test_an_ellipse_holds_nine_tenths_of_a_gaussian(figure):
    rows = np.random.default_rng(0).multivariate_normal([1.0, 2.0], [[4.0, 3.0], [3.0, 9.0]], size=4000)
    model = cl.DPMixture(inference=cl.inference.MAP(restarts=1, perturbations=0), random_state=0).fit(rows)
    model.labels_ = np.zeros(len(rows), dtype=np.int64)
    ax = plots.clusters(model, rows, figure.add_subplot())
    (ellipse,) = (patch for patch in ax.patches if isinstance(patch, Ellipse))
    inside = ellipse.get_path().contains_points(ellipse.get_patch_transform().inverted().transform(rows))
    assert inside.mean() == pytest.approx(0.9, abs=4.5 * np.sqrt(0.09 / len(rows)))


def test_one_column_shows_the_predictive_density(galaxies):
    model, X = galaxies
    ax = plots.clusters(model, X)
    assert ax.get_xlabel() == "velocity"
    (curve,) = (line for line in ax.lines if line.get_label().startswith("predictive density"))
    x, y = curve.get_data()
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.05)
    import pandas as pd

    np.testing.assert_allclose(y, np.exp(model.score_samples(pd.DataFrame({"velocity": x}))))
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert sum(bar.get_width() * bar.get_height() for bar in bars) == pytest.approx(1.0)


def test_counts_have_probabilities_at_whole_numbers(counts_of_events):
    model, X = counts_of_events
    ax = plots.clusters(model, X)
    assert ax.get_ylabel() == "probability"
    (curve,) = (line for line in ax.lines if line.get_label().startswith("predictive density"))
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(X.min(), X.max() + 1))
    assert 0.9 < curve.get_ydata().sum() <= 1.0


def test_more_columns_are_shown_in_their_principal_plane(five_columns):
    model, X = five_columns
    ax = plots.clusters(model, X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    variances = np.linalg.svd(standard, compute_uv=False) ** 2
    assert f"of 5 columns ({variances[0] / variances.sum():.0%} of the variance)" in ax.get_xlabel()
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_allclose((points**2).sum(axis=0), variances[:2])


def test_columns_can_be_picked(five_columns, faithful):
    model, X = five_columns
    ax = plots.clusters(model, X, columns=[3, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 3", "column 1")
    model, X = faithful
    ax = draw(plots.clusters(model, X, columns=["waiting"]))
    assert ax.get_xlabel() == "waiting"
    assert sum(patch.get_height() for patch in ax.patches) == len(X)
    with pytest.raises(ValueError, match="'colour' is not a column of X; it has eruptions, waiting"):
        plots.clusters(model, X, columns=["colour"])
    with pytest.raises(ValueError, match="name at least one"):
        plots.clusters(model, X, columns=[])


def test_many_rows_are_thinned_and_it_is_said(large):
    model, X = large
    ax = plots.clusters(model, X)
    drawn = sum(len(group.get_offsets()) for group in ax.collections)
    assert 20_000 <= drawn <= 20_010
    assert f"{drawn:,} of 22,010 rows shown" in ax.get_title(loc="left")
    assert all(group.get_rasterized() for group in ax.collections)
    assert len(ax.collections[12].get_offsets()) == 10  # a small cluster is never thinned away
    assert ax.get_legend() is None


def test_rows_of_another_table_are_refused(faithful):
    model, X = faithful
    with pytest.raises(ValueError, match="X must hold the 272 rows"):
        plots.clusters(model, X[:-1])


def test_a_colour_never_stands_for_two_clusters_with_the_same_marker():
    looks = [(_style.colour(k), _style.marker(k)) for k in range(49)]
    assert len(set(looks)) == 49


# --- counts and sizes -----------------------------------------------------------------------------------------


def test_one_bar_for_each_number_of_clusters_that_was_drawn(fitted):
    model, _ = fitted
    ax = draw(plots.n_clusters(model))
    pmf = model.posterior_.n_clusters_pmf()
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx(pmf)
    marked = [k for k, bar in zip(pmf, ax.patches, strict=True) if bar.get_facecolor() == to_rgba(_style.COLOURS[0])]
    assert marked == [k for k in pmf if k == model.n_clusters_]


def test_a_posterior_will_do(faithful):
    model, _ = faithful
    assert len(plots.n_clusters(model.posterior_).patches) == len(model.posterior_.n_clusters_pmf())


def test_a_single_partition_does_not_pretend_to_be_sure(single_partition):
    model, X = single_partition
    ax = draw(plots.n_clusters(model))
    assert "no posterior" in ax.get_title(loc="left")
    assert ax.get_yticks().size == 0
    assert "without its uncertainty" in plots.sentence(model, X)


def test_sizes_are_those_of_the_clusters(fitted):
    model, X = fitted
    ax = draw(plots.sizes(model, X))
    assert [bar.get_height() for bar in ax.patches] == np.bincount(model.labels_).tolist()
    assert len(ax.texts) == model.n_clusters_


# --- similarity -----------------------------------------------------------------------------------------------


def test_the_heat_map_is_the_similarity_matrix_by_cluster(faithful):
    model, _ = faithful
    ax = draw(plots.similarity(model))
    shown = np.asarray(ax.images[0].get_array())
    expected = model.posterior_.similarity()
    assert np.sort(shown.ravel()) == pytest.approx(np.sort(expected.ravel()))
    # Blocks of the consensus lie on the diagonal, in order.
    ends = np.cumsum(np.bincount(model.labels_))
    for start, stop, k in zip([0, *ends], ends, range(model.n_clusters_), strict=False):
        mine = model.labels_ == k
        block = shown[start:stop, start:stop]
        assert block.mean() == pytest.approx(expected[np.ix_(mine, mine)].mean())
    assert ax.figure.axes[-1].get_ylabel() == "probability of sharing a cluster"


def test_a_large_heat_map_is_thinned_and_it_is_said(large):
    model, _ = large
    ax = draw(plots.similarity(model))
    assert ax.images[0].get_array().shape == (1000, 1000)
    assert "1,000 of 22,010 rows shown" in ax.get_title(loc="left")


# --- how sure -------------------------------------------------------------------------------------------------


def test_label_probability_is_the_mean_similarity_to_the_others_of_the_cluster(faithful):
    model, _ = faithful
    matrix = model.posterior_.similarity()
    for i in range(0, 272, 17):
        others = np.flatnonzero(model.labels_ == model.labels_[i])
        others = others[others != i]
        if len(others):
            assert plots.label_probability(model)[i] == pytest.approx(matrix[i, others].mean())


def test_a_lonely_row_is_as_sure_as_it_is_alone():
    X = np.concatenate([np.random.default_rng(0).normal(size=(30, 1)), [[60.0]]])
    engine = cl.inference.CollapsedGibbs(chains=1, draws=60, warmup=30)
    model = cl.DPMixture(inference=engine, random_state=0).fit(X)
    assert np.bincount(model.labels_)[model.labels_[-1]] == 1
    alone = [np.sum(draw == draw[-1]) == 1 for draw in model.posterior_.flat_labels()]
    assert plots.label_probability(model)[-1] == pytest.approx(np.mean(alone))


def test_a_single_partition_asks_for_the_rows(single_partition):
    model, X = single_partition
    own = model.predict_proba(X)[np.arange(len(X)), model.labels_]
    np.testing.assert_array_equal(plots.label_probability(model, X), own)
    with pytest.raises(ValueError, match="X: a single partition needs the rows"):
        plots.label_probability(model)


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (0.001, "<1%"), (0.5, "50%"), (0.99, "99%"), (0.9999, ">99%"), (1.0, "100%")]
)
def test_percentages_do_not_round_to_certainty(share, text):
    assert plots.percent(share) == text


# --- summary --------------------------------------------------------------------------------------------------


def test_summary_has_its_panels_and_its_sentence(fitted):
    model, X = fitted
    picture = plots.summary(model, X)
    assert isinstance(picture, Figure)
    titles = " ".join(ax.get_title(loc="left") for ax in picture.axes)
    questions = ["What was found?", "How large, and how sure of its rows?"]
    questions += ["How many?", "Which rows belong together?"] if model.posterior_.n_draws > 1 else ["How clear?"]
    assert all(question in titles for question in questions)
    assert " ".join(picture.get_suptitle().split()) == plots.sentence(model, X)
    picture.draw_without_rendering()
    assert plots.sentence(model, X).startswith(f"{model.n_clusters_} clusters in {len(X):,} rows")


@pytest.mark.parametrize(
    "draw_figure",
    [
        plots.summary,
        lambda model, X: plots.clusters(model, X).figure,
        lambda model, X: plots.n_clusters(model).figure,
        lambda model, X: plots.similarity(model).figure,
        lambda model, X: plots.sizes(model, X).figure,
    ],
    ids=["summary", "clusters", "n_clusters", "similarity", "sizes"],
)
def test_the_title_and_all_labels_stay_inside_the_figure(fitted, draw_figure):
    picture = draw_figure(*fitted)
    picture.draw_without_rendering()
    width, height = picture.canvas.get_width_height()
    box = picture.get_tightbbox().padded(0).transformed(picture.dpi_scale_trans)
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= width + 1
    assert box.y1 <= height + 1


@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG"), ("b/c.pdf", b"%PDF"), ("d.svg", b"<?xml")])
def test_summary_is_saved_whole(faithful, tmp_path, name, head):
    plots.summary(*faithful, path=tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(head)
    assert not list(tmp_path.rglob("*.tmp"))


def test_an_unknown_format_is_one_sentence(faithful, tmp_path):
    with pytest.raises(ValueError, match="no figures of kind 'xyz'; choose one of"):
        plots.summary(*faithful, path=tmp_path / "a.xyz")
    assert not list(tmp_path.iterdir())


def test_the_same_figure_gives_the_same_bytes(faithful):
    assert plots.render(plots.summary(*faithful)) == plots.render(plots.summary(*faithful))


# --- where figures live -----------------------------------------------------------------------------------------


def test_axes_that_are_given_are_used_and_returned(faithful, figure):
    model, X = faithful
    for function in (plots.n_clusters, plots.similarity, lambda model, ax: plots.clusters(model, X, ax)):
        ax = figure.add_subplot()
        assert function(model, ax=ax) is ax


def test_nothing_is_left_open_in_pyplot(faithful, monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    ax = plots.n_clusters(faithful[0])
    assert isinstance(ax.figure, _style.Picture)
    assert ax.figure._repr_png_().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules


def test_pyplot_is_used_where_the_user_does(faithful):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    before = set(pyplot.get_fignums())
    ax = plots.n_clusters(faithful[0])
    (number,) = set(pyplot.get_fignums()) - before
    assert pyplot.figure(number) is ax.figure
    pyplot.close(ax.figure)
