"""FiniteDirichlet: the transition law of an ordinary Bayesian hidden Markov model, for those who know the number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.validate import whole_number
from ..priors.hyperpriors import Gamma
from .contract import Transitions, register


@register("finite-dirichlet")
@dataclass(frozen=True)
class FiniteDirichlet(Transitions):
    r"""At most so many states, each with transition probabilities from the same symmetric Dirichlet distribution.

    .. math:: \pi_p \sim \mathrm{Dirichlet}(\alpha / K, \dots, \alpha / K)

    Parameters
    ----------
    n_states : int
        K.
    concentration : float or Gamma, optional
        alpha, divided among the states. None is learned.

    Examples
    --------
    >>> import countless as cl
    >>> cl.transitions.FiniteDirichlet(2, 1.0).sample(6, 0).tolist()
    [0, 0, 0, 0, 0, 1]
    """

    n_states: int
    concentration: Any = None

    defaults: ClassVar[Any] = {"concentration": Gamma(1.0, 0.5)}

    def __post_init__(self) -> None:
        whole_number("n_states", self.n_states, 1)
        super().__post_init__()

    @property
    def most(self) -> int | None:
        """``n_states``."""
        return self.n_states

    def opening(self, n_states: int) -> tuple[float, float]:
        """An equal share of those that are left."""
        return 0.0, 1.0 / (self.n_states - n_states)

    def base_shapes(self, n_states: int) -> tuple[float, float] | None:
        """Base weights are all 1 / K."""
        return None

    def log_base_constant(self, n_states: int) -> float:
        """Ways to name the states."""
        return math.lgamma(self.n_states + 1.0) - math.lgamma(self.n_states - n_states + 1.0)

    def truncated(self, n_states: int) -> Transitions:
        """It is finite already."""
        return self
