"""How sure each row is: bars against similarities, and the rows that waver."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import StepPatch

import countless as cl
from conftest import by_hand
from countless import plots
from countless.plots.parts import style as _style
from countless.plots.parts.fit import SURE, fitted


def own_bars(ax):
    return {
        int(patch.get_gid().split()[1]): patch.get_data().values
        for patch in ax.patches
        if isinstance(patch, StepPatch) and patch.get_gid()
    }


def test_the_runner_up_is_where_the_other_companions_are(galaxies):
    """By hand: in each draw, the share of the row's companions that belong to each cluster."""
    model, _ = galaxies
    sure = fitted(model).certainty
    draws = model.posterior_.flat_labels()
    for i in range(0, 82, 9):
        shares = np.zeros(model.n_clusters_)
        for draw in draws:
            companions = np.delete(draw == draw[i], i)
            named = np.delete(model.labels_, i)
            if companions.any():
                shares += np.bincount(named[companions], minlength=len(shares)) / companions.sum()
            else:
                shares[model.labels_[i]] += 1.0
        shares[model.labels_[i]] = -1.0
        assert sure.runner_up_probability[i] == pytest.approx(shares.max() / len(draws))


def test_bars_are_sorted_probabilities(galaxies):
    model, _ = galaxies
    ax = plots.uncertainty(model)
    sure = fitted(model).certainty.probability
    for k, values in own_bars(ax).items():
        np.testing.assert_array_equal(values, np.sort(sure[model.labels_ == k])[::-1])
    assert f"{(sure < SURE).sum()} of 82 rows below 90%" in ax.get_title(loc="left")
    assert len(own_bars(ax)) == model.n_clusters_


def test_what_follows_a_bar_is_the_runner_up(galaxies):
    model, _ = galaxies
    sure = fitted(model).certainty
    ax = plots.uncertainty(model)
    for group in ax.collections:
        k = int(group.get_gid().split()[-1])
        members = np.flatnonzero(model.labels_ == k)
        members = members[np.argsort(-sure.probability[members], kind="stable")]
        members = members[sure.runner_up_probability[members] > 0.0]
        for path, shade, row in zip(group.get_paths(), group.get_facecolor(), members, strict=True):
            x = path.vertices[:, 0]
            assert (x.min(), x.max()) == pytest.approx(
                (sure.probability[row], min(1.0, sure.probability[row] + sure.runner_up_probability[row]))
            )
            assert tuple(shade[:3]) == pytest.approx(to_rgba(_style.colour(int(sure.runner_up[row])))[:3])


def test_many_rows_are_thinned_evenly(large):
    model, _ = large
    ax = plots.uncertainty(model)
    bars = own_bars(ax)
    assert sum(map(len, bars.values())) < 2000
    sizes = np.bincount(model.labels_)
    assert len(bars[int(sizes.argmin())]) == sizes.min()
    assert "rows thinned evenly" in ax.texts[0].get_text()
    sure = fitted(model).certainty.probability[model.labels_ == 0]
    assert (bars[0][0], bars[0][-1]) == (sure.max(), sure.min())


def test_a_single_partition_is_sure_given_its_clusters(single_partition, approximation):
    for model, X in (single_partition, approximation):
        shares = model.predict_proba(X)
        own = shares[np.arange(len(X)), model.labels_]
        np.testing.assert_allclose(fitted(model).certainty.probability, own)
        ax = plots.uncertainty(model)
        assert "given the clusters found" in ax.texts[0].get_text().replace("\n", " ")
        assert f"{(own < SURE).sum()} of 272 rows" in ax.get_title(loc="left")


def test_wavering_rows_are_the_least_sure(galaxies):
    model, _ = galaxies
    sure = fitted(model).certainty
    ax = plots.wavering(model, at_most=6)
    n_wavering = int((sure.probability < SURE).sum())
    assert n_wavering > 0
    rows = np.argsort(sure.probability, kind="stable")[: min(n_wavering, 6)]
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"row {row}" for row in rows]
    drawn = np.concatenate([group.get_offsets() for group in ax.collections if isinstance(group, PathCollection)])
    for place, row in enumerate(rows):
        at = drawn[drawn[:, 1] == place][:, 0]
        second = [sure.runner_up_probability[row]] if sure.runner_up[row] >= 0 else []
        assert sorted(at) == pytest.approx(sorted([sure.probability[row], *second]))
    said = "the 6 least certain shown" in ax.get_title(loc="left").replace("\n", " ")
    assert said == (n_wavering > 6)
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="at_most must be a whole number of at least 1"):
            plots.wavering(model, at_most=wrong)


def test_where_no_row_wavers_a_few_are_shown():
    labels = np.repeat([0, 1], 20)
    model = by_hand(labels[:, None] * 9.0, cl.families.Gaussian(), labels, labels[None, None].repeat(3, axis=1))
    ax = plots.wavering(model)
    assert "0 of 40 rows" in ax.get_title(loc="left")
    assert len(ax.get_yticks()) == 8
    faces = {tuple(group.get_facecolor()[0]) for group in ax.collections if isinstance(group, PathCollection)}
    assert to_rgba(_style.colour(0)) in faces


def test_one_cluster_has_no_runner_up(one_cluster):
    model, _ = one_cluster
    sure = fitted(model).certainty
    assert set(sure.runner_up) == {-1}
    assert set(sure.runner_up_probability) == {0.0}
