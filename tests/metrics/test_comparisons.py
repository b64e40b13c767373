"""Tables of indices: names, matrices, permutation p-values against enumeration, reduction by matching."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binom

from countless import metrics as cm

NAMES = ["rand", "jaccard", "hubert", "ari", "nmi", "vi", "assignment_error", "purity", "balanced_purity"]
N_STANDARD_ERRORS = 4.5
# Chosen so that squares, logarithms, maxima by row or by column, and matchings have different exact p-values.
PAIRS = [
    (np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 2, 0, 1, 2])),
    (np.array([0, 1, 1, 1, 1, 1, 2, 2]), np.array([2, 0, 0, 0, 0, 2, 0, 2])),
]


def exact_p_value(a, b, name):
    """Share of all orders of the labels in `b`, equally likely, that look at least as good as `b` itself."""
    function, larger_is_better = cm.METRICS[name]
    sign = 1 if larger_is_better else -1
    observed = sign * function(a, b)
    orders = set(itertools.permutations(b.tolist()))
    return np.mean([sign * function(a, order) >= observed - 1e-9 for order in orders])


def assert_estimates(p_value, exact, n_permutations):
    error = np.sqrt(exact * (1 - exact) / n_permutations)
    assert abs(p_value - exact) <= N_STANDARD_ERRORS * error + 1 / n_permutations


def test_registry_and_compare():
    assert list(cm.METRICS) == NAMES
    a, b = [0, 0, 1, 1, 2], [0, 0, 1, 2, 2]
    everything = cm.compare(a, b)
    assert everything == {name: function(a, b) for name, (function, _) in cm.METRICS.items()}
    assert list(cm.compare(a, b, ["vi", "rand"])) == ["vi", "rand"]
    assert cm.compare(a, b, "vi") == {"vi": everything["vi"]}
    assert all(type(value) is float for value in everything.values())


def test_unknown_names_are_answered_with_the_known_ones():
    for call in (
        lambda: cm.compare([0], [0], ["mutual"]),
        lambda: cm.comparison_matrix([[0]], metric="mutual"),
    ):
        with pytest.raises(ValueError, match=f"Unknown metric 'mutual': choose from {', '.join(NAMES)}"):
            call()


@pytest.mark.parametrize("name", NAMES)
def test_p_values_agree_with_enumeration(name):
    n_permutations = 20_000
    for a, b in PAIRS:
        p_value = cm.comparison_matrix([a], [b], name, n_permutations, random_state=0).p_values[0, 0]
        assert_estimates(p_value, exact_p_value(a, b, name), n_permutations)


@pytest.mark.parametrize("name", NAMES)
def test_large_tables_are_permuted_row_by_row_with_the_same_law(name, monkeypatch):
    monkeypatch.setattr(cm, "_DENSE_CELLS", 0)
    a, b = PAIRS[1]
    n_permutations = 200
    p_value = cm.comparison_matrix([a], [b], name, n_permutations, random_state=0).p_values[0, 0]
    assert_estimates(p_value, exact_p_value(a, b, name), n_permutations)


@pytest.mark.parametrize("name", ["vi", "nmi", "rand"])
def test_ties_count_whatever_the_rounding_of_the_sums(name):
    # Equal margins: renaming clusters leaves the draws as they are and adds the same terms in another order.
    table = [[2, 2, 0, 2], [1, 1, 2, 2], [1, 3, 2, 0], [2, 0, 2, 2]]
    a, b = np.repeat(np.indices((4, 4)).reshape(2, 16), np.ravel(table), axis=1)
    renamed = [np.array(order)[a] for order in itertools.permutations(range(4))]
    p_values = {cm.comparison_matrix([c], [b], name, 500, random_state=0).p_values[0, 0] for c in renamed}
    assert len(p_values) == 1


def test_batches_of_tables_add_up(monkeypatch):
    a, b = np.arange(40) % 3, np.arange(40) // 14
    whole = cm.comparison_matrix([a], [b], "ari", 1000, random_state=3).p_values
    monkeypatch.setattr(cm, "_DENSE_CELLS", 64)  # seven tables of nine cells at a time
    assert cm.comparison_matrix([a], [b], "ari", 1000, random_state=3).p_values == whole


@pytest.mark.parametrize("name", ["rand", "vi", "assignment_error"])
def test_p_values_are_uniform_for_unrelated_clusterings(name):
    rng = np.random.default_rng(4)
    pairs = zip(rng.integers(0, 4, size=(250, 80)), rng.integers(0, 5, size=(250, 80)), strict=True)
    results = [cm.comparison_matrix([x], [y], name, 199, random_state=rng) for x, y in pairs]
    p_values = np.array([result.p_values[0, 0] for result in results])
    for level in (0.05, 0.25, 0.5):
        n_below = np.count_nonzero(p_values <= level)
        assert n_below <= binom.isf(1e-5, p_values.size, level)
        if name != "assignment_error":  # few distinct values, hence many ties and larger p-values
            assert n_below >= binom.ppf(1e-5, p_values.size, level)


@pytest.mark.parametrize("name", NAMES)
def test_dependence_gives_small_p_values_in_the_direction_of_the_metric(name):
    rng = np.random.default_rng(5)
    a = rng.integers(0, 4, size=100)
    b = np.where(rng.random(100) < 0.6, a, rng.integers(0, 4, size=100))
    assert cm.comparison_matrix([a], [b], name, 999, random_state=0).p_values[0, 0] == 1 / 1000


def test_an_added_metric_is_served(monkeypatch):
    def n_first_shared(a, b):
        return float(cm.contingency(a, b)[0, 0])

    monkeypatch.setitem(cm.METRICS, "first", (n_first_shared, True))
    a, b = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 1, 1])
    p_value = cm.comparison_matrix([a], [b], "first", 2000, random_state=0).p_values[0, 0]
    assert_estimates(p_value, exact_p_value(a, b, "first"), 2000)
    assert cm.compare(a, b)["first"] == 2.0


def test_undefined_and_trivial_pairs():
    one, other = np.zeros(8, int), np.arange(8) % 2
    result = cm.comparison_matrix([one], [other], "hubert", 10)
    assert np.isnan(result.values).all()
    assert np.isnan(result.p_values).all()
    assert cm.comparison_matrix([one, other], [one], "vi", 10).p_values.tolist() == [[1.0], [1.0]]


def test_matrix_holds_each_pair_and_rows_come_first():
    rng = np.random.default_rng(6)
    left, right = rng.integers(0, 3, size=(2, 30)), rng.integers(0, 4, size=(3, 30))
    for name, (function, _) in cm.METRICS.items():
        values, p_values = cm.comparison_matrix(left, list(right), name)
        assert p_values is None
        np.testing.assert_array_equal(values, [[function(x, y) for y in right] for x in left])
    alone = cm.comparison_matrix(left).values
    assert np.diag(alone) == pytest.approx(1.0)
    assert cm.comparison_matrix([], left).values.shape == (0, 2)


@pytest.mark.parametrize("seed", [7, np.random.SeedSequence(7)])
def test_the_seed_decides_the_p_values(seed):
    left = np.random.default_rng(8).integers(0, 3, size=(3, 30))
    first, second = (cm.comparison_matrix(left, None, "nmi", 99, random_state=seed) for _ in range(2))
    np.testing.assert_array_equal(first.p_values, second.p_values)
    other = cm.comparison_matrix(left, None, "nmi", 99, random_state=np.random.RandomState(1))
    assert (first.p_values != other.p_values).any()


def test_bad_matrix_arguments_are_one_clear_error():
    with pytest.raises(ValueError, match=r"`clusterings_a\[0\]` must be one-dimensional"):
        cm.comparison_matrix([0, 1, 1])
    with pytest.raises(ValueError, match=r"`clusterings_b\[1\]` must not contain missing"):
        cm.comparison_matrix([[0, 1]], [[0, 1], [0, float("nan")]])
    with pytest.raises(ValueError, match=r"the same length, got lengths \[2, 3\]"):
        cm.comparison_matrix([[0, 1]], [[0, 1, 1]])
    for bad in (-1, 2.5):
        with pytest.raises(ValueError, match="`n_permutations` must be a non-negative integer"):
            cm.comparison_matrix([[0, 1]], n_permutations=bad)


@pytest.mark.parametrize("larger_is_better", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_matched_mean_agrees_with_all_matchings(shape, larger_is_better):
    matrix = np.random.default_rng(9).random(shape)
    tall = matrix if shape[0] >= shape[1] else matrix.T
    n_columns = tall.shape[1]
    rows = itertools.permutations(range(tall.shape[0]), n_columns)
    means = [tall[list(order), np.arange(n_columns)].mean() for order in rows]
    expected = max(means) if larger_is_better else min(means)
    assert cm.matched_mean(matrix, larger_is_better=larger_is_better) == pytest.approx(expected)


def test_matched_mean_finds_features_in_another_order():
    features = np.random.default_rng(10).integers(0, 3, size=(4, 50))
    shuffled = features[[2, 0, 3, 1]]
    assert cm.matched_mean(cm.comparison_matrix(features, shuffled).values) == pytest.approx(1.0)
    distances = cm.comparison_matrix(features, shuffled, "vi").values
    assert cm.matched_mean(distances, larger_is_better=False) == 0.0


@pytest.mark.parametrize("bad", [[0.5, 0.5], np.empty((0, 2)), [[np.nan, 1.0]]])
def test_matched_mean_refuses_what_is_no_matrix_of_numbers(bad):
    with pytest.raises(ValueError, match="`matrix` must be two-dimensional, non-empty and finite"):
        cm.matched_mean(bad)


def test_import_is_cheap():
    heavy = "'sklearn', 'scipy.stats', 'scipy.optimize', 'scipy.sparse', 'pandas'"
    code = f"import sys, countless.metrics; sys.exit(any(name in sys.modules for name in ({heavy})))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
