"""A user's mistake is one sentence that names the argument, what came, and what fits."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import countless as cl
from countless.families import FAMILIES, Binomial, Categorical, Gaussian
from countless.inference import MAP, CollapsedGibbs
from countless.priors import CRP, FiniteDirichlet, Gamma, MixtureOfFinite, PitmanYor

from .cases import COUNTS, FAMILY_NAMES, GIBBS, POSITIVE, PRIORS, model, two_groups

X = two_groups("gaussian")


def _one_sentence(caught: pytest.ExceptionInfo) -> None:
    text = str(caught.value)
    assert text
    assert "\n" not in text
    assert len(text) < 400


def _with(value, row=3, column=1):
    rows = X.astype(object if isinstance(value, (str, dict, type(None))) else np.float64)
    rows[row, column] = value
    return rows


TABLES = {
    "nan": (_with(np.nan), ValueError, r"^X contains NaN \(first in row 3, column 1\); drop or fill"),
    "infinity": (_with(np.inf), ValueError, r"^X contains infinity \(first in row 3, column 1\); drop or fill"),
    "minus-infinity": (_with(-np.inf), ValueError, r"^X contains infinity \(first in row 3"),
    "none": (_with(None), ValueError, r"^X contains NaN \(first in row 3, column 1\)"),
    "missing-in-frame": (
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        ValueError,
        r"^X contains NaN \(first in row 1, column 0\)",
    ),
    "hidden-cells": (np.ma.array(X, mask=X > 8), ValueError, r"^X is a masked array with hidden cells; drop or fill"),
    "text-cell": (_with("tall"), ValueError, r"^X must hold numbers only: .*'tall'"),
    "text-column": (
        pd.DataFrame({"height": [1.0, 2.0], "town": ["Bern", "Boston"]}),
        ValueError,
        r"^X: column 'town' holds text; choose family='auto', .*, or encode it as numbers, or drop it$",
    ),
    "categories-of-text": (
        pd.DataFrame({"town": pd.Categorical(["Bern", "Boston"])}),
        ValueError,
        r"^X: column 'town' holds text",
    ),
    "digits-as-text-column": (
        pd.DataFrame({"code": ["1", "2"]}),
        ValueError,
        r"^X: column 'code' holds text",
    ),
    "text-array": (np.array([["a", "b"], ["c", "d"]]), ValueError, r"^X must hold numbers only, got text"),
    "digits-as-text": (np.array([["1", "2"], ["3", "4"]]), ValueError, r"^X must hold numbers only, got text"),
    "text": ("table.csv", ValueError, r"^X must hold numbers only, got text"),
    "dates": (np.array([["2020-01-01"], ["2020-02-01"]], dtype="M8[D]"), ValueError, r"^X must hold .*, got dates"),
    "time-spans": (np.array([[1], [2]], dtype="m8[D]"), ValueError, r"^X must hold numbers only, got time spans"),
    "things": (_with({"a": 1}), TypeError, r"^X must hold numbers only: .*'dict'"),
    "a-mapping": ({"a": [1.0, 2.0]}, TypeError, r"^X must hold numbers only: .*'dict'"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, r"^X must be a table .*got rows of different lengths$"),
    "integers-beyond-floats": ([[10**400], [1]], ValueError, r"^X must hold numbers only: int too large"),
    "sparse-matrix": (sparse.csr_matrix(X), TypeError, r"^X is sparse; pass a dense array, .*X\.toarray\(\)$"),
    "sparse-array": (sparse.coo_array(X), TypeError, r"^X is sparse; pass a dense array"),
    "complex": (X + 1j, ValueError, r"^X: Complex data not supported, use real numbers$"),
    "no-rows": (np.empty((0, 2)), ValueError, r"^X has 0 rows \(shape=\(0, 2\)\); at least 1 is needed$"),
    "nothing": ([], ValueError, r"^X has 0 rows"),
    "no-columns": (np.empty((3, 0)), ValueError, r"^X has 0 feature\(s\) \(shape=\(3, 0\)\)"),
    "one-dimension": (
        X[:, 0],
        ValueError,
        r"^X must be a table .* Reshape your data: X\.reshape\(-1, 1\) is one column",
    ),
    "three-dimensions": (X[None], ValueError, r"^X must be a table of rows and columns, got 3 dimensions$"),
    "a-number": (3.0, ValueError, r"^X must be a table of rows and columns, got 0 dimensions$"),
    "none-at-all": (None, ValueError, r"^X must be a table of rows and columns, got 0 dimensions$"),
}


@pytest.mark.parametrize("case", list(TABLES))
def test_tables_that_no_family_takes(case):
    given, kind, words = TABLES[case]
    with pytest.raises(kind, match=words) as caught:
        model().fit(given)
    _one_sentence(caught)


@pytest.mark.parametrize("case", [case for case in TABLES if case not in ("text-column", "missing-in-frame")])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_the_same_tables_as_new_rows(case, method):
    given, kind, words = TABLES[case]
    fitted = _fitted("gaussian")
    with pytest.raises(kind, match=words) as caught:
        getattr(fitted, method)(given)
    _one_sentence(caught)


_CACHE: dict[str, cl.DPMixture] = {}


def _fitted(name: str) -> cl.DPMixture:
    if name not in _CACHE:
        _CACHE[name] = model(name).fit(two_groups(name))
    return _CACHE[name]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(("value", "words"), [(-1.0, r"(at least 0|0 or 1), got -1$"), (0.5, r"(whole|0 or 1).*0\.5$")])
def test_cells_that_are_no_counts(name, value, words):
    rows = two_groups(name)
    rows[3, 1] = value
    for ask in (model(name).fit, _fitted(name).predict):
        with pytest.raises(ValueError, match=rf"^X: {name} data .*{words}") as caught:
            ask(rows)
        _one_sentence(caught)


@pytest.mark.parametrize("name", [*COUNTS, *POSITIVE])
def test_a_family_that_does_not_suit_the_table(name):
    with pytest.raises(ValueError, match=rf"^X: {name} data (needs|must)") as caught:
        model(name).fit(X - 5.123)
    _one_sentence(caught)


@pytest.mark.parametrize(
    ("family", "rows", "words"),
    [
        (Binomial(trials=4), [[0.0, 5.0]], r"^X: column 1 counts successes in 4 trials, got 5$"),
        (Binomial(trials=[4, 9]), [[6.0, 5.0]], r"^X: column 0 counts successes in 4 trials, got 6$"),
        (Binomial(trials=[4, 9, 3]), [[1.0, 5.0]], r"^trials must .*2 columns, got shape \(3,\)$"),
        (Categorical(n_levels=3), [[1.0, 3.0]], r"^X: column 1 has 3 levels, .* 0 to 2; got 3$"),
        (Categorical(), [[1.0], [1e12]], r"^X: column 0 .*1e\+12"),
        (Categorical(), [[1.0], [1e300]], r"^X: column 0 .*1e\+300"),
        (Gaussian(mean=[0.0, 0.0, 0.0]), X, r"^mean must .*2 columns, got shape \(3,\)$"),
        (Gaussian(dof=0.5), X, r"^dof must be one finite number above 1 = D - 1, got 0\.5$"),
        (Gaussian(scale=-1.0), X, r"^scale must be finite and positive, got -1\.0$"),
    ],
)
def test_hyperparameters_that_do_not_suit_the_table(family, rows, words):
    with pytest.raises(ValueError, match=words) as caught:
        model(family).fit(rows)
    _one_sentence(caught)


@pytest.mark.parametrize("name", ["gaussian", "gaussian-known-covariance", "diagonal-gaussian", "spherical-gaussian"])
def test_numbers_whose_squares_overflow(name):
    with pytest.raises(ValueError, match=r"^X: column 0 .*1e\+200.*(scale|units)") as caught:
        model(name).fit([[0.0], [1e200], [-1e200]])
    _one_sentence(caught)


@pytest.mark.parametrize(
    ("rows", "name", "words"),
    [
        ([[0.0] * 11 + [2.0]], "categorical", r"^X: column 11 has 2 levels, so its codes run from 0 to 1; got 2$"),
        ([[31.0, 0.0]], "binomial", r"^X: column 0 counts successes in \d+ trials, got 31$"),
        ([[0.0] * 11 + [2.0]], "bernoulli", r"^X: bernoulli data must be 0 or 1, got 2$"),
        ([[1.0]], "gaussian", r"^X has 1 features, but DPMixture is expecting 2 features as input\.$"),
        ([[1.0, 2.0, 3.0]], "gaussian", r"^X has 3 features, but DPMixture is expecting 2 features as input\.$"),
        ([1.0, 2.0], "gaussian", r"Reshape your data"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_new_rows_that_the_fit_has_no_place_for(rows, name, words, method):
    with pytest.raises(ValueError, match=words) as caught:
        getattr(_fitted(name), method)(rows)
    _one_sentence(caught)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_questions_before_the_fit(method):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(cl.DPMixture(), method)(X)


def test_samples_before_the_fit():
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        cl.DPMixture().sample(3)


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True])
def test_numbers_of_samples(n):
    with pytest.raises(ValueError, match=rf"^n_samples must be a whole number of at least 1, got {n!r}$"):
        _fitted("gaussian").sample(n)


# --- family, prior and inference ----------------------------------------------------------------------------------

KNOWN = {"family": FAMILY_NAMES, "prior": PRIORS, "inference": ("gibbs", "map", "auto")}


@pytest.mark.parametrize("argument", list(KNOWN))
@pytest.mark.parametrize("given", ["gausian", "", "CRP ", 3, None, ["gaussian"], np.arange(3), {"a": 1}], ids=repr)
def test_names_that_do_not_exist(argument, given):
    if argument == "family" and given is None:
        return  # the default: chosen by what is handed in
    with pytest.raises((ValueError, TypeError), match=rf"^{argument}: ") as caught:
        model().set_params(**{argument: given}).fit(X)
    _one_sentence(caught)
    text = str(caught.value)
    assert repr(given) in text
    assert all(repr(name) in text for name in KNOWN[argument])
    assert {"family": "countless.families", "prior": "countless.priors", "inference": "countless.inference"}[
        argument
    ] in text


@pytest.mark.parametrize(
    ("argument", "cls"),
    [("family", Gaussian), ("prior", CRP), ("inference", CollapsedGibbs), ("family", dict), ("inference", MAP)],
)
def test_a_class_where_an_object_is_meant(argument, cls):
    name = re.escape(cls.__name__)
    with pytest.raises(TypeError, match=rf"^{argument}: got the class {name}; pass an instance, {name}\(\)") as caught:
        model().set_params(**{argument: cls}).fit(X)
    _one_sentence(caught)


@pytest.mark.parametrize(
    ("argument", "given"),
    [("family", CRP()), ("family", GIBBS), ("prior", Gaussian()), ("prior", GIBBS), ("inference", CRP())],
    ids=repr,
)
def test_an_object_of_another_kind(argument, given):
    with pytest.raises((ValueError, TypeError), match=rf"^{argument}: .*{type(given).__name__}") as caught:
        model().set_params(**{argument: given}).fit(X)
    _one_sentence(caught)


@pytest.mark.parametrize("engine", [CollapsedGibbs, MAP])
def test_starts_that_do_not_exist(engine):
    with pytest.raises(ValueError, match=r"^start: 'random' is not known; choose one of 'dispersed', ") as caught:
        model(inference=engine(start="random")).fit(X)
    _one_sentence(caught)
    for name in ("dispersed", "greedy", "one", "prior", "sequential", "singletons"):
        assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("start", "prior", "words"),
    [
        ([0, 1], "crp", r"^start must hold 16 labels, one per row, got shape \(2,\)$"),
        (None, "crp", r"^start must hold 16 labels, one per row, got shape \(\)$"),
        ([np.nan] * 16, "crp", r"^start contains NaN; give every row a label$"),
        (list(range(16)), FiniteDirichlet(3), r"^start has 16 clusters, but the prior allows at most 3$"),
    ],
)
@pytest.mark.parametrize("engine", [CollapsedGibbs, MAP])
def test_starting_labels_that_do_not_fit(engine, start, prior, words):
    with pytest.raises(ValueError, match=words) as caught:
        model(prior=prior, inference=engine(start=start)).fit(X)
    _one_sentence(caught)


@pytest.mark.parametrize(
    ("make", "name", "minimum"),
    [
        *[(CollapsedGibbs, name, 1) for name in ("chains", "draws", "thin")],
        (CollapsedGibbs, "warmup", 0),
        (CollapsedGibbs, "split_merge", 0),
        *[(MAP, name, 1) for name in ("restarts", "max_sweeps")],
        (MAP, "perturbations", 0),
        (FiniteDirichlet, "n_components", 1),
    ],
)
def test_settings_that_count_something(make, name, minimum):
    for given in (minimum - 1, -5, 1.5, "many", [2]):
        words = rf"^{name} must be a whole number of at least {minimum}(, or 'auto')?, got {re.escape(repr(given))}$"
        with pytest.raises(ValueError, match=words):
            make(**{name: given})


@pytest.mark.parametrize("engine", [CollapsedGibbs, MAP])
@pytest.mark.parametrize("n_threads", [0, -2, 1.5, "all"])
def test_numbers_of_threads(engine, n_threads):
    with pytest.raises(ValueError, match=r"^n_threads must be a whole number of at least 1, got "):
        model(inference=engine(n_threads=n_threads)).fit(X)


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed", [1, 2], np.random])
def test_seeds_that_are_none(random_state):
    words = r"^random_state must be None, a non-negative int, a Generator or a RandomState, got "
    with pytest.raises(ValueError, match=words) as caught:
        model(random_state=random_state).fit(X)
    _one_sentence(caught)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: CRP(0.0), "concentration"),
        (lambda: CRP(-1.0), "concentration"),
        (lambda: CRP("much"), "concentration"),
        (lambda: CRP(np.nan), "concentration"),
        (lambda: CRP(Gamma), "concentration"),
        (lambda: PitmanYor(-0.5, 0.25), "concentration"),
        (lambda: PitmanYor(1.0, 1.0), "discount"),
        (lambda: PitmanYor(1.0, -0.1), "discount"),
        (lambda: Gamma(0.0, 1.0), "shape"),
        (lambda: Gamma(1.0, -1.0), "rate"),
        (lambda: MixtureOfFinite(components=3), "components"),
    ],
)
def test_numbers_of_priors(make, name):
    with pytest.raises(ValueError, match=rf"^{name}\b.*got ") as caught:
        make()
    _one_sentence(caught)


def test_a_loss_that_does_not_exist():
    with pytest.raises(ValueError, match=r"^loss: 'square' is not known; choose one of .*'vi'"):
        _fitted("gaussian").posterior_.consensus("square")


def test_every_registered_family_is_in_the_table_of_rows():
    for name in FAMILIES:
        if FAMILIES[name].__module__.startswith("countless."):
            assert two_groups(name).shape[0] == 16
