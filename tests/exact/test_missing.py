"""Missing cells of correlated columns: the log joint counts them, and learned hyperparameters see what was drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.families import Table
from countless.inference import BlockedGibbs, CollapsedGibbs, Problem, Variational
from countless.partitions.moves.sweeps import GibbsSweep
from countless.passes.passes import Passes
from countless.priors import CRP
from countless.tuning import CrossValidation, EmpiricalBayes, Greedy

ENGINE = CollapsedGibbs(chains=2, draws=30, warmup=20, n_threads=1)


def _frame(n=40, share=0.25, seed=0):
    """Two correlated columns in two groups, in units far from one, with missing cells."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 2
    height = 170.0 + 30.0 * groups + 8.0 * rng.standard_normal(n)
    weight = 0.07 * (height - 170.0) + 0.2 * rng.standard_normal(n)
    frame = pd.DataFrame({"height": height, "weight": weight, "colour": np.where(groups, "red", "blue")})
    hidden = rng.random((n, 2)) < share
    hidden[hidden.all(axis=1), 0] = False
    frame[["height", "weight"]] = frame[["height", "weight"]].mask(hidden)
    return frame


def _problem(frame):
    family, rows = Table({"height": "gaussian", "weight": "gaussian", "colour": "categorical"}).read(frame)
    family = family.resolve(rows)
    return family, rows, Problem.of(rows, family, CRP(1.0))


def test_the_log_joint_is_that_of_the_completed_rows(rng):
    """Missing cells that are drawn count like any other cell, in the user's units."""
    family, rows, problem = _problem(_frame())
    state = problem.state(np.arange(len(rows)) % 3)
    for _ in range(3):
        GibbsSweep().step(rng, state)
        cells = problem.missing
        completed = family.arrange(rows).copy()
        completed[cells.rows, cells.columns] = state.missing_values()
        completed = family.restore(completed)
        whole = Problem.of(completed, family, CRP(1.0)).state(state.partition())
        assert not whole.problem.draws_missing
        assert state.log_joint() == pytest.approx(whole.log_joint(), rel=1e-9)


def test_chains_do_not_share_the_cells_that_they_draw(rng):
    _, _, problem = _problem(_frame())
    before = problem.rows.copy()
    one, other = (problem.start("greedy", number, rng) for number in range(2))
    assert not np.array_equal(one.missing_values(), other.missing_values())
    np.testing.assert_array_equal(problem.rows, before)


def test_the_evidence_of_hyperparameters_is_that_of_the_completed_rows(rng):
    """The mean over draws, each with its own cells: not that of cells at the column mean."""
    family, rows, problem = _problem(_frame())
    draws = ENGINE.run(problem, rng)
    which = np.array([0, 17, 41])
    logs = {"gaussian.scale": 0.7}
    tuned = family.with_tuned(logs)
    expected = []
    for number in which:
        chain, draw = divmod(int(number), 30)
        completed = family.arrange(rows).copy()
        completed[problem.missing.rows, problem.missing.columns] = draws["missing"][chain, draw]
        completed = family.restore(completed)
        labels = draws["labels"][chain, draw].astype(np.int64)
        whole = Problem.of(completed, tuned, CRP(1.0)).state(labels)
        expected.append(whole.log_joint() - CRP(1.0).log_prob(labels))
    log_jacobian = problem.log_jacobian - np.log(problem.scale[problem.missing.columns]).sum()
    assert problem.evidence(draws, which)(logs) + log_jacobian == pytest.approx(np.mean(expected), rel=1e-7)


def test_a_scale_that_is_learned_does_not_shrink_with_the_share_of_missing_cells():
    """At the column mean, missing cells would look like rows without spread; the log factor would fall by about 0.5."""
    learned = []
    for share in (0.0, 0.35):
        family = Table({"height": "gaussian", "weight": "gaussian", "colour": "categorical"})
        tune = EmpiricalBayes(names=("gaussian.scale",), spread=2.0, rounds=6)
        model = cl.DPMixture(family, inference=ENGINE, tune=tune, random_state=0).fit(_frame(120, share))
        scale = model.family_.blocks[0].family.scale
        learned.append(np.linalg.slogdet(scale)[1] / 2)
    assert abs(learned[1] - learned[0]) < 0.35


def test_greedy_says_what_to_choose():
    family = Table({"height": "gaussian", "weight": "gaussian", "colour": "ignore"})
    with pytest.raises(ValueError, match=r"'greedy' searches by MAP, which cannot draw the missing cells .* 'sample'"):
        cl.DPMixture(family, inference=ENGINE, tune=Greedy(), random_state=0).fit(_frame())


def test_cross_validation_predicts_with_the_cells_that_were_drawn():
    """A scale a million times too large loses, as it does for complete rows."""
    family = Table({"height": "gaussian", "weight": "gaussian", "colour": "ignore"})
    tune = CrossValidation([{"gaussian.scale": 1e6}, {"gaussian.scale": 1.0}], cv=2)
    model = cl.DPMixture(family, inference=ENGINE, tune=tune, random_state=0).fit(_frame())
    assert np.unique(model.posterior_.log_factors["gaussian.scale"]).tolist() == [0.0]


def _two_blocks():
    rng = np.random.default_rng(1)
    groups = np.arange(60) % 2
    frame = pd.DataFrame(rng.standard_normal((60, 4)) + 9.0 * groups[:, None], columns=list("abcd"))
    return groups, frame, Table({("a", "b"): cl.families.Gaussian(), ("c", "d"): cl.families.Gaussian(dof=6.0)})


def test_passes_over_a_table_with_two_gaussian_blocks_see_the_rows_of_the_sweeps():
    groups, frame, table = _two_blocks()
    family, rows = table.read(frame)
    problem = Problem.of(rows, family.resolve(rows), CRP(1.0))
    state = problem.state(groups)
    with Passes(problem) as passes:
        sums = passes.sums_of(groups, 2)
    np.testing.assert_allclose(sums, state.clusters.arrays.statistics[:2], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inference",
    ["map", Variational(restarts=2), BlockedGibbs(chains=1, draws=15, warmup=30)],
    ids=["map", "variational", "blocked"],
)
def test_a_table_with_two_gaussian_blocks(inference):
    """Kernels of such a table are compiled for it alone, which takes minutes."""
    groups, frame, table = _two_blocks()
    model = cl.DPMixture(table, inference=inference, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.labels_, groups)
    assert np.isfinite(model.posterior_.log_joint).all()
