"""WeakLimitHDP: an HDP with a bound on the number of states, whose base weights are a symmetric Dirichlet draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.validate import whole_number
from .contract import Transitions, register
from .sticky_hdp import StickyHDP


@register("weak-limit-hdp")
@dataclass(frozen=True)
class WeakLimitHDP(Transitions):
    r"""The weak limit of a (sticky) HDP: at most so many states.

    .. math:: \beta \sim \mathrm{Dirichlet}(\gamma / L, \dots, \gamma / L)

    As L grows its law converges to that of the HDP (Ishwaran and Zarepour 2002). ``cl.inference.WeakLimit`` fits it.

    Parameters
    ----------
    n_states : int
        L, the most states that there can be.
    concentration, base_concentration, self_transition
        As for ``StickyHDP``; by default there is no extra mass on staying.

    Examples
    --------
    >>> import countless as cl
    >>> bool(cl.transitions.WeakLimitHDP(2, 1.0, 1.0).sample(6, 1).max() < 2)
    True
    """

    n_states: int
    concentration: Any = None
    base_concentration: Any = None
    self_transition: Any = 0.0

    row_numbers: ClassVar[tuple[str, ...]] = ("concentration", "self_transition")
    base_numbers: ClassVar[tuple[str, ...]] = ("base_concentration",)
    defaults: ClassVar[Any] = StickyHDP.defaults

    def __post_init__(self) -> None:
        whole_number("n_states", self.n_states, 1)
        super().__post_init__()

    @property
    def stay(self) -> float:
        """kappa."""
        return float(self.self_transition)

    @property
    def most(self) -> int | None:
        """``n_states``."""
        return self.n_states

    def opening(self, n_states: int) -> tuple[float, float]:
        """A size-biased share of those that are left."""
        each = self.base_concentration / self.n_states
        return 1.0 + each, each * (self.n_states - n_states - 1)

    def base_shapes(self, n_states: int) -> tuple[float, float] | None:
        """gamma / L each."""
        each = self.base_concentration / self.n_states
        return each, each * (self.n_states - n_states)

    def log_base_constant(self, n_states: int) -> float:
        """Of the Dirichlet density, times the number of ways to name the states."""
        offset, rest = self.base_shapes(n_states)  # type: ignore[misc]
        left = self.n_states - n_states
        value = math.lgamma(self.n_states + 1.0) - math.lgamma(left + 1.0) + math.lgamma(self.base_concentration)
        return value - n_states * math.lgamma(offset) - (math.lgamma(rest) if left else 0.0)

    def truncated(self, n_states: int) -> Transitions:
        """With another bound."""
        return self._with(n_states=n_states)
