"""Cluster profiles: standardised differences and log odds against pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from conftest import by_hand
from countless import plots
from countless.plots.parts.effects import features
from countless.plots.parts.fit import fitted
from countless.plots.profiles import shortest


def test_effects_of_numbers_are_standardised_differences(mixed):
    model, table = mixed
    found = {feature.name: feature for feature in features(fitted(model))}
    for column in ("age", "visits"):
        means = table.groupby(model.labels_)[column].mean()
        expected = (means - table[column].mean()) / table[column].std(ddof=0)
        np.testing.assert_allclose(found[column].values, means)
        np.testing.assert_allclose(found[column].effects, expected)
        assert found[column].overall == pytest.approx(table[column].mean())
    seen = table["age"].dropna()
    between = seen.groupby(model.labels_[seen.index]).transform("mean").var() / seen.var()
    assert found["age"].telling == pytest.approx(between)


def test_effects_of_categories_are_log_odds(mixed):
    model, table = mixed
    found = {feature.name: feature for feature in features(fitted(model))}
    assert "owner = no" not in found
    counts = pd.crosstab(model.labels_, table["owner"])
    shares = counts["yes"] / counts.sum(axis=1)
    np.testing.assert_allclose(found["owner = yes"].values, shares)
    odds = np.log((counts["yes"] + 0.5) / (counts["no"] + 0.5))
    total = counts.sum()
    expected = (odds - np.log((total["yes"] + 0.5) / (total["no"] + 0.5))) * np.sqrt(3.0) / np.pi
    np.testing.assert_allclose(found["owner = yes"].effects, expected)
    assert sum(name.startswith("city = ") for name in found) == 3


def test_parts_of_a_total_are_shares_of_it(rng):
    rows = np.concatenate([rng.multinomial(30, [0.7, 0.2, 0.1], 20), rng.multinomial(90, [0.1, 0.2, 0.7], 10)])
    labels = np.repeat([0, 1], [20, 10])
    model = by_hand(rows.astype(float), cl.families.Multinomial(), labels, labels[None, None].repeat(2, axis=1))
    first = features(fitted(model))[0]
    sums = pd.DataFrame(rows).groupby(labels).sum()
    np.testing.assert_allclose(first.values, sums[0] / sums.sum(axis=1))
    assert first.overall == pytest.approx(rows[:, 0].sum() / rows.sum())
    assert first.is_share


def test_zeros_and_ones_are_shares(rng):
    rows = rng.integers(0, 2, (40, 2)).astype(float)
    labels = np.repeat([0, 1], 20)
    model = by_hand(rows, cl.families.Bernoulli(), labels, labels[None, None].repeat(2, axis=1))
    for j, feature in enumerate(features(fitted(model))):
        assert feature.is_share
        np.testing.assert_allclose(feature.values, [rows[:20, j].mean(), rows[20:, j].mean()])


def test_the_heat_map_holds_the_effects_and_the_values(mixed):
    model, table = mixed
    ax = plots.profiles(model)
    every = features(fitted(model))
    np.testing.assert_allclose(ax.images[0].get_array(), [feature.effects for feature in every])
    assert [label.get_text() for label in ax.get_yticklabels()] == [feature.name for feature in every]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "all"]
    texts = {text.get_text() for text in ax.texts}
    assert f"{table['age'].mean():.1f}" in texts
    assert r"\$" in every[1].name  # a dollar does not begin a formula
    assert len(every[1].name) <= 30


def test_the_most_telling_columns_and_the_largest_clusters(rng):
    labels = np.repeat(np.arange(23), np.arange(4, 27))
    rows = rng.normal(size=(len(labels), 40))
    rows[:, 7] += 10.0 * labels
    model = by_hand(rows, cl.families.DiagonalGaussian(), labels, labels[None, None].repeat(2, axis=1))
    ax = plots.profiles(model)
    assert ax.images[0].get_array().shape == (30, 20)
    assert "column 7" in [label.get_text() for label in ax.get_yticklabels()]
    assert [label.get_text() for label in ax.get_xticklabels()][:20] == [str(k) for k in range(3, 23)]
    note = next(text.get_text() for text in ax.texts if text.get_gid() == "note")
    assert note.replace("\n", " ") == "the 30 most distinctive of 40 columns; the 20 largest of 23 clusters"


def test_a_cluster_without_cells_and_a_constant_column():
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0]])
    family = cl.families.Table(["diagonal-gaussian", "diagonal-gaussian"]).read(rows)[0]
    model = by_hand(rows, family, [0, 0, 1], np.array([[[0, 0, 1], [0, 0, 1]]]))
    ax = plots.profiles(model)
    shown = ax.images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), [[False, True], [False, False]])
    assert shown[1].tolist() == [0.0, 0.0]
    model.posterior_.data.rows[:] = np.nan
    with pytest.raises(ValueError, match="all cells of its rows are missing"):
        plots.profiles(model)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (3.14159, "3.14"),
        (-27.18, "-27.2"),
        (512.3, "512"),
        (117_600.0, "118k"),
        (2.5e6, "2.5M"),
        (4e12, "4e12"),
        (0.0123, "0.012"),
        (4e-7, "4e-7"),
    ],
)
def test_numbers_are_short(number, text):
    assert shortest(number) == text
