"""Rows that count for less than one: exact where rows count twice, found where neighbours hold on to each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import countless as cl
from countless.chains import Watch
from countless.models.hmm.engines.map import HMMMAP
from countless.models.hmm.engines.variational import HMMVariational
from countless.models.hmm.moves.numbers import BaseUpdate
from countless.models.hmm.moves.paths import BeamPath, WholePath
from countless.models.hmm.moves.split_merge import SplitMerge
from countless.models.hmm.moves.sweeps import DirectSweep
from countless.models.hmm.predictive import Fitted
from countless.models.hmm.problem import Problem
from countless.models.hmm.row_weight import neighbour_correlation, resolve_row_weight
from countless.transitions import StickyHDP
from exact.enumeration import partitions
from exact.problems import example
from helpers import generator

from .exact_paths import LIMIT, exact_posterior, excess, gem, prior_of_partitions, run_chain

LAW, LENGTHS = StickyHDP(1.3, 0.7, 2.0), (4, 2)
pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")


class Doubled:
    """A family that sees each row twice."""

    def __init__(self, family):
        self.family = family

    def log_marginal(self, X):
        return self.family.log_marginal(np.repeat(X, 2, axis=0))


def _doubled(name):
    family, X = example(name)
    X = np.ascontiguousarray(X[:6])
    return X, family, exact_posterior(Doubled(family), X, prior_of_partitions(6, LENGTHS, 1.3, gem(0.7), 2.0))


MOVES = {
    "whole": lambda: [WholePath(), BaseUpdate()],
    "beam": lambda: [BeamPath(), BaseUpdate()],
    "all": lambda: [DirectSweep(), WholePath(), SplitMerge(2), BaseUpdate()],
}


def _cases():
    for name in ("poisson", "gaussian", "categorical"):
        for moves in MOVES:
            yield pytest.param(name, moves, marks=() if (name, moves) == ("poisson", "all") else pytest.mark.slow)


@pytest.mark.parametrize(("name", "moves"), list(_cases()))
def test_rows_of_weight_two_are_rows_twice(name, moves, rng):
    X, family, posterior = _doubled(name)
    labels, _ = run_chain(X, LENGTHS, family, LAW, MOVES[moves](), rng, 2, 4000, row_weight=2.0)
    assert excess(labels, posterior, rng) <= LIMIT


def test_a_weight_that_evidences_forget_fails(rng, monkeypatch):
    right = Problem.statistics_at
    monkeypatch.setattr(Problem, "statistics_at", lambda self, steps, rows: right(self, steps, rows) / self.row_weight)
    X, family, posterior = _doubled("poisson")
    moves = [SplitMerge(4), BaseUpdate()]
    labels, _ = run_chain(X, LENGTHS, family, LAW, moves, rng, 1, 3000, row_weight=2.0)
    assert excess(labels, posterior, rng) > LIMIT


def test_optimisers_of_rows_of_weight_two():
    """The bound is below the evidence of the rows twice; the path of MAP is the most probable one of all."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior_of_partitions(6, LENGTHS, 1.3, gem(0.7), 2.0))
    for name in ("poisson", "gaussian"):
        X, family, posterior = _doubled(name)
        problem = Problem.of(X, np.array(LENGTHS), family, LAW, row_weight=2.0)
        watch = Watch(progress=False)
        bound = HMMVariational(restarts=1, draws=1).run(problem, generator(name), watch)["objective"][-1]
        evidences = [sum(Doubled(family).log_marginal(X[z == k]) for k in range(z.max() + 1)) for z in partitions(6)]
        assert bound <= logsumexp(log_prior + np.array(evidences)) + 1e-8
        path = HMMMAP().run(problem, generator(name), watch)["labels"][0, 0]
        at = np.flatnonzero((partitions(6) == path).all(axis=1))[0]
        assert posterior[at] > 0.2 * posterior.max()


def test_densities_are_of_whole_rows(rng):
    """What a step says of the states is weighted, its density given the steps before is not."""
    rows = rng.normal(size=(8, 1)) + np.repeat([0.0, 4.0], 4)[:, None]
    problem = Problem.of(rows, np.array([5, 3]), cl.families.Gaussian().resolve(rows), LAW, row_weight=0.3)
    fitted = Fitted.of(problem, np.repeat([0, 1], 4), LAW)
    density = np.exp(fitted.scores(problem.rows))
    expected, shares = [], None
    for t in range(8):
        before = fitted.chain.start if problem.first[t] else shares @ fitted.chain.transition
        expected.append(np.log(before @ density[t]))
        shares = before * density[t] ** 0.3
        shares /= shares.sum()
    np.testing.assert_allclose(fitted.log_densities(problem.rows, problem.first), expected, rtol=1e-10)


# --- found for sequences ----------------------------------------------------------------------------------------------


def _slow(n, r, rng, d=2):
    """Noise of variance one whose neighbours have the correlation r."""
    noise = rng.normal(size=(n, d))
    for t in range(1, n):
        noise[t] = r * noise[t - 1] + np.sqrt(1.0 - r * r) * noise[t]
    return noise


def _weight(X, seed=0):
    family = cl.families.Gaussian()
    problem = Problem.of(X, np.array([len(X)]), family.resolve(X), StickyHDP().resolve(), family.left_open())
    return resolve_row_weight("auto", problem.learning(), generator("weight", seed))


def test_neighbours_hold_on_to_each_other(rng):
    X = _slow(4000, 0.8, rng, 1)
    problem = Problem.of(X, np.array([4000]), cl.families.Poisson().resolve(np.ones((1, 1))), LAW)
    problem = problem.__class__.of(X, np.array([4000]), cl.families.Gaussian().resolve(X), LAW)
    # Squares have the square of the correlation, and both kinds of statistics count alike.
    found = neighbour_correlation(problem, np.zeros(4000, dtype=np.int64))
    assert abs(found - 0.5 * (0.8 + 0.64)) < 0.05


def test_states_whose_rows_are_independent_keep_their_weight(rng):
    states = np.repeat([0, 1, 2, 0, 1, 2], 80)
    assert _weight(rng.normal(size=(480, 2)) + 4.0 * states[:, None]) == 1.0
    assert _weight(rng.normal(size=(400, 1))) == 1.0
    assert _weight(np.ones((400, 1))) == 1.0


def test_states_whose_rows_hold_on_to_the_last_are_not_many():
    rng = generator("slow rows")
    states = np.repeat([0, 1, 2, 0, 1, 2, 1, 0], 100)
    X = _slow(800, 0.9, rng, 4) + 5.0 * np.stack([states == 0, states == 1, states == 2, states == 2], axis=1)
    engine = cl.inference.DirectAssignment(chains=2, draws=20, warmup=60)
    model = cl.InfiniteHMM(inference=engine, random_state=0).fit(X)
    assert model.row_weight_ < 0.5
    assert model.n_states_ <= 5
    assert cl.metrics.normalized_mutual_information(model.labels_, states) > 0.85
    each = cl.InfiniteHMM(inference=engine, random_state=0, row_weight=1.0).fit(X)
    assert each.n_states_ > 8


def test_weights_are_checked_and_saved(tmp_path, rng):
    X = rng.normal(size=(60, 2)) + np.repeat([[0.0], [6.0]], 30, axis=0)
    for wrong in (0.0, 1.5, "half", np.nan):
        with pytest.raises(ValueError, match="row_weight must be 'auto' or a number above 0"):
            cl.InfiniteHMM(row_weight=wrong).fit(X)
    model = cl.InfiniteHMM(inference="map", random_state=0, row_weight=0.5).fit(X)
    assert model.row_weight_ == 0.5
    twin = cl.load(model.save(tmp_path / "model.npz"))
    assert twin.row_weight_ == 0.5
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(twin.score_samples(X), model.score_samples(X))
