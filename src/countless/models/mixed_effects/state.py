"""The state of mixed effects: labels, effects, parameters of clusters, noise, fixed effects, hyperparameters.

Two kinds (``states``). Where effects are drawn along with the labels they are the rows of the partition, whose clusters
are those of the family. Where they are integrated out the rows are what a subject says about the mean of its cluster
(``integrated``), and effects are drawn given the labels for the sake of everything else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...chains.contract import Frozen
from ...core.jit import kernel
from ...core.special import LOG_2PI
from ...families import verbs
from ...partitions.clusters import Clusters, clear
from ...partitions.hyperparameters import FARTHEST
from ...partitions.partition import Partition
from ...partitions.seats import FloatArray, IntArray, Seats
from ...priors.verbs import Prior
from .kernels.kinds import means_and_precisions
from .kernels.passes import Laws, effects_given, laws_of, squared_residuals
from .problem import Problem


class Theta(NamedTuple):
    """Parameters of the clusters, in the order of ``partition()``, and of one that has no subjects.

    Attributes
    ----------
    parameters, fresh : arrays (K, P) and (1, P)
        As the family has them; the last is the precision of the noise, where each cluster has its own.
    means, precisions : arrays (K, D) and (K, D, D)
    log_prior : float
        Log density of the parameters.
    """

    parameters: FloatArray
    fresh: FloatArray
    means: FloatArray
    precisions: FloatArray
    log_prior: float


class State(Partition):
    """Subjects at their clusters, with everything else that is drawn.

    Attributes
    ----------
    problem : Problem
    effects : array (subject, D)
    fixed : array (F,)
    noise_precision : float
        Where all clusters have the same.
    offsets : array
        Of learned hyperparameters, in the order of the problem's law.
    visits : Visits
        Sums over visits less the fixed effects, kept current.
    theta : Theta
        Drawn at the end of a sweep; labels that change afterwards make it void.
    """

    def __init__(self, problem: Problem, labels: IntArray, at: float | Prior) -> None:
        self.problem = problem
        self.noise_precision = problem.noise.start
        self.set_fixed(np.zeros(len(problem.fixed_mean)))
        self.offsets = np.zeros(0 if problem.law is None else len(problem.law.spreads))
        self.effects = self._first_effects()
        self.theta: Any = None
        self._join(labels, at)

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        """Make the partition."""
        raise NotImplementedError

    def _first_effects(self) -> FloatArray:
        """Means of the effects under one standard population: each subject's least squares, shrunk."""
        n, d = self.visits.moments.shape
        effects, nothing = np.empty((n, d)), np.empty((0, d))
        effects_given(self.standard_laws(), np.zeros(n, dtype=np.int64), self.visits, nothing, effects, nothing)
        return effects

    def standard_laws(self) -> Laws:
        """One cluster of standard normal effects."""
        d = self.problem.n_effects
        return laws_of(np.zeros((1, d)), np.eye(d)[None], np.array([self.noise_precision]))

    @property
    def laws(self) -> Laws:
        """Effects and noise of the clusters, in the order of ``partition()``."""
        theta = self.theta
        return laws_of(theta.means, theta.precisions, self._taus(theta.parameters))

    def _taus(self, parameters: FloatArray) -> FloatArray:
        """Precision of the noise of clusters with these parameters."""
        return parameters[:, -1] if self.problem.noise.by_cluster else np.full(len(parameters), self.noise_precision)

    def begin(self, rng: np.random.Generator) -> None:
        """Draw what depends on the labels, at the start of a chain."""
        self.draw_theta(rng)

    # --- clusters of effects ----------------------------------------------------------------------------------------

    @property
    def plain(self) -> Clusters:
        """Clusters of the effects under the family, current after ``fill_plain``."""
        raise NotImplementedError

    def fill_plain(self) -> None:
        """Statistics and caches of the clusters of effects."""
        raise NotImplementedError

    def changed(self) -> None:
        """Follow a change of noise, fixed effects, or (in place) of hyperparameters of the clusters of effects."""
        raise NotImplementedError

    def squared_residuals(self) -> FloatArray:
        """Of the visits of each subject."""
        out = np.empty(self.problem.n_subjects)
        squared_residuals(self.effects, self.visits, out)
        return out

    def set_fixed(self, fixed: FloatArray) -> None:
        """Use these fixed effects from now on; ``changed`` must follow."""
        self.fixed = fixed
        self.visits = self.problem.visits_at(fixed)

    def numbered_slots(self) -> tuple[IntArray, IntArray]:
        """Labels numbered by first appearance, and the slot of each number."""
        numbered = self.partition()
        slots = np.empty(self.n_clusters, dtype=np.int64)
        slots[numbered] = self.labels
        return numbered, slots

    def draw_theta(self, rng: np.random.Generator) -> None:
        """Draw the parameters of all clusters given the effects."""
        self.fill_plain()
        plain = self.plain
        _, slots = self.numbered_slots()
        self.reserve(1)
        free = self.seats.slots_by_use[self.n_clusters]
        log_prior = _draw_all(plain.hyper, rng, plain.arrays, slots, free)
        self._set_theta(plain.arrays.parameters[slots], plain.arrays.parameters[free][None].copy(), float(log_prior))

    def _set_theta(self, parameters: FloatArray, fresh: FloatArray, log_prior: float) -> None:
        means, precisions = means_and_precisions(self.plain.hyper, parameters)
        self.theta = Theta(parameters, fresh, means, precisions, log_prior)

    # --- the contract of a state ------------------------------------------------------------------------------------

    def log_joint(self, absorbed: float | None = None) -> float:
        """Log density of the outcomes, in the user's units, and of all that a draw holds; effects are integrated out.

        Parameters of clusters are in units of the effects, their covariances in the measure of ``verbs.log_prior``.
        ``absorbed`` is the sum of the log densities of the subjects in their clusters (``passes.absorb``), where it is
        known.
        """
        problem = self.problem
        if absorbed is None:
            nothing = np.empty((0, problem.n_effects))
            absorbed = float(effects_given(self.laws, self.partition(), self.visits, nothing, nothing, nothing))
        value = absorbed - 0.5 * problem.sums.n_visits * LOG_2PI + self.theta.log_prior + self.seats.log_prior()
        return value + self.log_density_of_numbers() + problem.log_jacobian

    def log_density_of_numbers(self) -> float:
        """Log density of noise, fixed effects and learned hyperparameters."""
        problem = self.problem
        away = self.fixed - problem.fixed_mean
        value = problem.noise.log_density(self.noise_precision) if problem.noise.is_drawn else 0.0
        value += 0.5 * float(np.sum(np.log(problem.fixed_precision) - LOG_2PI - problem.fixed_precision * away**2))
        return value if problem.law is None else value + problem.law.log_density(self.offsets)

    def draw(self) -> dict[str, Any]:
        """One complete draw in the user's units."""
        problem, units = self.problem, self.problem.units
        draw: dict[str, Any] = {
            "labels": self.partition(),
            "n_clusters": np.int64(self.n_clusters),
            "log_joint": np.float64(self.log_joint()),
            "concentration": np.float64(self.concentration),
        }
        for name, value in self.seats.numbers.items():
            draw[name] = np.int64(value) if problem.prior.law_of(name).is_count else np.float64(value)
        variances = units.noise**2 / self._taus(self.theta.parameters)
        draw["noise"] = np.float64(problem.counts @ variances[draw["labels"]] / problem.sums.n_visits)
        if len(self.fixed):
            draw["fixed"] = self.fixed * units.fixed_scale + units.fixed_centre
        if problem.law is not None:
            draw |= {f"log_factors/{name}": values for name, values in problem.law.by_name(self.offsets).items()}
        mean, precision = means_and_precisions(self.plain.hyper, self.theta.fresh)
        draw["parameters/mean"] = units.means(self.theta.means)
        draw["parameters/covariance"] = units.covariances(
            np.asarray(np.linalg.inv(self.theta.precisions), dtype=np.float64)
        )
        if problem.noise.by_cluster:
            draw["parameters/noise"] = variances
            draw["new/noise"] = (units.noise**2 / self._taus(self.theta.fresh))[0]
        draw["new/mean"] = units.means(mean)[0]
        draw["new/covariance"] = units.covariances(np.asarray(np.linalg.inv(precision), dtype=np.float64))[0]
        return draw

    def status(self) -> str:
        """Number of clusters, and the deviation of the noise."""
        noise = self.problem.units.noise / math.sqrt(float(np.mean(self._taus(self.theta.parameters))))
        return f"{self.n_clusters} clusters, noise {noise:.3g}"

    def freeze(self) -> Frozen:
        """Everything that the rest of a chain depends on, copied."""
        numbers, arrays = self.seats.freeze()
        numbers |= {"noise_precision": float(self.noise_precision), "log_prior_of_theta": self.theta.log_prior}
        arrays |= self.clusters.freeze()
        arrays |= {name: getattr(self, name).copy() for name in ("effects", "fixed", "offsets")}
        arrays |= {"theta": self.theta.parameters.copy(), "fresh": self.theta.fresh.copy()}
        return Frozen(numbers, arrays)

    @classmethod
    def thawed(cls, problem: Problem, frozen: Frozen) -> State:
        """The state that ``freeze`` gave; ValueError where it is none of this problem."""
        numbers, arrays = frozen
        state = cls(problem, np.zeros(problem.n_subjects, dtype=np.int64), problem.prior.initial(1))
        precision = numbers["noise_precision"]
        if type(precision) is not float or not 0.0 < precision < math.inf:
            raise ValueError("the state of a chain holds a noise that is not possible")
        if problem.noise.fixed is not None and precision != problem.noise.fixed:
            raise ValueError("the state of a chain holds the noise of a different fit")
        for name in ("effects", "fixed", "offsets"):
            like, found = getattr(state, name), arrays[name]
            if found.shape != like.shape or found.dtype != like.dtype or not np.isfinite(found).all():
                raise ValueError(f"the state of a chain holds {name} of the wrong shape or type")
        if problem.law is not None and np.any(np.abs(arrays["offsets"]) > FARTHEST * problem.law.deviations):
            raise ValueError("the state of a chain holds hyperparameters that are not possible")
        state.noise_precision = precision
        state.effects[:], state.offsets[:] = arrays["effects"], arrays["offsets"]
        state.set_fixed(arrays["fixed"].copy())
        seats = Seats.thaw(problem.prior, problem.n_subjects, numbers, arrays)
        state._thaw_clusters(seats, arrays)
        state._thaw_theta(numbers, arrays)
        return state

    def _thaw_clusters(self, seats: Seats, arrays: Any) -> None:
        raise NotImplementedError

    def _thaw_theta(self, numbers: Any, arrays: Any) -> None:
        width = self.plain.arrays.parameters.shape[1]
        parameters, fresh, log_prior = arrays["theta"], arrays["fresh"], numbers["log_prior_of_theta"]
        shapes = [(self.n_clusters, width), (1, width)]
        if [parameters.shape, fresh.shape] != shapes or type(log_prior) is not float or not math.isfinite(log_prior):
            raise ValueError("the state of a chain holds parameters of the wrong shape or type")
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (parameters, fresh)):
            raise ValueError("the state of a chain holds parameters that are not finite")
        if any(np.any(self._taus(part) <= 0.0) for part in (parameters, fresh)):
            raise ValueError("the state of a chain holds a noise that is not possible")
        self._set_theta(parameters.copy(), fresh.copy(), log_prior)


@kernel
def _draw_all(family, rng, clusters, slots, free):
    """Draw the parameters of some clusters and of an empty one; returns the log density of the former."""
    total = 0.0
    for position in range(slots.size):
        k = slots[position]
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, k, rng, clusters.parameters)
        total += verbs.log_prior(family, clusters.parameters, k)
    clear(family, clusters, free)
    verbs.draw_parameters(family, clusters.statistics, clusters.cache, free, rng, clusters.parameters)
    return total
