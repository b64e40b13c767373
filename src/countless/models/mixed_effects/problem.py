"""The problem of mixed effects: sums over the visits of each subject, the family of their effects, prior, noise.

    y_i = X_i beta_i + F_i gamma + eps,    eps ~ N(0, I / tau),    beta_i | z_i = k ~ N(mu_k, Sigma_k)

with a partition z of the subjects under any prior, (mu_k, Sigma_k) under the conjugate prior of the family,
gamma ~ N(0, diag(v)) and tau given or Gamma(a, rate b), the same for all or tau_k of each cluster (Kleinman and Ibrahim
1998; Raykov et al. 2016, section 7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...chains.contract import Frozen
from ...chains.fields import Field
from ...families import Family
from ...families.learnable import Law
from ...priors import Prior
from .kernels.kinds import is_known
from .kernels.noise import Noise, NoisyFamily
from .kernels.passes import Visits
from .visits.subjects import Sums, packed
from .visits.units import Units

if TYPE_CHECKING:
    from .state import State

FloatArray = NDArray[np.float64]
N_CLUSTERS = "n_clusters"


@dataclass(frozen=True)
class Problem:
    """Sums over visits with everything that the chains share.

    Attributes
    ----------
    sums : Sums
        In the units of the arithmetic.
    units : Units
    family : Family
        Resolved, in the units of the arithmetic, before any hyperparameter was learned.
    prior : Prior
        Resolved.
    noise : Noise
    fixed_mean, fixed_precision : arrays (F,)
        Normal law of the fixed effects, in the units of the arithmetic.
    left_open : tuple of str
        Hyperparameters of the family that are learned.
    drawn : bool
        Whether effects are drawn along with the labels although they could be integrated out.
    """

    sums: Sums
    units: Units
    family: Family
    prior: Prior
    noise: Noise
    fixed_mean: FloatArray
    fixed_precision: FloatArray
    left_open: tuple[str, ...] = ()
    drawn: bool = False

    # --- the contract of a problem ----------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, int]:
        return {"subject": self.n_subjects, "fixed": len(self.fixed_mean)}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What a draw consists of."""
        learned = self.prior.learned_names
        others = [name for name in learned if name != "concentration"]
        is_learned = self.noise.fixed is None
        fixed = Field("fixed", "number", ("fixed",), watched=True, words="fixed effects")
        return (
            Field("labels", "labels", ("subject",), of=N_CLUSTERS),
            Field(N_CLUSTERS, "count", words="number of clusters"),
            Field("log_joint", "number"),
            Field("concentration", "number", compared="concentration" in learned),
            *(Field(name, "count" if self.prior.law_of(name).is_count else "number") for name in others),
            Field("noise", "number", compared=is_learned, words="variance of the noise"),
            *([fixed] if len(self.fixed_mean) else []),
            Field("log_factors/*", "number", None, optional=True, compared=False),
            Field("parameters/*", "number", None, per=N_CLUSTERS),
            Field("new/*", "number", None),
            Field("objective", "number", ("step",), once=True, optional=True),
        )

    def start(self, kind: Any, number: int, rng: np.random.Generator) -> State:
        """A state in one of the clusterings of ``partitions.starts``, or in labels that are given."""
        from ...partitions.starts import start_labels
        from .states import state_class

        state = state_class(self)(self, np.zeros(self.n_subjects, dtype=np.int64), self.prior.initial(1))
        state.relabel(start_labels(kind, number, state, rng))
        state.set_prior(self.prior.initial(state.n_clusters))
        state.begin(rng)
        return state

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .states import state_class

        return state_class(self).thawed(self, frozen)

    # --- what is in it ----------------------------------------------------------------------------------------------

    @property
    def n_subjects(self) -> int:
        return len(self.sums.counts)

    @property
    def n_effects(self) -> int:
        return int(self.sums.moments.shape[1])

    @cached_property
    def grams(self) -> FloatArray:
        """X'X of each subject, packed by columns."""
        return packed(self.sums.grams)

    @cached_property
    def counts(self) -> FloatArray:
        """Visits of each subject."""
        return self.sums.counts.astype(np.float64)

    @cached_property
    def visits(self) -> Visits:
        """Sums over the visits of each subject as they are."""
        return self.visits_at(np.zeros(len(self.fixed_mean)))

    def visits_at(self, fixed: FloatArray) -> Visits:
        """Sums over the visits of each subject less the fixed effects."""
        return Visits(self.grams, self.sums.moments_at(fixed), self.counts, self.sums.squares_at(fixed))

    @cached_property
    def family_of_rows(self) -> Any:
        """The family of the effects, with their noise where each cluster has its own."""
        return NoisyFamily(self.family, self.noise) if self.noise.by_cluster else self.family

    @cached_property
    def base(self) -> Any:
        """Hyperparameters before any were learned, as kernels receive them."""
        return self.family_of_rows.prepare()

    @cached_property
    def integrates(self) -> bool:
        """Whether effects are integrated out where labels are drawn."""
        return is_known(self.base) and not self.drawn

    @cached_property
    def law(self) -> Law | None:
        """The law of the hyperparameters that are learned; None where all are given."""
        law = self.family.law(self.left_open)
        return law if law.places else None

    @cached_property
    def log_jacobian(self) -> float:
        """What turns a log density of outcomes in local units into one in the user's."""
        return -self.sums.n_visits * float(np.log(self.units.noise))

    def drawing(self) -> Problem:
        """The same where effects are drawn along with the labels, whether or not they could be integrated out."""
        return replace(self, drawn=True)

    def state(self, labels: NDArray[np.int64], at: Any = None) -> State:
        """The state with these labels, before anything else is drawn."""
        from .states import state_class

        return state_class(self)(self, labels, self.prior.initial(int(labels.max()) + 1) if at is None else at)
