"""What states look like: posterior modes of their parameters as a table, in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...core.jit import kernel
from ...families import verbs
from ...partitions.seats import IntArray
from .data import SequenceData
from .predictive import Fitted


def state_parameters(fitted: Fitted, data: SequenceData, labels: IntArray) -> pd.DataFrame:
    """One row per state: its number of steps, and its parameters by column."""
    problem = fitted.problem
    n = fitted.n_states
    statistics, cache, _ = fitted.clusters
    parameters = np.zeros((n + 1, problem.layout.parameters))
    _estimate(problem.hyper, statistics, cache, n, parameters)
    described = problem.family.describe(parameters[:n], problem.shift, problem.scale)
    found: dict[str, Any] = {"steps": np.bincount(labels, minlength=n)}
    for name, values in described.items():
        found |= _columns(name, np.asarray(values), data.names)
    return pd.DataFrame(found).rename_axis("state")


def _columns(name: str, values: Any, names: list[str]) -> dict[str, Any]:
    """A parameter of all states as columns of a table: one per column of the data; of covariances, deviations."""
    d = len(names)
    if values.ndim == 1:
        return {name: values}
    if values.ndim == 3 and values.shape[1:] == (d, d):
        return {f"sd of {column}": np.sqrt(values[:, j, j]) for j, column in enumerate(names)}
    if values.ndim == 2 and values.shape[1] == d:
        if name in ("variance", "variances"):
            return {f"sd of {column}": np.sqrt(values[:, j]) for j, column in enumerate(names)}
        return {f"{name} of {column}": values[:, j] for j, column in enumerate(names)}
    flat = values.reshape(len(values), -1)
    return {f"{name} {j}": flat[:, j] for j in range(flat.shape[1])}


@kernel
def _estimate(family, statistics, cache, n, parameters):
    for k in range(n):
        verbs.estimate(family, statistics, cache, k, 1.0, parameters)
