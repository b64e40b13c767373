"""Columns on a bent line: the line itself, densities in the user's units, and fits that find no groups in a tail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

import countless as cl
from countless.families import DiagonalGaussian, Gaussian
from countless.families.bends import bent, likely_bend, log_slopes, straightened

BEND = 0.7
SHAPES = {
    "diagonal-gaussian": DiagonalGaussian(mean=[0.2], mean_strength=0.5, scale=[1.3], dof=[4.0], bend=[BEND]),
    "gaussian": Gaussian(mean=[0.2], mean_strength=0.5, scale=[[1.3]], dof=4.0, bend=BEND),
}
CHAINS = cl.inference.CollapsedGibbs(chains=2, draws=40, warmup=30)


def _amounts(n=300, seed=0):
    return np.exp(np.random.default_rng(seed).normal(1.0, 0.8, size=(n, 1)))


def test_the_line_rises_and_its_slope_is_its_derivative():
    x = np.linspace(-3.0, 50.0, 1001)[:, None]
    c = np.array([BEND])
    z = bent(x, c)
    assert np.all(np.diff(z[:, 0]) > 0)
    np.testing.assert_allclose(straightened(z, c), x, rtol=1e-12, atol=1e-12)
    step = 1e-6
    slopes = (bent(x + step, c) - bent(x - step, c)) / (2 * step)
    np.testing.assert_allclose(log_slopes(z, c), np.log(slopes), atol=1e-6)


def test_tails_on_the_line_stay_numbers_off_it():
    """A Student-t on the line reaches beyond exp(710) off it, where there are no numbers."""
    far, farther = (straightened(np.array([[z]]), np.array([BEND]))[0, 0] for z in (300.0, 1e6))
    assert far == farther > 1e99


def test_a_very_weak_bend_is_a_straight_line():
    x = np.linspace(-3.0, 50.0, 101)[:, None]
    np.testing.assert_allclose(bent(x, np.array([1e12])), x, rtol=1e-9)


@pytest.mark.parametrize("name", list(SHAPES))
def test_densities_are_those_of_the_cells_as_they_were_given(name):
    """The prior predictive is scipy's Student-t on the line times the slope, and the predictive integrates to one."""
    family, x = SHAPES[name], _amounts(40)
    spread = np.sqrt(1.3 / 4.0 * (1.0 + 1.0 / 0.5))
    expected = stats.t.logpdf(BEND * np.log1p(x[:, 0] / BEND), 4.0, 0.2, spread) - np.log1p(x[:, 0] / BEND)
    np.testing.assert_allclose(family.log_predictive(x), expected, rtol=1e-12)
    total = sum(float(family.log_predictive(x[i : i + 1], x[:i])[0]) for i in range(10))
    assert family.log_marginal(x[:10]) == pytest.approx(total, rel=1e-12)
    whole, _ = quad(lambda v: np.exp(family.log_predictive([[v]], x)[0]), -30.0, 1000.0, limit=500, points=[0.0, 5.0])
    assert whole == pytest.approx(1.0, abs=1e-4)


def test_samples_are_in_the_units_of_the_rows():
    """Quantiles of what a family draws given many rows are those of the rows, within Monte Carlo error."""
    x = _amounts(4000)
    family = DiagonalGaussian(bend=0.001)
    drawn = np.array([family.sample(1, seed, x)[0, 0] for seed in range(400)])
    # Kolmogorov and Smirnov: below 1.63 / sqrt(400) in 99 of 100 samples.
    assert stats.ks_2samp(drawn, x[:, 0]).statistic < 1.63 / np.sqrt(400) + 1.63 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("values", "is_bent"),
    [
        (np.random.default_rng(0).normal(50.0, 5.0, 500), False),
        (np.random.default_rng(1).uniform(0.0, 1.0, 500), False),
        (np.random.default_rng(2).normal(0.0, 1.0, 500), False),
        (np.exp(np.random.default_rng(3).normal(0.0, 1.0, 500)), True),
        (np.append(np.zeros(50), np.exp(np.random.default_rng(4).normal(3.0, 1.0, 450))), True),
        (np.full(100, 3.0), False),
    ],
)
def test_only_long_tails_are_worth_a_trial(values, is_bent):
    assert np.isfinite(likely_bend(values)) == is_bent


@pytest.fixture(scope="module")
def fitted():
    """Amounts of money of one kind of people beside a measurement that tells two kinds apart; cells are missing."""
    rng = np.random.default_rng(5)
    group = np.arange(400) % 2
    frame = pd.DataFrame({"income": np.exp(rng.normal(7.0, 1.0, 400)), "height": rng.normal(170.0 + 60.0 * group, 5.0)})
    frame.loc[::37, "income"] = np.nan
    return cl.DPMixture("auto", inference=CHAINS, random_state=0).fit(frame), frame, group


def test_a_long_tail_is_no_cluster(fitted):
    model, _, group = fitted
    assert model.n_clusters_ == 2
    assert cl.metrics.adjusted_rand_index(model.labels_, group) > 0.95
    bends = model.family_.bends(2)
    np.testing.assert_array_equal(np.isfinite(bends), [True, False])
    taken = next(trial for trial in model.choice_ if trial["taken"])
    assert "bent" in taken["shape"]
    assert taken["gain"] > taken["standard_error"]
    assert "as logarithms from about" in model.family_.schema[0].note


def test_what_people_see_is_in_their_units(fitted):
    """New rows, missing cells and densities of a bent column are in the units of the table."""
    model, frame, _ = fitted
    low, high = np.nanquantile(frame["income"], [0.01, 0.99])
    drawn, _ = model.sample(400)
    assert low < np.median(drawn["income"]) < high
    assert drawn["income"].min() > -low
    filled = model.posterior_.impute()
    assert low < np.median(filled.draws) < high
    grid = np.linspace(0.0, 60.0 * high, 200_001)
    new = pd.DataFrame({"income": grid, "height": np.nan})
    assert np.trapezoid(np.exp(model.score_samples(new)), grid) == pytest.approx(1.0, abs=0.02)


def test_the_report_has_what_was_compared_and_the_tree(fitted):
    model, _, _ = fitted
    page = model.report_page(None, None, 200)
    sections = {section.name: section for section in page.sections}
    rows = sections["shapes"].content["rows"]
    assert [row[0] for row in rows] == [trial["shape"] for trial in model.choice_]
    assert sum(row[-1] == "yes" for row in rows) == 1
    assert page.shared["tree"]["sizes"] == np.bincount(model.labels_).tolist()
    assert page.shared["tree"]["n_groups"] == 2


def test_a_saved_model_keeps_its_bends(fitted, tmp_path):
    model, frame, _ = fitted
    twin = cl.load(model.save(tmp_path / "model.npz"))
    assert twin.choice_ == model.choice_
    np.testing.assert_array_equal(twin.score_samples(frame[:20]), model.score_samples(frame[:20]))


def test_missing_cells_of_a_bent_block_are_drawn_in_the_users_units():
    rng = np.random.default_rng(6)
    logs = rng.normal(size=(150, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]]) + 4.0
    frame = pd.DataFrame(np.exp(logs), columns=["a", "b"])
    frame.loc[::10, "b"] = np.nan
    block = cl.families.Table({("a", "b"): Gaussian(bend=0.1)})
    model = cl.DPMixture(block, inference=CHAINS, random_state=0).fit(frame)
    drawn = model.posterior_["missing"].reshape(-1, 15)
    # The line is nearly a logarithm, on which the missing cells follow the other column by regression.
    expected = np.log(frame["a"].to_numpy()[::10])
    assert np.corrcoef(np.log(drawn.mean(axis=0)), expected)[0, 1] > 0.7
    assert drawn.min() > 0.0


@pytest.mark.parametrize("bend", [0.0, -1.0, [1.0, 2.0], "log", np.nan])
def test_a_bend_that_is_none_is_one_sentence(bend):
    with pytest.raises(ValueError, match=r"^bend must"):
        DiagonalGaussian(bend=bend).resolve(np.ones((5, 1)))


def _one_cloud(kind, n_columns, seed):
    rng = np.random.default_rng(seed)
    if kind == "log-normal":
        return np.exp(rng.normal(size=(1000, n_columns)))
    return rng.gamma(0.8, 2.0, size=(1000, n_columns))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["log-normal", "gamma"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_one_cloud_with_a_long_tail_is_at_most_two_groups(kind, n_columns):
    few = [cl.DPMixture("auto", random_state=s).fit(_one_cloud(kind, n_columns, s)).n_clusters_ <= 2 for s in range(20)]
    assert sum(few) >= 18
