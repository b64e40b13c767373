"""State: growing, renumbering and rebuilding change how a partition is kept, never which one it is."""

from __future__ import annotations

import numpy as np
import pytest

from countless.chains.schedule import REBUILD_EVERY, Schedule
from countless.core.validate import by_first_appearance
from countless.families import Categorical, Gaussian, Poisson
from countless.inference import Problem, State
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.partitions.seats import SPARE_SLOTS
from countless.priors import CRP, FiniteDirichlet
from helpers import generator


def _gaussian(n, rng, d=3):
    X = rng.standard_normal((n, d)) + 4.0 * rng.integers(0, 3, size=(n, 1))
    return np.ascontiguousarray(X), Gaussian()


def _poisson(n, rng, d=3):
    return rng.poisson(2.0 + 9.0 * rng.integers(0, 3, size=(n, 1)), size=(n, d)).astype(float), Poisson()


def _categorical(n, rng, d=3):
    return (rng.integers(0, 3, size=(n, d)) * rng.integers(0, 2, size=(n, 1))).astype(float), Categorical()


MAKERS = {"gaussian": _gaussian, "poisson": _poisson, "categorical": _categorical}
every_maker = pytest.mark.parametrize("kind", MAKERS)


def _setting(kind, n, rng, n_clusters=7, prior=None):
    X, family = MAKERS[kind](n, rng)
    problem = Problem.of(X, family.resolve(X), prior or CRP(1.0))
    return problem, State(problem, rng.integers(0, n_clusters, size=n), 1.0)


def _check(state, problem):
    """Everything derived agrees with the labels and the rows."""
    used = state.seats.arrays.active[: state.n_clusters]
    assert sorted(state.seats.arrays.active) == list(range(state.capacity))
    assert set(state.labels) == set(used)
    counts = np.bincount(state.labels, minlength=state.capacity)
    np.testing.assert_array_equal(state.seats.arrays.sizes, counts)
    assert state.capacity >= min(problem.n_rows, state.n_clusters + 1) + SPARE_SLOTS
    assert len(state.seats.arrays.log_v) == state.capacity + 2
    assert len(state.seats.arrays.log_weights) == state.capacity + 1
    fresh = State(problem, state.labels, state.concentration)
    assert state.log_joint() == pytest.approx(fresh.log_joint(), rel=1e-10)
    np.testing.assert_array_equal(state.partition(), fresh.partition())


@every_maker
def test_log_joint_is_prior_times_evidence(kind, rng):
    """The family and the prior, asked in plain Python about the user's own rows."""
    X, family = MAKERS[kind](40, rng)
    family = family.resolve(X)
    prior = CRP(0.7)
    labels = rng.integers(0, 5, size=40)
    blocks = sum(family.log_marginal(X[labels == k]) for k in np.unique(labels))
    problem = Problem.of(X, family, prior)
    state = State(problem, labels, 0.7)
    assert state.log_joint() == pytest.approx(blocks + prior.log_prob(labels), rel=1e-9)


@every_maker
def test_growing_keeps_the_state(kind, rng):
    problem, state = _setting(kind, 60, rng)
    before, labels, room = state.log_joint(), state.partition(), state.capacity
    state.grow()
    assert state.capacity > room
    assert state.log_joint() == before
    np.testing.assert_array_equal(state.partition(), labels)
    _check(state, problem)


@every_maker
def test_room_grows_until_every_row_may_be_alone(kind, rng):
    problem, state = _setting(kind, 60, rng)
    state.reserve(1000)
    assert state.capacity >= 60 + SPARE_SLOTS
    room = state.capacity
    state.reserve(1000)
    assert state.capacity == room
    _check(state, problem)


@every_maker
def test_renumbering_keeps_the_state(kind, rng):
    problem, state = _setting(kind, 60, rng, n_clusters=25)
    for _ in range(20):
        GibbsSweep().step(rng, state)
    before, labels = state.log_joint(), state.partition()
    state.compact()
    assert state.seats.arrays.active.tolist() == list(range(state.capacity))
    assert state.log_joint() == pytest.approx(before, rel=1e-14)
    np.testing.assert_array_equal(state.partition(), labels)
    _check(state, problem)


@every_maker
def test_a_copy_is_independent(kind, rng):
    problem, state = _setting(kind, 60, rng)
    twin, before, labels = state.copy(), state.log_joint(), state.partition()
    for _ in range(5):
        GibbsSweep().step(rng, twin)
    assert state.log_joint() == before
    np.testing.assert_array_equal(state.partition(), labels)
    _check(twin, problem)


@every_maker
def test_many_sweeps_do_not_drift(kind):
    """300 rows, one sweep short of the interval at which a schedule rebuilds, from one cluster and from many."""
    rng = generator("drift", kind)
    for n_clusters in (1, 150):
        problem, state = _setting(kind, 300, rng, n_clusters)
        schedule = Schedule([GibbsSweep(), SplitMerge(10)])
        for _ in range(REBUILD_EVERY - 1):
            schedule.step(rng, state)
        _check(state, problem)
        before = state.log_joint()
        assert state.rebuild() < 1e-8
        assert state.log_joint() == pytest.approx(before, rel=1e-10)


def test_a_schedule_rebuilds_now_and_then(rng, monkeypatch):
    _, state = _setting("poisson", 20, rng)
    calls = []
    monkeypatch.setattr(State, "rebuild", lambda self: calls.append(1))
    schedule = Schedule([GibbsSweep()])
    for _ in range(2 * REBUILD_EVERY):
        schedule.step(rng, state)
    assert len(calls) == 2


@every_maker
def test_sweeps_make_room_for_many_new_clusters(kind, rng):
    """A concentration of a million sends nearly every row to a cluster of its own, from room for sixteen."""
    problem, state = _setting(kind, 200, rng, n_clusters=1, prior=CRP(1e6))
    assert state.capacity < 30
    GibbsSweep().step(rng, state)
    assert state.n_clusters > 100
    _check(state, problem)


@every_maker
def test_split_merge_makes_room_for_many_new_clusters(kind, rng):
    problem, state = _setting(kind, 60, rng, n_clusters=1, prior=CRP(1e6))
    SplitMerge(400).step(rng, state)
    assert state.n_clusters > 20
    _check(state, problem)


@every_maker
def test_no_more_clusters_than_components(kind, rng):
    problem, state = _setting(kind, 60, rng, n_clusters=3, prior=FiniteDirichlet(3, 50.0))
    for _ in range(30):
        GibbsSweep().step(rng, state)
        SplitMerge(10).step(rng, state)
        assert state.n_clusters <= 3
    _check(state, problem)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_very_few_rows(n_rows, rng):
    problem, state = _setting("gaussian", n_rows, rng, n_clusters=1)
    for _ in range(200):
        GibbsSweep().step(rng, state)
        SplitMerge(3).step(rng, state)
        _check(state, problem)


def test_equal_rows(rng):
    """Rows that are all the same: evidences stay finite and every size of cluster is visited."""
    X = np.full((12, 2), 3.0)
    problem = Problem.of(X, Gaussian().resolve(X), CRP(1.0))
    state = State(problem, np.zeros(12, dtype=np.int64), 1.0)
    for _ in range(100):
        GibbsSweep().step(rng, state)
        SplitMerge(3).step(rng, state)
        assert np.isfinite(state.log_joint())
    _check(state, problem)


@every_maker
def test_relabelling_keeps_the_books(kind, rng):
    """Any labels: clusters that empty, open and change their numbers."""
    problem, state = _setting(kind, 60, rng)
    for n_clusters in (1, 40, 3, 60):
        labels = rng.integers(0, n_clusters, size=60) * 7
        state.relabel(labels)
        _check(state, problem)
        np.testing.assert_array_equal(state.partition(), State(problem, by_first_appearance(labels), 1.0).partition())
        GibbsSweep().step(rng, state)
        _check(state, problem)


def test_labels_changed_by_hand_are_refused(rng):
    _, state = _setting("poisson", 20, rng, n_clusters=2)
    state.labels[:] = 0
    with pytest.raises(ValueError, match=r"labels do not agree with the clusters in use; .*state\.relabel"):
        state.rebuild()


@every_maker
def test_a_frozen_state_thaws(kind, rng):
    problem, state = _setting(kind, 60, rng)
    for _ in range(3):
        GibbsSweep().step(rng, state)
    twin = problem.thaw(state.freeze())
    assert twin.log_joint() == state.log_joint()
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        GibbsSweep().step(one, state)
        GibbsSweep().step(other, twin)
    np.testing.assert_array_equal(state.labels, twin.labels)
    assert twin.log_joint() == state.log_joint()
