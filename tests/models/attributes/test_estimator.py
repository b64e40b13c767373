"""LatentAttributes as users meet it: what is found, what is answered, files, input that does not fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import countless as cl
from countless.models.attributes.posterior import AttributesPosterior

pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")
ENGINE = cl.inference.AttributesGibbs(chains=2, draws=60, warmup=20, heating=20)


def planted(noise=0.1, seed=0):
    """Two overlapping attributes of 20 objects, the first with two clusters."""
    rng = np.random.default_rng(seed)
    clusters = np.full((20, 2), -1)
    clusters[:12, 0] = np.repeat([0, 1], 6)
    clusters[8:16, 1] = 0
    sums = np.full((20, 20), -1.0)
    sums[:12, :12] += np.kron([[3.0, -2.0], [-2.0, 2.0]], np.ones((6, 6)))
    sums[8:16, 8:16] += 4.0
    drawn = rng.normal(sums, np.sqrt(noise))
    return np.tril(drawn) + np.tril(drawn, -1).T, clusters


def model(**settings):
    return cl.LatentAttributes(**{"inference": ENGINE, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted():
    R, clusters = planted()
    return model().fit(R), R, clusters


def agreement(found, clusters):
    values = cl.metrics.comparison_matrix(list(found.clusters_.T), list(clusters.T)).values
    return cl.metrics.matched_mean(values)


def test_it_finds_what_was_planted(fitted):
    found, R, clusters = fitted
    assert found.n_attributes_ == 2
    assert agreement(found, clusters) > 0.99
    assert found.noise_ == pytest.approx(0.1, rel=0.25)
    assert found.bias_ == pytest.approx(-1.0, abs=0.15)
    assert found.membership_probabilities_[clusters[:, 0] >= 0, 0].min() > 0.5
    assert np.sqrt(np.mean((found.predict_links() - R) ** 2)) < 0.4


def test_what_it_holds(fitted):
    found, _, _ = fitted
    np.testing.assert_array_equal(found.attributes_, found.clusters_ >= 0)
    for m, square in enumerate(found.weights_):
        assert square.shape == (found.clusters_[:, m].max() + 1,) * 2
        np.testing.assert_allclose(square, square.T)
    drawn = found.posterior_.solution(3)
    assert drawn.labels.shape == (found.posterior_.n_attributes.reshape(-1)[3], 20)
    sums = np.full((20, 20), drawn.bias)
    for line, square in zip(drawn.labels, drawn.weights, strict=True):
        inside = np.flatnonzero(line >= 0)
        sums[np.ix_(inside, inside)] += square[np.ix_(line[inside], line[inside])]
    np.testing.assert_allclose(drawn.sums(), sums, atol=1e-6)


def test_the_log_joint_is_that_of_the_draw(fitted):
    """From the draw alone: the likelihood of pairs i <= j once, and the rates of its attributes."""
    from scipy.stats import gamma, norm

    from .oracles import log_rate

    found, R, _ = fitted
    posterior, at = found.posterior_, 7
    drawn, laws = posterior.solution(at), found.laws_
    numbers = {
        name: posterior[name].reshape(-1)[at]
        for name in ("concentration", "cluster_concentration", "weight_variance", "noise", "bias", "log_joint")
    }
    lower = np.tril_indices(20)
    value = norm.logpdf(R[lower], drawn.sums()[lower], np.sqrt(numbers["noise"])).sum()
    value += norm.logpdf(numbers["bias"], laws.bias_mean, np.sqrt(laws.bias_variance))
    for name in ("concentration", "cluster_concentration"):
        value += gamma.logpdf(numbers[name], 1.0) + np.log(numbers[name])
    for name in ("weight_variance", "noise"):
        law = getattr(laws, name)
        value += gamma.logpdf(1.0 / numbers[name], law.shape, scale=1.0 / law.rate) - np.log(numbers[name])
    value -= numbers["concentration"] * (1.0 / np.arange(1, 21)).sum()
    for line, square in zip(drawn.labels, drawn.weights, strict=True):
        value += log_rate(line, numbers["concentration"], 1.0, numbers["cluster_concentration"])
        weights = square[np.tril_indices(len(square))]
        value += norm.logpdf(weights, 0.0, np.sqrt(numbers["weight_variance"])).sum()
    # Weights are kept in single precision.
    assert numbers["log_joint"] == pytest.approx(value, abs=1e-3)


def test_saved_loaded_and_continued(fitted, tmp_path):
    found, R, _ = fitted
    twin = cl.load(found.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(twin.clusters_, found.clusters_)
    np.testing.assert_array_equal(twin.predict_links(), found.predict_links())
    model().fit(R, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    longer = cl.io.resume(tmp_path / "run", draws=90).posterior_
    whole = model(inference=cl.inference.AttributesGibbs(chains=2, draws=90, warmup=20, heating=20)).fit(R).posterior_
    for name, array in whole.draws.arrays.items():
        np.testing.assert_array_equal(array, longer[name], err_msg=name)


def test_a_changed_state_is_refused(tmp_path):
    from countless.runs.format import read_arrays, write_arrays

    R, _ = planted()
    model().fit(R, checkpoint=tmp_path, checkpoint_every=0.0)
    (tmp_path / "result.npz").unlink()
    path = tmp_path / "chain-0" / "state.npz"
    about, arrays = read_arrays(path, "state")
    kept = {name: value for name, value in about.items() if name not in ("format", "version", "part", "sha256")}
    for name, value in (
        ("labels", arrays["labels"][:, :5]),
        ("labels", arrays["labels"] + 1),
        ("sizes", arrays["sizes"] + 1),
        ("weights", arrays["weights"][1:]),
        ("numbers", -arrays["numbers"]),
        ("numbers", arrays["numbers"].astype(np.float32)),
    ):
        write_arrays(path, "state", kept, {**arrays, name: value})
        with pytest.raises(ValueError, match="the state of a chain"):
            cl.io.resume(tmp_path, draws=70)


def test_missing_pairs_are_predicted():
    R, _ = planted()
    held = np.random.default_rng(1).random(R.shape) < 0.2
    held = np.triu(held, 1)
    held |= held.T
    found = model().fit(np.where(held, np.nan, R))
    error = np.sqrt(np.mean((found.predict_links()[held] - R[held]) ** 2))
    assert error < 0.6 * R[held].std()
    asked = np.where(held, R, np.nan)
    assert found.score(asked) == pytest.approx(np.nansum(np.tril(np.nan_to_num(found.score_pairs(asked)))))
    assert found.score(asked) > held.sum() / 2 * -1.3


def test_kinds_of_input(fitted):
    found, R, _ = fitted
    names = [f"n{i}" for i in range(20)]
    framed = model().fit(pd.DataFrame(R, index=names, columns=names))
    np.testing.assert_array_equal(framed.posterior_.log_joint, found.posterior_.log_joint)
    assert framed.posterior_.data.object_names()[3] == "n3"
    same = model().fit(sparse.csr_array(R))
    np.testing.assert_array_equal(same.posterior_.log_joint, found.posterior_.log_joint)
    rows = np.random.default_rng(0).normal(size=(12, 3))
    by_name, by_hand = model(kernel="dot").fit(rows), model().fit(rows @ rows.T)
    np.testing.assert_allclose(by_name.posterior_.log_joint, by_hand.posterior_.log_joint)
    assert not model(kernel="distance").fit(rows).posterior_.data.diagonal


def test_links_and_directions():
    truth = cl.datasets.make_latent_attributes(
        16, concentration=0.7, weight_variance=4.0, observation="bernoulli", random_state=1
    )
    found = model().fit(truth.R)
    assert found.posterior_.data.binary
    assert not found.posterior_.data.diagonal
    links = found.predict_links()
    assert links.min() > 0.0
    assert links.max() < 1.0
    truth = cl.datasets.make_latent_attributes(16, directed=True, random_state=1)
    found = model(directed=True).fit(truth.R)
    assert isinstance(found.posterior_, AttributesPosterior)
    assert not np.allclose(found.sample(0), found.sample(0).T)


SQUARE = np.array([[0.0, 1.5, 2.0], [1.5, 1.0, 0.5], [2.0, 0.5, 0.2]])
WRONG = {
    "square": (np.ones((3, 2)), {}, "must be a square matrix"),
    "symmetric": (SQUARE + np.triu(np.ones((3, 3)), 1), {}, "not symmetric: cells .* differ by 1;"),
    "text": (np.array([["a", "b"], ["c", "d"]]), {}, "numbers only"),
    "infinite": (np.where(np.eye(3) > 0, np.inf, SQUARE), {}, "contains infinity"),
    "links": (SQUARE, {"observation": "bernoulli"}, "0 and 1 only"),
    "nothing": (np.full((3, 3), np.nan), {}, "all of its cells are NaN"),
    "alone": (np.array([[1.0]]), {}, "minimum of 2"),
    "observation": (SQUARE, {"observation": "poisson"}, "observation"),
    "kernel": (SQUARE, {"kernel": "nearness"}, "kernel: unknown"),
    "noise": (SQUARE, {"noise": -1.0}, "noise must be a number above 0"),
    "engine": (SQUARE, {"inference": cl.inference.MAP()}, "does not serve latent attributes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input(name):
    R, settings, words = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=words) as error:
        model(**settings).fit(R)
    assert "\n" not in str(error.value)


def test_an_object_without_pairs_is_refused():
    R = SQUARE.copy()
    R[1], R[:, 1] = np.nan, np.nan
    with pytest.raises(ValueError, match="object 1 has no observed pair"):
        model().fit(R)


def test_known_attributes_are_held():
    R, clusters = planted(noise=0.3)
    known = clusters[:, :1].astype(float)
    hidden = [1, 4, 7, 10, 18]
    known[hidden] = np.nan
    found = model().fit(R, known=known)
    chance = found.predict_proba(0)
    assert found.categories_(0) == [None, 0, 1]
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    seen = np.setdiff1d(np.arange(20), hidden)
    assert (chance[seen].argmax(axis=1) - 1 == clusters[seen, 0]).all()
    assert (found.clusters_[hidden, 0] == clusters[hidden, 0]).all()
    with pytest.raises(ValueError, match="one row for each of the 20 objects"):
        model().fit(R, known=known[:5])


def test_the_most_probable_solution():
    R, clusters = planted()
    found = model(inference=cl.inference.AttributesMAP(restarts=2, rounds=60)).fit(R)
    assert agreement(found, clusters) > 0.99
    assert (np.diff(found.posterior_.objective) > 0.0).all()


def test_the_aggregate_of_the_thesis(fitted):
    found, _, clusters = fitted
    for thresholds in ((0.5, 0.5), "calibrated"):
        labels = found.posterior_.aggregate(thresholds).labels
        values = cl.metrics.comparison_matrix(list(labels), list(clusters.T)).values
        assert cl.metrics.matched_mean(values) > 0.9
    with pytest.raises(ValueError, match="two shares or 'calibrated'"):
        found.posterior_.aggregate("half")
