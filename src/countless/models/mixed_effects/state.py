"""The state of mixed effects: labels, effects, parameters of clusters, noise, fixed effects, hyperparameters.

Two kinds. Where effects are drawn along with the labels they are the rows of the partition, whose clusters are those
of the family. Where they are integrated out the rows are what a subject says about the mean of its cluster
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
from ...partitions.clusters import Clusters, clear, own_hyper, refresh_slots
from ...partitions.hyperparameters import FARTHEST, install
from ...partitions.partition import Partition, log_prior_predictives, thawed_parts
from ...partitions.seats import FloatArray, IntArray, Seats
from ...partitions.sums import NO_WEIGHTS, add_by_label
from ...priors.verbs import Prior
from .integrated import Integrated, IntegratedFamily, integrate_effects
from .kinds import means_and_precisions, prior_of_means, within_precision
from .passes import effects_given
from .problem import Problem
from .visits.subjects import packed


class Theta(NamedTuple):
    """Parameters of the clusters, in the order of ``partition()``, and of one that has no subjects.

    Attributes
    ----------
    parameters, fresh : arrays (K, P) and (1, P)
        As the family has them.
    means, precisions : arrays (K, D) and (K, D, D)
    log_prior : float
        Log density of the parameters.
    """

    parameters: FloatArray
    fresh: FloatArray
    means: FloatArray
    precisions: FloatArray
    log_prior: float

    @property
    def half_log_dets(self) -> FloatArray:
        """Half the log determinants of the precisions."""
        return np.asarray(0.5 * np.linalg.slogdet(self.precisions)[1])


class State(Partition):
    """Subjects at their clusters, with everything else that is drawn.

    Attributes
    ----------
    problem : Problem
    effects : array (subject, D)
    fixed : array (F,)
    noise_precision : float
    offsets : array
        Of learned hyperparameters, in the order of the problem's law.
    moments : array (subject, D)
        X'(y - F fixed), kept current.
    theta : Theta
        Drawn at the end of a sweep; labels that change afterwards make it void.
    """

    def __init__(self, problem: Problem, labels: IntArray, at: float | Prior) -> None:
        self.problem = problem
        self.noise_precision = problem.noise.start
        self.fixed = np.zeros(len(problem.fixed_mean))
        self.offsets = np.zeros(0 if problem.law is None else len(problem.law.spreads))
        self.moments = problem.moments_at(self.fixed)
        self.effects = self._first_effects()
        self.theta: Any = None
        self._join(labels, at)

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        """Make the partition."""
        raise NotImplementedError

    def _first_effects(self) -> FloatArray:
        """Means of the effects under one standard population: each subject's least squares, shrunk."""
        n, d = self.moments.shape
        effects = np.empty((n, d))
        one = np.zeros(n, dtype=np.int64)
        effects_given(
            np.zeros((1, d)),
            np.eye(d)[None],
            one,
            self.problem.grams,
            self.moments,
            self.noise_precision,
            np.empty((0, d)),
            effects,
            np.empty((0, d)),
        )
        return effects

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

    def set_fixed(self, fixed: FloatArray) -> None:
        """Use these fixed effects from now on; ``changed`` must follow."""
        self.fixed = fixed
        self.moments = self.problem.moments_at(fixed)

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
        ``absorbed`` is the sum of the log densities of the subjects in their clusters, where it is known.
        """
        problem = self.problem
        value = log_likelihood(self, self.theta, absorbed) + self.theta.log_prior + self.seats.log_prior()
        return value + self.log_density_of_numbers() + problem.log_jacobian

    def log_density_of_numbers(self) -> float:
        """Log density of noise, fixed effects and learned hyperparameters."""
        problem = self.problem
        away = self.fixed - problem.fixed_mean
        value = problem.noise.log_density(self.noise_precision)
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
        draw["noise"] = np.float64(units.noise**2 / self.noise_precision)
        if len(self.fixed):
            draw["fixed"] = self.fixed * units.fixed_scale + units.fixed_centre
        if problem.law is not None:
            draw |= {f"log_factors/{name}": values for name, values in problem.law.by_name(self.offsets).items()}
        mean, precision = means_and_precisions(self.plain.hyper, self.theta.fresh)
        draw["parameters/mean"] = units.means(self.theta.means)
        draw["parameters/covariance"] = units.covariances(
            np.asarray(np.linalg.inv(self.theta.precisions), dtype=np.float64)
        )
        draw["new/mean"] = units.means(mean)[0]
        draw["new/covariance"] = units.covariances(np.asarray(np.linalg.inv(precision), dtype=np.float64))[0]
        return draw

    def status(self) -> str:
        """Number of clusters, and the deviation of the noise."""
        noise = self.problem.units.noise / math.sqrt(self.noise_precision)
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
        width = self.plain.family.layout().parameters
        parameters, fresh, log_prior = arrays["theta"], arrays["fresh"], numbers["log_prior_of_theta"]
        shapes = [(self.n_clusters, width), (1, width)]
        if [parameters.shape, fresh.shape] != shapes or type(log_prior) is not float or not math.isfinite(log_prior):
            raise ValueError("the state of a chain holds parameters of the wrong shape or type")
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (parameters, fresh)):
            raise ValueError("the state of a chain holds parameters that are not finite")
        self._set_theta(parameters.copy(), fresh.copy(), log_prior)


class DrawnState(State):
    """Effects are drawn along with the labels: they are the rows."""

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        problem = self.problem
        super(State, self).__init__(self.effects, problem.family, problem.prior, labels, at)
        self.clusters.set_hyper(own_hyper(problem.base))

    @property
    def plain(self) -> Clusters:
        return self.clusters

    def fill_plain(self) -> None:
        """Statistics are current; caches may be spoilt by whoever moved hyperparameters."""
        refresh_slots(self.hyper, self.clusters.arrays, np.ascontiguousarray(self.seats.in_use))

    def changed(self) -> None:
        self._rebuild()

    def _thaw_clusters(self, seats: Seats, arrays: Any) -> None:
        problem = self.problem
        clusters = Clusters.thaw(problem.family, seats.capacity, arrays)
        clusters.set_hyper(own_hyper(problem.base))
        if problem.law is not None:
            install(clusters.hyper, problem.base, problem.law, self.offsets)
        thawed_parts(self, self.effects, self.log_new, seats, clusters)


class IntegratedState(State):
    """Effects are integrated out where labels are drawn."""

    def _join(self, labels: IntArray, at: float | Prior) -> None:
        problem = self.problem
        d = problem.n_effects
        self._plain = Clusters(problem.family, 1)
        self._plain.set_hyper(own_hyper(problem.base))
        rows = np.empty((problem.n_subjects, d + d * (d + 1) // 2 + 1))
        self._write_rows(rows)
        family: Any = IntegratedFamily(self._integrated())
        super(State, self).__init__(rows, family, problem.prior, labels, at)

    def _integrated(self) -> Integrated:
        mean, precision = prior_of_means(self._plain.hyper)
        log_det = np.array([float(np.linalg.slogdet(precision)[1])])
        return Integrated(np.ascontiguousarray(mean), packed(precision), log_det)

    def _write_rows(self, rows: FloatArray) -> None:
        precision = np.ascontiguousarray(within_precision(self._plain.hyper))
        integrate_effects(self.problem.grams, self.moments, precision, self.noise_precision, rows)

    @property
    def plain(self) -> Clusters:
        return self._plain

    def begin(self, rng: np.random.Generator) -> None:
        self.draw_effects(rng)
        super().begin(rng)

    def draw_effects(self, rng: np.random.Generator) -> None:
        """Draw means of clusters and then effects, given the labels."""
        numbered, slots = self.numbered_slots()
        arrays = self.clusters.arrays
        _draw_some(self.hyper, rng, arrays, slots)
        precision = within_precision(self._plain.hyper)
        effects_given(
            arrays.parameters[slots],
            np.tile(precision, (len(slots), 1, 1)),
            numbered,
            self.problem.grams,
            self.moments,
            self.noise_precision,
            rng.standard_normal(self.effects.shape),
            self.effects,
            np.empty((0, self.effects.shape[1])),
        )

    def log_evidence(self) -> float:
        """Log density of the outcomes given labels, noise and fixed effects, in the user's units."""
        problem, tau = self.problem, self.noise_precision
        n = problem.sums.n_visits
        value = self.log_density() - self.seats.log_prior() + problem.log_jacobian
        return value + 0.5 * n * (math.log(tau) - LOG_2PI) - 0.5 * tau * problem.square_at(self.fixed)

    def _make_room(self) -> None:
        if len(self._plain.arrays.statistics) < self.capacity:
            self._plain.enlarge(self.capacity)

    def fill_plain(self) -> None:
        self._make_room()
        arrays = self._plain.arrays
        arrays.statistics[:] = 0.0
        add_by_label(self._plain.hyper, self.effects, NO_WEIGHTS, self.labels, arrays.statistics, arrays.work)
        refresh_slots(self._plain.hyper, arrays, np.ascontiguousarray(self.seats.in_use))

    def changed(self) -> None:
        self._write_rows(self.rows)
        for mine, new in zip(self.hyper, self._integrated(), strict=True):
            mine[:] = new
        self._rebuild()
        self.refresh()

    def reserve(self, n_clusters: int) -> None:
        super().reserve(n_clusters)
        self._make_room()

    def _thaw_clusters(self, seats: Seats, arrays: Any) -> None:
        problem = self.problem
        if problem.law is not None:
            install(self._plain.hyper, problem.base, problem.law, self.offsets)
        self._write_rows(self.rows)
        family: Any = IntegratedFamily(self._integrated())
        clusters = Clusters.thaw(family, seats.capacity, arrays)
        log_new = log_prior_predictives(family, clusters.hyper, self.rows)
        thawed_parts(self, self.rows, log_new, seats, clusters)
        self._make_room()


def state_class(problem: Problem) -> type[State]:
    """How states of a problem are kept."""
    return IntegratedState if problem.integrates else DrawnState


def log_likelihood(state: State, theta: Theta, absorbed: float | None = None) -> float:
    """Log density of the outcomes given the parameters of the clusters, effects integrated out, in local units."""
    problem, tau = state.problem, state.noise_precision
    nothing = np.empty((0, problem.n_effects))
    if absorbed is None:
        numbered = state.partition()
        places = (theta.means, theta.precisions, numbered, problem.grams, state.moments, tau)
        absorbed = effects_given(*places, nothing, nothing, nothing)
        absorbed += float(theta.half_log_dets @ np.bincount(numbered, minlength=len(theta.means)))
    n = problem.sums.n_visits
    return float(absorbed + 0.5 * n * (math.log(tau) - LOG_2PI) - 0.5 * tau * problem.square_at(state.fixed))


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


@kernel
def _draw_some(family, rng, clusters, slots):
    for position in range(slots.size):
        verbs.draw_parameters(family, clusters.statistics, clusters.cache, slots[position], rng, clusters.parameters)
