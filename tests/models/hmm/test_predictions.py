"""Filtering, smoothing, the best path and densities against all paths of five steps and three states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import countless as cl
from countless.models.hmm.chain import Chain
from countless.models.hmm.predictive import Fitted
from countless.transitions.contract import first_steps

N_STEPS, N_STATES = 5, 3


def _random(rng, lengths):
    chain = Chain(rng.dirichlet(np.ones(N_STATES)), rng.dirichlet(np.ones(N_STATES), size=N_STATES))
    scores = rng.normal(size=(N_STEPS, N_STATES)) * 3.0 - 5.0
    return chain, scores, first_steps(np.array(lengths), N_STEPS)


def _all_paths(chain, scores, first):
    """Every path with its log joint density with the steps so far, for each number of steps."""
    for path in product(range(N_STATES), repeat=N_STEPS):
        each = []
        total = 0.0
        for t, k in enumerate(path):
            total += np.log(chain.start[k] if first[t] else chain.transition[path[t - 1], k]) + scores[t, k]
            each.append(total)
        yield path, np.array(each)


@pytest.mark.parametrize("lengths", [(5,), (3, 2), (1, 4), (1, 1, 3)])
def test_answers_are_those_of_all_paths(lengths, rng):
    for _ in range(5):
        chain, scores, first = _random(rng, lengths)
        paths, logs = zip(*_all_paths(chain, scores, first), strict=True)
        paths, logs = np.array(paths), np.array(logs)
        smoothed, filtered, so_far = np.zeros((2, N_STEPS, N_STATES))[0], np.zeros((N_STEPS, N_STATES)), []
        whole = np.exp(logs[:, -1])
        for t in range(N_STEPS):
            # Paths that differ after step t only are one path so far.
            up_to, index = np.unique(paths[:, : t + 1], axis=0, return_index=True)
            weights = np.exp(logs[index, t])
            so_far.append(np.log(weights.sum()))
            for k in range(N_STATES):
                filtered[t, k] = weights[up_to[:, -1] == k].sum() / weights.sum()
                smoothed[t, k] = whole[paths[:, t] == k].sum() / whole.sum()
        found, each = chain.filtered(scores, first)
        np.testing.assert_allclose(found, filtered, rtol=0, atol=1e-10)
        np.testing.assert_allclose(each, np.diff(so_far, prepend=0.0), rtol=0, atol=1e-10)
        np.testing.assert_allclose(chain.smoothed(scores, first), smoothed, rtol=0, atol=1e-10)
        labels, height = chain.best(scores, first)
        assert height == pytest.approx(logs[:, -1].max(), abs=1e-10)
        np.testing.assert_array_equal(labels, paths[np.argmax(logs[:, -1])])


def test_paths_are_drawn_from_their_law(rng):
    chain, scores, first = _random(rng, (3, 2))
    paths, logs = zip(*_all_paths(chain, scores / 4.0, first), strict=True)
    right = np.exp([each[-1] for each in logs])
    right /= right.sum()
    drawn = np.array([chain.draw(scores / 4.0, first, rng) for _ in range(20_000)])
    codes = drawn @ (N_STATES ** np.arange(N_STEPS))
    expected = np.array(paths) @ (N_STATES ** np.arange(N_STEPS))
    shares = np.bincount(codes, minlength=N_STATES**N_STEPS)[expected] / len(drawn)
    errors = np.sqrt(right * (1 - right) / len(drawn))
    assert np.max(np.abs(shares - right) / np.maximum(errors, 1e-4)) < 5.0


def test_densities_far_from_all_states_are_numbers(rng):
    chain = Chain(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [1e-300, 1.0]]))
    scores = np.array([[-1e5, 0.0], [-1e6, -3.0], [-5.0, -1e9]])
    found, each = chain.filtered(scores, first_steps([3], 3))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(each, [-1e5, -1e6, -5.0])


def test_known_parameters_give_what_hmmlearn_gives(rng):
    hmm = pytest.importorskip("hmmlearn.hmm")
    other = hmm.GaussianHMM(3, covariance_type="diag", init_params="", params="")
    other.startprob_, other.transmat_ = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    variances = rng.uniform(0.5, 2.0, size=(3, 2))
    other.n_features, other.means_, other.covars_ = 2, rng.normal(size=(3, 2)) * 2.0, variances
    X, lengths = rng.normal(size=(60, 2)) * 2.0, [25, 35]
    first = first_steps(lengths, 60)
    chain = Chain(other.startprob_, other.transmat_)
    scores = norm.logpdf(X[:, None], other.means_, np.sqrt(variances)).sum(axis=2)
    assert chain.filtered(scores, first)[1].sum() == pytest.approx(other.score(X, lengths), abs=1e-8)
    np.testing.assert_allclose(chain.smoothed(scores, first), other.predict_proba(X, lengths), atol=1e-8)
    np.testing.assert_array_equal(chain.best(scores, first)[0], other.predict(X, lengths))


@pytest.fixture(scope="module")
def fitted():
    stream = np.random.default_rng(5)
    X = np.concatenate([stream.normal(0, 1, 50), stream.normal(7, 1, 50), stream.normal(0, 1, 50)])[:, None]
    engine = cl.inference.DirectAssignment(chains=2, draws=40, warmup=60)
    return cl.InfiniteHMM(inference=engine, random_state=0).fit(X, lengths=[100, 50]), X


def test_answers_about_new_sequences(fitted):
    model, X = fitted
    assert model.n_states_ == 2
    np.testing.assert_array_equal(model.predict(X, [100, 50]), model.labels_)
    assert set(model.predict([[0.0], [40.0], [41.0]], new_states=True)[1:]) == {-1}
    proba = model.predict_proba(X[:20])
    assert proba.shape == (20, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    # After the last step everything is known that is ever known.
    np.testing.assert_allclose(model.filter(X[:20])[-1], proba[-1], atol=1e-12)
    assert model.score(X, lengths=[100, 50]) == pytest.approx(model.score_samples(X, [100, 50]).mean())
    assert model.score(X, [100, 50]) == model.score(X, lengths=[100, 50])
    assert model.score(X, lengths=[100, 50]) > model.score(X[::-1][:, :] * 2.0, lengths=[100, 50])
    rows, labels = model.sample(30)
    assert rows.shape == (30, 1)
    assert set(labels) <= {-1, 0, 1}


def test_score_is_the_mean_density_over_draws(fitted):
    """Densities of whole sequences under each draw, averaged, in plain Python."""
    model, X = fitted
    new = X[40:60]
    predictor = model._predictor
    totals = []
    for number in predictor.numbers(100):
        one = predictor.of_draw(int(number))
        local = (new - one.problem.shift) / one.problem.scale
        totals.append(one.chain.filtered(one.scores(local), first_steps([20], 20))[1].sum())
    mean = np.logaddexp.reduce(totals) - np.log(len(totals)) - 20 * np.log(model._description.data.problem().scale[0])
    assert model.score_samples(new).sum() == pytest.approx(mean, abs=1e-9)


def test_predictive_densities_of_one_draw_come_from_the_family(fitted):
    model, X = fitted
    predictor = model._predictor
    one = predictor.consensus
    assert isinstance(one, Fitted)
    family = model.family_
    new = np.array([[0.3], [6.0]])
    local = (new - one.problem.shift) / one.problem.scale
    for k in range(model.n_states_):
        right = family.log_predictive(new, X[model.labels_ == k])
        found = one.scores(local)[:, k] - np.log(one.problem.scale[0])
        np.testing.assert_allclose(found, right, atol=1e-6)


def test_forecasts(fitted):
    model, _ = fitted
    found = model.forecast(steps=4, n_draws=400)
    assert found.draws.shape == (400, 4, 1)
    assert found.quantiles().shape == (3, 4, 1)
    assert abs(found.mean[0, 0]) < 2.0  # it is in the state around zero
    later = model.forecast([[0.0], [7.0], [7.2]], steps=1, n_draws=400)
    assert later.quantiles([0.5])[0, 0, 0] > 5.0


def test_forecasts_draw_the_transitions_of_each_path(fitted):
    """Two stays in a row are more probable than the square of the mean: a draw of the probability holds for both."""
    model, _ = fitted
    predictor = model._predictor
    few = predictor.consensus._replace(masses=np.array([[1.0, 1.0, 0.0], [3.0, 2.0, 0.0], [1.0, 3.0, 0.0], [1.0] * 3]))
    stream, n = np.random.default_rng(9), 20_000
    before = np.array([1.0, 0.0, 0.0])
    paths = np.array([few.drawn_chain(stream).simulate(2, stream, before) for _ in range(n)])
    for share, right in (
        (np.mean(paths[:, 0] == 0), 3.0 / 5.0),
        (np.mean((paths == 0).all(axis=1)), 3.0 * 4.0 / (5.0 * 6.0)),
        (np.mean((paths == [1, 1]).all(axis=1)), 2.0 / 5.0 * 3.0 / 4.0),
    ):
        assert abs(share - right) < 5.0 * np.sqrt(right * (1.0 - right) / n)
