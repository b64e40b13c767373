"""StickyHDP: an HDP whose states have extra mass on staying (Fox, Sudderth, Jordan and Willsky 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..priors.hyperpriors import Gamma
from .contract import Transitions, register
from .hdp import HDP


@register("sticky-hdp")
@dataclass(frozen=True)
class StickyHDP(HDP):
    r"""Hierarchical Dirichlet process with extra mass on staying in a state.

    .. math:: \pi_p \sim \mathrm{DP}\left(\alpha + \kappa, \frac{\alpha \beta + \kappa \delta_p}{\alpha + \kappa}\right)

    The first state of a sequence is drawn without the extra mass.

    Parameters
    ----------
    concentration, base_concentration : float or Gamma, optional
        alpha and gamma, as for ``HDP``.
    self_transition : float or Gamma, optional
        kappa: prior visits of a state to itself. A state is expected to last about 1 + kappa / alpha steps. None is
        learned.

    References
    ----------
    Fox, Sudderth, Jordan & Willsky 2011, *A sticky HDP-HMM with application to speaker diarization*, Annals of Applied
    Statistics 5.

    Examples
    --------
    >>> import countless as cl
    >>> cl.transitions.StickyHDP(1.0, 1.0, 5.0).sample(8, 3).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0]
    """

    self_transition: Any = None

    row_numbers: ClassVar[tuple[str, ...]] = ("concentration", "self_transition")
    # A mean of ten steps, and anything between one and a hundred.
    defaults: ClassVar[Any] = {**HDP.defaults, "self_transition": Gamma(0.5, 0.05)}

    @property
    def stay(self) -> float:
        """kappa."""
        return float(self.self_transition)

    def truncated(self, n_states: int) -> Transitions:
        """Base weights that are Dirichlet(gamma / n, ..., gamma / n)."""
        from .weak_limit import WeakLimitHDP

        return WeakLimitHDP(n_states, self.concentration, self.base_concentration, self.self_transition)
