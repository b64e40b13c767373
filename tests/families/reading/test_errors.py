"""A user's mistake is one sentence that names the argument, what came, and what fits."""

from __future__ import annotations

import numpy as np
import pytest

from cases import FAMILY_CASES
from countless.families import FAMILIES

from ..cases import NAMES, suitable_rows

TWO = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
BAD_ROWS = [(name, *mistake) for name, case in FAMILY_CASES.items() for mistake in case.bad_rows]
BAD_HYPERPARAMETERS = [(name, *mistake) for name, case in FAMILY_CASES.items() for mistake in case.bad_hyperparameters]


def _names(entries: list) -> list:
    return [
        pytest.param(*entry, id="-".join([entry[0], *(f"{k}={v}".replace("\n", "") for k, v in entry[1].items())]))
        for entry in entries
    ]


@pytest.mark.parametrize(("name", "options", "rows", "words"), _names(BAD_ROWS))
def test_rows_that_cannot_be(name, options, rows, words):
    family = FAMILIES[name](**options)
    for ask in (family.log_marginal, lambda X: family.sample(1, 0, X)):
        with pytest.raises(ValueError, match=words):
            ask(rows)
    good = np.full(np.shape(rows), FAMILY_CASES[name].values[0])
    with pytest.raises(ValueError, match=words.replace("X:", "X(_new)?:")):
        family.log_predictive(rows, good)


@pytest.mark.parametrize(("name", "options", "words"), _names(BAD_HYPERPARAMETERS))
def test_hyperparameters_that_cannot_be(name, options, words):
    with pytest.raises(ValueError, match=words) as caught:
        FAMILIES[name](**options).log_marginal(suitable_rows(name, (3, 2)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_no_numbers(name, bad):
    rows = suitable_rows(name, (4, 2))
    rows[2, 1] = bad
    with pytest.raises(ValueError, match=r"^X contains (NaN|infinity) \(first in row 2, column 1\)"):
        FAMILIES[name]().log_marginal(rows)
    with pytest.raises(ValueError, match=r"^X_new contains (NaN|infinity)"):
        FAMILIES[name]().log_predictive(rows, rows[:2])


@pytest.mark.parametrize("name", NAMES)
def test_new_rows_with_another_number_of_columns(name):
    with pytest.raises(ValueError, match=r"^X_new .*column"):
        FAMILIES[name]().log_predictive(suitable_rows(name, (4, 3)), suitable_rows(name, (4, 2)))


def test_new_codes_beyond_those_of_the_data():
    """Levels that were counted from the data bound what new rows may hold."""
    with pytest.raises(ValueError, match=r"column 0 has 2 levels, so its codes run from 0 to 1; got 5"):
        FAMILIES["categorical"]().log_predictive([[5.0]], [[0.0], [1.0]])


def test_new_counts_beyond_the_trials_of_the_data():
    with pytest.raises(ValueError, match=r"column 0 counts successes in 2 trials, got 9"):
        FAMILIES["binomial"]().log_predictive([[9.0]], [[2.0], [1.0]])


@pytest.mark.parametrize("trials", [-1, 2.5, "many"])
def test_trials_of_sampled_histograms(trials):
    with pytest.raises(ValueError, match=r"^trials must"):
        FAMILIES["multinomial"]([1.0, 1.0], trials=trials).sample(2, 0)


def test_concentrations_say_how_many_levels_there_are():
    """Three pseudo-counts are three levels, whether or not the data show them all."""
    family = FAMILIES["categorical"](concentration=[[1.0, 1.0, 1.0]])
    assert family.log_marginal([[0.0], [1.0]]) == pytest.approx(np.log(1 / 3 * 1 / 4))
    assert set(np.ravel([family.sample(5, seed) for seed in range(30)])) == {0.0, 1.0, 2.0}


def test_a_covariance_that_is_symmetric_up_to_rounding_is_accepted():
    """The inverse of a matrix has noise next to its zeros."""
    FAMILIES["gaussian"](scale=[[1.0, 1e-20], [-3e-20, 1.0]]).log_marginal(TWO)


def test_a_table_without_columns():
    with pytest.raises(ValueError, match=r"^X has 0 feature"):
        FAMILIES["gaussian"]().log_marginal(np.empty((3, 0)))
