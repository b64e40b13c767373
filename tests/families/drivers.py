"""Small kernels that call the verbs as an engine does, compiled or, by ``in_python``, as they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from countless.core.jit import kernel
from countless.families import verbs


def in_python(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The function before compilation; with JIT off it is the function itself."""
    return getattr(compiled, "py_func", compiled)


@kernel
def churn(family, statistics, cache, work, rows, home, picks, goals):
    """At each step one row leaves its cluster, or joins one if it has none (home -1)."""
    for step in range(picks.size):
        i = picks[step]
        if home[i] >= 0:
            verbs.remove(family, statistics, cache, home[i], rows[i], work)
            home[i] = -1
        else:
            home[i] = goals[step]
            verbs.add(family, statistics, cache, home[i], rows[i], work)


@kernel
def interrogate(family, statistics, cache, work, k, parameters, centre, rows, out):
    """Every verb that answers with a number about a row, for all rows."""
    for i in range(rows.shape[0]):
        out[i, 0] = verbs.log_predictive(family, statistics, cache, k, rows[i], work)
        out[i, 1] = verbs.log_likelihood(family, parameters, k, rows[i], work)
        out[i, 2] = verbs.divergence(family, rows[i], centre)
        out[i, 3] = verbs.mean_divergence(family, rows[i], centre, centre)
        out[i, 4] = verbs.log_marginal(family, statistics, cache, k)


@kernel
def leave_one_out(family, statistics, cache, work, k, rows, out):
    """Predictive of members of cluster ``k`` given the others: by the verb, by hand, by evidences."""
    for i in range(rows.shape[0]):
        out[i, 0] = verbs.log_predictive_without(family, statistics, cache, k, rows[i], work)
        whole = verbs.log_marginal(family, statistics, cache, k)
        verbs.remove(family, statistics, cache, k, rows[i], work)
        out[i, 1] = verbs.log_predictive(family, statistics, cache, k, rows[i], work)
        out[i, 2] = whole - verbs.log_marginal(family, statistics, cache, k)
        verbs.add(family, statistics, cache, k, rows[i], work)


@kernel
def draw_many(family, statistics, cache, work, rng, parameters, rows, draws, naturals, likelihoods):
    """Draws of the parameters of cluster 0, their natural form, and the log likelihood of rows under each."""
    for t in range(draws.shape[0]):
        verbs.draw_parameters(family, statistics, cache, 0, rng, parameters)
        for p in range(draws.shape[1]):
            draws[t, p] = parameters[0, p]
        verbs.natural(family, parameters, 0, naturals[t])
        for i in range(rows.shape[0]):
            likelihoods[t, i] = verbs.log_likelihood(family, parameters, 0, rows[i], work)


@kernel
def expect(family, statistics, cache, k, out):
    verbs.expected_natural(family, statistics, cache, k, out)


@kernel
def evidence(family, statistics, cache, k):
    return verbs.log_marginal(family, statistics, cache, k)


@kernel
def without_member(family, statistics, cache, work, k, row):
    return verbs.log_predictive_without(family, statistics, cache, k, row, work)
