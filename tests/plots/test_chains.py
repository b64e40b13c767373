"""Traces and cumulative means: the numbers of the chains, and no chains where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import countless as cl
from conftest import by_hand
from countless import plots
from countless.plots.chains import MOST_STEPS, PIECES


@pytest.mark.parametrize("quantity", ["n_clusters", "log_joint", "concentration", "largest_share", "entropy"])
def test_traces_are_the_draws(faithful, quantity):
    model, _ = faithful
    posterior = model.posterior_
    ax = plots.traces(model, quantity)
    if quantity == "largest_share":
        expected = [
            [pd.Series(draw).value_counts(normalize=True).max() for draw in chain] for chain in posterior.labels
        ]
    elif quantity == "entropy":
        shares = [[np.bincount(draw) / len(draw) for draw in chain] for chain in posterior.labels]
        expected = [[scipy.stats.entropy(each) for each in chain] for chain in shares]
    else:
        expected = getattr(posterior, quantity)
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines], expected)
    assert len({line.get_color() for line in ax.lines}) == len(ax.lines)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["chain 1", "chain 2"]
    means = plots.cumulative_means(model, quantity)
    for line, chain in zip(means.lines[:2], np.asarray(expected), strict=True):
        np.testing.assert_allclose(line.get_ydata(), pd.Series(chain).expanding().mean())
    assert means.lines[2].get_ydata()[0] == pytest.approx(np.mean(expected))


def test_long_traces_are_means_and_ranges(rng):
    draws = np.zeros((1, 6000, 3), dtype=int)
    model = by_hand(np.zeros((3, 1)), cl.families.Gaussian(), [0, 0, 0], draws)
    model.posterior_.log_joint[:] = rng.normal(size=(1, 6000))
    ax = plots.traces(model, "log_joint")
    assert len(ax.lines[0].get_ydata()) == PIECES
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), model.posterior_.log_joint.reshape(PIECES, -1).mean(axis=1), atol=1e-12
    )
    assert "mean and range of each 20 draws" in ax.texts[0].get_text()
    assert len(plots.cumulative_means(model, "log_joint").lines[0].get_ydata()) <= MOST_STEPS


def test_learned_hyperparameters_can_be_traced(faithful):
    model, _ = faithful
    figure = plots.chains(model)
    assert len(figure.axes) == 8
    diagnostics = model.posterior_.diagnostics()
    assert figure.get_suptitle().replace("\n", " ") == diagnostics.verdict
    told = figure.axes[2].texts[0].get_text()
    assert told.startswith(f"R-hat {diagnostics.quantities[1].rhat:.2f}, effective draws ")
    with pytest.raises(ValueError, match="quantity: 'spread' is unknown; choose one of 'n_clusters', 'log_joint'"):
        plots.traces(model, "spread")
    learned = np.linspace(1.0, 2.0, 80).reshape(2, 40)
    model.posterior_.hyperparameters["spread"] = learned
    try:
        ax = plots.traces(model, "spread")
        np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], learned)
        assert len(plots.chains(model).axes) == 10
    finally:
        del model.posterior_.hyperparameters["spread"]


def test_a_single_partition_has_no_chains_but_steps(single_partition, approximation, faithful):
    for (model, _), what in (
        (single_partition, "a MAP fit"),
        (approximation, "a variational fit"),
    ):
        for function in (plots.traces, plots.cumulative_means, lambda m, q: plots.chains(m)):
            with pytest.raises(ValueError, match=f"{what}.*no chains.*quantity='objective'.*inference='gibbs'"):
                function(model, "n_clusters")
        ax = plots.traces(model, "objective")
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.posterior_.objective.reshape(-1))
    with pytest.raises(ValueError, match="samplers have no 'objective'; choose 'log_joint'"):
        plots.traces(faithful[0], "objective")


def test_more_chains_than_colours_differ_in_their_lines(rng):
    draws = np.zeros((9, 5, 3), dtype=int)
    ax = plots.traces(by_hand(np.zeros((3, 1)), cl.families.Gaussian(), [0, 0, 0], draws))
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 9
    assert ax.get_legend() is None
