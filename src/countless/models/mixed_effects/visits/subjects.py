"""Subjects as sums over their visits, the units of the arithmetic, and what one Gaussian population would look like.

A subject enters through X'X, X'y, X'F and its number of visits. The arithmetic works on outcomes less those of an
average subject, in units of the noise, and on effects less their mean, in units of their deviation, so that numbers
near one meet whatever the units of the table. Average, deviation and noise are those of a linear mixed model of one
Gaussian population, found by EM (Laird and Ware 1982); default base measures are set from them too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Subjects and rounds of EM that the units are found from.
MOST_SUBJECTS, EM_ROUNDS = 600, 50
# Least deviation of an effect, as a share of the error with which the visits of one subject tell it.
LEAST_SPREAD = 0.1
# Least noise, as a share of the deviation of the outcomes.
LEAST_NOISE = 1e-6


def packed(matrices: FloatArray) -> FloatArray:
    """Lower triangles (..., D, D), by columns."""
    columns, rows = np.triu_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[..., rows, columns])


def unpacked(triangles: FloatArray, d: int) -> FloatArray:
    """Symmetric matrices from lower triangles by columns."""
    columns, rows = np.triu_indices(d)
    out = np.empty((*triangles.shape[:-1], d, d))
    out[..., rows, columns] = triangles
    out[..., columns, rows] = triangles
    return out


@dataclass(frozen=True)
class Sums:
    """Sums over the visits of each subject; F is the design of the effects that all share.

    Attributes
    ----------
    grams : array (subject, D, D)
        X'X.
    moments : array (subject, D)
        X'y.
    crosses : array (subject, D, F)
        X'F.
    fixed_grams, fixed_moments, squares : arrays (subject, F, F), (subject, F) and (subject,)
        F'F, F'y and y'y.
    counts : array of int (subject,)
        Visits.
    """

    grams: FloatArray
    moments: FloatArray
    crosses: FloatArray
    fixed_grams: FloatArray
    fixed_moments: FloatArray
    squares: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, fixed: FloatArray, codes: IntArray, n_subjects: int) -> Sums:
        """Sums of visits with subjects ``codes``; they need not be in order."""
        return cls(
            _add(X[:, :, None] * X[:, None, :], codes, n_subjects),
            _add(X * y[:, None], codes, n_subjects),
            _add(X[:, :, None] * fixed[:, None, :], codes, n_subjects),
            _add(fixed[:, :, None] * fixed[:, None, :], codes, n_subjects),
            _add(fixed * y[:, None], codes, n_subjects),
            np.bincount(codes, y**2, minlength=n_subjects).astype(np.float64),
            np.bincount(codes, minlength=n_subjects),
        )

    @property
    def n_visits(self) -> int:
        return int(self.counts.sum())

    def moments_at(self, fixed: FloatArray) -> FloatArray:
        """X'(y - F gamma) of each subject."""
        return np.ascontiguousarray(self.moments - self.crosses @ fixed) if len(fixed) else self.moments

    def squares_at(self, fixed: FloatArray) -> FloatArray:
        """Sum of the squares of y - F gamma over the visits of each subject."""
        if not len(fixed):
            return self.squares
        left = self.squares - 2.0 * self.fixed_moments @ fixed + (self.fixed_grams @ fixed) @ fixed
        return np.maximum(left, 0.0)


def _add(values: FloatArray, codes: IntArray, n: int) -> FloatArray:
    """Sums over the visits of each subject, for every column."""
    flat = values.reshape(len(values), -1)
    out = np.empty((n, flat.shape[1]))
    for column in range(flat.shape[1]):
        out[:, column] = np.bincount(codes, flat[:, column], minlength=n)
    return out.reshape(n, *values.shape[1:])


@dataclass(frozen=True)
class Population:
    """A linear mixed model of one Gaussian population: means of the effects, fixed effects, covariance, noise."""

    mean: FloatArray
    fixed: FloatArray
    covariance: FloatArray
    noise: float


def fit_population(X: FloatArray, y: FloatArray, fixed: FloatArray, codes: IntArray, n_subjects: int) -> Population:
    """EM on some of the subjects; with few visits or none to spare, spreads and noise stay above small floors.

    In the basis in which the columns of X are orthonormal over all visits, so that their units and origins do not
    matter.
    """
    n, d = X.shape
    f = fixed.shape[1]
    start = np.linalg.lstsq(np.hstack([X, fixed]), y, rcond=None)[0]
    size = float(np.sqrt(np.mean((y - y.mean()) ** 2))) or float(np.sqrt(np.mean(y**2))) or 1.0
    chosen = np.unique(np.linspace(0, n_subjects - 1, min(n_subjects, MOST_SUBJECTS)).astype(np.int64))
    among = np.isin(codes, chosen)
    renumbered = np.searchsorted(chosen, codes[among])
    basis, triangle = np.linalg.qr(X)
    to_effects = np.linalg.inv(triangle) * np.sqrt(n)
    units = np.sqrt(np.mean(fixed**2, axis=0)) if f else np.empty(0)
    units[units == 0.0] = 1.0
    residual = (y - np.hstack([X, fixed]) @ start)[among] / size
    sums = Sums.of(basis[among] * np.sqrt(n), residual, fixed[among] / units, renumbered, len(chosen))
    found = _em(sums)
    return Population(
        start[:d] + size * (to_effects @ found.mean),
        start[d:] + size * found.fixed / units,
        size**2 * (to_effects @ found.covariance @ to_effects.T),
        found.noise * size**2,
    )


def _em(sums: Sums) -> Population:
    """Expectation of the effects, then means, covariance and noise; generalised least squares for the means."""
    n, d = sums.moments.shape
    f = sums.fixed_moments.shape[1]
    visits = sums.n_visits
    noise = max(float(sums.squares.sum()) / visits, LEAST_NOISE**2)
    mean_gram = np.diagonal(sums.grams, axis1=1, axis2=2).sum(axis=0) / n
    covariance = np.diag(noise / np.maximum(mean_gram, 1e-12))
    mean, fixed = np.zeros(d), np.zeros(f)
    for _ in range(EM_ROUNDS):
        inverse: FloatArray = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        posterior: FloatArray = np.asarray(np.linalg.inv(inverse + sums.grams / noise), dtype=np.float64)
        mean, fixed = _least_squares(sums, posterior, inverse, noise)
        moments = sums.moments_at(fixed)
        away = np.einsum("nij,nj->ni", posterior, moments - sums.grams @ mean) / noise
        effects = mean + away
        covariance = (away.T @ away + posterior.sum(axis=0)) / n
        left = float(sums.squares_at(fixed).sum())
        left += np.einsum("ni,nij,nj->", effects, sums.grams, effects) - 2.0 * np.sum(effects * moments)
        noise = (max(left, 0.0) + np.einsum("nij,nij->", posterior, sums.grams)) / visits
        noise = max(float(noise), LEAST_NOISE**2)
        floor = LEAST_SPREAD**2 * noise / np.maximum(mean_gram, 1e-12)
        covariance = _with_floor(covariance, floor)
    return Population(mean, fixed, covariance, noise)


def _least_squares(
    sums: Sums, posterior: FloatArray, inverse: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray]:
    """Mean of the effects and fixed effects, with the effects of subjects integrated out."""
    d, f = len(inverse), sums.fixed_moments.shape[1]
    weighted = inverse @ posterior  # V^-1 in terms of sums: X'V^-1 X = inverse posterior S / noise
    information, score = np.zeros((d + f, d + f)), np.zeros(d + f)
    information[:d, :d] = (weighted @ sums.grams).sum(axis=0) / noise
    information[:d, d:] = (weighted @ sums.crosses).sum(axis=0) / noise
    information[d:, :d] = information[:d, d:].T
    solved = posterior @ sums.crosses
    taken = np.einsum("nia,nib->ab", sums.crosses, solved) / noise**2
    information[d:, d:] = sums.fixed_grams.sum(axis=0) / noise - taken
    score[:d] = np.einsum("nij,nj->i", weighted, sums.moments) / noise
    score[d:] = sums.fixed_moments.sum(axis=0) / noise - np.einsum("nia,ni->a", solved, sums.moments) / noise**2
    information += 1e-9 * np.diag(np.maximum(np.diag(information), 1e-12))
    found: FloatArray = np.asarray(np.linalg.lstsq(information, score, rcond=None)[0], dtype=np.float64)
    return found[:d], found[d:]


def _with_floor(covariance: FloatArray, floor: FloatArray) -> FloatArray:
    """The same with no variance below its floor and no correlation beyond 0.99."""
    variance = np.maximum(np.diag(covariance), floor)
    root = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = np.clip(covariance / np.outer(root, root), -0.99, 0.99)
    np.fill_diagonal(correlation, 1.0)
    smallest = np.linalg.eigvalsh(correlation)[0]
    if smallest < 0.01:
        correlation = (correlation + (0.01 - smallest) * np.eye(len(root))) / (1.01 - smallest)
    return np.asarray(correlation * np.sqrt(np.outer(variance, variance)))
