"""What draws of mixed effects say of effects and new visits: of subjects of the fit, and of new ones.

Given one draw (labels z, means mu and covariances Sigma of clusters, noise, fixed effects) the effects of subject i of
the fit are N(b_i, C_i), those of a new one a mixture of N(mu_k, Sigma_k) with the weights of the prior for one more
subject, and the outcomes of the visits of one subject are jointly normal. Averages over draws are then exact but for
the draws themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...core.special import LOG_2PI
from ...partitions.scores import log_seat_weights
from ...posterior.posterior import Posterior
from .kernels.passes import Laws, Visits, effects_given, laws_of, log_densities, log_densities_of_each
from .problem import Problem
from .visits.subjects import packed, unpacked

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Draws that averages are taken over.
MOST_DRAWS = 200


class One(NamedTuple):
    """One draw in the units of the arithmetic; the last law and weight are those of a new cluster."""

    labels: IntArray
    laws: Laws
    log_weights: FloatArray
    fixed: FloatArray


@dataclass(frozen=True)
class Given:
    """A problem and the draws of its posterior."""

    problem: Problem
    posterior: Any

    @classmethod
    def of(cls, posterior: Posterior) -> Self:
        return cls(posterior.data.problem(), posterior)

    def some(self, at_most: int = MOST_DRAWS) -> list[int]:
        """Numbers of draws, spread over all chains."""
        return [int(draw) for draw in self.posterior.spaced(at_most)]

    def draw(self, number: int) -> One:
        """One draw, numbered over all chains."""
        problem, posterior, units = self.problem, self.posterior, self.problem.units
        at = np.unravel_index(number, posterior.shape)
        labels = np.ascontiguousarray(posterior.labels[at], dtype=np.int64)
        known = posterior.parameters_of(number)
        means = np.concatenate([known["mean"], posterior["new/mean"][at][None]])
        covariances = np.concatenate([known["covariance"], posterior["new/covariance"][at][None]])
        inverse = np.linalg.inv(units.basis)
        precisions = np.linalg.inv(inverse @ covariances @ inverse.T)
        if problem.noise.by_cluster:
            noise = np.append(known["noise"], posterior["new/noise"][at])
        else:
            noise = np.full(len(means), posterior.noise[at])
        numbers = {name: posterior[name][at] for name in problem.prior.learned_names}
        prior = problem.prior.with_numbers(numbers)
        fixed = (posterior.fixed[at] - units.fixed_centre) / units.fixed_scale
        laws = laws_of((means - units.centre) @ inverse.T, precisions, units.noise**2 / noise)
        return One(labels, laws, log_seat_weights(prior, labels), np.ascontiguousarray(fixed))

    def effects_in(self, one: One) -> tuple[FloatArray, FloatArray]:
        """Means (subject, D) and covariances (subject, D, D) of the effects of all subjects given one draw."""
        problem = self.problem
        n, d = problem.sums.moments.shape
        effects, covariances = np.empty((n, d)), np.empty((n, d * (d + 1) // 2))
        nothing = np.empty((0, d))
        effects_given(one.laws, one.labels, problem.visits_at(one.fixed), nothing, effects, covariances)
        return effects, unpacked(covariances, d)

    def moments_of_effects(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means and covariances of the effects, in the user's units."""
        units, draws = self.problem.units, self.some()
        total: Any = 0.0
        square: Any = 0.0
        inner: Any = 0.0
        for number in draws:
            means, covariances = self.effects_in(self.draw(number))
            total, inner = total + means, inner + covariances
            square = square + means[:, :, None] * means[:, None, :]
        n = len(draws)
        mean = np.asarray(total) / n
        spread = np.asarray(inner) / n + np.asarray(square) / n - mean[:, :, None] * mean[:, None, :]
        return units.means(mean), units.covariances(spread)

    def draw_effects(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draws of the effects of all subjects, in the user's units."""
        draws = self.some(n_draws)
        again = np.resize(np.arange(len(draws)), n_draws)
        out = []
        for place, number in enumerate(draws):
            means, covariances = self.effects_in(self.draw(number))
            root = np.linalg.cholesky(covariances)
            for _ in range(int(np.count_nonzero(again == place))):
                noise = rng.standard_normal(means.shape)
                out.append(self.problem.units.means(means + np.einsum("nij,nj->ni", root, noise)))
        return np.array(out)

    def densities(self, column: int, points: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
        """Density of one effect of a new subject, and the part of each of the given clusters of subjects (cluster,
        point) in it: the mean law of their members, times their share."""
        units, draws = self.problem.units, self.some()
        total, parts = np.zeros(len(points)), np.zeros((int(clusters.max()) + 1, len(points)))
        for number in draws:
            one = self.draw(number)
            means = units.means(one.laws.means)[:, column]
            inverse: FloatArray = np.asarray(np.linalg.inv(one.laws.precisions), dtype=np.float64)
            spread = np.sqrt(units.covariances(inverse)[:, column, column])
            away = (points - means[:, None]) / spread[:, None]
            curves = np.exp(-0.5 * away**2) / (np.sqrt(2.0 * np.pi) * spread[:, None])
            total += np.exp(one.log_weights) @ curves
            members = np.zeros((len(parts), len(means)))
            np.add.at(members, (clusters, one.labels), 1.0)
            parts += members @ curves
        return total / len(draws), parts / (len(draws) * len(clusters))

    # --- new visits -------------------------------------------------------------------------------------------------

    def mean(self, X: FloatArray, fixed: FloatArray, codes: IntArray) -> FloatArray:
        """Posterior mean of new outcomes; subjects are numbers of known ones, or negative."""
        units, draws = self.problem.units, self.some()
        total = np.zeros(len(X))
        for number in draws:
            one = self.draw(number)
            effects = np.vstack([self.effects_in(one)[0], np.exp(one.log_weights) @ one.laws.means])
            coefficients = units.means(effects)[np.where(codes < 0, len(effects) - 1, codes)]
            total += np.einsum("nj,nj->n", X, coefficients)
            total += fixed @ (one.fixed * units.fixed_scale + units.fixed_centre)
        return total / len(draws)

    def draw_outcomes(
        self, X: FloatArray, fixed: FloatArray, codes: IntArray, n_draws: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draws (draw, visit) of new outcomes; visits of one new subject (one negative code) share its effects."""
        units = self.problem.units
        n_new = int(max(0, -codes.min())) if len(codes) else 0
        draws = self.some(n_draws)
        out = np.empty((n_draws, len(X)))
        for place in range(n_draws):
            one = self.draw(draws[place % len(draws)])
            means, covariances = self.effects_in(one)
            chosen = rng.choice(len(one.log_weights), size=n_new, p=np.exp(one.log_weights))
            means = np.vstack([means, one.laws.means[chosen]])
            covariances = np.concatenate([covariances, np.linalg.inv(one.laws.precisions)[chosen]])
            taus = one.laws.taus[np.append(one.labels, chosen)]
            root = np.linalg.cholesky(covariances)
            effects = units.means(means + np.einsum("nij,nj->ni", root, rng.standard_normal(means.shape)))
            rows = np.where(codes < 0, len(effects) - n_new - 1 - codes, codes)
            out[place] = np.einsum("nj,nj->n", X, effects[rows])
            out[place] += fixed @ (one.fixed * units.fixed_scale + units.fixed_centre)
            out[place] += units.noise / np.sqrt(taus[rows]) * rng.standard_normal(len(X))
        return out

    def log_density(self, X: FloatArray, y: FloatArray, fixed: FloatArray, codes: IntArray) -> FloatArray:
        """Log predictive density of the visits of each subject, jointly; codes -1, -2, ... are new subjects.

        In the order of the sorted codes.
        """
        units = self.problem.units
        who, which = np.unique(codes, return_inverse=True)
        sums = units.sums(X, y, fixed, which.reshape(-1), len(who))
        grams, counts, known = packed(sums.grams), sums.counts.astype(np.float64), who >= 0
        draws = self.some()
        total = np.full(len(who), -np.inf)
        for number in draws:
            one = self.draw(number)
            visits = Visits(grams, sums.moments_at(one.fixed), counts, sums.squares_at(one.fixed))
            value = np.empty(len(who))
            if known.any():
                value[known] = self._of_known(one, who[known], _some(visits, known))
            if not known.all():
                scores = np.empty((int(np.sum(~known)), len(one.log_weights)))
                log_densities(one.laws, _some(visits, ~known), scores)
                value[~known] = np.logaddexp.reduce(scores + one.log_weights, axis=1)
            total = np.logaddexp(total, value)
        return np.asarray(total - np.log(len(draws)) - counts * (0.5 * LOG_2PI + np.log(units.noise)))

    def _of_known(self, one: One, who: IntArray, visits: Visits) -> FloatArray:
        means, covariances = self.effects_in(one)
        out = np.empty(len(who))
        precisions: FloatArray = np.asarray(np.linalg.inv(covariances[who]), dtype=np.float64)
        own = laws_of(means[who], precisions, one.laws.taus[one.labels[who]])
        log_densities_of_each(own, visits, out)
        return out


def _some(visits: Visits, chosen: NDArray[np.bool_]) -> Visits:
    return Visits(*(part[chosen] for part in visits))
