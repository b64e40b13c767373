"""InfiniteBiclustering as people use it: answers, files, bad input, figures, the command line."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import countless as cl
from countless.models.biclustering.engines.gibbs import BiclusterGibbs
from countless.models.biclustering.figures import matrix_figure

ENGINE = BiclusterGibbs(chains=2, draws=30, warmup=10)


def _blocks(seed=0, shape=(24, 18)):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(np.arange(shape[0]) % 2), rng.permutation(np.arange(shape[1]) % 3)
    rates = np.array([[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]])
    return rng.poisson(rates[np.ix_(rows, columns)]).astype(float), rows, columns


def _fit(X, **settings):
    return cl.InfiniteBiclustering(random_state=0, **{"inference": ENGINE, **settings}).fit(X)


def test_answers():
    X, rows, columns = _blocks()
    model = _fit(X)
    assert model.n_clusters_ == (2, 3)
    assert adjusted_rand_score(rows, model.row_labels_) == 1.0
    assert adjusted_rand_score(columns, model.column_labels_) == 1.0
    assert model.rows_.shape == (6, 24)
    assert model.columns_.shape == (6, 18)
    expected = np.array(
        [[X[np.ix_(model.row_labels_ == k, model.column_labels_ == m)].mean() for m in range(3)] for k in range(2)]
    )
    np.testing.assert_allclose(model.block_means_, expected, rtol=0.1, atol=0.1)
    assert model.block_probabilities_.sum() == pytest.approx(1.0)
    assert model.posterior_.row_labels.shape == (2, 30, 24)
    assert model.posterior_.column_labels.shape == (2, 30, 18)
    np.testing.assert_array_equal(np.sort(model.reorder(X).ravel()), np.sort(X.ravel()))
    assert model.transform(X).shape == (24, 3)
    assert set(model.posterior_.hyperparameters) == {"shape", "rate"}


@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_other_containers_give_the_same(kind):
    X, _, _ = _blocks()
    names = [f"animal {i}" for i in range(24)]
    given = (
        sparse.csr_matrix(X) if kind == "sparse" else pd.DataFrame(X, index=names, columns=list("abcdefghijklmnopqr"))
    )
    one, other = _fit(X, model="symmetric"), _fit(given, model="symmetric")
    np.testing.assert_array_equal(one.posterior_.row_labels, other.posterior_.row_labels)
    if kind == "frame":
        assert list(other.reorder(given).index) != names
        assert other.posterior_.data.names(0) == names


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "symmetric", "degree_corrected": True},
        pytest.param({"family": "gaussian"}, marks=pytest.mark.slow),
        {"model": "frequency"},
    ],
)
def test_saved_loaded_and_made_longer(settings, tmp_path):
    X, _, _ = _blocks()
    model = cl.InfiniteBiclustering(inference=ENGINE, random_state=3, **settings)
    model.fit(X, checkpoint=tmp_path / "run", checkpoint_every=0.0)
    for twin in (cl.load(tmp_path / "run"), cl.load(model.save(tmp_path / "model.npz"))):
        np.testing.assert_array_equal(model.posterior_.row_labels, twin.posterior_.row_labels)
        np.testing.assert_array_equal(model.posterior_["offsets"], twin.posterior_["offsets"])
        np.testing.assert_array_equal(model.column_labels_, twin.column_labels_)
        np.testing.assert_allclose(model.block_means_, twin.block_means_)
    longer = BiclusterGibbs(chains=2, draws=45, warmup=10)
    whole = cl.InfiniteBiclustering(inference=longer, random_state=3, **settings).fit(X)
    resumed = cl.io.resume(tmp_path / "run", draws=45)
    np.testing.assert_array_equal(whole.posterior_.row_labels, resumed.posterior_.row_labels)
    np.testing.assert_array_equal(whole.posterior_.log_joint, resumed.posterior_.log_joint)


def test_held_out_cells():
    """Cells that are left out of a relation are predicted better by its blocks than by one block."""
    X, rows, columns = _blocks()
    rng = np.random.default_rng(1)
    hidden = rng.random(X.shape) < 0.1
    model = _fit(np.where(hidden, np.nan, X), family="poisson")
    assert adjusted_rand_score(rows, model.row_labels_) == 1.0
    asked = np.where(hidden, X, np.nan)
    found = model.score_samples(asked)
    assert found.shape == (24,)
    from scipy.stats import poisson

    truth = poisson.logpmf(X, np.array([[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]])[np.ix_(rows, columns)])[hidden].sum()
    one = poisson.logpmf(X, X[~hidden].mean())[hidden].sum()
    assert one + 20.0 < found.sum() < truth + 10.0
    assert model.score(asked) == pytest.approx(found.sum())


@pytest.mark.parametrize(
    "model",
    ["symmetric", *(pytest.param(name, marks=pytest.mark.slow) for name in ("asymmetric", "factorized", "frequency"))],
)
def test_held_out_counts(model):
    """Further counts, from arrays as from sparse matrices; right blocks say more of them than totals do."""
    X, _, _ = _blocks()
    rng = np.random.default_rng(1)
    new = rng.binomial(X.astype(int), 0.2).astype(float)
    fit = _fit(X - new, model=model)
    found = fit.score(new)
    assert fit.score(sparse.csr_array(new)) == pytest.approx(found)
    one = float((new * np.log(np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum() ** 2)).sum())
    assert (found > one + 20.0) == (model != "factorized")


def test_tied():
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    X = (rng.random((20, 20)) < np.where(labels[:, None] == labels, 0.8, 0.1)).astype(float)
    model = _fit(X, tied=True)
    np.testing.assert_array_equal(model.row_labels_, model.column_labels_)
    assert adjusted_rand_score(labels, model.row_labels_) == 1.0
    assert model.posterior_.partition_axes == ["row"]


def test_map_and_starts():
    X, rows, columns = _blocks()
    for start in ("one", "singletons", "prior", "spectral", (rows, columns)):
        model = _fit(X, model="asymmetric", inference=cl.inference.BiclusterMAP(restarts=1, start=start))
        assert adjusted_rand_score(rows, model.row_labels_) == 1.0
        assert adjusted_rand_score(columns, model.column_labels_) == 1.0


@pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")  # twenty draws are too few to agree
def test_threads_do_not_matter():
    X, _, _ = _blocks()
    one = _fit(X, inference=BiclusterGibbs(chains=2, draws=20, warmup=5, n_threads=1))
    two = _fit(X, inference=BiclusterGibbs(chains=2, draws=20, warmup=5, n_threads=2))
    np.testing.assert_array_equal(one.posterior_.log_joint, two.posterior_.log_joint)


def test_far_from_zero_and_other_units():
    X, _, _ = _blocks()
    one = _fit(X, family="gaussian")
    other = _fit(1e6 + 1e3 * X, family="gaussian")
    np.testing.assert_array_equal(one.row_labels_, other.row_labels_)
    np.testing.assert_allclose(other.block_means_, 1e6 + 1e3 * one.block_means_, rtol=1e-6)


GOOD = _blocks()[0]
BAD = {
    "negative": (-GOOD, {"model": "symmetric"}, "needs counts, got -"),
    "fractional": (GOOD + 0.5, {"model": "asymmetric"}, "choose model='relational'"),
    "negative poisson": (-GOOD, {"family": "poisson"}, "family='gaussian'"),
    "zeros": (np.zeros((4, 4)), {}, "all cells are zero"),
    "zeros, counts": (np.zeros((4, 4)), {"model": "symmetric"}, "all cells are zero"),
    "no rows": (np.zeros((0, 4)), {}, "0 sample"),
    "no columns": (np.zeros((4, 0)), {}, "0 feature"),
    "one row": (GOOD[:1], {}, "1 sample"),
    "one column": (GOOD[:, :1], {}, "1 feature"),
    "missing": (np.where(GOOD > 8, np.nan, GOOD), {"model": "symmetric"}, "leaves missing cells out"),
    "missing, popular": (np.where(GOOD > 8, np.nan, GOOD), {"degree_corrected": True}, "cells are missing"),
    "not square": (GOOD, {"tied": True}, "must be the same items"),
    "unknown model": (GOOD, {"model": "nope"}, "model"),
    "no family": (GOOD, {"model": "symmetric", "family": "poisson"}, "choose model='relational'"),
    "no popularity": (GOOD, {"model": "frequency", "degree_corrected": True}, "cannot; choose"),
    "wrong engine": (GOOD, {"inference": cl.inference.CollapsedGibbs()}, "does not serve biclusterings"),
    "negative presence": (-GOOD, {"presence": True}, "cells must be at least 0"),
    "presence and rescale": (GOOD, {"presence": True, "rescale": 100}, "do not go together"),
    "features": (GOOD, {"features": "nope"}, "features"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name):
    X, settings, words = BAD[name]
    with pytest.raises(ValueError, match=words) as found:
        _fit(X, **settings)
    assert "\n" not in str(found.value)


def test_names_that_do_not_match():
    frame = pd.DataFrame(np.eye(3), index=list("abc"), columns=list("abd"))
    with pytest.raises(ValueError, match="the same names, but row 2 is 'c' and column 2 'd'"):
        _fit(frame, tied=True)


def test_rescaled_ratings():
    X = _blocks()[0] / 7.0
    model = _fit(X, model="symmetric", rescale=900)
    assert model.posterior_.data.matrix.values.sum() == pytest.approx(900, rel=0.1)
    rows = _fit(X, model="asymmetric", rescale=2400).posterior_.data.matrix.margins()[0]
    assert np.all(np.abs(rows - 100.0) < 10.0)


def test_presence():
    """Repeats count once, in dense and sparse matrices, and missing cells stay missing."""
    X = _blocks()[0]
    X[0, 0] = np.nan
    for given in (X, sparse.csr_array(X)):
        kept = _fit(given, presence=True).posterior_.data.matrix.values
        np.testing.assert_array_equal(np.unique(kept), [1.0, np.nan])
    twice = _fit(GOOD, model="relational", presence=True, degree_corrected=True)
    assert type(twice.model_.family) is cl.families.Poisson


def test_diagnostics_report_and_figure():
    model = _fit(_blocks()[0])
    words = [each.words for each in model.posterior_.diagnostics().quantities]
    assert "number of row clusters" in words
    assert model.posterior_.to_arviz()["posterior"]["n_row_clusters"].shape == (2, 30)
    page = model.report_page()
    assert [section.name for section in page.sections] == ["answer", "rows", "columns", "matrix", "chains", "settings"]
    buffer = io.BytesIO()
    matrix_figure(model).savefig(buffer)
    assert buffer.tell() > 5000
    named = [label.get_text() for label in cl.plots.matrix(model).get_yticklabels()]
    assert sorted(named) == sorted(f"row {i}" for i in range(24))
    assert cl.plots.matrix(model, names=False).get_yticklabels() == []


def test_command(tmp_path):
    from typer.testing import CliRunner

    from countless.cli import app

    X, _, _ = _blocks()
    frame = pd.DataFrame(X.astype(int), columns=[f"c{j}" for j in range(18)])
    frame.insert(0, "who", [f"r{i}" for i in range(24)])
    file, out = tmp_path / "table.csv", tmp_path / "run"
    frame.to_csv(file, index=False)
    words = ["bicluster", str(file), "--name", "who", "--chains", "2", "--draws", "20", "--out", str(out)]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert (out / "rows.csv").read_text().splitlines()[0] == "row,cluster"
    assert (out / "report.html").exists()
    assert len((out / "columns.csv").read_text().splitlines()) == 19


def test_noise_is_one_block():
    """A few matrices here; the study of twenty seeds and every model is slow."""
    for seed, draw in enumerate((lambda r: r.poisson(0.3, (60, 30)), lambda r: 1 * (r.random((60, 30)) < 0.1))):
        X = draw(np.random.default_rng(seed)).astype(float)
        assert _fit(X, inference=BiclusterGibbs(chains=2, draws=200)).n_clusters_ == (1, 1)
