"""A change of units changes no label of any draw, and moves the log joint by the log Jacobian alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from countless.families import DiagonalGaussian, Exponential, Gaussian, GaussianKnownCovariance, SphericalGaussian

from .cases import ENGINES, model

N = 24


def _rows() -> np.ndarray:
    """Three groups, two of which overlap, with correlated columns: draws differ from one another."""
    rng = np.random.default_rng(12)
    rows = rng.standard_normal((N, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 1.0]])
    rows[8:16] += [4.0, -2.0, 3.0]
    rows[16:] += [0.0, 5.0, -4.0]
    return rows


def _families(shift: np.ndarray, scale: np.ndarray) -> dict[str, Any]:
    """Families whose hyperparameters are given in the units ``x * scale + shift``."""
    square = np.outer(scale, scale)
    matrix = np.array([[1.0, 0.3, 0.1], [0.3, 1.4, -0.2], [0.1, -0.2, 0.8]])
    mean = np.array([0.5, 2.0, -1.0]) * scale + shift
    return {
        "gaussian": Gaussian(mean, 0.1, 4.0 * matrix * square, 6.0),
        "diagonal-gaussian": DiagonalGaussian(mean, 0.1, np.array([2.0, 3.0, 1.5]) * scale**2, 5.0),
        "gaussian-known-covariance": GaussianKnownCovariance(matrix * square, mean, 20.0 * np.eye(3) * square),
    }


# Each is a shift and a scale of the three columns.
CHANGES = {
    "shift": (np.array([1e6, -1e6, 1e6]), np.ones(3)),
    "small": (np.zeros(3), np.full(3, 1e-6)),
    "large": (np.zeros(3), np.full(3, 1e6)),
    "mixed": (np.array([30.0, -4e4, 2e-4]), np.array([1.0, 1e6, 1e-6])),
}


def _compare(family, moved_family, shift, scale, engine, rows):
    here = model(family, inference=ENGINES[engine]).fit(rows)
    moved = rows * scale + shift
    there = model(moved_family, inference=ENGINES[engine]).fit(moved)
    np.testing.assert_array_equal(here.posterior_.labels, there.posterior_.labels)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    np.testing.assert_allclose(here.posterior_.concentration, there.posterior_.concentration, rtol=1e-7)
    log_volume = np.sum(np.log(np.broadcast_to(scale, rows.shape[1])))
    np.testing.assert_allclose(there.posterior_.log_joint, here.posterior_.log_joint - N * log_volume, rtol=1e-7)
    np.testing.assert_allclose(there.predict_proba(moved), here.predict_proba(rows), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(there.score_samples(moved), here.score_samples(rows) - log_volume, rtol=1e-6, atol=1e-6)
    if family != "gaussian-known-covariance":
        # By default its two covariances are proportional: any basis suits them, and rounding chooses one.
        sampled, expected = there.sample(6)[0], here.sample(6)[0]
        np.testing.assert_allclose((sampled - shift) / scale, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("given", [False, True], ids=["default", "given"])
@pytest.mark.parametrize("change", list(CHANGES))
@pytest.mark.parametrize("name", list(_families(np.zeros(3), np.ones(3))))
def test_columns_in_other_units(name, change, given, engine):
    shift, scale = CHANGES[change]
    family = _families(np.zeros(3), np.ones(3))[name] if given else name
    moved = _families(shift, scale)[name] if given else name
    _compare(family, moved, shift, scale, engine, _rows())


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("given", [False, True], ids=["default", "given"])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_sphere_under_a_shift_and_a_common_scale(scale, given, engine):
    shift = scale * np.array([1e6, 0.0, -1e6])
    mean = np.array([0.5, 2.0, -1.0])
    family = SphericalGaussian(1.2, mean, 15.0) if given else "spherical-gaussian"
    moved = SphericalGaussian(1.2 * scale**2, mean * scale + shift, 15.0 * scale**2) if given else "spherical-gaussian"
    _compare(family, moved, shift, np.full(3, scale), engine, _rows())


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("given", [False, True], ids=["default", "given"])
@pytest.mark.parametrize("scale", [[1e-6, 1e-6, 1e-6], [1e6, 1e6, 1e6], [1.0, 1e6, 1e-6]], ids=str)
def test_durations_in_other_units(scale, given, engine):
    rows = np.exp(0.5 * _rows())
    scale = np.array(scale)
    family = Exponential(2.0, [0.5, 1.0, 2.0]) if given else "exponential"
    moved = Exponential(2.0, np.array([0.5, 1.0, 2.0]) * scale) if given else "exponential"
    _compare(family, moved, np.zeros(3), scale, engine, rows)


@pytest.mark.parametrize("name", [*_families(np.zeros(3), np.ones(3)), "spherical-gaussian", "exponential"])
def test_draws_differ_so_that_equal_draws_say_something(name):
    rows = np.exp(0.5 * _rows()) if name == "exponential" else _rows()
    posterior = model(name).fit(rows).posterior_
    assert len(np.unique(posterior.log_joint)) > 2
    assert name == "diagonal-gaussian" or len(np.unique(posterior.labels[0], axis=0)) > 1
