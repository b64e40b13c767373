"""Figures say what the model says: bars, curves, names and matrices against the numbers behind them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

import countless as cl
from conftest import by_hand
from countless import plots
from countless.plots.parts import style as _style
from countless.plots.parts.fit import fitted as fit_of


def draw(ax):
    """Lay out and draw everything, so that a warning of the layout is an error here."""
    ax.get_figure(root=True).draw_without_rendering()
    return ax


def texts(ax):
    return {text.get_text() for text in ax.texts}


def note(ax):
    return " ".join(text.get_text() for text in ax.texts if text.get_gid() == "note").replace("\n", " ")


FITS = ["faithful", "galaxies", "five_columns", "counts_of_events", "single_partition", "approximation"]
FITS += ["one_cluster", "mixed", "large"]


@pytest.fixture(params=FITS)
def fitted(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def figure():
    return Figure(layout="constrained")


# --- clusters -----------------------------------------------------------------------------------------------


def test_every_cluster_is_named(fitted):
    model, X = fitted
    ax = draw(plots.clusters(model))
    assert len(X) == len(model.labels_)
    n_clusters = int(model.labels_.max()) + 1
    assert {str(k) for k in range(n_clusters)} <= texts(ax) or n_clusters == 1
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert f"in {len(X):,} row" in ax.get_title(loc="left")


def test_two_columns_are_a_scatter_with_ellipses(faithful):
    model, X = faithful
    ax = plots.clusters(model)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eruptions", "waiting")
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_array_equal(np.sort(points[:, 1]), np.sort(X["waiting"]))
    sizes = np.bincount(model.labels_)
    assert sum(isinstance(patch, Ellipse) for patch in ax.patches) == (sizes >= 5).sum()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[0] == f"0: {sizes[0]} rows"
    assert len(legend) == model.n_clusters_


def test_an_ellipse_holds_nine_tenths_of_a_gaussian(figure):
    rows = np.random.default_rng(0).multivariate_normal([1.0, 2.0], [[4.0, 3.0], [3.0, 9.0]], size=4000)
    draws = np.zeros((1, 2, len(rows)), dtype=np.int64)
    model = by_hand(rows, cl.families.Gaussian(), draws[0, 0], draws)
    ax = plots.clusters(model, ax=figure.add_subplot())
    (ellipse,) = (patch for patch in ax.patches if isinstance(patch, Ellipse))
    inside = ellipse.get_path().contains_points(ellipse.get_patch_transform().inverted().transform(rows))
    assert inside.mean() == pytest.approx(0.9, abs=4.5 * np.sqrt(0.09 / len(rows)))


def test_more_columns_are_shown_in_their_principal_plane(five_columns):
    model, X = five_columns
    ax = plots.clusters(model)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    variances = np.linalg.svd(standard, compute_uv=False) ** 2
    assert f"of 5 columns ({variances[0] / variances.sum():.0%} of the variance)" in ax.get_xlabel()
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_allclose((points**2).sum(axis=0), variances[:2])


def test_the_plane_of_a_mixed_table_gives_each_column_one_unit_of_variance(mixed):
    """Against pandas: dummies that share a unit, missing cells at the mean."""
    model, table = mixed
    parts = []
    for name in table:
        column = table[[name]] if table[name].dtype.kind == "f" else pd.get_dummies(table[name]).astype(float)
        column = column.mask(table[name].isna())
        column = (column - column.mean()).fillna(0.0)
        parts.append(column / np.sqrt(column.var(ddof=0).sum()))
    sheet = pd.concat(parts, axis=1).to_numpy()
    variances = np.linalg.svd(sheet, compute_uv=False) ** 2
    ax = plots.clusters(model)
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_allclose((points**2).sum(axis=0), variances[:2])
    assert f"({variances[0] / variances.sum():.0%} of the variance)" in ax.get_xlabel()
    assert "missing cells at the mean" in note(ax)


def test_columns_can_be_picked(five_columns, faithful):
    model, _ = five_columns
    ax = plots.clusters(model, [3, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 3", "column 1")
    model, _ = faithful
    for one in (["waiting"], "waiting", 1):
        assert plots.clusters(model, columns=one).get_xlabel() == "waiting"
    with pytest.raises(
        ValueError, match="columns: 'colour' is not a column of the rows; choose among eruptions, waiting"
    ):
        plots.clusters(model, columns=["colour"])
    with pytest.raises(ValueError, match="name at least one"):
        plots.clusters(model, columns=[])
    with pytest.raises(ValueError, match="each column once"):
        plots.clusters(model, columns=[0, "eruptions"])


def test_two_columns_with_categories_and_holes(mixed):
    model, table = mixed
    ax = draw(plots.clusters(model, ["age", "city"]))
    both = table[["age", "city"]].notna().all(axis=1)
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(table["age"][both]))
    codes = np.sort(table["city"].astype("category").cat.codes[both])
    np.testing.assert_array_equal(np.sort(points[:, 1].round()), codes)
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["Aarhus", "Bergen"]
    assert not any(isinstance(patch, Ellipse) for patch in ax.patches)
    assert f"{(~both).sum()} rows with a missing cell left out" in note(ax)


def test_many_rows_are_shades_and_it_is_said(large):
    model, X = large
    ax = plots.clusters(model)
    (image,) = ax.images
    assert "shade: rows, on a log scale" in note(ax)
    left, right, bottom, top = image.get_extent()
    assert left < X[:, 0].min() < X[:, 0].max() < right
    assert bottom < X[:, 1].min() < X[:, 1].max() < top
    # Every row is in a cell that is not empty, of the colour of its cluster where no other is.
    cells = np.asarray(image.get_array())
    at = ((X - [left, bottom]) / [right - left, top - bottom] * cells.shape[1::-1]).astype(int)
    seen = cells[at[:, 1], at[:, 0]]
    assert np.all(seen[:, 3] > 0.0)
    assert (cells[..., 3] > 0.0).sum() == len(np.unique(at, axis=0))
    right_colour = np.isclose(seen[:, :3], [to_rgba(_style.colour(k))[:3] for k in model.labels_]).all(axis=1)
    assert right_colour.mean() > 0.9
    # A small cluster is drawn row by row.
    assert len(ax.collections[0].get_offsets()) == np.bincount(model.labels_).min()
    assert ax.get_legend() is None


def test_what_is_not_a_fit_is_refused(faithful):
    with pytest.raises(ValueError, match="model must be a fitted model with draws, got DPMixture; call its fit first"):
        plots.clusters(cl.DPMixture())
    with pytest.raises(ValueError, match="model must be a fitted model with draws, got ndarray"):
        plots.summary(np.zeros(3))
    with pytest.raises(ValueError, match="ax must be matplotlib Axes or None, got str"):
        plots.sizes(faithful[0], ax="left")
    with pytest.raises(ValueError, match="path must name a file, got DataFrame"):
        plots.summary(*faithful)
    without_rows = type(faithful[0].posterior_)(faithful[0].posterior_.draws, None)
    bare = SimpleNamespace(labels_=faithful[0].labels_, posterior_=without_rows)
    assert plots.n_clusters(bare)
    with pytest.raises(ValueError, match="does not hold its rows"):
        plots.clusters(bare)


def test_a_colour_never_stands_for_two_clusters_with_the_same_marker():
    looks = [(_style.colour(k), _style.marker(k)) for k in range(49)]
    assert len(set(looks)) == 49


def test_colours_can_be_told_apart_by_colour_blind_readers():
    """Distance in CIELAB of every pair as a protanope and a deuteranope see it (Vienot et al. 1999)."""
    linear = np.array([to_rgba(shade)[:3] for shade in _style.COLOURS]) ** 2.2
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0.0, 2.02344, -2.52581], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    deutan = np.array([[1.0, 0.0, 0.0], [0.494207, 0.0, 1.24827], [0.0, 0.0, 1.0]])
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    for blindness in (np.eye(3), protan, deutan):
        seen = np.clip(linear @ (np.linalg.inv(to_lms) @ blindness @ to_lms).T, 0.0, 1.0)
        f = np.cbrt(seen @ to_xyz.T / [0.9505, 1.0, 1.089])
        lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
        distances = np.linalg.norm(lab[:, None] - lab, axis=2)[np.triu_indices(len(lab), 1)]
        assert distances.min() > 10.0  # 2.3 is just noticeable


# --- names ----------------------------------------------------------------------------------------------------


def test_long_names_are_cut_and_stay_different():
    names = [f"measurement number {j} of the left wing" for j in range(12)]
    shown = _style.shown_names(names)
    assert len(set(shown)) == 12
    assert max(map(len, shown)) <= _style.LONGEST_NAME
    alike = [f"{'a' * 60}{j}{'b' * 60}" for j in range(3)]
    assert len(set(_style.shown_names(alike))) == 3
    assert _style.shown_name("price in $ and $") == r"price in \$ and \$"
    assert _style.shown_name("two\nlines\tand a tab") == "two lines and a tab"
    assert _style.shown_names(["a", "a"]) == ["a", "a"]


def test_tick_labels_are_written_as_people_write_numbers(figure):
    ax = figure.add_subplot()
    _style.plain_numbers(ax.yaxis, 0.0, 2e8)
    written = ax.yaxis.get_major_formatter()
    assert [written(v) for v in (0.0, 25_000.0, -2e8, 4e-5)] == ["0", "25,000", "−2e8", "4e-5".replace("-", "−")]
    before = ax.xaxis.get_major_formatter()
    _style.plain_numbers(ax.xaxis, 1e6, 1e6 + 1.0)  # six digits could not tell these apart
    assert ax.xaxis.get_major_formatter() is before


def test_names_of_clusters_do_not_cover_each_other(figure):
    ax = figure.add_subplot()
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    _style.name_clusters(ax, [(k, 0.5, 0.5) for k in range(9)])
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    centres = np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in boxes])
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(9, 1)]
    assert apart.min() > 0.9 * _style.NAME_SIZE * figure.dpi / 72


# --- counts and sizes -----------------------------------------------------------------------------------------


def test_one_bar_for_each_number_of_clusters_that_was_drawn(fitted):
    model, _ = fitted
    ax = draw(plots.n_clusters(model))
    chosen = int(model.labels_.max()) + 1
    pmf = model.posterior_.n_clusters_pmf() if model.posterior_.is_sampled else {chosen: 1.0}
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    assert bars == pytest.approx(pmf)
    marked = [k for k, bar in zip(pmf, ax.patches, strict=True) if bar.get_facecolor() == to_rgba(_style.COLOURS[0])]
    assert marked == [k for k in pmf if k == chosen]
    if chosen not in pmf:
        assert [line.get_xdata()[0] for line in ax.lines] == [chosen]


def test_a_posterior_will_do(faithful):
    model, _ = faithful
    assert len(plots.n_clusters(model.posterior_).patches) == len(model.posterior_.n_clusters_pmf())


def test_a_single_partition_does_not_pretend_to_be_sure(single_partition, approximation):
    for model, _ in (single_partition, approximation):
        ax = draw(plots.n_clusters(model))
        assert "no posterior" in ax.get_title(loc="left")
        assert ax.get_yticks().size == 0
        assert "without its uncertainty" in plots.sentence(model)


def test_sizes_are_those_of_the_clusters(fitted):
    model, _ = fitted
    ax = draw(plots.sizes(model))
    sizes = np.bincount(model.labels_)
    assert [bar.get_height() for bar in ax.patches] == sizes.tolist()
    sure = np.bincount(model.labels_, fit_of(model).certainty.probability) / sizes
    assert [text.get_text() for text in ax.texts] == [plots.percent(share) for share in sure]


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
    assert "1,000 of 22,010 rows shown" in note(ax)


# --- how sure -------------------------------------------------------------------------------------------------


def test_a_lonely_row_is_as_sure_as_it_is_alone():
    X = np.concatenate([np.random.default_rng(0).normal(size=(30, 1)), [[60.0]]])
    engine = cl.inference.CollapsedGibbs(chains=1, draws=60, warmup=30)
    model = cl.DPMixture(inference=engine, random_state=0).fit(X)
    assert np.bincount(model.labels_)[model.labels_[-1]] == 1
    alone = [np.sum(draw == draw[-1]) == 1 for draw in model.posterior_.flat_labels()]
    assert model.certainty_.probability[-1] == pytest.approx(np.mean(alone))


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (0.001, "<1%"), (0.5, "50%"), (0.99, "99%"), (0.9999, ">99%"), (1.0, "100%")]
)
def test_percentages_do_not_round_to_certainty(share, text):
    assert plots.percent(share) == text


# --- summary --------------------------------------------------------------------------------------------------


def test_summary_has_its_panels_and_its_sentence(fitted):
    model, X = fitted
    picture = plots.summary(model)
    assert isinstance(picture, Figure)
    titles = " ".join(ax.get_title(loc="left") for ax in picture.axes)
    questions = ["What was found?", "How large, how certain?"]
    sampled, alone = model.posterior_.is_sampled, len(model.posterior_.data.columns) == 1
    questions += ["How many?", "Which rows belong together?"] if sampled else ["How certain is each row?"]
    questions += ["How certain is each row?"] if sampled and alone else ["What distinguishes the clusters?"]
    assert all(question in titles for question in questions)
    assert " ".join(picture.get_suptitle().split()) == plots.sentence(model)
    picture.draw_without_rendering()
    n_clusters = int(model.labels_.max()) + 1
    clusters = f"{n_clusters} cluster{'s' * (n_clusters > 1)}"
    if model.posterior_.diagnostics().state == "chains disagree":
        assert plots.sentence(model).startswith("Chains disagree")
        assert plots.sentence(model).endswith(f" in {len(X):,} rows; the consensus of all draws has {clusters}")
    else:
        assert plots.sentence(model).startswith(f"{clusters} in {len(X):,} rows")


FIGURES = {
    "summary": plots.summary,
    "chains": plots.chains,
    "clusters": plots.clusters,
    "n_clusters": plots.n_clusters,
    "similarity": plots.similarity,
    "sizes": plots.sizes,
    "profiles": plots.profiles,
    "uncertainty": plots.uncertainty,
    "wavering": plots.wavering,
    "density": lambda model, **ax: plots.density(model, 0, **ax),
    "traces": plots.traces,
    "cumulative_means": plots.cumulative_means,
    "tree": plots.tree,
    "checks": plots.checks,
}
WITH_AXES = sorted(set(FIGURES) - {"summary", "chains"})
NEED_CHAINS = {"chains", "traces", "cumulative_means"}


@pytest.mark.parametrize("name", FIGURES)
def test_labels_stay_inside_the_figure_and_ticks_off_each_other(fitted, name):
    model, _ = fitted
    if name in NEED_CHAINS and not model.posterior_.is_sampled:
        pytest.skip("no chains to trace")
    drawn = FIGURES[name](model)
    picture = drawn if isinstance(drawn, Figure) else drawn.figure
    picture.draw_without_rendering()
    width, height = picture.canvas.get_width_height()
    box = picture.get_tightbbox().padded(0).transformed(picture.dpi_scale_trans)
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= width + 1
    assert box.y1 <= height + 1
    for ax in picture.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes = [label.get_window_extent() for label in ticks if label.get_text() and label.get_visible()]
            slanted = any(label.get_rotation() % 90 for label in ticks)
            for i, one in enumerate(boxes):
                # Half a pixel of slack: boxes are those of the line, not of the ink.
                assert slanted or not any(one.padded(-0.5).overlaps(other.padded(-0.5)) for other in boxes[i + 1 :]), (
                    name
                )


@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG"), ("b/c.pdf", b"%PDF"), ("d.svg", b"<?xml")])
def test_summary_is_saved_whole(faithful, tmp_path, name, head):
    plots.summary(faithful[0], path=tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(head)
    assert not list(tmp_path.rglob("*.tmp"))


def test_an_unknown_format_is_one_sentence(faithful, tmp_path):
    with pytest.raises(ValueError, match="no figures of kind 'xyz'; choose one of"):
        plots.summary(faithful[0], path=tmp_path / "a.xyz")
    assert not list(tmp_path.iterdir())


def test_the_same_figure_gives_the_same_bytes(faithful):
    assert plots.render(plots.summary(faithful[0])) == plots.render(plots.summary(faithful[0]))


# --- where figures live -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_AXES)
def test_axes_that_are_given_are_used_and_returned(faithful, figure, name):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    ax = figure.add_subplot()
    assert FIGURES[name](faithful[0], ax=ax) is ax
    assert ax.has_data()
    assert ax.get_title(loc="left")
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", WITH_AXES)
def test_axes_of_a_part_of_a_figure_will_do(mixed, figure, name):
    left, _ = figure.subfigures(1, 2)
    draw(FIGURES[name](mixed[0], ax=left.add_subplot(2, 1, 2)))


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
