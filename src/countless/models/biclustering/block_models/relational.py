"""Cells of a block are draws of one law: any family of one column (Kemp et al. 2006, the infinite relational model).

The parameters of a block are integrated out, so that its evidence is the family's. Cells that are missing count for
nothing. With degree correction, for Poisson counts, cell (i, j) of a block has the mean rate * theta_i * phi_j, where
theta is m times a Dirichlet(gamma, ..., gamma) over the m items of a cluster. Exposures then add up to the number of
cells, and with theta and phi integrated out a cluster with n counts in all adds

    m^n G(gamma m) / G(gamma m + n) * prod_items G(gamma + x) / G(gamma).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ....core.jit import kernel
from ....core.special import log_rising
from ....core.validate import positive_number
from ....families import Family, resolve_family, verbs
from ....families.arrays import log_volumes, shifted_and_scaled
from ....families.learnable import Law
from ....families.poisson import Poisson
from ....partitions.clusters import own_hyper
from ....partitions.hyperparameters import install
from ....partitions.scores import log_predictives_of
from ....partitions.seats import FloatArray
from ....partitions.sums import row_statistics_of
from .base import BlockCounts, BlockModel, Drawing, Matrix, NewCells, Prepared, register
from .counts import POPULARITY_SPREAD, log_risings
from .expected import Slopes, SoftBlocks
from .verbs import Work, implements, log_block, log_side

POPULARITY = "popularity"


class Related(NamedTuple):
    """A family whose evidence needs its cache."""

    family: Any
    popularity: float


class RelatedSums(NamedTuple):
    """A family whose evidence follows from the statistics alone."""

    family: Any
    popularity: float


@implements(log_block, Related)
def _block(model, side, work, mass, other_mass):
    verbs.refresh(model.family, work.statistics, work.cache, 0, work.scratch)
    return verbs.log_marginal(model.family, work.statistics, work.cache, 0)


@implements(log_block, RelatedSums)
def _block_of_sums(model, side, work, mass, other_mass):
    return verbs.log_marginal(model.family, work.statistics, work.cache, 0)


def _side(model, side, total, size):
    if model.popularity > 0.0:
        return total * math.log(size) - log_rising(model.popularity * size, total)
    return 0.0


implements(log_side, Related)(_side)
implements(log_side, RelatedSums)(_side)


@register("relational")
@dataclass(frozen=True, eq=False)
class Relational(BlockModel):
    """Cells of a block are independent draws of one law (IRM).

    Parameters
    ----------
    family : str or family object
        A family of one column: ``"bernoulli"``, ``"poisson"``, ``"gaussian"``, ``"categorical"``, any other name in
        ``countless.families.FAMILIES``, or an object with hyperparameters of your own. ``"auto"`` (default): Bernoulli
        for zeros and ones, Poisson for counts, Gaussian for other numbers.
    degree_corrected : bool
        Whether rows and columns have popularities inside their cluster; for Poisson counts without missing cells.
    popularity : float, optional
        Dirichlet weight of an item in its cluster, with ``degree_corrected``. Default: learned.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.models.biclustering.block_models import Relational
    >>> X = np.kron(np.eye(2), np.ones((10, 8)))
    >>> cl.InfiniteBiclustering(Relational("bernoulli"), random_state=0).fit(X).n_clusters_
    (2, 2)
    """

    missing: ClassVar[bool] = True
    predicts_zeros: ClassVar[bool] = True

    family: str | Family = "auto"
    degree_corrected: bool = False
    popularity: float | None = None
    # Set by ``resolve``: hyperparameters of the family that are learned, and the units of the arithmetic.
    open: tuple[str, ...] | None = None
    units: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.popularity is not None:
            positive_number(POPULARITY, self.popularity)
            if not self.degree_corrected:
                raise ValueError("popularity is used with degree_corrected=True only; leave it out, or set that")

    def chosen_family(self, matrix: Matrix) -> Family:
        """The family, chosen by the cells where that is asked for."""
        if not (isinstance(self.family, str) and self.family == "auto"):
            return resolve_family(self.family)
        values = matrix.values[~np.isnan(matrix.values)]
        if np.all((values == 0) | (values == 1)) and not self.degree_corrected:
            return resolve_family("bernoulli")
        whole = bool(np.all(values >= 0) and np.all(values == np.floor(values)))
        return resolve_family("poisson" if whole else "gaussian")

    def check(self, matrix: Matrix) -> None:
        family = self.chosen_family(matrix)
        values = matrix.values[~np.isnan(matrix.values)]
        if not matrix.n_cells:
            raise ValueError("X: all cells are missing")
        if not values.any():
            raise ValueError("X: all cells are zero, so that there is nothing to group")
        try:
            family.check(np.unique(values)[:, None])
        except ValueError as error:
            raise ValueError(f"{error}; choose a family that fits the cells, such as family='gaussian'") from None
        if self.degree_corrected:
            if not isinstance(family, Poisson):
                raise ValueError(
                    f"degree_corrected: it is for counts, family='poisson', and not for {type(family).__name__}"
                )
            if np.isnan(matrix.values).any():
                raise ValueError("degree_corrected: cells are missing, so that totals are unknown; leave it out")

    def _column(self, matrix: Matrix) -> FloatArray:
        """All cells that are not missing, as a column; long runs of zeros are as good as they are."""
        values = matrix.values[~np.isnan(matrix.values)]
        zeros = matrix.n_cells - len(values)
        return np.concatenate([values, np.zeros(zeros)])[:, None]

    def resolve(self, matrix: Matrix) -> Self:
        family, cells = self.chosen_family(matrix), self._column(matrix)
        known, rows = family.read(cells)
        resolved = known.resolve(rows)
        if resolved.layout().statistics < 1 or rows.shape[1] != 1:
            raise ValueError("family: a block model needs a family of one column")
        units = resolved.units(rows)
        popularity = None
        if self.degree_corrected:
            popularity = 1.0 if self.popularity is None else float(self.popularity)
        names = known.left_open() + ((POPULARITY,) if self.degree_corrected and self.popularity is None else ())
        return self._with(
            family=resolved,
            popularity=popularity,
            open=names,
            units=None if units is None else (float(units[0][0]), float(units[1][0])),
        )

    def left_open(self) -> tuple[str, ...]:
        return self.open or ()

    @cached_property
    def _local(self) -> Family:
        """The resolved family in the units of the arithmetic."""
        family = resolve_family(self.family)
        return family if self.units is None else family.in_units(*(np.array([part]) for part in self.units))

    def law(self, left_open: tuple[str, ...]) -> Law:
        family = resolve_family(self.family)
        own = family.law([name for name in left_open if name != POPULARITY])
        if POPULARITY not in left_open:
            return own
        places = {**own.places, POPULARITY: np.array([len(own.spreads)])}
        return Law(places, np.append(own.spreads, POPULARITY_SPREAD), np.append(own.strengths, False), own.common)

    def at(self, law: Law, offsets: FloatArray) -> Self:
        named = law.by_name(offsets)
        changes: dict[str, Any] = {}
        if POPULARITY in named:
            changes[POPULARITY] = float(self.popularity or 1.0) * math.exp(float(named.pop(POPULARITY)[0]))
        if named:
            local = self._local.with_tuned(named)
            if self.units is not None:
                shift, scale = self.units
                local = local.in_units(np.array([-shift / scale]), np.array([1.0 / scale]))
            changes["family"] = local
        return self._with(**changes)

    def hyper(self) -> Related | RelatedSums:
        return self._type(self._base, float(self.popularity or 0.0))

    @cached_property
    def _base(self) -> Any:
        """Hyperparameters of the family as kernels receive them."""
        return self._local.prepare()

    @cached_property
    def _type(self) -> type[Related] | type[RelatedSums]:
        """What kernels are told: whether the evidence of a block is a number without its cache."""
        layout = self._local.layout()
        trial = Work(np.zeros((1, layout.statistics)), np.full((1, layout.cache), np.nan), self._local.scratch())
        row_statistics_of(self._base, np.zeros((1, 1)), trial.statistics)
        plain = bool(np.isfinite(verbs.log_marginal(self._base, trial.statistics, trial.cache, 0)))
        return RelatedSums if plain else Related

    def hyper_at(self, law: Law, offsets: FloatArray) -> Any:
        base, popularity = self._base, float(self.popularity or 0.0)
        hyper, size = own_hyper(base), len(offsets)
        if POPULARITY in law.places:
            popularity *= math.exp(offsets[-1])
            size -= 1
        if size:
            own = Law({}, law.spreads[:size], law.strengths[:size], law.common)
            install(hyper, base, own, offsets[:size])
        return self._type(hyper, popularity)

    def work(self) -> Work:
        layout = self._local.layout()
        return Work(np.zeros((1, layout.statistics)), np.zeros((1, max(1, layout.cache))), self._local.scratch())

    def _in_local_units(self, values: FloatArray) -> FloatArray:
        if self.units is None:
            return values[:, None].copy()
        return shifted_and_scaled(values[:, None], *(np.array([part]) for part in self.units))

    def cells(self, matrix: Matrix) -> Prepared:
        family = self._local
        hyper, width = family.prepare(), family.layout().statistics
        present = ~np.isnan(matrix.values)
        statistics = np.zeros((len(matrix.values), width))
        zero = np.zeros((1, width))
        rows = np.zeros((len(matrix.values), width))
        row_statistics_of(hyper, self._in_local_units(np.nan_to_num(matrix.values)), rows)
        row_statistics_of(hyper, self._in_local_units(np.zeros(1)), zero)
        statistics[present] = rows[present]
        ones = tuple(np.ones(n) for n in matrix.shape)
        margins = matrix.margins() if self.degree_corrected else tuple(np.zeros(n) for n in matrix.shape)
        constant = 0.0
        if self.units is not None:
            constant -= float(log_volumes(np.ones((1, 1)), np.array([self.units[1]]))[0]) * matrix.n_cells
        return Prepared(statistics - zero, zero[0].copy(), margins, ones, constant)  # type: ignore[arg-type]

    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        value = 0.0
        if self.degree_corrected:
            value += sum(log_risings(float(self.popularity or 1.0), margins) for margins in prepared.margins)
        return value

    def describe(self) -> dict[str, FloatArray | float]:
        family = resolve_family(self.family)
        named: dict[str, Any] = {}
        for name in family.offered():
            value = getattr(family, name)
            parts = [np.ravel(part) for part in value] if isinstance(value, (tuple, list)) else [np.ravel(value)]
            flat = np.concatenate(parts).astype(np.float64)
            named[name] = float(flat[0]) if len(flat) == 1 else flat
        if self.degree_corrected:
            named[POPULARITY] = float(self.popularity or 1.0)
        return named

    # --- predictions ------------------------------------------------------------------------------------------------

    def _filled(self, counts: BlockCounts) -> tuple[Any, FloatArray, FloatArray, FloatArray]:
        """Hyperparameters, statistics and caches of all blocks, scratch space."""
        hyper, family = self.hyper(), self._local
        statistics = np.ascontiguousarray(counts.blocks.reshape(-1, counts.blocks.shape[2]))
        cache, work = np.zeros((len(statistics), family.layout().cache)), family.scratch()
        _refresh(hyper.family, statistics, cache, work)
        return hyper.family, statistics, cache, work

    def expected(self, soft: SoftBlocks) -> Slopes:
        """Families are exponential: slopes are the expected natural parameters of their blocks."""
        if self.degree_corrected:
            return super().expected(soft)
        shape, sides = soft.blocks.shape, soft.sides
        counts = BlockCounts(soft.blocks, *[(np.empty(0), np.empty(0))] * 3)
        family, statistics, cache, _ = self._filled(counts)
        natural = np.zeros_like(statistics)
        value = float(_expected(family, statistics, cache, natural))
        return Slopes(value, natural.reshape(shape), (np.zeros(len(sides[0].mass)), np.zeros(len(sides[1].mass))))

    def means(self, counts: BlockCounts) -> FloatArray:
        shape = counts.blocks.shape[:2]
        family, statistics, cache, _ = self._filled(counts)
        parameters = np.zeros((len(statistics), self._local.layout().parameters))
        _estimates(family, statistics, cache, parameters)
        shift, scale = (np.array([part]) for part in self.units or (0.0, 1.0))
        named = self._local.describe(parameters, shift, scale)
        first = np.asarray(next(iter(named.values())))
        if first.ndim == 1 or first.shape[1:] == (1,):
            return first.reshape(shape)
        return first.reshape(*shape, *first.shape[1:])

    def log_cells(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        family, statistics, cache, work = self._filled(counts)
        which = cells.row_labels * counts.blocks.shape[1] + cells.column_labels
        local = self._in_local_units(cells.values)
        if self.degree_corrected:
            return self._log_popular_cells(counts, cells)
        values, at = np.unique(local[:, 0], return_inverse=True)
        value = np.empty(len(local))
        if len(values) * len(statistics) <= 4 * len(local) + 10_000:
            scores = np.empty((len(values), len(statistics)))
            log_predictives_of(family, statistics, cache, work, values[:, None].copy(), scores)
            value = scores[at, which]
        else:
            _predict_each(family, statistics, cache, work, local, which, value)
        return value if self.units is None else value - math.log(self.units[1])

    def _log_popular_cells(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        """Log probability under the gamma law of the rate, at the posterior means of the popularities."""
        from scipy.stats import nbinom

        family, gamma = resolve_family(self.family), float(self.popularity or 1.0)
        exposure = np.ones(len(cells.values))
        for side, labels in enumerate((cells.row_labels, cells.column_labels)):
            size, total = counts.sizes[side][labels], counts.totals[side][labels]
            exposure = exposure * size * (gamma + cells.margins[side]) / (gamma * size + total)
        block = counts.blocks[cells.row_labels, cells.column_labels]
        shape = np.ravel(family.shape)[0] + block[:, 1]  # type: ignore[attr-defined]
        rate = np.ravel(family.rate)[0] + block[:, 0]  # type: ignore[attr-defined]
        return np.asarray(nbinom.logpmf(cells.values, shape, rate / (rate + exposure)))

    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        shape = len(given.row_labels), len(given.column_labels)
        family = self._local
        n_blocks = given.row_labels.max() + 1, given.column_labels.max() + 1
        layout = family.layout()
        blocks = np.zeros((*n_blocks, layout.statistics)) if given.counts is None else given.counts.blocks
        counts = BlockCounts(blocks, *[(np.empty(0), np.empty(0))] * 3)
        hyper, statistics, cache, _ = self._filled(counts)
        parameters = np.zeros((len(statistics), layout.parameters))
        for k in range(len(statistics)):
            verbs.draw_parameters(hyper, statistics, cache, k, rng, parameters)
        X = np.empty(shape)
        if self.degree_corrected:
            rates = parameters[:, 0].reshape(n_blocks)[np.ix_(given.row_labels, given.column_labels)]
            for side, labels in enumerate((given.row_labels, given.column_labels)):
                margins = given.margins[side] if given.counts is not None else 0.0
                weights = rng.standard_gamma(float(self.popularity or 1.0) + margins, size=len(labels))
                theta = weights / (np.bincount(labels, weights) / np.bincount(labels))[labels]
                rates = rates * (theta[:, None] if side == 0 else theta)
            return rng.poisson(rates).astype(np.float64)
        for k in range(len(statistics)):
            inside = np.ix_(given.row_labels == k // n_blocks[1], given.column_labels == k % n_blocks[1])
            size = X[inside].shape
            X[inside] = family.draw_rows(parameters[k], size[0] * size[1], rng).reshape(size)
        if self.units is not None:
            X = X * self.units[1] + self.units[0]
        return X


@kernel
def _refresh(family, statistics, cache, work):
    for k in range(statistics.shape[0]):
        verbs.refresh(family, statistics, cache, k, work)


@kernel
def _expected(family, statistics, cache, natural):
    """Expected natural parameters of all blocks; returns the sum of their log evidences."""
    value = 0.0
    for k in range(statistics.shape[0]):
        verbs.expected_natural(family, statistics, cache, k, natural[k])
        value += verbs.log_marginal(family, statistics, cache, k)
    return value


@kernel
def _estimates(family, statistics, cache, parameters):
    for k in range(statistics.shape[0]):
        verbs.estimate(family, statistics, cache, k, 1.0, parameters)


@kernel
def _predict_each(family, statistics, cache, work, rows, which, out):
    for i in range(rows.shape[0]):
        out[i] = verbs.log_predictive(family, statistics, cache, which[i], rows[i], work)
