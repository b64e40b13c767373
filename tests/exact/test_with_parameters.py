"""Samplers that keep parameters draw every partition of seven rows as often as the exact posterior says.

Every family with parameters of clusters, one of each kind with parameters of rows (both ask a family for the same), and
the priors in turn. The criterion is that of the collapsed sweep: 1.5 times the total variation that as many independent
draws show on average. Draws are thinned, single-site ones most, as they mix slowly.
With fourteen columns parameters all but fix the labels: clusters then change by split-merge, and parameters of single
rows, which have no such move, stand still for any affordable number of sweeps.
"""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np
import pytest

from countless.families import verbs
from countless.inference import Problem
from countless.partitions import parameter_sweep
from countless.partitions.moves.concentration import ConcentrationUpdate
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import ParameterSweep, SingleSiteSweep
from countless.priors import CRP, Gamma

from .chains import LIMIT, excess, run_chain
from .chains import N_DRAWS as LONG
from .enumeration import exact_posterior
from .problems import EXAMPLES, PRIORS, example
from .test_controls import WithTable

N_DRAWS = 3_000
WIDE = "gaussian-14-columns"
NAMES = [name for name in EXAMPLES if name != WIDE]
ONE_OF_EACH_KIND = ("poisson", "gaussian", "categorical", "multinomial", "exponential")


def _in_turn(names):
    """Each of them with a prior, every prior with one of them."""
    pairs = islice(zip(cycle(names), cycle(PRIORS), strict=False), max(len(names), len(PRIORS)))
    return pytest.mark.parametrize(("name", "prior"), list(pairs))


def _excess(name, prior, moves, rng, thin, n_draws=N_DRAWS):
    family, X = example(name)
    draws = run_chain(Problem.of(X, family, prior), moves, rng, thin=thin, n_draws=n_draws)
    return excess(draws.labels, exact_posterior(family, X, prior), rng)


@_in_turn(NAMES)
def test_parameters_of_clusters(name, prior, rng):
    assert _excess(name, PRIORS[prior], [ParameterSweep()], rng, thin=2) <= LIMIT


@_in_turn(ONE_OF_EACH_KIND)
def test_parameters_of_rows(name, prior, rng):
    assert _excess(name, PRIORS[prior], [SingleSiteSweep()], rng, thin=20) <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize(("sweep", "thin"), [(ParameterSweep, 4), (SingleSiteSweep, 40)], ids=["clusters", "rows"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", NAMES)
def test_every_pair_at_length(name, prior, sweep, thin, rng):
    """With as many draws as the collapsed sampler is tested with."""
    assert _excess(name, PRIORS[prior], [sweep()], rng, thin, n_draws=LONG) <= LIMIT


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", ["poisson", WIDE])
def test_with_split_merge(name, prior, rng):
    """Split-merge proposals, which know nothing of parameters, between sweeps."""
    assert _excess(name, PRIORS[prior], [SplitMerge(3), ParameterSweep()], rng, thin=2) <= LIMIT


@pytest.mark.parametrize("sweep", [ParameterSweep, SingleSiteSweep])
def test_with_a_learned_concentration(sweep, rng):
    moves = [sweep(), ConcentrationUpdate()]
    assert _excess("poisson", CRP(Gamma(2.0, 1.0)), moves, rng, thin=6) <= LIMIT


# --- what is wrong on purpose must fail ------------------------------------------------------------------------------


def _clusters_too_cheap(table):
    return table._replace(log_v=table.log_v + 0.4 * np.arange(len(table.log_v)))


@pytest.mark.parametrize("sweep", [ParameterSweep, SingleSiteSweep])
def test_a_sweep_with_a_wrong_table_fails(sweep, rng):
    assert _excess("poisson", PRIORS["crp"], [WithTable(sweep(), _clusters_too_cheap)], rng, thin=6) > LIMIT


def _from_the_prior(family, rng, clusters, slots):
    for k in slots:
        statistics = np.zeros_like(clusters.statistics[:1])
        cache = np.zeros_like(clusters.cache[:1])
        verbs.refresh(family, statistics, cache, 0, clusters.work)
        verbs.draw_parameters(family, statistics, cache, 0, rng, clusters.parameters[k : k + 1])


def test_parameters_that_do_not_see_the_rows_fail(rng, monkeypatch):
    monkeypatch.setattr(parameter_sweep, "_draw_parameters", _from_the_prior)
    assert _excess("poisson", PRIORS["crp"], [ParameterSweep()], rng, thin=2) > LIMIT


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_new_values_of_rows_from_the_prior_fail(wrong, rng, monkeypatch):
    """The sweep's code in plain Python, where a new cluster does not look at its row."""
    for name in ("_sweep", "_open"):
        compiled = getattr(parameter_sweep, name)
        monkeypatch.setattr(parameter_sweep, name, getattr(compiled, "py_func", compiled))
    if wrong:
        right = parameter_sweep._open

        def blind(family, rng, seats, clusters, k, row):
            right(family, rng, seats, clusters, k, row)
            _from_the_prior(family, rng, clusters, [k])

        monkeypatch.setattr(parameter_sweep, "_open", blind)
    shown = _excess("poisson", PRIORS["crp"], [SingleSiteSweep()], rng, thin=3, n_draws=1_000)
    assert (shown > LIMIT) == wrong


def test_split_merge_does_not_go_with_parameters_that_are_never_refreshed(rng):
    assert _excess("poisson", PRIORS["crp"], [SplitMerge(2), SingleSiteSweep()], rng, thin=2) > LIMIT
