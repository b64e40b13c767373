"""InfiniteHMM as people use it: sequences in, answers out, bad input, files, missing cells, noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl
from countless.io import resume

pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")

RNG = np.random.default_rng(4)
X = np.concatenate([RNG.normal(0, 1, 40), RNG.normal(9, 1, 30), RNG.normal(0, 1, 30)])[:, None]
SHORT = {
    "gibbs": cl.inference.DirectAssignment(chains=2, draws=15, warmup=20),
    "beam": cl.inference.Beam(chains=2, draws=15, warmup=20),
    "weak-limit": cl.inference.WeakLimit(6, chains=2, draws=15, warmup=20),
    "variational": "variational",
    "map": "map",
}


def _fresh(engine="gibbs", **settings):
    return cl.InfiniteHMM(inference=SHORT[engine], random_state=3, **settings)


@pytest.mark.parametrize("engine", SHORT)
def test_every_engine_finds_two_states_and_is_saved(engine, tmp_path):
    model = _fresh(engine).fit(X, lengths=[70, 30])
    assert model.n_states_ == 2
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 0], [40, 30, 30]))
    assert model.transition_matrix_.shape == (2, 3)
    np.testing.assert_allclose(model.transition_matrix_.sum(axis=1), 1.0)
    assert model.start_probabilities_.sum() == pytest.approx(1.0)
    assert model.expected_durations_.shape == (2,)
    assert abs(model.state_parameters_["mean of column 0"][1] - 9.0) < 1.0
    twin = cl.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.labels_, model.labels_)
    assert twin.score(X) == model.score(X)
    again = _fresh(engine).fit(X, lengths=[70, 30])
    np.testing.assert_array_equal(again.posterior_.labels, model.posterior_.labels)


def test_base_weights_of_an_approximation_go_with_their_states():
    """A state of few steps comes first; others are entered often from many."""
    rows = np.concatenate([RNG.normal(-12, 1, 4), RNG.normal(0, 1, 60) + 12.0 * (np.arange(60) // 3 % 2)])[:, None]
    model = _fresh("variational").fit(rows)
    weights = model.posterior_["base_weights"].reshape(-1, 3)
    assert np.all(weights[:, 0] < weights[:, 1:].min(axis=1))


def test_groups_are_lengths_by_another_name():
    by_length = _fresh().fit(X, lengths=[70, 30])
    np.testing.assert_array_equal(_fresh().fit(X, [70, 30]).lengths_, [70, 30])
    by_group = _fresh().fit(X, groups=["b"] * 70 + ["a"] * 30)
    np.testing.assert_array_equal(by_length.posterior_.labels, by_group.posterior_.labels)


BAD = {
    "sum": ({"lengths": [50, 49]}, "lengths add up to 99, but X has 100 rows"),
    "empty sequence": ({"lengths": [100, 0]}, "sequence 1 has 0 steps"),
    "halves": ({"lengths": [50.5, 49.5]}, "whole numbers"),
    "both": ({"lengths": [100], "groups": [1] * 100}, "give one of them"),
    "split group": (
        {"groups": [1] * 40 + [2] * 30 + [1] * 30},
        "sequence 1 are in two places, the second begins in row 70",
    ),
    "few ids": ({"groups": [1, 2]}, "groups must hold 100 ids"),
    "no id": ({"groups": [1.0] * 99 + [np.nan]}, "no id in row 99"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sequences_are_named(case):
    arguments, says = BAD[case]
    with pytest.raises(ValueError, match=says):
        _fresh().fit(X, **arguments)


def test_other_bad_input():
    with pytest.raises(ValueError, match=r"transitions.*'hdp'"):
        cl.InfiniteHMM(transitions="markov").fit(X)
    with pytest.raises(ValueError, match="CollapsedGibbs does not serve sequences"):
        cl.InfiniteHMM(inference=cl.inference.CollapsedGibbs()).fit(X)
    with pytest.raises(ValueError, match=r"missing|NaN"):
        _fresh().fit(np.append(X, [[np.nan]], axis=0))
    with pytest.raises(ValueError, match=r"features|columns"):
        _fresh().fit(X).predict(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="concentration must be"):
        cl.transitions.HDP(-1.0)
    with pytest.raises(ValueError, match="n_states"):
        cl.transitions.FiniteDirichlet(0)


@pytest.mark.parametrize("engine", SHORT)
@pytest.mark.parametrize("rows", [[[1.0]], [[2.0]] * 12], ids=["one step", "all equal"])
def test_degenerate_sequences(engine, rows):
    model = _fresh(engine).fit(rows)
    assert model.n_states_ == 1
    assert np.isfinite(model.score(rows))
    assert model.predict(rows).tolist() == [0] * len(rows)


def test_sequences_of_one_step():
    model = _fresh().fit(X, lengths=[1] * 100)
    assert model.n_states_ == 2
    assert np.isfinite(model.transition_matrix_).all()


def test_a_finite_number_of_states():
    law = cl.transitions.FiniteDirichlet(2)
    model = _fresh(transitions=law).fit(np.concatenate([X, X + 30.0]))
    assert model.posterior_.n_states.max() <= 2
    assert model.transition_matrix_[:, -1].max() < 1e-9


def test_tables_with_missing_cells_and_rows():
    stream = np.random.default_rng(0)
    frame = pd.DataFrame({"x": X[:, 0], "sort": np.where(X[:, 0] > 4.5, "high", "low")})
    frame.loc[stream.choice(100, 15, replace=False), "x"] = np.nan
    frame.loc[[20, 21, 50], :] = np.nan
    model = cl.InfiniteHMM("auto", inference=SHORT["gibbs"], random_state=0).fit(frame)
    assert model.n_states_ == 2
    # A row without cells is in the state around it.
    assert model.labels_[[19, 20, 21, 50, 51]].tolist() == [0, 0, 0, 1, 1]
    assert model.predict(frame.iloc[:5]).tolist() == [0] * 5
    assert model.forecast(steps=2).draws.shape == (1000, 2, 2)


def test_correlated_columns_with_missing_cells():
    rows = pd.DataFrame(np.hstack([X, X + np.random.default_rng(1).normal(size=X.shape)]), columns=["a", "b"])
    rows.loc[[3, 60], "a"] = np.nan
    family = cl.families.Table({("a", "b"): "gaussian"})
    model = cl.InfiniteHMM(family, inference=SHORT["gibbs"], random_state=0).fit(rows)
    assert model.n_states_ == 2
    with pytest.raises(ValueError, match="gibbs"):
        cl.InfiniteHMM(family, inference="beam").fit(rows)


def test_a_run_is_resumed_draw_for_draw(tmp_path):
    whole = _fresh().fit(X, lengths=[70, 30])

    class Stop(Exception):
        pass

    from countless.models.hmm.state import State

    right, made = State.draw, []

    def draw(self):
        made.append(1)
        if len(made) == 12:
            raise Stop
        return right(self)

    engine = cl.inference.DirectAssignment(chains=2, draws=15, warmup=20, n_threads=1)
    model = cl.InfiniteHMM(inference=engine, random_state=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "draw", draw)
        with pytest.raises(Stop):
            model.fit(X, lengths=[70, 30], checkpoint=tmp_path / "run", checkpoint_every=0.0)
    found = resume(tmp_path / "run")
    np.testing.assert_array_equal(found.posterior_.labels, whole.posterior_.labels)
    np.testing.assert_array_equal(found.posterior_.log_joint, whole.posterior_.log_joint)


def test_a_weak_limit_says_where_its_bound_is_reached():
    values = np.repeat([0.0, 20.0, 40.0], 20)[:, None] + RNG.normal(size=(60, 1))
    engine = cl.inference.WeakLimit(2, chains=1, draws=20, warmup=100)
    with pytest.warns(cl.ConvergenceWarning, match="use all 2 states that the engine allows"):
        model = cl.InfiniteHMM(inference=engine, random_state=0).fit(values)
    assert model.bound_reached_ > 0.9
    assert "use every state" in str(model.report_page().sections[0])
    assert _fresh("weak-limit").fit(X).bound_reached_ == 0.0
    assert _fresh().fit(X).bound_reached_ is None


def test_posterior_answers():
    model = _fresh().fit(X, lengths=[70, 30])
    change = model.posterior_.change_probability()
    assert change[0] == change[70] == 0.0
    assert change.argmax() == 40
    assert model.posterior_.change_probability(2)[38] >= change[40] - 1e-12
    assert model.certainty_.probability.shape == (100,)
    assert sum(model.posterior_.n_states_pmf().values()) == pytest.approx(1.0)
    assert model.posterior_.similarity(rows=[0], columns=[1, 50]).shape == (1, 2)
    assert "self_transition" in model.posterior_.quantities()


def test_the_report_has_its_sections():
    page = _fresh().fit(X, lengths=[70, 30]).report_page()
    assert [section.name for section in page.sections] == [
        "answer", "states", "what", "number", "transitions", "next", "chains", "settings",
    ]  # fmt: skip
    assert page.headline == "2 states in 100 steps"


NOISE = {
    "gaussian": lambda rng: rng.normal(size=(1000, 1)),
    "gaussian 5": lambda rng: rng.normal(size=(1000, 5)),
    "poisson": lambda rng: rng.poisson(3.0, size=(1000, 1)),
    "categorical": lambda rng: rng.integers(4, size=(1000, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["gibbs", "beam", "weak-limit", "variational", "map"])
@pytest.mark.parametrize("kind", NOISE)
def test_nothing_is_found_in_noise(kind, engine):
    ones = 0
    for seed in range(20):
        rows = NOISE[kind](np.random.default_rng([seed, 11]))
        ones += cl.InfiniteHMM(kind.split()[0], inference=engine, random_state=seed).fit(rows).n_states_ == 1
    assert ones >= 19


@pytest.mark.parametrize("engine", ["variational", "map"])
def test_nothing_is_found_in_some_noise(engine, rng):
    assert cl.InfiniteHMM(inference=engine, random_state=0).fit(rng.normal(size=(300, 2))).n_states_ == 1


def test_dp_means_of_sequences():
    model = cl.DPMeansHMM(random_state=0).fit(X, lengths=[70, 30])
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 0], [40, 30, 30]))
    assert np.all(np.diff(model.objective_trace_) <= 0.0)
    np.testing.assert_array_equal(model.predict(X, [70, 30]), model.labels_)
    for weight in (0.0, None):
        found = cl.DPMeansHMM(n_states=3, transition_weight=weight, random_state=0).fit(X)
        assert found.n_states_ == 3
        assert np.all(np.diff(found.objective_trace_) <= 1e-9)
    with pytest.raises(ValueError, match="exclude each other"):
        cl.DPMeansHMM(1.0, n_states=2).fit(X)
    with pytest.raises(ValueError, match="distinct rows"):
        cl.DPMeansHMM(n_states=2).fit([[1.0], [1.0]])


def test_dp_means_of_sequences_takes_sequences_as_the_model_does(tmp_path):
    model = cl.DPMeansHMM(random_state=0)
    by_length = model.fit(X, lengths=[70, 30]).labels_
    np.testing.assert_array_equal(model.fit(X, [70, 30]).labels_, by_length)
    np.testing.assert_array_equal(model.fit(X, groups=["b"] * 70 + ["a"] * 30).labels_, by_length)
    for arguments, says in BAD.values():
        with pytest.raises(ValueError, match=says):
            model.fit(X, **arguments)
    instead = "pickle it, or fit InfiniteHMM"
    with pytest.raises(ValueError, match=f"DPMeansHMM keeps no draws to save; {instead}"):
        model.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=f"DPMeansHMM has no posterior to report; {instead}"):
        cl.report.write(model, tmp_path / "report.html")
    with pytest.raises(AttributeError, match=f"DPMeansHMM gives each row one cluster, without a .*{instead}"):
        _ = model.certainty_


def test_the_objective_of_dp_means_is_what_the_paper_says():
    from countless.models.dp_means_hmm.objective import Penalties, Series

    stream = np.random.default_rng(8)
    rows, labels = stream.normal(size=(20, 2)), np.append([0, 1, 2], stream.integers(3, size=17))
    first = np.zeros(20, dtype=bool)
    first[[0, 9]] = True
    total, pairs = 0.0, []
    for k in range(3):
        total += ((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum() + 5.0
    pairs = [(labels[t - 1], labels[t]) for t in range(20) if not first[t]]
    for p, k in pairs:
        total -= 0.7 * np.log(pairs.count((p, k)) / sum(q == p for q, _ in pairs))
    total += 1.5 * len(set(pairs))
    assert Series(rows, first).objective(labels, Penalties(5.0, 1.5, 0.7)) == pytest.approx(total)


@pytest.mark.slow
def test_forecast_intervals_hold_what_they_say():
    """90% intervals of the next ten values of 200 sequences of two or three states."""
    engine = cl.inference.DirectAssignment(chains=1, draws=60, warmup=60)
    n_known, n_next = 120, 10
    held = []
    for seed in range(200):
        stream = np.random.default_rng([seed, 5])
        k = 2 + seed % 2
        chain = np.full((k, k), 0.1 / (k - 1)) + np.eye(k) * (0.9 - 0.1 / (k - 1))
        states = [0]
        for _ in range(n_known + n_next - 1):
            states.append(int(stream.choice(k, p=chain[states[-1]])))
        values = 4.0 * np.array(states) + stream.normal(size=len(states))
        model = cl.InfiniteHMM(inference=engine, random_state=seed).fit(values[:n_known, None])
        found = model.forecast(steps=n_next, n_draws=2000, random_state=seed).quantiles([0.05, 0.95])[:, :, 0]
        held.append((found[0] <= values[n_known:]) & (values[n_known:] <= found[1]))
    assert 0.85 <= np.mean(held) <= 0.95
