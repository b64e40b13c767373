r"""Mean field on sticks: the global parameters of a variational mixture, its bound, and the climb to a local optimum.

q(z) q(v) q(theta), with q(theta_k) the conjugate posterior of weighted statistics s_k (Blei & Jordan 2006; Pletscher
2007, section 3.2). For the best q(z) the bound depends on the global parameters alone,

    L = sum_n log sum_k exp(E log pi_k + <statistics(x_n), E eta_k>) - KL(q(v) | p) - sum_k KL(q(theta_k) | p),
    KL(q(theta_k) | p) = <s_k, E eta_k> - log evidence(s_k),

the last because q(theta) = p(theta) exp <s, eta(theta)> / evidence(s). So a family needs nothing but its
``expected_natural`` and ``log_marginal``. One pass gives L and the statistics of the next, better parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.jit import kernel
from ....families import verbs
from ....families.base import refresh_all
from ....partitions.clusters import ClusterArrays, own_hyper
from ....partitions.hyperparameters import climb_offsets
from ....partitions.seats import FloatArray, IntArray
from ....partitions.stick_law import StickLaw, Sticks, expected_log_weights, log_expected_weights
from ....passes.passes import Passes, Soft
from ..problem import Problem
from ..records import Components

# A deletion must gain this much; less is rounding.
MARGIN = 1e-9
# Nats that new hyperparameters must gain before all rows are passed over again.
LEAST_LEARNED = 0.01


@dataclass(frozen=True)
class MeanField:
    """Global parameters: statistics of each component, largest first, and the sticks.

    ``natural`` are the expected natural parameters with the expected log weights folded in, ``evidences`` and
    ``divergences`` belong to q(theta_k).
    """

    problem: Problem
    law: StickLaw
    statistics: FloatArray
    sticks: Sticks
    natural: FloatArray
    evidences: FloatArray
    divergences: FloatArray

    @classmethod
    def of(
        cls,
        problem: Problem,
        law: StickLaw,
        statistics: FloatArray,
        blend: FloatArray | None = None,
        sticks: Sticks | None = None,
    ) -> MeanField:
        """Parameters for these statistics; the sticks follow from the sizes unless they are given."""
        if sticks is None:
            statistics = statistics[np.argsort(-statistics[:, 0], kind="stable")]
            sticks = law.update(statistics[:, 0], law.start if blend is None else blend)
        natural, evidences = expectations(problem, statistics)
        divergences = np.einsum("ks,ks->k", statistics, natural) - evidences
        natural[:, 0] += expected_log_weights(sticks)
        return cls(problem, law, statistics, sticks, natural, evidences, divergences)

    @property
    def n_components(self) -> int:
        return len(self.statistics)

    @cached_property
    def penalty(self) -> float:
        """What the bound loses to the divergence of the global parameters from their prior."""
        return float(self.divergences.sum()) - self.law.value(self.sticks)

    def bound(self, soft: Soft) -> float:
        """The bound that a pass with these parameters has found."""
        return soft.log_total - self.penalty + self.problem.log_hyperprior

    def updated(self, sums: FloatArray) -> MeanField:
        """The best parameters for the probabilities that gave these sums."""
        return MeanField.of(self.problem, self.law, sums, self.sticks.blend)

    def learned(self, sums: FloatArray, enough: float) -> MeanField | None:
        """The best parameters and hyperparameters for the probabilities that gave these sums.

        Given the probabilities, the bound with the best parameters is the sum of the evidences of the sums, so that
        hyperparameters at the mode of their density given these raise it. None where that is by less than ``enough``.
        """
        problem = self.problem
        if problem.law is None:
            return None
        hyper, offsets = own_hyper(problem.hyper), problem.offsets.copy()
        statistics, cache, work = problem.family.allocate(len(sums), hyper)
        statistics[:] = sums
        refresh_all(hyper, statistics, cache, work)
        clusters = ClusterArrays(statistics, cache, work, np.zeros((0, 0)), np.zeros((0, 0)))
        slots = np.arange(len(sums))
        if not climb_offsets(hyper, problem.base, clusters, slots, problem.law, offsets) > enough:
            return None
        return MeanField.of(problem.learned(offsets), self.law, sums, self.sticks.blend)

    def without(self, k: int) -> MeanField:
        """The same parameters with component ``k`` taken out."""
        return MeanField.of(
            self.problem, self.law, np.delete(self.statistics, k, axis=0), sticks=self.sticks.without(k)
        )

    def redundant(self, soft: Soft) -> int | None:
        """The component without which the bound rises most, if there is one.

        Its rows share themselves out among the others; that later weights grow as a stick goes is not counted,
        so that the gain is at least the one asked for.
        """
        if self.n_components == 1:
            return None
        rough = soft.without + self.divergences
        value = self.law.value(self.sticks)
        best, gain = None, MARGIN
        for k in np.flatnonzero(rough > -10.0):
            exact = rough[k] + self.law.value(self.sticks.without(int(k))) - value
            if exact > gain:
                best, gain = int(k), float(exact)
        return best

    def components(self, order: IntArray) -> Components:
        """The mixture in closed form, its components in this order."""
        log_weights = log_expected_weights(self.sticks)
        return Components(self.statistics[order], np.append(log_weights[order], log_weights[-1]))


@dataclass(frozen=True)
class Ascent:
    """Where a climb has ended: the parameters, their bound, and the sums of the pass that found it."""

    field: MeanField
    bound: float
    sums: FloatArray
    trace: tuple[float, ...]


def climb(passes: Passes, field: MeanField, tolerance: float, max_passes: int) -> Ascent:
    """Pass after pass until the bound rises by less than ``tolerance`` nats per row; superfluous components go."""
    trace: list[float] = []
    enough = tolerance * passes.total_weight
    while True:
        soft = passes.soften(field.natural, deletions=True)
        trace.append(field.bound(soft))
        superfluous = field.redundant(soft)
        over = len(trace) >= max_passes or passes.stopping
        if superfluous is not None and not over:
            field = field.without(superfluous)
            continue
        better = None
        if over or (len(trace) > 1 and trace[-1] - trace[-2] < enough):
            better = None if over else field.learned(soft.sums, max(enough, LEAST_LEARNED))
            if better is None:
                return Ascent(field, trace[-1], soft.sums, tuple(trace))
        field = better or field.updated(soft.sums)


def expectations(problem: Problem, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected natural parameters and log evidences of components with these statistics."""
    natural, evidences = np.empty_like(statistics), np.empty(len(statistics))
    _expectations(problem.hyper, np.ascontiguousarray(statistics), *problem.slot(), natural, evidences)
    return natural, evidences


@kernel
def _expectations(family, statistics, slot, cache, work, natural, evidences):
    """Expected natural parameter and evidence of each component, one after the other in a single slot."""
    width = statistics.shape[1]
    for k in range(statistics.shape[0]):
        for s in range(width):
            slot[0, s] = statistics[k, s]
        verbs.refresh(family, slot, cache, 0, work)
        verbs.expected_natural(family, slot, cache, 0, natural[k])
        evidences[k] = verbs.log_marginal(family, slot, cache, 0)
