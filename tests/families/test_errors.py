"""A user's mistake is one sentence that names the argument, what came, and what fits."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import FAMILIES

from .cases import NAMES, suitable_rows

TWO = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]

BAD_ROWS = [
    ("multinomial", {}, [[1.0, -2.0]], r"X: multinomial data needs counts of at least 0, got -2$"),
    ("multinomial", {}, [[1.0, 0.5]], r"X: multinomial data needs whole numbers, got 0\.5$"),
    ("categorical", {}, [[1.0, -1.0]], r"X: categorical data needs counts of at least 0, got -1$"),
    ("categorical", {}, [[1.0, 1.5]], r"X: categorical data needs whole numbers, got 1\.5$"),
    ("categorical", {"n_levels": 3}, [[1.0, 3.0]], r"X: column 1 has 3 levels, .* 0 to 2; got 3$"),
    ("categorical", {"n_levels": [3, 4]}, [[3.0, 3.0]], r"X: column 0 has 3 levels, .* 0 to 2; got 3$"),
    ("bernoulli", {}, [[0.0, 2.0]], r"X: bernoulli data must be 0 or 1, got 2$"),
    ("bernoulli", {}, [[0.0, 0.5]], r"X: bernoulli data must be 0 or 1, got 0\.5$"),
    ("binomial", {}, [[0.0, -1.0]], r"X: binomial data needs counts of at least 0, got -1$"),
    ("binomial", {}, [[0.0, 0.25]], r"X: binomial data needs whole numbers, got 0\.25$"),
    ("binomial", {"trials": 4}, [[0.0, 5.0]], r"X: column 1 counts successes in 4 trials, got 5$"),
    ("binomial", {"trials": [4, 9]}, [[6.0, 5.0]], r"X: column 0 counts successes in 4 trials, got 6$"),
    ("poisson", {}, [[-1.0]], r"X: poisson data needs counts of at least 0, got -1$"),
    ("poisson", {}, [[1.5]], r"X: poisson data needs whole numbers, got 1\.5$"),
    ("geometric", {}, [[-1.0]], r"X: geometric data needs counts of at least 0, got -1$"),
    ("geometric", {}, [[1.5]], r"X: geometric data needs whole numbers, got 1\.5$"),
    ("exponential", {}, [[1.0], [-0.5]], r"X: exponential data must not be negative, got -0\.5$"),
]

BAD_HYPERPARAMETERS = [
    *[
        (name, {field: bad}, TWO, rf"^{field} must be .*positive")
        for name, fields in {
            "multinomial": ["concentration"],
            "categorical": ["concentration"],
            "bernoulli": ["a", "b"],
            "binomial": ["trials", "a", "b"],
            "poisson": ["shape", "rate"],
            "geometric": ["a", "b"],
            "exponential": ["shape", "rate"],
            "diagonal-gaussian": ["mean_strength", "scale", "dof"],
            "gaussian": ["mean_strength", "scale"],
            "gaussian-known-covariance": ["covariance", "mean_covariance"],
            "spherical-gaussian": ["variance", "mean_variance"],
        }.items()
        for field in fields
        for bad in (0.0, -1.0, np.inf, np.nan)
    ],
    *[
        (name, {field: [1.0, 2.0, 3.0]}, TWO, rf"^{field} must be .*got shape \(3,\)$")
        for name, fields in {
            "multinomial": ["concentration"],
            "bernoulli": ["a", "b"],
            "binomial": ["trials", "a", "b"],
            "poisson": ["shape", "rate"],
            "geometric": ["a", "b"],
            "exponential": ["shape", "rate"],
            "diagonal-gaussian": ["mean", "mean_strength", "scale", "dof"],
            "gaussian": ["mean", "scale"],
            "gaussian-known-covariance": ["covariance", "mean", "mean_covariance"],
            "spherical-gaussian": ["mean"],
        }.items()
        for field in fields
    ],
    *[
        (name, {"mean": bad}, TWO, r"^mean must be finite")
        for name in ("gaussian", "diagonal-gaussian", "gaussian-known-covariance", "spherical-gaussian")
        for bad in (np.nan, np.inf)
    ],
    *[
        (name, {field: bad}, TWO, rf"^{field} must .*{words}")
        for name, fields in {
            "gaussian": ["scale"],
            "gaussian-known-covariance": ["covariance", "mean_covariance"],
        }.items()
        for field in fields
        for bad, words in (
            (np.eye(3), r"2 x 2 matrix, got shape \(3, 3\)"),
            (np.ones((2, 3)), r"2 x 2 matrix, got shape \(2, 3\)"),
            ([[1.0, 0.5], [0.2, 1.0]], "symmetric"),
            ([[1.0, np.nan], [np.nan, 1.0]], "finite"),
            ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
            ([[1.0, 1.0], [1.0, 1.0]], "positive definite"),
            ([[-1.0, 0.0], [0.0, -1.0]], "positive definite"),
            ([[0.0, 0.0], [0.0, 1.0]], "positive definite"),
        )
    ],
    *[("gaussian", {"dof": bad}, TWO, r"^dof must ") for bad in (1.0, 0.5, -3.0, np.nan, np.inf)],
    *[
        ("spherical-gaussian", {field: [1.0, 2.0]}, TWO, rf"^{field} must be one positive number")
        for field in ("variance", "mean_variance")
    ],
    ("binomial", {"trials": 2.5}, TWO, r"^trials must be whole numbers, got 2\.5$"),
    ("categorical", {"n_levels": 0}, TWO, r"^n_levels must be a whole number"),
    ("categorical", {"n_levels": 2.5}, TWO, r"^n_levels must be a whole number"),
    (
        "categorical",
        {"n_levels": [2, 2, 2]},
        TWO,
        r"^n_levels must be a whole number for each of the 2 columns",
    ),
    (
        "categorical",
        {"concentration": [1.0, 1.0, 1.0]},
        TWO,
        r"^concentration must have one entry for each of the 2",
    ),
    (
        "categorical",
        {"concentration": [[1.0, 1.0, 1.0], 1.0], "n_levels": 2},
        TWO,
        r"^concentration .*levels",
    ),
    # Things of the wrong type altogether are named as well.
    ("poisson", {"rate": "fast"}, TWO, r"^rate must"),
    ("gaussian", {"dof": "many"}, TWO, r"^dof must"),
    ("gaussian", {"dof": [3.0, 4.0]}, TWO, r"^dof must"),
    ("gaussian", {"mean_strength": [1.0, 2.0]}, TWO, r"^mean_strength must"),
    ("gaussian", {"scale": "wide"}, TWO, r"^scale must"),
    ("spherical-gaussian", {"variance": "wide"}, TWO, r"^variance must"),
    ("categorical", {"concentration": "flat"}, TWO, r"^concentration must"),
]


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
    good = np.minimum(np.floor(np.abs(rows)), 1.0)
    with pytest.raises(ValueError, match=words.replace("X:", "X(_new)?:")):
        family.log_predictive(rows, good)


@pytest.mark.parametrize(("name", "options", "rows", "words"), _names(BAD_HYPERPARAMETERS))
def test_hyperparameters_that_cannot_be(name, options, rows, words):
    with pytest.raises(ValueError, match=words) as caught:
        FAMILIES[name](**options).log_marginal(rows)
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
