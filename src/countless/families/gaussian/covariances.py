"""Covariance matrices as hyperparameters: checked where they are given, estimated where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_numbers, blocks, column_moments, fill_missing, per_column
from ..base import FloatArray


def default_covariance(X: FloatArray) -> FloatArray:
    """Covariance of the rows, shrunk towards its diagonal so that it is positive for D > N too."""
    n, d = X.shape
    _, variance = column_moments(X)
    if n < 2:
        return np.diag(variance)
    root = np.sqrt(variance)
    mean = X.mean(axis=0)
    standard = ((block - mean) / root for block in blocks(X))
    correlation = sum((part.T @ part for part in standard), start=np.zeros((d, d))) / n
    shrinkage = (d + 1) / (n + d + 1)
    mixed = (1 - shrinkage) * correlation
    np.fill_diagonal(mixed, 1.0)
    return mixed * np.outer(root, root)


def covariance_with_missing(X: FloatArray) -> FloatArray:
    """``default_covariance`` of rows with missing cells: a correlation comes from the rows that observe both columns.

    Such correlations need not make a positive matrix; then they are shrunk towards zero until they do.
    """
    d = X.shape[1]
    observed = ~np.isnan(X)
    mean, variance = column_moments(fill_missing(X))
    root = np.sqrt(variance)
    standard = np.where(observed, (X - mean) / root, 0.0)
    both = observed.T.astype(np.float64) @ observed
    products, squares = standard.T @ standard, (standard**2).T @ observed
    correlation = products / np.maximum(np.sqrt(squares * squares.T), 1e-300)
    mixed = correlation * both / (both + d + 1)
    np.fill_diagonal(mixed, 1.0)
    smallest = np.linalg.eigvalsh(mixed)[0]
    if smallest < 0.01:
        mixed *= (1.0 - 0.01) / (1.0 - smallest)
        np.fill_diagonal(mixed, 1.0)
    return mixed * np.outer(root, root)


def covariance_matrix(name: str, value: Any, d: int) -> FloatArray:
    """A D x D positive matrix from a number, a diagonal or a matrix."""
    array = as_numbers(name, value)
    if array.ndim < 2:
        array = np.diag(per_column(name, value, d))
    if array.shape != (d, d):
        raise ValueError(f"{name} must be a {d} x {d} matrix, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be a symmetric matrix of finite numbers")
    root = np.sqrt(np.abs(np.diag(array)))
    if np.any(np.abs(array - array.T) > 1e-8 * np.outer(root, root)):
        raise ValueError(f"{name} must be a symmetric matrix of finite numbers")
    if np.any(root == 0) or np.linalg.eigvalsh(array / np.outer(root, root))[0] <= 0:
        raise ValueError(f"{name} must be positive definite")
    return np.ascontiguousarray((array + array.T) / 2)
