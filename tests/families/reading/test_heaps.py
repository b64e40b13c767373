"""Columns that heap on some values are told from rounded ones, and their clusters get no narrower by learning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.families.gaussian.heaps import MUCH, heaped_columns, in_heaps
from countless.families.gaussian.notes import with_notes
from countless.families.table import Table


@pytest.mark.parametrize("step", [0.01, 0.1, 0.2])
@pytest.mark.parametrize("law", ["normal", "skewed", "two narrow clusters", "a narrow cluster in a wide one"])
def test_rounding_alone_makes_no_heaps(law, step, rng):
    values = rng.normal(size=1000)
    if law == "skewed":
        values = np.exp(values)
    if law == "two narrow clusters":
        values = 0.3 * values + 20.0 * rng.integers(0, 2, size=1000)
    if law == "a narrow cluster in a wide one":
        values[:300] *= 0.05
    assert in_heaps(step * np.round(values / step)) < MUCH


def test_prices_and_zeros_heap(rng):
    prices = np.where(
        rng.random(1000) < 0.4, rng.choice([7.25, 8.05, 13.0, 26.0], size=1000), rng.gamma(2.0, 15.0, 1000)
    )
    zeros = np.where(rng.random(1000) < 0.3, 0.0, rng.gamma(2.0, 15.0, 1000))
    assert 0.35 < in_heaps(np.round(prices, 2)) < 0.45
    assert 0.25 < in_heaps(zeros) < 0.35
    assert heaped_columns(np.column_stack([prices, rng.normal(size=1000), zeros])).tolist() == [True, False, True]


def test_repeated_rows_are_no_heaps(rng):
    X = rng.normal(size=(60, 2))
    assert not heaped_columns(np.repeat(X, rng.integers(1, 40, size=60), axis=0)).any()


def _frame(rng):
    fares = np.where(rng.random(300) < 0.5, rng.choice([7.25, 8.05, 13.0, 26.0], size=300), rng.gamma(2.0, 15.0, 300))
    return pd.DataFrame({"fare": np.round(fares, 2), "age": rng.normal(40.0, 10.0, 300)})


@pytest.mark.parametrize("kind", ["gaussian", "diagonal-gaussian"])
def test_their_spread_is_not_learned(kind, rng):
    frame = _frame(rng)
    family, rows = Table({"fare": kind, "age": kind}).read(frame)
    law = family.resolve(rows).law(family.left_open())
    learned = {name.split(".")[1]: law.spreads[place] > 0 for name, place in law.places.items()}
    assert learned["mean"].all()
    assert learned["mean_strength"].all()
    assert learned["scale"].tolist() == [False, True]
    assert learned["dof"].tolist() == ([False] if kind == "gaussian" else [False, True])


def test_it_is_said_and_may_be_overruled(rng):
    rows = _frame(rng).to_numpy()
    family = cl.families.DiagonalGaussian().resolve(rows)
    notes = [column.note for column in with_notes(family.describe_columns(["fare", "age"]), family, rows)]
    assert "many cells heap on a few values, so the spread of its clusters is not learned" in notes[0]
    assert "heap" not in notes[1]
    overruled = cl.families.DiagonalGaussian(heaped=False).resolve(rows)
    assert overruled.law(overruled.offered()).spreads.all()
    with pytest.raises(ValueError, match=r"^heaped must be True or False, or one of them for each of the 2 columns$"):
        cl.families.Gaussian(heaped=[1.0, 2.0, 3.0]).resolve(rows)


def test_prices_do_not_become_clusters(rng):
    """One kind of people who pay a few prices: with a learned spread every price would be a cluster of its own."""
    frame = _frame(rng)
    engine = cl.inference.CollapsedGibbs(chains=2, draws=50, warmup=100)
    found = [
        cl.DPMixture(cl.families.DiagonalGaussian(heaped=heaped), inference=engine, random_state=0).fit(frame)
        for heaped in (None, False)
    ]
    as_told, learned = (np.mean(model.posterior_.n_clusters) for model in found)
    assert as_told < learned - 1.0
