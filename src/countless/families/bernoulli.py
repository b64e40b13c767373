"""Columns of zeros and ones, independent given the cluster, with beta priors.

    p_j ~ Beta(a_j, b_j),  P(x_j = 1 | p_j) = p_j

It is the categorical family with two levels a column, and uses its kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .arrays import per_column
from .base import JEFFREYS, Family, FloatArray, Layout, register
from .categorical import Categorical, DirichletColumns


@register("bernoulli")
@dataclass(frozen=True, eq=False)
class Bernoulli(Family):
    """Independent binary columns; beta priors.

    Parameters
    ----------
    a, b : float or one number per column, optional
        Pseudo-counts of ones and of zeros. Default: learned, from 1/2 each (Jeffreys).

    Examples
    --------
    >>> import countless as cl
    >>> family = cl.families.Bernoulli(a=1.0, b=1.0)
    >>> round(family.log_marginal([[1], [1], [0]]), 6)  # log(1/12)
    -2.484907
    """

    learnable: ClassVar = ("a", "b")
    spreads: ClassVar = {"b": 0.7, "a": 0.7}
    strengths: ClassVar = ("b", "a")
    statistics_stay: ClassVar = True
    missing: ClassVar = "integrated"

    a: ArrayLike | None = None
    b: ArrayLike | None = None

    def resolve(self, X: FloatArray) -> Self:
        d = X.shape[1]
        return self._with(
            a=per_column("a", JEFFREYS if self.a is None else self.a, d),
            b=per_column("b", JEFFREYS if self.b is None else self.b, d),
        )

    def check(self, X: FloatArray) -> None:
        wrong = X[(X != 0) & (X != 1)]
        if wrong.size:
            raise ValueError(f"X: bernoulli data must be 0 or 1, got {wrong[0]:g}")

    def _two_levels(self) -> Categorical:
        pairs = np.column_stack([np.asarray(self.b), np.asarray(self.a)])
        return Categorical(concentration=tuple(pairs), n_levels=(2,) * len(pairs))

    def prepare(self) -> DirichletColumns:
        return self._two_levels().prepare()

    def layout(self) -> Layout:
        return self._two_levels().layout()

    def describe(self, parameters: FloatArray, shift: FloatArray, scale: FloatArray) -> dict[str, FloatArray]:
        return {"probability": np.ascontiguousarray(parameters[:, 1::2])}

    def draw_rows(self, parameters: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return self._two_levels().draw_rows(parameters, n, rng)

    def n_parameters(self) -> int:
        """One chance for each column."""
        return self._two_levels().n_parameters()
