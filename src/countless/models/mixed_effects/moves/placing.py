"""Label and effects of one subject after the other, drawn together given those of all others.

Effects are drawn along with the labels where the covariance of a cluster is unknown. A label given the effects alone
would hardly move: effects that belong to one cluster fit no other. So subject i leaves its cluster and both are drawn
at once. The law of its effects in a cluster is normal given random precisions w (``kinds``), and its outcomes are
normal given its effects, so that given w the effects integrate out:

    p(z_i = k | w, y) ~ (n_k + offset) p_k(w) |w Q_k|^1/2 |M|^-1/2 exp(m'(h - G m / 2) + e'M^-1 e / 2),
    G = tau S,  h = tau q,  e = h - G m,  M = w Q_k + G,

and then beta_i | z_i ~ N(m + M^-1 e, M^-1). Before that, w is drawn given label and effects as they were. It is a
different number of a different scale in every cluster; what all share is its place u on the line of Wilson and Hilferty
(1931), w = (1 - a + u sqrt(a))^3 with a = 2 / (9 nu), where u is nearly standard normal whatever nu is. The density of
u in each cluster is exact, with the Jacobian 3 (1 - a + u sqrt(a))^2 sqrt(a); so is the draw.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....core.jit import inner_kernel, kernel
from ....core.special import draw_from_logs, factorise, log_determinant, solve_transposed, solved_square
from ....families import verbs
from ....partitions.clusters import clear
from ....partitions.seats import retire
from ..kinds import law_width, n_scales, write_law


class PlaceSubjects:
    """One pass over all subjects: each is taken out and put back, with new effects, where the posterior sends it."""

    name = "place"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        state.compact_if_sparse()
        d = state.effects.shape[1]
        scales = n_scales(state.hyper, d)
        at = 0
        while at < state.n_rows:
            state.reserve(1)
            laws = np.empty((state.capacity + 1, law_width(d, scales)))
            at, state.n_clusters = _place(
                state.hyper,
                rng,
                state.effects,
                state.problem.grams,
                state.moments,
                state.noise_precision,
                scales,
                state.seats.arrays,
                state.clusters.arrays,
                laws,
                state.n_clusters,
                at,
            )


@kernel
def _place(family, rng, effects, grams, moments, tau, n, seats, clusters, laws, n_clusters, first):
    """Place subjects ``first, first + 1, ...``; stops early, before one, where a new cluster has no room.

    Returns the subject that comes next and the number of clusters.
    """
    labels, sizes, active, log_weights, offset, log_v = seats
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    d = effects.shape[1]
    fresh = laws.shape[0] - 1
    line = np.empty(max(n, 1))
    room = np.empty((1, d * (d + 1) // 2))
    vector = np.empty(d)
    clear(family, clusters, active[n_clusters])
    write_law(family, statistics, cache, active[n_clusters], laws[fresh])
    for position in range(n_clusters):
        write_law(family, statistics, cache, active[position], laws[active[position]])
    for i in range(first, effects.shape[0]):
        if n_clusters == sizes.size:
            return i, n_clusters
        own = labels[i]
        verbs.remove(family, statistics, cache, own, effects[i], work)
        sizes[own] -= 1
        before = fresh
        if sizes[own] == 0:
            retire(active, n_clusters, own)
            n_clusters -= 1
        else:
            before = own
            write_law(family, statistics, cache, own, laws[own])
        _draw_line(rng, laws[before], n, effects[i], line, vector)
        for position in range(n_clusters):
            k = active[position]
            log_weights[position] = math.log(sizes[k] + offset) + log_placed(
                laws[k], n, line, grams[i], moments[i], tau, room, vector
            )
        log_weights[n_clusters] = (
            log_v[n_clusters + 1]
            - log_v[n_clusters]
            + log_placed(laws[fresh], n, line, grams[i], moments[i], tau, room, vector)
        )
        chosen = draw_from_logs(rng, log_weights, n_clusters + 1)
        k = active[chosen]
        if chosen == n_clusters:
            clear(family, clusters, k)
            n_clusters += 1
            log_placed(laws[fresh], n, line, grams[i], moments[i], tau, room, vector)
            draw_effects(rng, laws[fresh], room, vector, effects[i])
        else:
            log_placed(laws[k], n, line, grams[i], moments[i], tau, room, vector)
            draw_effects(rng, laws[k], room, vector, effects[i])
        verbs.add(family, statistics, cache, k, effects[i], work)
        sizes[k] += 1
        labels[i] = k
        write_law(family, statistics, cache, k, laws[k])
    return effects.shape[0], n_clusters


@inner_kernel
def _draw_line(rng, law, n, effect, line, vector):
    """Places, on the line, of the random precisions of effects that follow ``law``; w | beta is a gamma again."""
    d = effect.size
    after = d + d * (d + 1) // 2 + 1
    for j in range(d):
        vector[j] = effect[j] - law[j]
    if n == 1:
        square, at = 0.0, d
        for j in range(d):
            square += law[at] * vector[j] * vector[j]
            for i in range(1, d - j):
                square += 2.0 * law[at + i] * vector[j] * vector[j + i]
            at += d - j
        line[0] = _draw_place(rng, law[after], float(d), square)
        return
    at = d
    for j in range(n):
        line[j] = _draw_place(rng, law[after + 2 * j], 1.0, law[at] * vector[j] * vector[j])
        at += d - j


@inner_kernel
def _draw_place(rng, dof, count, square):
    w = rng.standard_gamma(0.5 * (dof + count)) / (0.5 * (dof + square))
    spread = 2.0 / (9.0 * dof)
    return (w ** (1.0 / 3.0) - 1.0 + spread) / math.sqrt(spread)


@inner_kernel
def log_placed(law, n, line, gram, moment, tau, room, vector):
    """Log density of a subject's outcomes, up to terms without the law, its effects integrated out.

    ``room`` is left with the factor of M, ``vector`` with that factor times (posterior mean - m) (of the lower
    triangle: L^-1 e).
    """
    d = moment.size
    triangle = d * (d + 1) // 2
    value = law[d + triangle]
    after = d + triangle + 1
    scale = 1.0
    for a in range(n):
        dof = law[after + 2 * a]
        spread = 2.0 / (9.0 * dof)
        x = 1.0 - spread + line[a] * math.sqrt(spread)
        if not x > 0.0:
            return -math.inf
        log_x = math.log(x)
        scale = x * x * x
        value += law[after + 2 * a + 1] + (1.5 * dof - 1.0) * log_x - 0.5 * dof * scale
        value += 1.5 * log_x * (d if n == 1 else 1)
    for j in range(d):
        vector[j] = moment[j]
    entry = 0
    for j in range(d):
        if n > 1:
            spread = 2.0 / (9.0 * law[after + 2 * j])
            scale = (1.0 - spread + line[j] * math.sqrt(spread)) ** 3
        for i in range(j, d):
            gram_entry = gram[entry]
            room[0, entry] = scale * law[d + entry] + tau * gram_entry
            vector[i] -= gram_entry * law[j]
            if i != j:
                vector[j] -= gram_entry * law[i]
            entry += 1
    for j in range(d):
        value += 0.5 * tau * law[j] * (moment[j] + vector[j])
        vector[j] *= tau
    if not factorise(room, 0, 0, d):
        return -math.inf
    return value - 0.5 * log_determinant(room, 0, 0, d) + 0.5 * solved_square(room, 0, 0, d, vector)


@inner_kernel
def draw_effects(rng, law, room, vector, effect):
    """Effects given what ``log_placed`` has left: m + L^-T (L^-1 e + g)."""
    d = effect.size
    for j in range(d):
        vector[j] += rng.standard_normal()
    solve_transposed(room, 0, 0, d, vector)
    for j in range(d):
        effect[j] = law[j] + vector[j]
