"""The study of covariates of quality of life."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from countless.experiments.mixed_effects import COVARIATES, Survey, make_survey, normal_score


def test_the_survey_has_the_shape_of_the_source():
    survey = make_survey(random_state=1)
    assert survey.shape == (5 * 6805, 7)
    assert survey.groupby("subject").size().eq(5).all()
    assert survey[["depression", "adl"]].std().to_numpy() == pytest.approx(1.0, abs=0.05)


def test_the_score_of_a_normal_population(rng):
    """All visits at once, by scipy."""
    X, left, subject = rng.normal(size=(7, 2)), rng.normal(size=7), np.array([0, 0, 1, 1, 1, 2, 2])
    covariance = np.array([[1.0, 0.3], [0.3, 0.5]])
    spread = (subject[:, None] == subject) * (X @ covariance @ X.T) + 0.7 * np.eye(7)
    expected = multivariate_normal(np.zeros(7), spread).logpdf(left) / 7
    assert normal_score(X, left, subject, covariance, 0.7) == pytest.approx(expected, abs=1e-12)


def test_cases_and_the_figure(tmp_path):
    study = Survey(tmp_path)
    assert {case["data"] for case in study.cases(quick=False)} == set(COVARIATES)
    assert len(Survey().cases(quick=False)) == 2 * 3 * 5
    rows = []
    for covariates in COVARIATES["simulated survey"]:
        case = {"data": "simulated survey", "covariates": covariates, "method": "mixture", "fold": 0, "subjects": 120}
        rows += [{**case, **row} for row in Survey().run(case)]
    better, worse = (row["score"] for row in rows)
    assert better > worse
    table = pd.DataFrame(rows)
    assert study.summary(table)["score"].tolist() == [better, worse]
    assert len(study.figure(table).axes) == 1


def test_statsmodels_is_beside_it():
    pytest.importorskip("statsmodels")
    case = {"data": "simulated survey", "covariates": "depression and ADL", "fold": 0, "subjects": 120}
    (ours,), (theirs,) = (Survey().run({**case, "method": method}) for method in ("one population", "MixedLM"))
    assert ours["score"] == pytest.approx(theirs["score"], abs=0.03)
