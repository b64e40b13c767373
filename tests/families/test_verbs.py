"""The verbs on plain arrays: statistics and caches that are kept, compiled and plain, and additive."""

from __future__ import annotations

import numpy as np
import pytest

from countless.families import FAMILIES, verbs

from .cases import CASES, every, filled, statistics_of
from .drivers import churn, draw_many, expect, in_python, interrogate, leave_one_out

N_CLUSTERS = 4
N_OPERATIONS = 100_000


def _everything(case) -> np.ndarray:
    return np.concatenate([case.rows, case.new])


def _copies(clusters, *more):
    return tuple(array.copy() for array in (*clusters, *more))


@every()
def test_a_hundred_thousand_additions_and_removals(case):
    """Statistics end as the sums over the final members; the kept cache answers as a rebuilt one does."""
    family = case.resolved()
    rows = np.tile(_everything(case), (4, 1))
    rng = np.random.default_rng(11)
    home = np.full(len(rows), -1)
    picks = rng.integers(0, len(rows), N_OPERATIONS)
    goals = rng.integers(0, N_CLUSTERS, N_OPERATIONS)
    hyper, kept = family.prepare(), family.allocate(N_CLUSTERS)
    kept.work.fill(np.nan)  # scratch space holds no promises
    churn(hyper, *kept, rows, home, picks, goals)
    assert len(set(home)) == N_CLUSTERS + 1

    rebuilt = family.allocate(N_CLUSTERS)
    each = statistics_of(hyper, rows, kept.statistics.shape[1])
    for k in range(N_CLUSTERS):
        rebuilt.statistics[k] = each[home == k].sum(axis=0)
        verbs.refresh(hyper, rebuilt.statistics, rebuilt.cache, k, rebuilt.work)
    np.testing.assert_allclose(kept.statistics, rebuilt.statistics, rtol=1e-8, atol=1e-8)
    for k in range(N_CLUSTERS):
        for row in case.new:
            one = verbs.log_predictive(hyper, kept.statistics, kept.cache, k, row, kept.work)
            other = verbs.log_predictive(hyper, rebuilt.statistics, rebuilt.cache, k, row, rebuilt.work)
            assert one == pytest.approx(other, rel=1e-8)
        one = verbs.log_marginal(hyper, kept.statistics, kept.cache, k)
        assert one == pytest.approx(verbs.log_marginal(hyper, rebuilt.statistics, rebuilt.cache, k), rel=1e-8)


@every()
def test_a_cluster_that_was_emptied_is_as_good_as_new(case):
    family = case.resolved()
    rows = np.tile(case.rows, (50, 1))
    hyper, used = family.prepare(), family.allocate(1)
    order = np.concatenate([np.arange(len(rows)), np.random.default_rng(2).permutation(len(rows))])
    churn(hyper, *used, rows, np.full(len(rows), -1), order, np.zeros(len(order), dtype=np.int64))
    assert used.statistics[0, 0] == 0
    fresh = family.allocate(1)
    np.testing.assert_allclose(used.statistics, fresh.statistics, atol=1e-9)
    for row in case.new:
        one = verbs.log_predictive(hyper, used.statistics, used.cache, 0, row, used.work)
        assert one == pytest.approx(
            verbs.log_predictive(hyper, fresh.statistics, fresh.cache, 0, row, fresh.work), rel=1e-9
        )


@every()
@pytest.mark.parametrize("n", [1, 2, 8])
def test_predictive_without_a_member(case, n):
    rows = case.rows[:n]
    hyper, clusters = case.filled(rows)
    clusters.work.fill(np.nan)
    out = np.empty((n, 3))
    leave_one_out(hyper, *clusters, 0, rows, out)
    expected = [
        case.family.log_predictive(rows[i : i + 1], np.delete(rows, i, axis=0) if n > 1 else None)[0] for i in range(n)
    ]
    for way in out.T:
        np.testing.assert_allclose(way, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "diagonal-gaussian"])
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("n", [1, 3])
def test_predictive_without_a_member_that_is_far_out(name, distance, n):
    """A row that makes up nearly all of the scatter of its cluster leaves the right number behind."""
    family = FAMILIES[name](mean=[0.0, 0.0], mean_strength=0.01, scale=[1.0, 2.0], dof=4.0)
    rows = np.array([[distance, -distance], [0.5, 0.1], [-0.3, 0.2]])[:n]
    family = family.resolve(rows)
    hyper, clusters = filled(family, rows)
    value = verbs.log_predictive_without(hyper, clusters.statistics, clusters.cache, 0, rows[0], clusters.work)
    hyper, others = filled(family, rows[1:])
    expected = verbs.log_predictive(hyper, others.statistics, others.cache, 0, rows[0], others.work)
    assert np.isfinite(value)
    # The scatter of the others was added to distance^2 and is known up to its rounding.
    lost = distance**2 * 1e-15 if n > 1 else 0.0
    assert value == pytest.approx(expected, rel=max(1e-9, min(lost, 0.5)))


@every()
def test_predictive_changes_nothing(case):
    hyper, clusters = case.filled()
    before = _copies(clusters[:2])
    for row in case.rows:
        verbs.log_predictive(hyper, clusters.statistics, clusters.cache, 0, row, clusters.work)
        verbs.log_predictive_without(hyper, clusters.statistics, clusters.cache, 0, row, clusters.work)
    for array, old in zip(clusters[:2], before, strict=True):
        np.testing.assert_allclose(array, old, rtol=1e-12, atol=1e-12)


@every()
def test_python_and_compiled_verbs_agree(case):
    family = case.resolved()
    hyper, clusters = case.filled()
    parameters = family.draw_parameters(3, case.rows)[None]
    centre = clusters.statistics[0] / clusters.statistics[0, 0]
    answers = []
    for run in (lambda function: function, in_python):
        clean = _copies(clusters)
        clean[2].fill(np.nan)
        asked = np.empty((len(case.new), 5))
        run(interrogate)(hyper, *clean, 0, parameters, centre, case.new, asked)
        without = np.empty((len(case.rows), 3))
        run(leave_one_out)(hyper, *clean, 0, case.rows, without)
        expected = np.full(clean[0].shape[1], np.nan)
        run(expect)(hyper, *clean[:2], 0, expected)
        moved = _copies(family.allocate(2))
        home = np.full(len(case.rows), -1)
        picks = np.random.default_rng(4).integers(0, len(home), 60)
        run(churn)(hyper, *moved, case.rows, home, picks, picks % 2)
        answers.append((asked, without, expected, *moved[:2]))
    for compiled, plain in zip(*answers, strict=True):
        assert np.isfinite(compiled).all()
        np.testing.assert_allclose(compiled, plain, rtol=1e-10, atol=1e-11)


@every()
def test_python_and_compiled_draws_agree(case):
    """One seed gives one stream of draws, whether or not the verb is compiled."""
    layout = case.resolved().layout()
    hyper, clusters = case.filled()
    answers = []
    for run in (lambda function: function, in_python):
        out = [np.empty((6, width)) for width in (layout.parameters, layout.statistics, len(case.new))]
        parameters = np.zeros((1, layout.parameters))
        run(draw_many)(hyper, *_copies(clusters), np.random.default_rng(8), parameters, case.new, *out)
        answers.append(out)
    for compiled, plain in zip(*answers, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-10, atol=1e-12)


@every()
def test_statistics_are_additive(case):
    """The sum of the statistics of two clusters is the union: its evidence is that of all rows together."""
    rows = case.rows
    for split in (1, len(rows) // 2):
        hyper, first = case.filled(rows[:split])
        _, second = case.filled(rows[split:])
        first.statistics[0] += second.statistics[0]
        verbs.refresh(hyper, first.statistics, first.cache, 0, first.work)
        union = verbs.log_marginal(hyper, first.statistics, first.cache, 0)
        assert union == pytest.approx(case.family.log_marginal(rows), rel=1e-10)


@every()
def test_first_statistic_counts_the_rows(case):
    hyper, clusters = case.filled()
    each = statistics_of(hyper, _everything(case), clusters.statistics.shape[1])
    assert np.isfinite(each).all()
    np.testing.assert_array_equal(each[:, 0], 1.0)


@every()
def test_scratch_space_may_be_larger_than_declared(case):
    """An engine that serves two families hands both the larger of their scratch arrays."""
    parameters = case.resolved().draw_parameters(3, case.rows)[None]
    hyper, clusters = case.filled()
    centre = clusters.statistics[0] / clusters.statistics[0, 0]
    answers = []
    for extra in (0, 7):
        asked = np.empty((len(case.new), 5))
        work = np.full(clusters.work.size + extra, np.nan)
        interrogate(hyper, *_copies(clusters[:2]), work, 0, parameters, centre, case.new, asked)
        answers.append(asked)
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-12)


@every()
def test_widths_of_the_layout(case):
    family = case.resolved()
    layout, clusters = family.layout(), family.allocate(3)
    assert clusters.statistics.shape == (3, layout.statistics)
    assert clusters.cache.shape == (3, layout.cache)
    assert family.draw_parameters(0).shape == (layout.parameters,)
    assert family.scratch().size >= max(2 * layout.statistics, layout.work)


def test_a_verb_that_a_family_lacks_is_named():
    with pytest.raises(NotImplementedError, match="tuple does not implement the verb 'log_marginal'"):
        verbs.log_marginal((), None, None, 0)


def test_one_cluster_does_not_touch_another():
    """Adding to cluster 1 leaves clusters 0 and 2 as they were, for every family."""
    for case in CASES:
        hyper, one = filled(case.resolved(), case.rows)
        clusters = case.resolved().allocate(3)
        clusters.statistics[:], clusters.cache[:] = one.statistics[0], one.cache[0]
        verbs.add(hyper, clusters.statistics, clusters.cache, 1, case.new[0], clusters.work)
        for k in (0, 2):
            np.testing.assert_array_equal(clusters.statistics[k], one.statistics[0])
            np.testing.assert_array_equal(clusters.cache[k], one.cache[0])
        assert clusters.statistics[1, 0] == one.statistics[0, 0] + 1
