"""Gibbs sampling of attributes, clusters, weights and numbers, with births, regrowths and split-merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....chains.engine import register
from ....chains.sampler import Sampler
from ....chains.schedule import Schedule
from ....core.validate import whole_number
from ..moves.alone import Alone
from ..moves.births import Births, Regrowths
from ..moves.combine import Combine
from ..moves.enlarge import Enlarge
from ..moves.exchange import Exchanges
from ..moves.factors import Factors
from ..moves.numbers import Numbers
from ..moves.refresh import Heat, Refresh
from ..moves.split_merge import SplitMerge
from ..moves.sweeps import Sweeps
from ..moves.weights import JointWeights


@register("attributes-gibbs")
@dataclass(frozen=True)
class AttributesGibbs(Sampler):
    """Gibbs sampling of attributes and clusters, the weights of the attribute at hand integrated out.

    Parameters
    ----------
    chains : int
        Independent chains.
    draws : int or "auto"
        Draws kept in each chain; ``"auto"``, as many as it takes (see ``CollapsedGibbs``).
    warmup : int or "auto"
        Rounds before the first kept draw.
    thin : int
        Rounds per kept draw.
    proposals : int
        Births and deaths of whole attributes that are proposed in each round, and half as many regrowths; with 0 a
        round has the moves of von Looz (2013) only.
    heating : int
        Rounds before the warm-up in which the data have less weight than they have, from little to all of it. 0 begins
        with all of it.
    start : str
        Where chains begin: ``"dispersed"`` (each chain elsewhere), ``"empty"``, ``"prior"``, ``"sequential"``.
    n_threads : int, optional
        Threads for the chains; default, one per core. The draws do not depend on it.
    max_seconds : float, optional
        Chains end after this time and keep what is there.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(20, random_state=0)
    >>> engine = cl.inference.AttributesGibbs(chains=2, draws=50, warmup=20)
    >>> model = cl.LatentAttributes(inference=engine, random_state=0).fit(truth.R)
    >>> model.posterior_.shape
    (2, 50)
    """

    chains: int = 4
    draws: int | str = "auto"
    warmup: int | str = "auto"
    thin: int = 1
    proposals: int = 4
    heating: int = 60
    start: Any = "dispersed"
    n_threads: int | None = None
    max_seconds: float | None = None

    serves: ClassVar[str] = "attributes"
    title: ClassVar[str] = "latent attributes"
    usual_warmup: ClassVar[int] = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("proposals", self.proposals, 0)
        whole_number("heating", self.heating, 0)

    def sweep_cost(self, problem: Any) -> float:
        """Numbers that one round touches."""
        cost: float = problem.sweep_cost()
        return cost

    def moves(self) -> list[Any]:
        """The moves of one round."""
        plain = [Refresh(), Sweeps(), Alone()]
        if not self.proposals:
            return [*plain, JointWeights(), Numbers()]
        half = (self.proposals + 1) // 2
        further = [Births(half), Regrowths(half), SplitMerge(), JointWeights()]
        joint = [Exchanges(half), Combine(self.proposals), Enlarge(half), Factors(half)]
        return [*plain, *further, *joint, Numbers()]

    def settling(self) -> tuple[Schedule, int]:
        """Rounds in which the data gain weight."""
        return Schedule([Heat(max(1, self.heating)), *self.moves()]), self.heating

    def schedule(self) -> Schedule:
        """The moves of one round; each chain has its own."""
        return Schedule(self.moves())
