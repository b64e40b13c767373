"""EM: a mixture with a given number of components, by maximum likelihood or at the mode of the posterior.

Pletscher 2007, section 2.4.2, for any family: one pass over the rows gives the weighted statistics of each component
(E step), and ``estimate`` turns them into parameters (M step); component k has the weight n_k / N. The objective, log
likelihood or log posterior, never falls.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chains.draws import ESTIMATE, Draws
from ...chains.engine import Inference
from ...chains.jobs import Monitor, run_jobs
from ...chains.watch import Watch
from ...core.jit import kernel
from ...core.register import Register
from ...core.validate import as_labels, by_first_appearance, choose, whole_number
from ...families import verbs
from ...partitions.scores import naturals_of
from ...partitions.seats import FloatArray, IntArray
from ...passes.passes import Passes
from ...runs.settings import register_settings
from ..mixture.problem import Problem
from .seeds import SEEDS


class MixtureFit(NamedTuple):
    """Result of one restart.

    Attributes
    ----------
    log_weights : array (K,)
    parameters : array (K, P)
        Rows of the family's layout, in local units.
    objective : array
        Log likelihood, or log posterior, after each step.
    log_likelihood : float
        After the last step.
    converged : bool
    singular : array of bool (K,)
        Components whose spread was kept at its floor, or that have no rows.
    """

    log_weights: FloatArray
    parameters: FloatArray
    objective: FloatArray
    log_likelihood: float
    converged: bool
    singular: NDArray[np.bool_]

    @property
    def rank(self) -> tuple[bool, float]:
        """The best fit has the largest rank; likelihoods of singular components are not comparable."""
        return not self.singular.any(), float(self.objective[-1])


ENGINES: Register[type[Inference]] = Register("components", "countless.components")
register_settings(ENGINES)


@ENGINES.add("em")
@dataclass(frozen=True)
class EM(Inference):
    """EM with these settings.

    Parameters
    ----------
    prior_weight : float
        0 for maximum likelihood, 1 for the mode of the posterior of the parameters.
    restarts : int
        Starts, of which the best result is kept. A start that is given as labels is tried once.
    max_iter : int
        Largest number of passes over the rows in one restart.
    tol : float
        A restart has converged when a pass gains less than this per row.
    start : str or array of labels
        ``"kmeans++"`` or ``"random"``; see ``countless.models.finite.seeds``.
    n_threads : int, optional
        Default, one per core. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.models.finite.em import EM
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> family = cl.families.SphericalGaussian(variance=1.0).resolve(X)
    >>> problem = cl.inference.Problem.of(X, family, cl.priors.FiniteDirichlet(2))
    >>> fit = EM().search(problem, [2], np.random.default_rng(0))[0]
    >>> np.exp(fit.log_weights).round(3).tolist()
    [0.5, 0.5]
    """

    prior_weight: float = 0.0
    restarts: int = 5
    max_iter: int = 1000
    tol: float = 1e-6
    start: Any = "kmeans++"
    n_threads: int | None = None

    serves: ClassVar[str] = "components"
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("restarts", self.restarts, 1)
        whole_number("max_iter", self.max_iter, 1)
        if isinstance(self.tol, bool) or not isinstance(self.tol, numbers.Real) or not 0.0 <= self.tol < math.inf:
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}")

    def run(self, problem: Problem, rng: np.random.Generator, watch: Watch | None = None) -> Draws:
        """The most probable component of each row under the best fit with as many components as the prior has."""
        (fit,) = self.search(problem, [problem.prior.max_clusters(problem.n_rows)], rng, watch)
        return as_draws(problem, fit)

    def search(
        self, problem: Problem, counts: list[int], rng: np.random.Generator, watch: Watch | None = None
    ) -> list[MixtureFit]:
        """The best fit for each number of components in ``counts``; all restarts run in parallel.

        After an interrupt each restart returns the state that it has reached.
        """
        given = None if isinstance(self.start, str) else _given_start(self.start, problem.n_rows, counts)
        seed = None if given is not None else choose("start", self.start, SEEDS, "an array of labels")
        restarts = 1 if given is not None else self.restarts
        with Passes(problem, self.n_threads) as passes:

            def job(number: int, stream: np.random.Generator, monitor: Monitor) -> MixtureFit:
                k = counts[number // restarts]
                if given is not None:
                    sums, first_weight = passes.sums_of(given, k), self.prior_weight
                else:
                    # In the first step the prior keeps components of one or two rows from collapsing.
                    sums, first_weight = seed(problem, k, stream), 1.0  # type: ignore[misc]
                fit = self._climb(passes, sums, first_weight, monitor)
                monitor.advance(f"{k} components")
                return fit

            n_jobs = len(counts) * restarts
            fits, _ = run_jobs(job, n_jobs, n_jobs, rng, watch or Watch(), self.n_threads, "EM")
        return [max(fits[i : i + restarts], key=lambda fit: fit.rank) for i in range(0, n_jobs, restarts)]

    def _climb(self, passes: Passes, sums: FloatArray, first_weight: float, monitor: Monitor) -> MixtureFit:
        problem = passes.problem
        family, n_components = problem.family, len(sums)
        _, cache, work = family.allocate(n_components)
        parameters = np.zeros((n_components, family.layout().parameters))
        natural = np.zeros_like(sums)
        singular = np.zeros(n_components, dtype=np.bool_)
        total = float(sums[:, 0].sum())
        enough = self.tol * (problem.n_rows if problem.weights is None else float(problem.weights.sum()))
        objective: list[float] = []
        converged, weight = False, first_weight
        while not converged and len(objective) < self.max_iter and not (objective and monitor.stopping.is_set()):
            log_prior = _maximise(problem.hyper, sums, cache, work, weight, parameters, natural, singular)
            log_weights = np.log(np.maximum(sums[:, 0] / total, 1e-300))
            natural[:, 0] += log_weights
            soft = passes.soften(natural)
            log_likelihood = soft.log_total + problem.log_jacobian
            objective.append(log_likelihood + (self.prior_weight * log_prior if self.prior_weight else 0.0))
            converged = len(objective) > 1 and not objective[-1] - objective[-2] > enough
            sums, total, weight = soft.sums, float(soft.sums[:, 0].sum()), self.prior_weight
        return MixtureFit(log_weights, parameters, np.array(objective), log_likelihood, converged, singular)


def as_draws(problem: Problem, fit: MixtureFit) -> Draws:
    """A fit as a single draw of the partition: the most probable component of each row."""
    natural = np.zeros((len(fit.log_weights), problem.layout.statistics))
    naturals_of(problem.hyper, np.ascontiguousarray(fit.parameters), natural)
    natural[:, 0] += fit.log_weights
    with Passes(problem) as passes:
        labels = by_first_appearance(passes.best(natural).labels)
    arrays = {
        "labels": labels[None, None],
        "n_clusters": np.array([[labels.max() + 1]]),
        "log_joint": fit.objective[None, -1:],
        "concentration": np.full((1, 1), float(len(fit.log_weights))),
        "objective": fit.objective,
    }
    return Draws(arrays, problem.fields, problem.axes, ESTIMATE)


def estimate_from_labels(problem: Problem, labels: IntArray, n_components: int, prior_weight: float) -> FloatArray:
    """Parameters of each component when the rows have these labels.

    Raises ValueError where a label names no component: kernels do not check the places that they write to.
    """
    if labels.max() >= n_components:
        raise ValueError(f"labels name {labels.max() + 1} clusters, but there are {n_components} components")
    with Passes(problem) as passes:
        sums = passes.sums_of(labels, n_components)
    _, cache, work = problem.family.allocate(n_components)
    parameters = np.zeros((n_components, problem.family.layout().parameters))
    singular = np.zeros(n_components, dtype=np.bool_)
    _maximise(problem.hyper, sums, cache, work, prior_weight, parameters, np.zeros_like(sums), singular)
    return parameters


def _given_start(start: Any, n_rows: int, counts: list[int]) -> IntArray:
    labels = as_labels(start, "start", n_rows)
    if labels.max() >= min(counts):
        raise ValueError(f"start has {labels.max() + 1} clusters, but there are {min(counts)} components")
    return labels


@kernel
def _maximise(family, sums, cache, work, prior_weight, parameters, natural, singular):
    """M step; returns the log prior of all parameters."""
    log_prior = 0.0
    for k in range(sums.shape[0]):
        verbs.refresh(family, sums, cache, k, work)
        singular[k] = verbs.estimate(family, sums, cache, k, prior_weight, parameters)
        verbs.natural(family, parameters, k, natural[k])
        log_prior += verbs.log_prior(family, parameters, k)
    return log_prior
