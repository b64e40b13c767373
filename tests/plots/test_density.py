"""The distribution of one column: against the predictive of the model, quadrature, and beta quantiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.patches import StepPatch

import countless as cl
from conftest import by_hand
from countless import plots
from countless.plots.parts import marginal as _marginal
from countless.plots.parts.fit import fitted
from countless.posterior.data import Data
from countless.priors import CRP


def curve(ax):
    (line,) = (line for line in ax.lines if line.get_label() == "predictive")
    return line.get_data()


def test_one_column_shows_the_predictive_density_of_the_model(galaxies):
    model, X = galaxies
    ax = plots.density(model)
    assert ax.get_xlabel() == "velocity"
    x, y = curve(ax)
    np.testing.assert_allclose(y, np.exp(model.score_samples(pd.DataFrame({"velocity": x}))), rtol=1e-9)
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.05)
    (data,) = (patch for patch in ax.patches if isinstance(patch, StepPatch))
    heights, edges, _ = data.get_data()
    assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
    ticks = sum(len(group.get_segments()) for group in ax.collections if hasattr(group, "get_segments"))
    assert ticks == len(X)


def test_shares_of_the_clusters_are_those_of_the_mixture(galaxies):
    model, _ = galaxies
    shown = _marginal.marginal(fitted(model), 0)
    expected = np.exp(model._mixture.log_weighted(shown.points[:, None]))[:, :-1].T
    np.testing.assert_allclose(shown.parts, expected, rtol=1e-9)
    assert np.all(shown.low <= shown.high)
    # Where a draw has clusters at all, the mean of the densities is inside their central nine tenths.
    dense = shown.mean > 0.01
    assert np.all((shown.low < shown.mean)[dense] & (shown.mean < shown.high)[dense])


def test_a_column_of_a_full_covariance_is_the_integral_over_the_other(single_partition):
    """Quadrature over the other column of the predictive density of the pair."""
    model, _ = single_partition
    shown = _marginal.marginal(fitted(model), 0)
    # Student-t tails: the grid goes far beyond the data.
    other = np.linspace(-150.0, 300.0, 4001)
    for at in range(20, len(shown.points), 90):
        pairs = pd.DataFrame({"eruptions": shown.points[at], "waiting": other})
        total = np.trapezoid(np.exp(model._mixture.log_density(pairs.to_numpy())), other)
        assert shown.mean[at] == pytest.approx(total, rel=2e-3)


@pytest.mark.parametrize("family", [cl.families.Poisson(), cl.families.Categorical()], ids=["poisson", "categorical"])
def test_independent_columns_multiply(family, rng):
    X = rng.integers(0, 4, (40, 2)).astype(float)
    X[:, 1] = np.minimum(X[:, 1], 2)
    data = Data(X, (), family.resolve(X), cl.priors.CRP(1.0))
    data = Data(X, data.family.describe_columns(["a", "b"]), data.family, data.prior)
    alone = [_marginal.one_column(data, j)[0].log_predictive(X[:5, [j]], X[:, [j]]) for j in (0, 1)]
    np.testing.assert_allclose(sum(alone), data.family.log_predictive(X[:5], X), rtol=1e-10)


def test_the_band_of_a_share_is_that_of_its_beta_law():
    """One cluster of categories: the share of each is beta; quantiles of 200 draws have a computable error."""
    codes = np.repeat([0.0, 1.0, 2.0], [50, 30, 20])[:, None]
    family = cl.families.Categorical(concentration=1.0, n_levels=3)
    model = by_hand(codes, family, np.zeros(100, dtype=int), np.zeros((1, 1, 100), dtype=int), cl.priors.CRP(1e-6))
    shown = _marginal.marginal(fitted(model), 0)
    np.testing.assert_allclose(shown.mean, np.array([51, 31, 21]) / 103, rtol=1e-5)
    for level, inside in enumerate((51, 31, 21)):
        law = scipy.stats.beta(inside, 103 - inside)
        for drawn, q in ((shown.low[level], 0.05), (shown.high[level], 0.95)):
            error = np.sqrt(0.05 * 0.95 / _marginal.BAND_DRAWS) / law.pdf(law.ppf(q))
            assert drawn == pytest.approx(law.ppf(q), abs=4.5 * error)


def test_drawn_densities_have_the_predictive_as_their_mean(counts_of_events, rng):
    model, _ = counts_of_events
    fit = fitted(model)
    column = _marginal._Column(fit, 0, np.arange(fit.n_rows))
    points = np.arange(0.0, 40.0)
    clusters = column.clusters(fit.labels, CRP(1.5), {}, points)
    drawn = np.array([clusters.drawn(rng) for _ in range(3000)])
    expected = np.exp(np.logaddexp.reduce(clusters.log_parts(), axis=1))
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected) < 4.5 * error + 1e-12)


def test_counts_are_bars_with_intervals(rng):
    """One cluster of counts: a gamma mixture of Poisson laws is negative binomial, before the data and after."""
    rows = rng.poisson(4.0, (50, 1)).astype(float)
    family = cl.families.Poisson(shape=2.0, rate=0.5)
    model = by_hand(rows, family, np.zeros(50, dtype=int), np.zeros((1, 3, 50), dtype=int))
    ax = plots.clusters(model)
    assert ax.get_ylabel() == "probability"
    (bars,) = (c for c in ax.containers if isinstance(c, BarContainer))
    (points,) = (c for c in ax.containers if isinstance(c, ErrorbarContainer))
    x, y = points.lines[0].get_data()
    before = scipy.stats.nbinom(2.0, 0.5 / 1.5).pmf(x)
    after = scipy.stats.nbinom(2.0 + rows.sum(), 50.5 / 51.5).pmf(x)
    np.testing.assert_allclose(y, (50 * after + before) / 51, rtol=1e-9)
    shares = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in bars if bar.get_height()}
    seen, counts = np.unique(rows, return_counts=True)
    assert shares == pytest.approx(dict(zip(seen.astype(int).tolist(), counts / 50, strict=True)))


def test_many_counts_are_a_curve(counts_of_events, rng):
    model, _ = counts_of_events
    x, y = curve(plots.clusters(model))
    np.testing.assert_allclose(y, np.exp(model.score_samples(x[:, None])), rtol=1e-9)
    rows = rng.poisson(900.0, (60, 1)).astype(float)
    labels = np.zeros(60, dtype=int)
    ax = plots.density(by_hand(rows, cl.families.Poisson(), labels, np.zeros((1, 2, 60), dtype=int)))
    x, y = curve(ax)
    np.testing.assert_array_equal(x, np.round(x))
    assert y.sum() == pytest.approx(1.0, abs=0.05)


def test_columns_of_a_mixed_table_leave_missing_cells_out(mixed):
    model, table = mixed
    ax = plots.density(model, "age")
    note = next(text.get_text() for text in ax.texts if text.get_gid() == "note")
    assert note == f"{table['age'].isna().sum()} missing cells left out"
    x, y = curve(ax)
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)
    # A Gaussian column by itself, from scipy: Student-t of each cluster's observed cells.
    fit = fitted(model)
    shown = _marginal.marginal(fit, 0)
    family, prefix = _marginal.one_column(fit.data, 0)
    assert prefix == "diagonal-gaussian."
    mean, strength, scale, dof = (float(v[0]) for v in (family.mean, family.mean_strength, family.scale, family.dof))
    for k in range(3):
        cells = table["age"][fit.labels == k].dropna().to_numpy()
        n = len(cells)
        c, v = strength + n, dof + n
        m = (strength * mean + cells.sum()) / c
        p = scale + ((cells - cells.mean()) ** 2).sum() + strength * n / c * (cells.mean() - mean) ** 2
        law = scipy.stats.t(v, loc=m, scale=np.sqrt(p * (c + 1) / (c * v)))
        weight = (fit.labels == k).sum() / (len(table) + 1.0)
        np.testing.assert_allclose(shown.parts[k], weight * law.pdf(shown.points), rtol=1e-8, atol=1e-300)


def test_categories_are_named_bars(mixed):
    model, table = mixed
    ax = plots.density(model, "city")
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names[:2] == ["Aarhus", "Bergen"]
    assert len(names[2]) <= 18
    bars = [bar.get_height() for bar in ax.patches]
    assert bars == pytest.approx(table["city"].value_counts(normalize=True).sort_index().tolist())
    (points,) = (c for c in ax.containers if isinstance(c, ErrorbarContainer))
    assert points.lines[0].get_ydata().sum() == pytest.approx(1.0)


def test_many_categories_are_cut_and_it_is_said(rng):
    codes = rng.choice(40, size=(300, 1)).astype(float)
    draws = np.zeros((1, 2, 300), dtype=int)
    ax = plots.density(by_hand(codes, cl.families.Categorical(n_levels=40), draws[0, 0], draws))
    assert len(ax.patches) == 25
    assert "25 most probable of 40 categories" in ax.texts[0].get_text()


def test_far_off_rows_are_counted_and_not_drawn(rng):
    rows = np.append(rng.normal(size=2000), 1e6)[:, None]
    draws = np.zeros((1, 2, 2001), dtype=int)
    ax = plots.density(by_hand(rows, cl.families.Gaussian(), draws[0, 0], draws))
    assert ax.get_xlim()[1] < 10.0
    assert "outside the axis" in ax.texts[0].get_text()


def test_wrong_columns_are_one_sentence(faithful, galaxies):
    model, _ = faithful
    with pytest.raises(ValueError, match="column: there are 2; name the one to show, such as 'eruptions'"):
        plots.density(model)
    with pytest.raises(
        ValueError, match="column: 'colour' is not a column of the rows; choose among eruptions, waiting"
    ):
        plots.density(model, "colour")
    for wrong in (2, -3, True, 0.5, None):
        with pytest.raises(ValueError, match="column: "):
            plots.density(model, wrong)
    assert plots.density(model, np.int64(-1)).get_xlabel() == "waiting"
    empty = by_hand(np.full((4, 1), 1.0), cl.families.Gaussian(), [0, 0, 0, 0], np.zeros((1, 2, 4), dtype=int))
    empty.posterior_.data.rows[:] = np.nan
    with pytest.raises(ValueError, match="'column 0' has no cell that is not missing"):
        plots.density(empty)


def test_a_part_of_a_total_is_refused(rng):
    rows = rng.multinomial(10, [0.5, 0.3, 0.2], size=20).astype(float)
    draws = np.zeros((1, 2, 20), dtype=int)
    model = by_hand(rows, cl.families.Multinomial(), draws[0, 0], draws)
    with pytest.raises(ValueError, match="'column 1' is a part of the total of its row"):
        plots.density(model, 1)
