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

Where each cluster has a noise of its own, its precision given the other subjects is a gamma law too: its mean times one
more w, whose place on the line is drawn and shared in the same way, and the weight has tau^(N/2) exp(-tau y'y / 2) too.
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
from ..kernels.kinds import law_width, n_scales, write_law, write_noise
from ..kernels.passes import squared_residual


class PlaceSubjects:
    """One pass over all subjects: each is taken out and put back, with new effects, where the posterior sends it."""

    name = "place"

    def step(self, rng: np.random.Generator, state: Any) -> None:
        """Update ``state`` in place."""
        state.compact_if_sparse()
        problem, noise = state.problem, state.problem.noise
        d = problem.n_effects
        scales = n_scales(state.hyper, d)
        law = (noise.shape, noise.rate) if noise.by_cluster else (0.0, 0.0)
        at = 0
        while at < state.n_rows:
            state.reserve(1)
            at, state.n_clusters = _place(
                state.hyper,
                rng,
                state.rows,
                state.visits,
                (state.noise_precision, *law),
                scales,
                state.seats.arrays,
                state.clusters.arrays,
                np.empty((state.capacity + 1, law_width(d, scales))),
                state.n_clusters,
                at,
            )
        state.effects[:] = state.rows[:, :d]


@kernel
def _place(family, rng, rows, visits, noise, n, seats, clusters, laws, n_clusters, first):
    """Place subjects ``first, first + 1, ...``; stops early, before one, where a new cluster has no room.

    Returns the subject that comes next and the number of clusters.
    """
    labels, sizes, active, log_weights, offset, log_v = seats
    statistics, cache, work = clusters.statistics, clusters.cache, clusters.work
    d = visits.moments.shape[1]
    fresh = laws.shape[0] - 1
    line = np.empty(n + 1)
    room = np.empty((1, d * (d + 1) // 2))
    vector = np.empty(d)
    clear(family, clusters, active[n_clusters])
    _write(family, statistics, cache, active[n_clusters], noise, laws[fresh])
    for position in range(n_clusters):
        _write(family, statistics, cache, active[position], noise, laws[active[position]])
    for i in range(first, rows.shape[0]):
        if n_clusters == sizes.size:
            return i, n_clusters
        own = labels[i]
        verbs.remove(family, statistics, cache, own, rows[i], work)
        sizes[own] -= 1
        before = fresh
        if sizes[own] == 0:
            retire(active, n_clusters, own)
            n_clusters -= 1
        else:
            before = own
            _write(family, statistics, cache, own, noise, laws[own])
        _draw_line(rng, laws[before], n, rows[i], line, vector)
        for position in range(n_clusters):
            k = active[position]
            score = log_placed(laws[k], n, line, visits, i, room, vector)
            log_weights[position] = math.log(sizes[k] + offset) + score
        score = log_placed(laws[fresh], n, line, visits, i, room, vector)
        log_weights[n_clusters] = log_v[n_clusters + 1] - log_v[n_clusters] + score
        chosen = draw_from_logs(rng, log_weights, n_clusters + 1)
        k = active[chosen]
        law = laws[fresh] if chosen == n_clusters else laws[k]
        if chosen == n_clusters:
            clear(family, clusters, k)
            n_clusters += 1
        log_placed(law, n, line, visits, i, room, vector)
        draw_effects(rng, law, room, vector, rows[i])
        if rows.shape[1] > d:
            rows[i, d + 1] = squared_residual(rows[i], visits.grams[i], visits.moments[i], visits.squares[i])
        verbs.add(family, statistics, cache, k, rows[i], work)
        sizes[k] += 1
        labels[i] = k
        _write(family, statistics, cache, k, noise, laws[k])
    return rows.shape[0], n_clusters


@inner_kernel
def _write(family, statistics, cache, k, noise, law):
    """The law of effects and noise of one more subject of cluster ``k``."""
    write_law(family, statistics, cache, k, law)
    write_noise(statistics, k, noise, law)


@inner_kernel
def _draw_line(rng, law, n, row, line, vector):
    """Places, on the line, of the random precisions of effects and noise that follow ``law``; each is a gamma again."""
    d = vector.size
    after = d + d * (d + 1) // 2 + 1
    for j in range(d):
        vector[j] = row[j] - law[j]
    if law[law.size - 2] > 0.0:
        line[n] = _draw_place(rng, law[law.size - 2], row[d], law[law.size - 3] * row[d + 1])
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
def _root(dof, place):
    """The cube root of the random precision at this place on the line."""
    spread = 2.0 / (9.0 * dof)
    return 1.0 - spread + place * math.sqrt(spread)


@inner_kernel
def log_placed(law, n, line, visits, i, room, vector):
    """Log density of the outcomes of subject ``i``, up to terms without the law, its effects integrated out.

    ``room`` is left with the factor of M, ``vector`` with that factor times (posterior mean - m) (of the lower
    triangle: L^-1 e).
    """
    grams, moments, counts, squares = visits
    d = vector.size
    triangle = d * (d + 1) // 2
    value = law[d + triangle]
    after, noise = d + triangle + 1, law.size - 3
    scale, tau = 1.0, law[noise]
    for a in range(n):
        dof = law[after + 2 * a]
        x = _root(dof, line[a])
        if not x > 0.0:
            return -math.inf
        log_x = math.log(x)
        scale = x * x * x
        value += law[after + 2 * a + 1] + (1.5 * dof - 1.0) * log_x - 0.5 * dof * scale
        value += 1.5 * log_x * (d if n == 1 else 1)
    if law[noise + 1] > 0.0:
        dof = law[noise + 1]
        x = _root(dof, line[n])
        if not x > 0.0:
            return -math.inf
        value += law[noise + 2] + (1.5 * dof - 1.0) * math.log(x) - 0.5 * dof * (x * x * x)
        tau *= x * x * x
        value += 0.5 * (counts[i] * math.log(tau) - tau * squares[i])
    for j in range(d):
        vector[j] = moments[i, j]
    entry = 0
    for j in range(d):
        if n > 1:
            scale = _root(law[after + 2 * j], line[j]) ** 3
        for r in range(j, d):
            gram_entry = grams[i, entry]
            room[0, entry] = scale * law[d + entry] + tau * gram_entry
            vector[r] -= gram_entry * law[j]
            if r != j:
                vector[j] -= gram_entry * law[r]
            entry += 1
    for j in range(d):
        value += 0.5 * tau * law[j] * (moments[i, j] + vector[j])
        vector[j] *= tau
    if not factorise(room, 0, 0, d):
        return -math.inf
    return value - 0.5 * log_determinant(room, 0, 0, d) + 0.5 * solved_square(room, 0, 0, d, vector)


@inner_kernel
def draw_effects(rng, law, room, vector, row):
    """Effects given what ``log_placed`` has left: m + L^-T (L^-1 e + g)."""
    d = vector.size
    for j in range(d):
        vector[j] += rng.standard_normal()
    solve_transposed(room, 0, 0, d, vector)
    for j in range(d):
        row[j] = law[j] + vector[j]
