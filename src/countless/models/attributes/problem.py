"""The problem of latent attributes: a square matrix, what is known of it, and the laws of everything that is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...chains.fields import Field
from .laws import LEARNED, FloatArray, IntArray, Laws

if TYPE_CHECKING:
    from .state import State

# In the table of known attributes: the object does not have it; nobody knows.
LACKS, UNKNOWN = -1, -2


@dataclass(frozen=True, eq=False)
class Problem:
    """A matrix and its model; immutable, shared by all chains.

    Attributes
    ----------
    matrix : array (object, object)
        NaN where a pair was not observed.
    laws : Laws
        Resolved.
    binary : bool
        Whether cells are links, 0 or 1, with log odds, or real numbers with normal noise.
    diagonal : bool
        Whether the pair of an object with itself means something.
    directed : bool
        Whether (i, j) and (j, i) are two pairs.
    known : array (object, attribute)
        Cluster of each object in attributes that are known for some: ``LACKS`` and ``UNKNOWN`` besides.
    """

    matrix: FloatArray
    laws: Laws
    binary: bool = False
    diagonal: bool = True
    directed: bool = False
    known: IntArray | None = None

    # --- the contract of a problem -----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        """Objects."""
        return {"object": self.n_objects}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw consists of."""
        words = {
            "concentration": "concentration of the buffet",
            "cluster_concentration": "concentration of the clusters",
            "weight_variance": "variance of the weights",
            "noise": "variance of the noise",
        }
        learned = [name for name in LEARNED if self.laws.learns(name)]
        return (
            Field("log_joint", "number"),
            Field("n_attributes", "count", words="number of attributes", compared=self.diagonal),
            Field("n_shared", "count", words="attributes that objects share"),
            Field("n_weights", "count", words="total link count", compared=self.diagonal),
            Field("groups", "labels", ("object",), per="n_attributes"),
            Field("absent", "count", per="n_attributes"),
            Field("sizes", "count", per="n_attributes"),
            Field("weights", "number", per="n_weights", single=True),
            *(Field(name, "number", words=words[name], compared=name in learned) for name in LEARNED),
            Field("bias", "number"),
            Field("objective", "number", ("step",), once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """Where chain ``number`` begins; see ``engines.starts``."""
        from .engines.starts import start

        return start(self, kind, number, rng)

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .thaw import thawed

        return thawed(self, frozen)

    # --- the matrix --------------------------------------------------------------------------------------------------

    @property
    def n_objects(self) -> int:
        return len(self.matrix)

    @cached_property
    def observed(self) -> FloatArray:
        """1 for pairs that were observed, 0 for others."""
        there = (~np.isnan(self.matrix)).astype(np.float64)
        if not self.diagonal:
            np.fill_diagonal(there, 0.0)
        return there

    @cached_property
    def filled(self) -> FloatArray:
        """The matrix with zeros for pairs that were not observed."""
        return np.where(self.observed > 0.0, self.matrix, 0.0)

    @cached_property
    def target(self) -> FloatArray:
        """What the sums are drawn to, times precision: the matrix, or for links one half less."""
        return self.observed * (self.filled - 0.5) if self.binary else self.filled

    @cached_property
    def n_pairs(self) -> int:
        """Number of observed pairs."""
        return round(self.over_pairs(self.observed))

    def over_pairs(self, values: FloatArray) -> float:
        """Sum over pairs, each once, of an array that is zero where no pair was observed."""
        if self.directed:
            return float(values.sum())
        return 0.5 * float(values.sum() + np.trace(values))

    # --- attributes that are known for some objects -------------------------------------------------------------------

    @property
    def n_known(self) -> int:
        """Number of attributes that are known for some objects."""
        return 0 if self.known is None else self.known.shape[1]

    @cached_property
    def may_lack(self) -> NDArray[np.bool_]:
        """Known attributes that some object lacks; of the others every object has one cluster."""
        return (self._known_table == LACKS).any(axis=0)

    @cached_property
    def open_objects(self) -> list[IntArray]:
        """For each known attribute the objects whose cluster is drawn."""
        return [np.flatnonzero(column == UNKNOWN) for column in self._known_table.T]

    @property
    def _known_table(self) -> IntArray:
        return np.empty((self.n_objects, 0), dtype=np.int64) if self.known is None else self.known

    def sweep_cost(self) -> float:
        """Numbers that a sweep touches, about, with a usual number of attributes."""
        usual = 4.0 + self.n_known
        return self.n_objects**2 * (2.0 + usual) * (4.0 if self.binary else 1.0)
