"""Chains that decide when they are done: how long, from which draws, and always the same."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import countless as cl
from countless.chains import jobs, rounds, sampler
from countless.chains.checkpoint import MemoryRecorder
from countless.chains.rounds import Agreement, Rounds, rounds_for
from countless.inference import CollapsedGibbs, Problem, Watch
from countless.priors import CRP, Gamma


def _problem(n=40):
    rng = np.random.default_rng(1)
    X = np.ascontiguousarray(rng.standard_normal((n, 1)) + 2.0 * rng.integers(0, 2, size=(n, 1)))
    return Problem.of(X, cl.families.Gaussian().resolve(X), CRP(Gamma(1.0, 1.0)))


def _run(problem, watch=None, seed=3, **settings):
    engine = CollapsedGibbs(**{"chains": 2, "thin": 1, **settings})
    return engine.run(problem, np.random.default_rng(seed), watch or Watch(progress=False))


def _same(one, other):
    assert (one.shape, one.made, one.spent, one.interrupted) == (
        other.shape,
        other.made,
        other.spent,
        other.interrupted,
    )
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


# --- times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most_held", [250, 500, 1000])
def test_times_of_kept_draws(most_held):
    """By hand: go through all times, thin what is there whenever a round begins."""
    plan = Rounds(last=5, most_held=most_held)
    kept, held = [], []
    for number in range(6):
        begin = 0 if number == 0 else plan.end(number - 1)
        held = [time for time in held if time % plan.step(number) == 0]
        for time in range(begin + 1, plan.end(number) + 1):
            assert plan.number_of(time) == number
            if plan.keeps(time):
                kept.append(time)
                held.append(time)
            if time % 97 == 0:
                assert plan.kept_until(time) == len(kept)
        assert len(held) <= most_held
        assert len(set(np.diff(held))) == 1
        assert plan.kept_until(plan.end(number)) == len(kept)
    np.testing.assert_array_equal(plan.times(len(kept)), kept)
    np.testing.assert_array_equal(plan.times(333), kept[:333])
    assert [plan.end(number) for number in range(4)] == [250, 500, 1000, 2000]


def test_the_budget_counts_work_and_nothing_else(monkeypatch):
    assert rounds_for(100, 1, 1.0, 10) == Rounds(7, 1000)  # never more than 32,000 draws
    assert rounds_for(100, 1, 1e12, 10).last == 0  # never less than a round
    monkeypatch.setattr(rounds, "WORK", 1100.0)
    assert rounds_for(100, 1, 1.0, 10).last == 2
    assert rounds_for(101, 1, 1.0, 10).last == 1
    assert rounds_for(100, 1, 2.0, 10).last == 0
    assert rounds_for(0, 2, 1.0, 10).last == 1
    assert [rounds_for(100, 1, 1.0, items).most_held for items in (40_000, 80_000, 10**6)] == [1000, 500, 250]


# --- decisions -----------------------------------------------------------------------------------------------------


def test_a_small_problem_ends_after_the_first_round():
    draws = _run(_problem(6), chains=4)
    assert (draws.shape, draws.made, draws.spent, draws.interrupted) == ((4, 250), 250, "", False)


def _judging(monkeypatch, answers):
    """Judgements that are given: agreement and whether the first half is dropped, for each length."""
    monkeypatch.setattr(sampler, "judged", lambda traces, fields, may_drop: answers[int(traces[0].times[-1])])


NO, YES = Agreement(1.2, 10.0), Agreement(1.0, 500.0)


def test_rounds_are_a_longer_run_of_the_same_chains(monkeypatch):
    problem = _problem()
    whole = _run(problem, draws=2000, warmup=100)
    _judging(monkeypatch, {250: (NO, False), 500: (NO, False), 1000: (NO, False), 2000: (YES, False)})
    draws = _run(problem)
    assert (draws.shape, draws.made) == ((2, 1000), 2000)
    for name in ("labels", "log_joint", "concentration"):
        np.testing.assert_array_equal(draws[name], whole[name][:, 1::2])
    _judging(monkeypatch, {250: (NO, False), 500: (YES, True)})
    late = _run(problem)
    assert (late.shape, late.made) == ((2, 250), 500)
    np.testing.assert_array_equal(late.labels, whole.labels[:, 250:500])


def test_parameters_of_clusters_are_thinned_with_the_draws(monkeypatch):
    problem = _problem()
    engine = cl.inference.Gibbs(chains=2, draws=500, warmup=100)
    whole = engine.run(problem, np.random.default_rng(3), Watch(progress=False))
    monkeypatch.setattr(rounds, "MOST_HELD", 250)
    _judging(monkeypatch, {250: (NO, False), 500: (YES, False)})
    draws = cl.inference.Gibbs(chains=2).run(problem, np.random.default_rng(3), Watch(progress=False))
    assert draws.shape == (2, 250)
    ends = np.cumsum(whole.n_clusters.ravel())
    which = np.zeros((2, 500), dtype=bool)
    which[:, 1::2] = True
    parts = [whole["parameters/mean"][ends[i] - whole.n_clusters.ravel()[i] : ends[i]] for i in np.flatnonzero(which)]
    np.testing.assert_array_equal(draws["parameters/mean"], np.concatenate(parts))


def test_a_given_warm_up_is_the_whole_warm_up(monkeypatch):
    seen = []
    judged = sampler.judged
    monkeypatch.setattr(sampler, "judged", lambda *given: seen.append(given[2]) or judged(*given))
    _run(_problem(6), warmup=20)
    assert seen == [False, False]
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1, or 'auto', got 'many'"):
        CollapsedGibbs(draws="many")
    with pytest.raises(ValueError, match="max_seconds must be a number above 0, got 0"):
        CollapsedGibbs(max_seconds=0)


def test_an_overdispersed_start_is_dropped():
    """One chain begins with a trend over its first third: the whole disagrees, its last half does not."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 1000))
    values[0, :300] += np.linspace(30.0, 0.0, 300)
    fields = (_number("log_joint"),)
    traces = [_trace(chain, fields) for chain in values]
    found, late = rounds.judged(traces, fields, may_drop=True)
    assert late
    assert found.suffices
    found, late = rounds.judged(traces, fields, may_drop=False)
    assert not late
    assert not found.suffices


def _number(name, **settings):
    from countless.chains import Field

    return Field(name, "number", **settings)


def _trace(values, fields):
    from countless.chains.trace import Trace

    trace = Trace(fields)
    for value in values:
        trace.keep({fields[0].name: np.float64(value)})
    return trace


def test_watched_numbers_count(rng):
    """Everything else has met; one entry of a watched field has not."""
    fields = (_number("log_joint"), _number("densities", axes=("place",), watched=True), _number("other", axes=("a",)))
    arrays = {"log_joint": rng.normal(size=(4, 250)), "densities": rng.normal(size=(4, 250, 3))}
    arrays["other"] = np.arange(4.0)[:, None, None] + rng.normal(size=(4, 250, 2))  # nobody watches this
    assert rounds.agreement(rounds.followed(arrays, fields)).suffices
    arrays["densities"][1, :, 2] += 3.0
    assert not rounds.agreement(rounds.followed(arrays, fields)).suffices


def test_traces_are_judged_as_their_draws_are(monkeypatch):
    """Segment by segment, without joining them, against the joined arrays."""
    seen = []
    judged = sampler.judged

    def spy(traces, fields, may_drop):
        seen.append(rounds.followed_traces(traces, fields))
        return judged(traces, fields, may_drop)

    monkeypatch.setattr(sampler, "judged", spy)
    draws = _run(_problem(12), warmup=50)
    whole = rounds.followed(draws.arrays, draws.fields)
    assert list(whole.numbers) == list(seen[-1].numbers)
    for name, values in whole.numbers.items():
        np.testing.assert_array_equal(values, seen[-1].numbers[name])
    np.testing.assert_array_equal(whole.together, seen[-1].together)
    assert whole.together.shape == (*draws.shape, rounds.PAIRS)


# --- the same length, whatever happens -------------------------------------------------------------------------------


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(rounds, "ENOUGH", 400)
    problem = _problem()
    one = _run(problem, n_threads=1)
    assert one.made > 250
    _same(one, _run(problem, n_threads=4))


@pytest.mark.filterwarnings("ignore:the fit was interrupted")
def test_interrupted_and_continued_it_is_the_same(monkeypatch):
    monkeypatch.setattr(rounds, "ENOUGH", 400)
    problem = _problem()
    whole = _run(problem)
    assert whole.made > 250
    recorder, advance = MemoryRecorder(), jobs.Monitor.advance
    stops = 0
    for _ in range(100):
        limit = 137 + 31 * stops

        def pressing(self, status="", limit=limit):
            advance(self, status)
            if self.done == limit:
                signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(jobs.Monitor, "advance", pressing)
            try:
                draws = _run(problem, Watch(progress=False, recorder=recorder))
            except KeyboardInterrupt:
                draws = None
        if draws is not None and not draws.interrupted:
            break
        stops += 1
    assert stops >= 3
    _same(whole, draws)


def test_longer_than_it_would_be(monkeypatch):
    recorder = MemoryRecorder()
    short = _run(_problem(6), Watch(progress=False, recorder=recorder))
    assert short.made == 250
    longer = _run(_problem(6), Watch(progress=False, recorder=recorder, n_draws=600))
    assert longer.made == 1000
    _same(longer, _run(_problem(6), Watch(progress=False, n_draws=600)))
    np.testing.assert_array_equal(longer.labels[:, :250], short.labels)


# --- the clock -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", ["auto", 10**6])
def test_max_seconds_keeps_what_is_there(draws, monkeypatch):
    monkeypatch.setattr(rounds, "ENOUGH", 10**9)
    found = _run(_problem(), draws=draws, max_seconds=0.3, warmup=10)
    assert found.interrupted
    assert found.spent == "time"
    assert 1 <= found.shape[1] < 10**5
    model = cl.DPMixture(inference=CollapsedGibbs(chains=2, max_seconds=1e-6, warmup=5), random_state=0)
    assert model.fit([[0.0], [0.1], [9.0]]).posterior_.labels.shape == (2, 1, 3)  # no warning of an interrupt
