"""The units of the arithmetic: effects of one Gaussian population are about standard normal in them, and so is the
noise.

    beta = centre + basis @ beta',    gamma = fixed_centre + fixed_scale gamma',    residuals in units of ``noise``

Families with full covariance are moved into any basis; one whose columns are independent keeps its columns, and a
spherical one keeps their proportions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....families import Family
from ....families.gaussian.covariances import covariance_matrix
from ....families.gaussian.full import Gaussian
from ....families.gaussian.known_covariance import GaussianKnownCovariance
from ....families.gaussian.spherical import SphericalGaussian
from .subjects import IntArray, Population, Sums

FloatArray = NDArray[np.float64]
# Hyperparameters that are covariances of effects, where they have off-diagonal entries.
MATRICES = ("scale", "covariance", "mean_covariance")


@dataclass(frozen=True)
class Units:
    """Where the zero of the arithmetic is, and how long its units are."""

    centre: FloatArray
    basis: FloatArray
    fixed_centre: FloatArray
    fixed_scale: FloatArray
    noise: float

    @classmethod
    def of(cls, population: Population, family: Family, fixed: FloatArray) -> Units:
        """Units in which the population is standard, as far as the family allows."""
        covariance = population.covariance
        d = len(covariance)
        if isinstance(family, (Gaussian, GaussianKnownCovariance)):
            basis: FloatArray = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        elif isinstance(family, SphericalGaussian):
            basis = np.eye(d) * np.sqrt(np.trace(covariance) / d)
        else:
            basis = np.diag(np.sqrt(np.diag(covariance)))
        size = np.sqrt(np.mean(fixed**2, axis=0)) if fixed.shape[1] else np.empty(0)
        noise = float(np.sqrt(population.noise))
        return cls(population.mean, basis, population.fixed, noise / np.where(size > 0.0, size, 1.0), noise)

    def sums(self, X: FloatArray, y: FloatArray, fixed: FloatArray, codes: IntArray, n_subjects: int) -> Sums:
        """Sums over visits in these units."""
        left = (y - X @ self.centre - fixed @ self.fixed_centre) / self.noise
        return Sums.of(X @ self.basis / self.noise, left, fixed * (self.fixed_scale / self.noise), codes, n_subjects)

    def rows_like(self, population: Population) -> FloatArray:
        """A few rows whose mean and covariance are those of the effects of a population, in these units."""
        d = len(self.centre)
        root = np.linalg.solve(self.basis, np.linalg.cholesky(population.covariance)) * np.sqrt(d)
        return np.ascontiguousarray(np.concatenate([root.T, -root.T]))

    def into(self, family: Family) -> Family:
        """The family of effects in these units; what is left open stays open."""
        return _moved(family, _inverse(self.basis), self.centre, self._image())

    def out_of(self, family: Family) -> Family:
        """The family of effects in the user's units."""
        return _moved(family, self.basis, self._image(), self.centre)

    def _image(self) -> FloatArray:
        """Effects of zero in these units."""
        image: FloatArray = np.asarray(-np.linalg.solve(self.basis, self.centre), dtype=np.float64)
        return image

    def means(self, means: FloatArray) -> FloatArray:
        """Means of effects (..., D) in the user's units."""
        return np.asarray(means @ self.basis.T + self.centre)

    def covariances(self, covariances: FloatArray) -> FloatArray:
        """Covariances of effects (..., D, D) in the user's units."""
        return np.asarray(self.basis @ covariances @ self.basis.T)


def _inverse(matrix: FloatArray) -> FloatArray:
    inverse: FloatArray = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return inverse


def _moved(family: Family, matrix: FloatArray, origin: FloatArray, image: FloatArray) -> Family:
    """The family of ``matrix @ (x - origin)``; ``image`` is where zero goes."""
    given: dict[str, Any] = {}
    d = len(origin)
    mean = getattr(family, "mean", None)
    if mean is not None:
        values = np.asarray(mean, dtype=np.float64)
        if values.ndim > 1 or values.size not in (1, d) or not np.isfinite(values).all():
            raise ValueError(f"mean must hold {d} finite numbers, one per effect, got {mean!r}")
        given["mean"] = matrix @ np.broadcast_to(values, (d,)) + image
    if isinstance(family, (Gaussian, GaussianKnownCovariance)):
        for name in MATRICES:
            value = getattr(family, name, None)
            if value is not None:
                moved = matrix @ covariance_matrix(name, value, d) @ matrix.T
                given[name] = (moved + moved.T) / 2
        return family._with(**given)
    factors = np.diag(matrix) ** 2
    for name in ("scale", "variance", "mean_variance"):
        value = getattr(family, name, None)
        if value is not None:
            values = np.asarray(value, dtype=np.float64) * (factors if name == "scale" else factors[0])
            given[name] = values if name == "scale" else float(values)
    return family._with(**given)
