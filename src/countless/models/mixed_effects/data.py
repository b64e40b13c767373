"""What mixed effects were fitted to: visits with their subjects, designs, and the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...families import Family
from ...priors import Gamma, Prior
from .kernels.kinds import hyper_of
from .kernels.noise import Noise
from .problem import Problem
from .visits.subjects import Population, fit_population
from .visits.units import Units

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MixedData:
    """Visits, in the user's units, with everything needed to make the same fit again.

    Attributes
    ----------
    X, fixed : arrays (visit, D) and (visit, F)
        Designs of the effects of each subject, and of those that all share.
    y : array (visit,)
    codes : array of int (visit,)
        Subject of each visit, numbered by first appearance.
    subjects : array (subject,)
        Their names.
    effect_names, fixed_names : list of str
    family : Family
        Resolved, in the user's units, before any hyperparameter was learned.
    prior : Prior
        Resolved.
    noise : float or Gamma
        Variance of the noise, or the law of its precision, in the user's units.
    fixed_variance : array (F,)
        Prior variance of the fixed effects, about zero.
    left_open : tuple of str
        Hyperparameters that are learned.
    population : Population
        A linear mixed model of one Gaussian population: the units of the arithmetic.
    cluster_noise : bool
        Whether each cluster has a noise of its own.
    """

    noun: ClassVar[str] = "table of visits"

    X: FloatArray
    fixed: FloatArray
    y: FloatArray
    codes: IntArray
    subjects: NDArray[Any]
    effect_names: tuple[str, ...]
    fixed_names: tuple[str, ...]
    family: Family
    prior: Prior
    noise: Any
    fixed_variance: FloatArray
    left_open: tuple[str, ...]
    population: Population
    cluster_noise: bool = False

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Designs, outcomes and subjects."""
        return {"X": self.X, "fixed": self.fixed, "y": self.y, "codes": self.codes}

    def settings(self) -> dict[str, Any]:
        """Names and the model."""
        return {
            "subjects": self.subjects,
            "effect names": list(self.effect_names),
            "fixed names": list(self.fixed_names),
            "family": self.family,
            "prior": self.prior,
            "noise": self.noise,
            "fixed variance": self.fixed_variance,
            "left open": list(self.left_open),
            "cluster noise": self.cluster_noise,
        }

    @classmethod
    def revived(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> MixedData:
        """The same from a file; ValueError where the parts do not fit each other."""
        X, fixed, y, codes = (arrays[name] for name in ("X", "fixed", "y", "codes"))
        subjects, n = settings["subjects"], len(y)
        tables = [part for part in (X, fixed) if part.ndim == 2 and len(part) == n and part.dtype == np.float64]
        if len(tables) < 2 or y.ndim != 1 or y.dtype != np.float64 or codes.shape != y.shape or X.shape[1] == 0:
            raise ValueError("its visits are not a table")
        if not all(np.isfinite(part).all() for part in (X, fixed, y)) or n == 0:
            raise ValueError("its visits are not finite numbers")
        if codes.dtype != np.int64 or subjects.ndim != 1 or not np.array_equal(np.unique(codes), range(len(subjects))):
            raise ValueError("its visits are of subjects that it does not name")
        effect_names, fixed_names = (tuple(map(str, settings[f"{kind} names"])) for kind in ("effect", "fixed"))
        variance, family, prior = settings["fixed variance"], settings["family"], settings["prior"]
        if (len(effect_names), len(fixed_names)) != (X.shape[1], fixed.shape[1]):
            raise ValueError("its designs have names for other columns")
        if variance.shape != (fixed.shape[1],) or not np.all(variance > 0.0) or not np.isfinite(variance).all():
            raise ValueError("its prior of fixed effects is damaged")
        if not isinstance(family, Family) or not isinstance(prior, Prior):
            raise ValueError("its family or its prior is damaged")
        hyper_of(family, X.shape[1])
        left_open = tuple(settings["left open"])
        if not set(left_open) <= set(family.offered()):
            raise ValueError("it learns hyperparameters that its family does not have")
        noise = settings["noise"]
        if not isinstance(noise, Gamma) and not (isinstance(noise, float) and 0.0 < noise < np.inf):
            raise ValueError("its noise is damaged")
        own = settings["cluster noise"]
        if type(own) is not bool or (own and not isinstance(noise, Gamma)):
            raise ValueError("its noise is damaged")
        population = fit_population(X, y, fixed, codes, len(subjects))
        names = (effect_names, fixed_names)
        return cls(X, fixed, y, codes, subjects, *names, family, prior, noise, variance, left_open, population, own)

    def problem(self) -> Problem:
        """The problem that engines solve."""
        units = Units.of(self.population, self.family, self.fixed)
        sums = units.sums(self.X, self.y, self.fixed, self.codes, len(self.subjects))
        unit = units.noise**2
        if isinstance(self.noise, Gamma):
            noise = Noise(float(self.noise.shape), float(self.noise.rate) / unit, by_cluster=self.cluster_noise)
        else:
            noise = Noise(fixed=unit / self.noise)
        return Problem(
            sums,
            units,
            units.into(self.family),
            self.prior,
            noise,
            -units.fixed_centre / units.fixed_scale,
            units.fixed_scale**2 / self.fixed_variance,
            self.left_open,
        )

    @property
    def n_subjects(self) -> int:
        return len(self.subjects)
