"""Counts that are spread over blocks: symmetric, asymmetric and factorized (Pletscher 2007, sections 5.1, 5.3, 5.4).

The symmetric model throws all R counts of the matrix: block (mu, nu) has the Dirichlet weight beta m_mu m_nu, and
within a block counts spread evenly. With the block probabilities integrated out,

    p(X | z) = R! / prod x! * G(beta N d) / G(beta N d + R)
               * prod_blocks G(beta c + n) / G(beta c) * prod_mu s(n_mu, m_mu) prod_nu s(n_nu, m_nu)

where n is the count of a block, c = m_mu m_nu its number of cells, and s(n, m) = m^(-n) spreads n counts over m items.
With degree correction items have popularities inside their cluster, drawn from Dirichlet(gamma, ..., gamma) and
integrated out: s(n, m) = G(gamma m) / G(gamma m + n) * prod_items G(gamma + x) / G(gamma), whose last factor no
partition changes. The asymmetric model throws the counts of each row, given their number, with one Dirichlet for each
row cluster; the factorized one throws rows and columns apart, so that there is no block term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from ....core.jit import inner_kernel
from ....core.special import log_rising
from ....core.validate import positive_number
from ....families.learnable import Law
from ....partitions.seats import FloatArray
from .base import BlockCounts, BlockModel, Drawing, Matrix, NewCells, Prepared, register, require_counts
from .expected import Slopes, SoftBlocks
from .soft_sizes import expected_blocks
from .verbs import implements, log_block, log_side

# Dirichlet weight of a block where there are so many, the usual value, and how far it may stray on the log line.
# Where it may grow freely blocks become alike, and weak splits of pure noise cost nothing.
BLOCK_WEIGHT, EXPECTED_BLOCKS, SPREAD = 0.5, 25.0, 1.0
POPULARITY_SPREAD = 1.0


class SymmetricCounts(NamedTuple):
    strength: float
    popularity: float


class AsymmetricCounts(NamedTuple):
    strength: float
    popularity: float
    n_columns: float


class FactorizedCounts(NamedTuple):
    strength: float
    popularity: float


@inner_kernel
def log_spread(popularity, total, size):
    """Log of s(total, size), less what no partition changes; popularity 0 spreads evenly."""
    if popularity > 0.0:
        return -log_rising(popularity * size, total)
    return -total * math.log(size)


@implements(log_block, SymmetricCounts)
def _symmetric_block(model, side, work, mass, other_mass):
    return log_rising(model.strength * mass * other_mass, work.statistics[0, 0])


@implements(log_side, SymmetricCounts)
def _symmetric_side(model, side, total, size):
    return log_spread(model.popularity, total, size)


@implements(log_block, AsymmetricCounts)
def _asymmetric_block(model, side, work, mass, other_mass):
    return log_rising(model.strength * (other_mass if side == 0 else mass), work.statistics[0, 0])


@implements(log_side, AsymmetricCounts)
def _asymmetric_side(model, side, total, size):
    if side == 0:
        return -log_rising(model.strength * model.n_columns, total)
    return log_spread(model.popularity, total, size)


@implements(log_block, FactorizedCounts)
def _factorized_block(model, side, work, mass, other_mass):
    return 0.0


@implements(log_side, FactorizedCounts)
def _factorized_side(model, side, total, size):
    return log_rising(model.strength * size, total) + log_spread(model.popularity, total, size)


def log_risings(start: float, counts: FloatArray) -> float:
    """Sum of log G(start + count) / G(start)."""
    return float(np.sum(gammaln(start + counts) - gammaln(start)))


@dataclass(frozen=True, eq=False)
class Counts(BlockModel):
    """What the three models of thrown counts share."""

    strength: float | None = None
    degree_corrected: bool = False
    popularity: float | None = None
    # Set by ``resolve``: hyperparameters that are learned.
    open: tuple[str, ...] | None = None

    # Sides whose items have popularities.
    popular: ClassVar[tuple[int, ...]] = (0, 1)

    def __post_init__(self) -> None:
        for name in ("strength", "popularity"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))
        if self.popularity is not None and not self.degree_corrected:
            raise ValueError("popularity is used with degree_corrected=True only; leave it out, or set that")

    @property
    def short_name(self) -> str:
        """The name under which it is registered."""
        from .base import MODELS

        return MODELS.name_of(type(self))

    def check(self, matrix: Matrix) -> None:
        require_counts(matrix, self.short_name)

    def left_open(self) -> tuple[str, ...]:
        return self.open or ()

    def resolve(self, matrix: Matrix) -> Self:
        strength = self._usual_strength(matrix.shape) if self.strength is None else float(self.strength)
        popularity = None
        if self.degree_corrected:
            popularity = 1.0 if self.popularity is None else float(self.popularity)
        names = ["strength"] if self.strength is None else []
        names += ["popularity"] if self.degree_corrected and self.popularity is None else []
        return self._with(strength=strength, popularity=popularity, open=tuple(names))

    def _usual_strength(self, shape: tuple[int, int]) -> float:
        return EXPECTED_BLOCKS * BLOCK_WEIGHT / (shape[0] * shape[1])

    def law(self, left_open: tuple[str, ...]) -> Law:
        spreads = {"strength": SPREAD, "popularity": POPULARITY_SPREAD}
        places = {name: np.array([at]) for at, name in enumerate(left_open)}
        return Law(places, np.array([spreads[name] for name in left_open]))

    def at(self, law: Law, offsets: FloatArray) -> Self:
        changes = {name: float(getattr(self, name) * math.exp(offsets[at[0]])) for name, at in law.places.items()}
        return self._with(**changes)

    def cells(self, matrix: Matrix) -> Prepared:
        ones = tuple(np.ones(n) for n in matrix.shape)
        margins = matrix.margins()
        constant = self._log_thrown(margins) - float(gammaln(matrix.values + 1.0).sum())
        return Prepared(matrix.values[:, None].copy(), np.zeros(1), margins, ones, constant)  # type: ignore[arg-type]

    def _log_thrown(self, margins: tuple[FloatArray, FloatArray]) -> float:
        """Log factorial of how many counts are thrown at once."""
        return float(gammaln(margins[0].sum() + 1.0))

    def describe(self) -> dict[str, FloatArray | float]:
        known = {"strength": self.strength, "popularity": self.popularity}
        return {name: value for name, value in known.items() if value is not None}

    def _gamma(self) -> float:
        return 0.0 if self.popularity is None else float(self.popularity)

    def _log_popular(self, prepared: Prepared) -> float:
        if not self.degree_corrected:
            return 0.0
        return sum(log_risings(self._gamma(), prepared.margins[side]) for side in self.popular)

    # --- predictions ---------------------------------------------------------------------------------------------

    def _shares(self, counts: BlockCounts, side: int, margins: FloatArray, labels: Any) -> FloatArray:
        """Posterior mean share of items in their cluster."""
        size = counts.sizes[side][labels]
        if not self.degree_corrected or side not in self.popular:
            return 1.0 / size
        gamma = self._gamma()
        return (gamma + margins) / (gamma * size + counts.totals[side][labels])

    def log_cells(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        """Log probability that a further count falls into the cell, times the counts that did."""
        share = self.block_shares(counts)[cells.row_labels, cells.column_labels]
        share = share * self._row_shares(counts, cells)
        share = share * self._shares(counts, 1, cells.margins[1], cells.column_labels)
        return cells.values * np.log(share)

    def _row_shares(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        return self._shares(counts, 0, cells.margins[0], cells.row_labels)

    def block_shares(self, counts: BlockCounts) -> FloatArray:
        """Posterior mean probability of each block."""
        raise NotImplementedError

    def means(self, counts: BlockCounts) -> FloatArray:
        """Expected counts of a cell, when as many counts are thrown again."""
        cells = np.outer(*counts.sizes)
        return self.block_shares(counts) * float(counts.totals[0].sum()) / cells

    def _thrown(self, rng: np.random.Generator, given: Drawing, total: float, shares: FloatArray) -> FloatArray:
        return rng.multinomial(int(total), shares.ravel() / shares.sum()).reshape(shares.shape).astype(np.float64)

    def _item_shares(self, rng: np.random.Generator, given: Drawing, side: int) -> FloatArray:
        """Share of each item in its cluster, drawn given the margins where there are counts already."""
        labels = (given.row_labels, given.column_labels)[side]
        if not self.degree_corrected or side not in self.popular:
            return 1.0 / np.bincount(labels)[labels]
        shares = rng.standard_gamma(self._gamma() + (given.margins[side] if given.counts is not None else 0.0 * labels))
        return shares / np.bincount(labels, shares)[labels]


@register("symmetric")
@dataclass(frozen=True, eq=False)
class Symmetric(Counts):
    """All counts of the matrix are thrown over the blocks (ISBM).

    Parameters
    ----------
    strength : float, optional
        Dirichlet weight of each cell, the source's beta. Default: learned.
    degree_corrected : bool
        Whether rows and columns have popularities inside their cluster, instead of an even spread.
    popularity : float, optional
        Dirichlet weight of an item in its cluster, with ``degree_corrected``. Default: learned.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.models.biclustering.block_models import Symmetric
    >>> X = np.kron(np.eye(2), np.full((10, 8), 5))
    >>> cl.InfiniteBiclustering(Symmetric(strength=0.01), random_state=0).fit(X).n_clusters_
    (2, 2)
    """

    def hyper(self) -> SymmetricCounts:
        return SymmetricCounts(float(self.strength or 0.0), self._gamma())

    def expected(self, soft: SoftBlocks) -> Slopes:
        """See ``soft_sizes``: sizes of clusters are uncertain, and the evidence is not convex in them."""
        return super().expected(soft) if self.degree_corrected else expected_blocks(float(self.strength or 0.0), soft)

    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        total, weight = prepared.margins[0].sum(), float(self.strength or 0.0) * shape[0] * shape[1]
        return self._log_popular(prepared) - log_risings(weight, total)

    def block_shares(self, counts: BlockCounts) -> FloatArray:
        weights = float(self.strength or 0.0) * np.outer(*counts.sizes) + counts.blocks[:, :, 0]
        return weights / weights.sum()

    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        sizes = np.bincount(given.row_labels), np.bincount(given.column_labels)
        weights = float(self.strength or 0.0) * np.outer(*sizes).astype(np.float64)
        if given.counts is not None:
            weights = weights + given.counts.blocks[:, :, 0]
        shares = rng.standard_gamma(weights)
        cells = shares[np.ix_(given.row_labels, given.column_labels)]
        cells = cells * np.outer(self._item_shares(rng, given, 0), self._item_shares(rng, given, 1))
        return self._thrown(rng, given, given.margins[0].sum(), cells)


@register("asymmetric")
@dataclass(frozen=True, eq=False)
class Asymmetric(Counts):
    """The counts of each row, given their number, are thrown over the column clusters (IABM).

    Parameters
    ----------
    strength : float, optional
        Dirichlet weight of each column in a row cluster, the source's beta. Default: learned.
    degree_corrected : bool
        Whether columns have popularities inside their cluster. Rows need none: their totals are given.
    popularity : float, optional
        Dirichlet weight of a column in its cluster, with ``degree_corrected``. Default: learned.
    """

    popular: ClassVar[tuple[int, ...]] = (1,)

    n_columns: float | None = None

    def resolve(self, matrix: Matrix) -> Self:
        return super().resolve(matrix)._with(n_columns=float(matrix.shape[1]))

    def _usual_strength(self, shape: tuple[int, int]) -> float:
        return math.sqrt(EXPECTED_BLOCKS) * BLOCK_WEIGHT / shape[1]

    def hyper(self) -> AsymmetricCounts:
        return AsymmetricCounts(float(self.strength or 0.0), self._gamma(), float(self.n_columns or 0.0))

    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        return self._log_popular(prepared)

    def _log_thrown(self, margins: tuple[FloatArray, FloatArray]) -> float:
        return float(gammaln(margins[0] + 1.0).sum())

    def block_shares(self, counts: BlockCounts) -> FloatArray:
        weights = float(self.strength or 0.0) * counts.sizes[1] + counts.blocks[:, :, 0]
        return weights / weights.sum(axis=1, keepdims=True)

    def _row_shares(self, counts: BlockCounts, cells: NewCells) -> FloatArray:
        return cells.margins[0] / counts.totals[0].sum()

    def means(self, counts: BlockCounts) -> FloatArray:
        per_row = counts.totals[0] / counts.sizes[0]
        return self.block_shares(counts) * per_row[:, None] / counts.sizes[1]

    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        sizes = np.bincount(given.row_labels), np.bincount(given.column_labels)
        weights = np.tile(float(self.strength or 0.0) * sizes[1], (len(sizes[0]), 1))
        if given.counts is not None:
            weights = weights + given.counts.blocks[:, :, 0]
        cells = rng.standard_gamma(weights)[np.ix_(given.row_labels, given.column_labels)]
        cells = cells * self._item_shares(rng, given, 1)
        rows = zip(given.margins[0], cells, strict=True)
        return np.stack([self._thrown(rng, given, total, row) for total, row in rows])


@register("factorized")
@dataclass(frozen=True, eq=False)
class Factorized(Counts):
    """Rows and columns of each count are thrown apart: two clusterings by totals alone.

    Parameters
    ----------
    strength : float, optional
        Dirichlet weight of each row and of each column. Default: learned.
    degree_corrected : bool
        Whether items have popularities inside their cluster.
    popularity : float, optional
        Dirichlet weight of an item in its cluster, with ``degree_corrected``. Default: learned.
    """

    def _usual_strength(self, shape: tuple[int, int]) -> float:
        return math.sqrt(EXPECTED_BLOCKS) * BLOCK_WEIGHT / math.sqrt(shape[0] * shape[1])

    def hyper(self) -> FactorizedCounts:
        return FactorizedCounts(float(self.strength or 0.0), self._gamma())

    def log_outside(self, shape: tuple[int, int], prepared: Prepared) -> float:
        total = prepared.margins[0].sum()
        return self._log_popular(prepared) - sum(log_risings(float(self.strength or 0.0) * n, total) for n in shape)

    def block_shares(self, counts: BlockCounts) -> FloatArray:
        sides = []
        for side in (0, 1):
            weights = float(self.strength or 0.0) * counts.sizes[side] + counts.totals[side]
            sides.append(weights / weights.sum())
        return np.outer(*sides)

    def draw(self, rng: np.random.Generator, given: Drawing) -> FloatArray:
        sides = []
        for side, labels in enumerate((given.row_labels, given.column_labels)):
            sizes = np.bincount(labels)
            weights = float(self.strength or 0.0) * sizes
            if given.counts is not None:
                weights = weights + given.counts.totals[side]
            sides.append(rng.standard_gamma(weights)[labels] * self._item_shares(rng, given, side))
        return self._thrown(rng, given, given.margins[0].sum(), np.outer(*sides))
