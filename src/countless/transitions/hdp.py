"""HDP: the transition law of the infinite hidden Markov model (Beal et al. 2002; Teh et al. 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..priors.hyperpriors import Gamma
from .contract import Transitions, register


@register("hdp")
@dataclass(frozen=True)
class HDP(Transitions):
    r"""Hierarchical Dirichlet process: each state has transition probabilities of its own, around shared base weights.

    .. math:: \beta \sim \mathrm{GEM}(\gamma), \qquad \pi_p \sim \mathrm{DP}(\alpha, \beta)

    Parameters
    ----------
    concentration : float or Gamma, optional
        alpha: the larger, the more alike are the rows of the transition matrix. None is learned.
    base_concentration : float or Gamma, optional
        gamma: the larger, the more states there are. None is learned.

    References
    ----------
    Teh, Jordan, Beal & Blei 2006, *Hierarchical Dirichlet processes*; Raykov et al. 2016, section 6.

    Examples
    --------
    >>> import countless as cl
    >>> cl.transitions.HDP(2.0, 1.0).sample(6, 1).tolist()
    [0, 0, 1, 2, 0, 0]
    """

    concentration: Any = None
    base_concentration: Any = None

    base_numbers: ClassVar[tuple[str, ...]] = ("base_concentration",)
    defaults: ClassVar[Any] = {"concentration": Gamma(1.0, 1.0), "base_concentration": Gamma(1.0, 1.0)}

    def opening(self, n_states: int) -> tuple[float, float]:
        """A stick of the rest."""
        return 1.0, self.base_concentration

    def base_shapes(self, n_states: int) -> tuple[float, float] | None:
        """Nothing is added to the counts; the rest has the base concentration."""
        return 0.0, self.base_concentration

    def log_base_constant(self, n_states: int) -> float:
        """gamma to the number of states."""
        return n_states * math.log(self.base_concentration)

    def truncated(self, n_states: int) -> Transitions:
        """Base weights that are Dirichlet(gamma / n, ..., gamma / n)."""
        from .weak_limit import WeakLimitHDP

        return WeakLimitHDP(n_states, self.concentration, self.base_concentration, 0.0)
