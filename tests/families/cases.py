"""One or more examples of every family: hyperparameters all given, rows that suit them, and new rows.

A family that is registered later without an example here gets a stand-in, so that the tests that need no
oracle pick it up at once; ``test_every_family_has_an_example`` then asks for a proper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from countless.families import FAMILIES, Family
from countless.families.base import Cluster

FloatArray = Any


@dataclass(frozen=True)
class Case:
    """A family with its hyperparameters, rows of one cluster, and rows that the cluster has not seen."""

    label: str
    family: Family
    rows: FloatArray
    new: FloatArray

    @property
    def has_units(self) -> bool:
        return self.family.units(self.rows) is not None

    def resolved(self) -> Family:
        return self.family.resolve(self.rows)

    def filled(self, rows: FloatArray | None = None) -> tuple[Any, Cluster]:
        """Hyperparameters and one cluster that holds ``rows`` (default: those of the case)."""
        return filled(self.resolved(), self.rows if rows is None else rows)


def filled(family: Family, rows: FloatArray) -> tuple[Any, Cluster]:
    """Hyperparameters and one cluster that holds ``rows``: sums of row statistics, then a refreshed cache."""
    from countless.families import verbs

    hyper, clusters = family.prepare(), family.allocate(1)
    clusters.statistics[0] = statistics_of(hyper, rows, clusters.statistics.shape[1]).sum(axis=0)
    verbs.refresh(hyper, clusters.statistics, clusters.cache, 0, clusters.work)
    return hyper, clusters


def statistics_of(hyper: Any, rows: FloatArray, width: int) -> FloatArray:
    """Statistics of each row; the array is poisoned first, so that an entry left unwritten shows."""
    from countless.families import verbs

    out = np.full((len(rows), width), np.nan)
    for row, written in zip(rows, out, strict=True):
        verbs.row_statistics(hyper, row, written)
    return out


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([20240, seed])


def _split(rows: FloatArray, n_new: int = 4) -> tuple[FloatArray, FloatArray]:
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    return rows[:-n_new], rows[-n_new:]


def _examples() -> dict[str, list[Case]]:
    scale = np.array([[1.4, 0.5, -0.2], [0.5, 0.9, 0.1], [-0.2, 0.1, 2.0]])
    wide = np.array([[3.0, -0.8, 0.3], [-0.8, 2.0, 0.4], [0.3, 0.4, 5.0]])
    normal = _rng(0).standard_normal((14, 3)) @ np.linalg.cholesky(scale).T + [1.5, -1.0, 2.0]
    one = normal[:, :1]
    counts = _rng(1).poisson([1.0, 4.0, 25.0], size=(13, 3))
    histograms = _rng(2).multinomial(9, [0.1, 0.2, 0.3, 0.4], size=13)
    histograms[2] = 0
    histograms[5] = [0, 40, 1, 0]
    codes = np.column_stack([_rng(3).integers(0, levels, 14) for levels in (2, 3, 5)])
    trials = np.array([4, 30, 1])
    successes = _rng(4).binomial(trials, [0.3, 0.8, 0.5], size=(12, 3))
    durations = _rng(5).exponential([0.3, 2.0], size=(12, 2))
    failures = _rng(6).geometric([0.2, 0.6], size=(12, 2)) - 1

    families = FAMILIES
    gaussian, diagonal = families["gaussian"], families["diagonal-gaussian"]
    known, spherical = families["gaussian-known-covariance"], families["spherical-gaussian"]

    def case(label: str, family: Any, rows: FloatArray) -> Case:
        return Case(label, family, *_split(rows))

    return {
        "gaussian": [
            case("gaussian-1d", gaussian(mean=[0.3], mean_strength=0.7, scale=[[1.3]], dof=2.5), one),
            case("gaussian-2d", gaussian([0.2, 0.1], 0.5, scale[:2, :2], 4.5), normal[:, :2]),
            case("gaussian-3d", gaussian([1.0, -0.5, 0.0], 2.0, scale, 6.0), normal),
        ],
        "diagonal-gaussian": [
            case("diagonal-1d", diagonal([0.3], 0.7, [1.3], 4.0), one),
            case(
                "diagonal-3d",
                diagonal([1.0, -0.5, 0.0], [0.4, 2.0, 1.0], [1.0, 0.5, 3.0], [3.0, 5.0, 8.5]),
                normal,
            ),
        ],
        "gaussian-known-covariance": [
            case("known-1d", known([[1.2]], [0.4], [[3.0]]), one),
            case("known-3d", known(scale, [0.4, 0.0, -1.0], wide), normal),
        ],
        "spherical-gaussian": [
            case("spherical-1d", spherical(1.2, [0.4], 3.0), one),
            case("spherical-3d", spherical(0.8, [0.4, 0.0, -1.0], 2.5), normal),
        ],
        "multinomial": [
            case("multinomial-2", families["multinomial"]([0.6, 1.7], trials=6), histograms[:, :2]),
            case("multinomial-4", families["multinomial"]([0.5, 2.0, 1.0, 3.3], trials=9), histograms),
        ],
        "categorical": [
            case("categorical-1", families["categorical"]([[0.7, 1.6, 0.4]], n_levels=[3]), codes[:, 1:2]),
            case(
                "categorical-3",
                families["categorical"]([[0.7, 1.6], [1.0, 2.0, 0.5], [0.3, 0.6, 0.9, 1.2, 1.5]], n_levels=[2, 3, 5]),
                codes,
            ),
        ],
        "bernoulli": [
            case("bernoulli-1", families["bernoulli"](0.7, 1.8), codes[:, :1]),
            case("bernoulli-3", families["bernoulli"]([0.7, 2.0, 1.0], [1.8, 0.4, 1.0]), codes % 2),
        ],
        "binomial": [
            case("binomial-1", families["binomial"](30, 0.8, 1.7), successes[:, 1:2]),
            case("binomial-3", families["binomial"](trials, [0.8, 2.0, 1.0], [1.7, 0.6, 1.0]), successes),
        ],
        "poisson": [
            case("poisson-1", families["poisson"](1.3, 0.6), counts[:, 1:2]),
            case("poisson-3", families["poisson"]([1.3, 0.5, 4.0], [0.6, 0.2, 0.3]), counts),
        ],
        "geometric": [
            case("geometric-1", families["geometric"](3.2, 2.5), failures[:, :1]),
            case("geometric-2", families["geometric"]([3.2, 4.0], [2.5, 0.8]), failures),
        ],
        "exponential": [
            case("exponential-1", families["exponential"](3.1, 0.9), durations[:, 1:]),
            case("exponential-2", families["exponential"]([3.1, 5.0], [0.9, 4.0]), durations),
        ],
    }


def suitable_rows(name: str, shape: tuple[int, int], seed: int = 0) -> FloatArray:
    """Rows of the first kind that the family accepts: real numbers, positive ones, zeros and ones."""
    family, rng = FAMILIES[name](), _rng(seed)
    for rows in (rng.standard_normal(shape), rng.exponential(1.0, shape), rng.integers(0, 2, shape)):
        try:
            family.check(np.asarray(rows, dtype=np.float64))
            return np.asarray(rows, dtype=np.float64)
        except ValueError:
            continue
    raise LookupError(f"tests/families/cases.py has no rows that suit {name!r}")


def _stand_in(name: str) -> list[Case]:
    """Suitable rows, hyperparameters at their defaults."""
    rows = suitable_rows(name, (12, 2))
    return [Case(f"{name}-stand-in", FAMILIES[name]().resolve(rows), *_split(rows))]


def _has_defaults(name: str) -> bool:
    try:
        FAMILIES[name]()
    except TypeError:
        return False
    return True


EXAMPLES = _examples()
NAMES = [name for name in FAMILIES if _has_defaults(name)]
CASES = [case for name in NAMES for case in EXAMPLES.get(name) or _stand_in(name)]


def every(cases: list[Case] = CASES) -> Any:
    """Parametrise a test over examples."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.label)
