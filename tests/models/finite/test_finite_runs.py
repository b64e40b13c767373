"""A mixture with a given number of components is a run as any other: saved, loaded, reported, of tables too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countless as cl

X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [7.0]], 30, axis=0)


def _same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_allclose(one.weights_, other.weights_)
    for name, values in one.parameters_.items():
        np.testing.assert_allclose(values, other.parameters_[name])
    np.testing.assert_allclose(one.certainty_.probability, other.certainty_.probability)


def test_em_is_saved_and_reported(tmp_path):
    model = cl.FiniteMixture(3, random_state=0).fit(X)
    again = cl.load(model.save(tmp_path / "em.npz"))
    assert type(again) is cl.FiniteMixture
    _same(model, again)
    assert again.bic(X) == model.bic(X)
    assert (again.converged_, again.log_likelihood_) == (model.converged_, model.log_likelihood_)
    np.testing.assert_array_equal(again.singular_, model.singular_)
    page = cl.report.write(model, tmp_path / "em.html").read_text()
    assert "This fit estimated the parameters of a given number of components (EM)." in page
    assert model.posterior_.diagnostics().verdict == "Estimated parameters: there are no chains to compare."
    shares = model.predict_proba(X)[np.arange(60), model.labels_]
    np.testing.assert_allclose(model.certainty_.probability, shares)
    with pytest.raises(ValueError, match=r"'em' is a FiniteMixture that does not say how well it predicts"):
        cl.compare({"em": model, "other": again})
    assert len(cl.compare({"em": model, "other": again}, X).fits) == 2


def test_sampled_partitions_are_kept_in_a_folder(tmp_path):
    engine = cl.inference.CollapsedGibbs(chains=2, draws=20, warmup=20)
    model = cl.FiniteMixture(3, method=engine, random_state=0).fit(X, checkpoint=tmp_path / "run")
    _same(model, cl.load(tmp_path / "run"))
    _same(model, cl.load(model.save(tmp_path / "model.npz")))
    assert model.held_out_.mean == cl.load(tmp_path / "run").held_out_.mean
    assert "3" in cl.report.render(model)


def test_a_search_hands_out_a_model_with_everything(tmp_path):
    found = cl.MixtureSearch(n_components=[1, 2, 3], random_state=0).fit(X)
    _same(found.best_estimator_, cl.load(found.best_estimator_.save(tmp_path / "best.npz")))


def test_tables_are_read_as_everywhere():
    rng = np.random.default_rng(1)
    kinds = np.where(rng.random(60) < np.repeat([0.1, 0.9], 30), "a", "b")
    table = pd.DataFrame({"x": X[:, 0], "kind": kinds}, index=[f"row {i}" for i in range(60)])
    model = cl.FiniteMixture(2, random_state=0).fit(table)
    assert [column.family for column in model.family_.schema] == ["gaussian", "categorical"]
    assert model.row_names_[:2] == ["row 0", "row 1"]
    assert set(model.parameters_) == {"gaussian.mean", "gaussian.covariance", "kind.probabilities"}
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    assert len(set(model.labels_[:30])) == len(set(model.labels_[30:])) == 1
    table = table.assign(y=X[:, 1])
    table.iloc[3, 0] = np.nan
    with pytest.raises(ValueError, match="cells are missing in correlated Gaussian columns, which method 'em'"):
        cl.FiniteMixture(2, random_state=0).fit(table)


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (cl.InfiniteBiclustering(), r"posterior_.partition\('row'\).certainty\(\)"),
        (cl.LatentAttributes(), "membership_probabilities_"),
    ],
)
def test_models_without_one_clustering_of_rows_say_how_sure_they_are(model, where):
    says = f"{type(model).__name__} has no single clustering of rows; {where} says how sure it is"
    with pytest.raises(AttributeError, match=says):
        _ = model.certainty_


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        (cl.MixtureSearch(n_components=[1, 2], random_state=0), "use best_estimator_, the mixture that was chosen"),
        (
            cl.DPMeans(penalty=50.0),
            "pickle it, or fit DPMixture or FiniteMixture, which are saved and reported with how",
        ),
        (cl.Partitional(2), "pickle it, or fit DPMixture or FiniteMixture, which are saved and reported with how"),
    ],
)
def test_what_keeps_no_draws_says_what_to_do(model, instead, tmp_path):
    model.fit(X)
    with pytest.raises(ValueError, match=f"{type(model).__name__} keeps no draws to save; {instead}"):
        model.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=f"{type(model).__name__} has no posterior to report; {instead}"):
        cl.report.write(model, tmp_path / "report.html")
    with pytest.raises(AttributeError, match=f"{type(model).__name__} gives each row one cluster, without a prob"):
        _ = model.certainty_
    assert not list(tmp_path.iterdir())
