"""The problem of mixed effects: sums over the visits of each subject, the family of their effects, prior, noise.

    y_i = X_i beta_i + F_i gamma + eps,    eps ~ N(0, I / tau),    beta_i | z_i = k ~ N(mu_k, Sigma_k)

with a partition z of the subjects under any prior, (mu_k, Sigma_k) under the conjugate prior of the family,
gamma ~ N(0, diag(v)) and tau given or Gamma(a, rate b) (Kleinman and Ibrahim 1998; Raykov et al. 2016, section 7).
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
from .kinds import is_known
from .visits.subjects import Sums, packed
from .visits.units import Units

if TYPE_CHECKING:
    from .state import State

FloatArray = NDArray[np.float64]
N_CLUSTERS = "n_clusters"


@dataclass(frozen=True)
class Noise:
    """Law of the precision of the noise, in the units of the arithmetic: Gamma(shape, rate), or ``fixed``."""

    shape: float = 0.0
    rate: float = 0.0
    fixed: float | None = None

    def log_density(self, precision: float) -> float:
        """Log density of log precision."""
        if self.fixed is not None:
            return 0.0
        from scipy.special import gammaln

        value = self.shape * np.log(self.rate * precision) - self.rate * precision - gammaln(self.shape)
        return float(value)

    @property
    def start(self) -> float:
        return self.shape / self.rate if self.fixed is None else self.fixed


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
        from .state import state_class

        state = state_class(self)(self, np.zeros(self.n_subjects, dtype=np.int64), self.prior.initial(1))
        state.relabel(start_labels(kind, number, state, rng))
        state.set_prior(self.prior.initial(state.n_clusters))
        state.begin(rng)
        return state

    def thaw(self, frozen: Frozen) -> State:
        """The state that was frozen; ValueError where it is none of this problem."""
        from .state import state_class

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

    def moments_at(self, fixed: FloatArray) -> FloatArray:
        """X'(y - F gamma) of each subject."""
        if not len(fixed):
            return self.sums.moments
        return np.ascontiguousarray(self.sums.moments - self.sums.crosses @ fixed)

    def square_at(self, fixed: FloatArray) -> float:
        """Sum of the squares of y - F gamma over all visits."""
        sums = self.sums
        return float(sums.square - 2.0 * fixed @ sums.fixed_moment + fixed @ sums.fixed_gram @ fixed)

    @cached_property
    def base(self) -> Any:
        """Hyperparameters before any were learned, as kernels receive them."""
        return self.family.prepare()

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

    def with_noise(self, precision: float) -> Problem:
        """The same with the precision of the noise given, in the units of the arithmetic."""
        return replace(self, noise=Noise(fixed=precision))

    def drawing(self) -> Problem:
        """The same where effects are drawn along with the labels, whether or not they could be integrated out."""
        return replace(self, drawn=True)

    def state(self, labels: NDArray[np.int64], at: Any = None) -> State:
        """The state with these labels, before anything else is drawn."""
        from .state import state_class

        return state_class(self)(self, labels, self.prior.initial(int(labels.max()) + 1) if at is None else at)
