"""The distribution of one column under the draws of a posterior: its mean and its uncertainty.

Given a partition of the rows, a column is a mixture of the predictives of its clusters, one of them new (Escobar and
West 1995, section 3). With weights ~ Dirichlet(sizes + offset, mass of a new cluster) and the parameters of each
cluster drawn from their posterior, each draw is a density, and quantiles over draws are the band of the unknown density
(Gelfand and Kottas 2002); the mass of clusters not seen yet is spread as the prior predicts.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...families import Family, verbs
from ...families.base import refresh_all
from ...partitions.scores import log_predictives_of, log_seat_weights, naturals_of
from ...partitions.sums import row_statistics_of
from ...posterior.data import Data
from ...priors.verbs import Prior
from .fit import Fit

FloatArray = NDArray[np.float64]

MOST_DRAWS = 100
# Densities drawn for the band: the 5% quantile of these has an error of about two percentage points.
BAND_DRAWS = 200
BAND = (0.05, 0.95)
GRID = 400
# Grid points about the centre of each cluster, so that a narrow one keeps its peak.
ABOUT_A_CLUSTER = 15


class Marginal(NamedTuple):
    """Density (or probability) of a column at some points.

    ``mean``, ``low`` and ``high`` are over draws; ``parts`` (cluster, point) are the shares of the consensus clusters.
    """

    points: FloatArray
    is_discrete: bool
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    parts: FloatArray


def marginal(fit: Fit, j: int) -> Marginal:
    """Predictive distribution of column ``j`` of the rows, at points that cover the data."""
    cells = fit.data.rows[:, j]
    observed = np.flatnonzero(~np.isnan(cells))
    column = fit.data.columns[j]
    if len(observed) == 0:
        raise ValueError(f"column: {column.name!r} has no cell that is not missing")
    model = _Column(fit, j, observed)
    points, discrete = _points(model.family, fit, j, cells[observed])
    if discrete and model.prior_total(points) > 1.0 + 1e-6:
        raise ValueError(
            f"column: {column.name!r} is a part of the total of its row and has no distribution of its own; show it "
            "with plots.profiles"
        )
    rng = np.random.default_rng(0)
    posterior = fit.posterior
    flat = posterior.labels.reshape(posterior.n_draws, -1)
    picked = posterior.spaced(MOST_DRAWS)
    each = -(-BAND_DRAWS // len(picked))
    mean = np.zeros(len(points))
    drawn = []
    for at in picked:
        clusters = model.clusters(flat[at], model.prior(int(at)), model.factors(int(at)), points)
        mean += np.exp(np.logaddexp.reduce(clusters.log_parts(), axis=1))
        drawn += [clusters.drawn(rng) for _ in range(each)]
    low, high = np.quantile(drawn, BAND, axis=0)
    typical = model.clusters(fit.labels, model.prior(), model.factors(), points)
    parts = np.exp(typical.log_parts()[:, :-1]).T
    return Marginal(points, discrete, mean / len(picked), low, high, parts)


def one_column(data: Data, j: int) -> tuple[Family, str]:
    """The family of one column alone, and what stands before the names of its hyperparameters in a table.

    Hyperparameters of the column are taken out of those of all columns: exact for independent columns, and for a
    normal-inverse-Wishart, whose degrees of freedom fall by one with each column that is left out (as does their
    lower bound).
    """
    family, j, d, prefix = _block_of(data, j)
    if d == 1:
        return family, prefix
    if family.missing == "integrated":
        return family.one_column(j), prefix
    old = {field.name: getattr(family, field.name) for field in fields(family)}  # type: ignore[arg-type]
    alone = replace(family, **{name: _entry(value, j, d) for name, value in old.items()})  # type: ignore[type-var]
    bounds = {name: alone.lower_bound(name) - family.lower_bound(name) for name in old}
    shifted = {name: getattr(alone, name) + shift for name, shift in bounds.items() if shift}
    return (replace(alone, **shifted) if shifted else alone), prefix  # type: ignore[type-var]


def _block_of(data: Data, j: int) -> tuple[Family, int, int, str]:
    """The family of a column, its place among the columns of that, their number, and what precedes their names."""
    for block in getattr(data.family, "blocks", ()):
        if j in block.columns:
            return block.family, block.columns.index(j), len(block.columns), f"{block.name}."
    return data.family, j, len(data.columns), ""


def takes_any_number(data: Data, j: int) -> bool:
    """Whether cells of a column may be any real numbers, so that an ellipse describes them."""
    return not data.columns[j].is_categorical and _accepts(one_column(data, j)[0], np.array([-0.5]))


def _entry(value: Any, j: int, d: int) -> Any:
    """What a hyperparameter of ``d`` columns holds for column ``j``."""
    if isinstance(value, (list, tuple)):
        return type(value)([value[j]]) if len(value) == d else value
    if isinstance(value, np.ndarray) and value.shape == (d, d):
        return np.ascontiguousarray(value[j : j + 1, j : j + 1])
    if isinstance(value, np.ndarray) and value.shape == (d,):
        return value[j : j + 1].copy()
    return value


def _accepts(family: Family, points: FloatArray) -> bool:
    try:
        family.check(np.ascontiguousarray(points[:, None]))
    except ValueError:
        return False
    return True


# --- points to look at -----------------------------------------------------------------------------------------


def _points(family: Family, fit: Fit, j: int, cells: FloatArray) -> tuple[FloatArray, bool]:
    """Points that the family accepts, and whether they are all there is (codes, whole numbers)."""
    levels = fit.data.columns[j].levels
    if levels is not None:
        return np.arange(float(len(levels))), True
    low, high = typical_range(cells)
    margin = 0.08 * (high - low or 1.0)
    for start, stop in ((low - margin, high + margin), (low, high + margin), (low, high)):
        grid = np.linspace(start, stop, GRID)
        if _accepts(family, grid):
            return np.union1d(grid, _about_clusters(fit, j, start, stop)), False
    for start, stop in ((max(0.0, np.floor(low - margin)), np.ceil(high + margin)), (low, high)):
        grid = np.arange(start, stop + 1.0)
        if _accepts(family, grid):
            break
    return grid, True


def typical_range(cells: FloatArray) -> tuple[float, float]:
    """Range of the cells, or of 99.8% of them where the others lie so far out that the rest would be one line."""
    low, high = float(cells.min()), float(cells.max())
    inner = np.quantile(cells, [0.001, 0.999])
    return (low, high) if high - low <= 5.0 * (inner[1] - inner[0]) else (float(inner[0]), float(inner[1]))


def _about_clusters(fit: Fit, j: int, start: float, stop: float) -> FloatArray:
    cells = fit.data.rows[:, j]
    places = [np.empty(0)]
    for k in range(min(fit.n_clusters, 40)):
        mine = cells[fit.labels == k]
        mine = mine[~np.isnan(mine)]
        if len(mine):
            places.append(mine.mean() + (mine.std() or 1e-3 * (stop - start)) * np.linspace(-3, 3, ABOUT_A_CLUSTER))
    near = np.concatenate(places)
    return near[(near >= start) & (near <= stop)]


# --- one partition -----------------------------------------------------------------------------------------------


class _Column:
    """One column of the rows as a mixture model of its own, for any partition of them."""

    def __init__(self, fit: Fit, j: int, observed: NDArray[np.int64]) -> None:
        data = fit.data
        values = np.ascontiguousarray(data.rows[observed][:, [j]])
        self.family, prefix = one_column(data, j)
        self._local, self._units = self.family.in_local_units(values)
        rows, _ = self._units.wide(self._local, values)
        self._statistics = np.empty((len(rows), self._local.layout().statistics))
        row_statistics_of(self._local.prepare(), rows, self._statistics)
        self._prior, self._n_clusters = data.prior, int(np.max(fit.labels)) + 1
        self._numbers = {name: fit.posterior[name].reshape(-1) for name in data.prior.learned_names}
        self._observed = observed
        self._whole, self._place = _block_of(data, j)[:2]
        self._log_factors = {
            name.removeprefix(prefix): logs.reshape(-1, *logs.shape[2:])
            for name, logs in fit.posterior.log_factors.items()
            if name.startswith(prefix)
        }

    def factors(self, draw: int | None = None) -> dict[str, Any]:
        """Offsets of learned hyperparameters of the column in one draw, or their means."""
        offsets = {name: logs.mean(axis=0) if draw is None else logs[draw] for name, logs in self._log_factors.items()}
        return self._whole.column_offsets(offsets, self._place)

    def prior(self, draw: int | None = None) -> Prior:
        """The prior with its learned numbers as in one draw, or at their means."""
        if draw is None:
            return self._prior.at_means(self._numbers, self._n_clusters)
        return self._prior.with_numbers({name: drawn[draw] for name, drawn in self._numbers.items()})

    def prior_total(self, points: FloatArray) -> float:
        """Sum of the predictive of an empty cluster over all points."""
        hyper, clusters = self._local.prepare(), self._local.allocate(1)
        out = np.empty((len(points), 1))
        log_predictives_of(hyper, *clusters, self._in_units(points)[0], out)
        return float(np.exp(out).sum())

    def clusters(self, labels: NDArray[Any], prior: Prior, factors: dict[str, float], points: FloatArray) -> _Clusters:
        """The clusters of a partition, with their predictives at some points."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        family = self._local.with_tuned(factors) if factors else self._local
        n_clusters = int(labels.max()) + 1
        arrays = family.allocate(n_clusters + 1)
        mine = labels[self._observed]
        for s in range(self._statistics.shape[1]):
            arrays.statistics[:-1, s] = np.bincount(mine, self._statistics[:, s], minlength=n_clusters)
        hyper = family.prepare()
        refresh_all(hyper, *arrays)
        out = np.empty((len(points), n_clusters + 1))
        local, log_scale = self._in_units(points)
        log_predictives_of(hyper, *arrays, local, out)
        log_weights = log_seat_weights(prior, labels)
        seen = len(labels) + n_clusters * float(prior.offset)
        return _Clusters(family, hyper, arrays, local, log_scale, out - log_scale[:, None], log_weights, seen)

    def _in_units(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points in the units of the arithmetic, and the log of these units at each."""
        return self._units.wide(self._local, points[:, None])


class _Clusters(NamedTuple):
    """Clusters of one partition; ``log_predictive`` (point, cluster) ends with that of an empty cluster.

    ``points`` are in the units of the arithmetic, ``log_scale`` is the log of these units at each, and ``seen`` the sum
    of size + offset over the clusters that have rows.
    """

    family: Family
    hyper: Any
    arrays: Any
    points: FloatArray
    log_scale: FloatArray
    log_predictive: FloatArray
    log_weights: FloatArray
    seen: float

    def log_parts(self) -> FloatArray:
        """Log of weight times predictive of each cluster, the last one new."""
        return self.log_predictive + self.log_weights

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Density at the points for one draw of the weights and parameters of the clusters."""
        n_clusters = len(self.log_weights) - 1
        share = -np.expm1(self.log_weights[-1])
        weights = rng.dirichlet(np.maximum(np.exp(self.log_weights) * self.seen / share, np.finfo(float).tiny))
        layout = self.family.layout()
        parameters = np.zeros((n_clusters, layout.parameters))
        for k in range(n_clusters):
            verbs.draw_parameters(self.hyper, self.arrays.statistics, self.arrays.cache, k, rng, parameters)
        natural, statistics = np.zeros((n_clusters, layout.statistics)), np.empty((len(self.points), layout.statistics))
        naturals_of(self.hyper, parameters, natural)
        row_statistics_of(self.hyper, self.points, statistics)
        with np.errstate(divide="ignore"):
            natural[:, 0] += np.log(weights[:-1])
        known = np.exp(np.logaddexp.reduce(statistics @ natural.T, axis=1) - self.log_scale)
        return known + weights[-1] * np.exp(self.log_predictive[:, -1])
