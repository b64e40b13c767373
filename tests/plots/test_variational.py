"""Figures and words for a variational fit: no probabilities that it does not have."""

from __future__ import annotations

import numpy as np

import countless as cl


def test_an_approximation_claims_no_probability_of_the_number_of_clusters(tmp_path, rng):
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(9, 1, (40, 2))])
    model = cl.DPMixture(inference="variational", random_state=0).fit(X)
    words = cl.plots.sentence(model)
    assert words == "2 clusters in 80 rows: the best variational mixture found, without its uncertainty"
    sure = model.certainty_.probability
    np.testing.assert_array_equal(sure, model.predict_proba(X)[np.arange(80), model.labels_])
    cl.plots.summary(model, tmp_path / "summary.png")
    assert (tmp_path / "summary.png").stat().st_size > 10_000
