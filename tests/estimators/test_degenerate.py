"""Tables at the edge of what makes sense are legal: a sensible answer, without an error and without a warning."""

from __future__ import annotations

import numpy as np
import pytest

from cases import FAMILY_CASES
from countless.inference import CollapsedGibbs

from .cases import ENGINES, FAMILY_NAMES, POSITIVE, REAL, alternating, largest_first, model, two_groups

every_family = pytest.mark.parametrize("name", FAMILY_NAMES)
real_families = pytest.mark.parametrize("name", REAL)
both_engines = pytest.mark.parametrize("engine", list(ENGINES))


def _sound(name, rows, engine):
    """Fit, ask everything once, check that all answers are numbers; returns the fitted model."""
    rows = np.asarray(rows, dtype=np.float64)
    fitted = model(name, inference=ENGINES[engine]).fit(rows)
    assert np.isfinite(fitted.posterior_.log_joint).all()
    assert fitted.labels_.shape == (len(rows),)
    assert largest_first(fitted.labels_)
    assert np.isfinite(fitted.score_samples(rows)).all()
    probabilities = fitted.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    sampled, _ = fitted.sample(3)
    assert np.isfinite(sampled).all()
    return fitted


@both_engines
@every_family
def test_one_row(name, engine):
    fitted = _sound(name, two_groups(name)[:1], engine)
    assert fitted.labels_.tolist() == [0]
    assert fitted.n_clusters_ == 1
    assert (fitted.posterior_.n_clusters == 1).all()


@both_engines
@every_family
def test_two_rows(name, engine):
    assert _sound(name, two_groups(name)[:2], engine).n_clusters_ in (1, 2)


@both_engines
@every_family
def test_one_column(name, engine):
    column = two_groups(name)[:, :1]
    assert _sound(name, column, engine).n_features_in_ == 1


@both_engines
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in FAMILY_NAMES for value in FAMILY_CASES[name].values]
)
def test_all_rows_equal(name, engine, value):
    fitted = _sound(name, np.full((12, 2), value), engine)
    assert fitted.labels_.tolist() == [0] * 12


@both_engines
@real_families
@pytest.mark.parametrize("value", [1e8 / 3, -1e-8, 1e15])
def test_all_rows_equal_to_an_odd_number(name, engine, value):
    assert _sound(name, np.full((12, 3), value), engine).labels_.tolist() == [0] * 12


@both_engines
@every_family
def test_more_columns_than_rows(name, engine):
    wide = np.tile(two_groups(name)[:5], 20)[:, :20]
    if name in REAL:
        wide += 0.1 * np.random.default_rng(1).standard_normal(wide.shape)
    _sound(name, wide, engine)


@both_engines
@every_family
def test_constant_columns_change_nothing(name, engine):
    rows = two_groups(name)
    left, right = (np.tile(values, (len(rows), 1)) for values in FAMILY_CASES[name].padding)
    padded = np.hstack([left, rows, right])
    np.testing.assert_array_equal(_sound(name, padded, engine).labels_, alternating())


@both_engines
@every_family
def test_columns_that_say_the_same(name, engine):
    """They count twice, so that a group may fall into parts; the two groups stay apart."""
    labels = _sound(name, np.tile(two_groups(name), 2), engine).labels_
    assert not set(labels[::2]) & set(labels[1::2])


@both_engines
@every_family
def test_equal_rows_stay_together(name, engine):
    labels = _sound(name, np.repeat(two_groups(name), 3, axis=0), engine).labels_.reshape(-1, 3)
    assert (labels == labels[:, :1]).all()
    assert not set(labels[::2, 0]) & set(labels[1::2, 0])


@both_engines
@real_families
def test_two_clusters_far_from_zero(name, engine):
    """Around 1e8 doubles are 1.5e-8 apart; the clusters lie 1e-3 apart and are 2e-5 wide."""
    rng = np.random.default_rng(5)
    rows = 1e8 + 1e-3 * np.tile([0.0, 1.0], 10)[:, None] + 2e-5 * rng.standard_normal((20, 2))
    np.testing.assert_array_equal(_sound(name, rows, engine).labels_, alternating(10))


@pytest.mark.filterwarnings("ignore:X. 1 column holds nothing but 0 and 1")
@both_engines
@real_families
def test_two_clusters_of_two_values(name, engine):
    """No spread within the clusters at all."""
    rows = np.tile([[0.0, 3.0], [1.0, 3.5]], (8, 1))
    np.testing.assert_array_equal(_sound(name, rows, engine).labels_, alternating())


@both_engines
@pytest.mark.parametrize("name", [name for name in FAMILY_NAMES if FAMILY_CASES[name].cells != "codes"])
def test_a_huge_outlier_is_a_cluster_of_its_own(name, engine):
    rows = two_groups(name)[::2]
    rows[-1] = 1e12
    fitted = _sound(name, rows, engine)
    if name != "multinomial":  # which looks at shares, not at sizes
        assert (fitted.labels_ == fitted.labels_[-1]).sum() == 1


@both_engines
@pytest.mark.parametrize("name", [*REAL, *POSITIVE])
@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e-160])
def test_tiny_numbers(name, engine, size):
    smallest = 5e-324 if FAMILY_CASES[name].values[0] > 0.0 else 0.0
    _sound(name, np.maximum(np.abs(two_groups(name)) * size, smallest), engine)


@both_engines
@every_family
def test_a_table_of_one_value_and_one_other_row(name, engine):
    rows = np.full((10, 3), FAMILY_CASES[name].values[0])
    rows[4] = FAMILY_CASES[name].values[1]
    _sound(name, rows, engine)


@every_family
def test_chains_from_every_start_agree_on_one_row_and_on_two(name):
    for start in ("one", "prior", "sequential", "greedy", "singletons", "dispersed"):
        engine = CollapsedGibbs(chains=2, draws=3, warmup=0, start=start, n_threads=1)
        for n in (1, 2):
            assert model(name, inference=engine).fit(two_groups(name)[:n]).labels_.shape == (n,)
