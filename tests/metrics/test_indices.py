"""Each index against an independent oracle: all pairs, all matchings, entropies, scikit-learn, sources."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn import metrics as sk

from countless import metrics as cm

ROUNDING = 1e-12
SYMMETRIC = ["rand", "jaccard", "hubert", "ari", "nmi", "vi", "assignment_error"]


def random_pairs(seed, n_pairs=40, max_rows=14):
    """Small random pairs of clusterings, among them some with one cluster and some of single rows."""
    rng = np.random.default_rng(seed)
    for _ in range(n_pairs):
        n = int(rng.integers(1, max_rows))
        yield tuple(rng.integers(-1, rng.integers(0, 6), size=n) for _ in range(2))
    yield np.zeros(5, int), np.arange(5)
    yield np.arange(5), np.arange(5)[::-1]
    yield np.zeros(5, int), np.ones(5, int)


def count_pairs(a, b):
    """Pairs together in both, only in `a`, only in `b`, in neither, one pair at a time."""
    counts = dict.fromkeys(itertools.product([True, False], repeat=2), 0)
    for i, j in itertools.combinations(range(len(a)), 2):
        counts[bool(a[i] == a[j]), bool(b[i] == b[j])] += 1
    return counts[True, True], counts[True, False], counts[False, True], counts[False, False]


def test_pair_indices_agree_with_a_count_of_all_pairs():
    for a, b in random_pairs(0):
        both, only_a, only_b, neither = count_pairs(a, b)
        together, total = both + only_a + only_b, both + only_a + only_b + neither
        assert cm.rand_index(a, b) == (pytest.approx((both + neither) / total) if total else 1.0)
        assert cm.jaccard_index(a, b) == (pytest.approx(both / together) if together else 1.0)


def test_hubert_is_the_correlation_of_the_pair_indicators():
    n_defined = 0
    for a, b in random_pairs(1):
        i, j = np.triu_indices(len(a), 1)
        same_a, same_b = (a[i] == a[j]).astype(float), (b[i] == b[j]).astype(float)
        if len(i) and same_a.std() > 0 and same_b.std() > 0:
            expected = np.corrcoef(same_a, same_b)[0, 1]
            assert cm.hubert_gamma(a, b) == pytest.approx(expected, abs=ROUNDING)
            n_defined += 1
        else:
            assert math.isnan(cm.hubert_gamma(a, b))
    assert n_defined > 15


def test_indices_agree_with_scikit_learn():
    for a, b in random_pairs(2, max_rows=60):
        assert cm.rand_index(a, b) == pytest.approx(sk.rand_score(a, b), abs=ROUNDING)
        assert cm.adjusted_rand_index(a, b) == pytest.approx(sk.adjusted_rand_score(a, b), abs=ROUNDING)
        expected = sk.normalized_mutual_info_score(a, b)
        assert cm.normalized_mutual_information(a, b) == pytest.approx(expected, abs=ROUNDING)
        np.testing.assert_array_equal(cm.contingency(a, b), sk.cluster.contingency_matrix(a, b))


def test_pair_counts_are_exact_integers_for_a_million_rows():
    n = 10**6
    a, b = np.arange(n) % 2, (np.arange(n) // 2) % 2
    quarter, half = math.comb(n // 4, 2), math.comb(n // 2, 2)
    counts = cm._pair_counts(a, b)
    assert counts == (4 * quarter, 2 * half, 2 * half, math.comb(n, 2))
    assert all(type(count) is int for count in counts)
    assert cm.hubert_gamma(a, a) == 1.0
    (neither, only_b), (only_a, both) = (sk.cluster.pair_confusion_matrix(a, b) // 2).tolist()
    assert counts == (both, both + only_a, both + only_b, both + only_a + only_b + neither)


def test_many_clusters_need_no_dense_table():
    rng = np.random.default_rng(3)
    n = 20_000  # a dense table would take 3 GB
    a = np.arange(n)
    b = a.copy()
    b[rng.choice(n, size=2000, replace=False)] = 0
    n_merged = int((b == 0).sum())
    assert cm.assignment_error(a, b) == pytest.approx((n_merged - 1) / n, abs=ROUNDING)
    assert cm.purity(b, a) == pytest.approx(1 - (n_merged - 1) / n, abs=ROUNDING)
    assert cm.rand_index(a, b) == 1 - math.comb(n_merged, 2) / math.comb(n, 2)
    assert cm.variation_of_information(a, b) == pytest.approx(n_merged * math.log(n_merged) / n, abs=1e-9)


def test_sparse_matching_agrees_with_dense_matching(monkeypatch):
    pairs = list(random_pairs(4, n_pairs=60, max_rows=40))
    dense = [cm.assignment_error(a, b) for a, b in pairs]
    monkeypatch.setattr(cm, "_DENSE_CELLS", 0)
    assert [cm.assignment_error(a, b) for a, b in pairs] == dense


def test_assignment_error_agrees_with_all_matchings():
    for a, b in random_pairs(5):
        table = cm.contingency(a, b)
        k = max(table.shape)
        padded = np.zeros((k, k))
        padded[: table.shape[0], : table.shape[1]] = table
        best = max(padded[np.arange(k), list(order)].sum() for order in itertools.permutations(range(k)))
        assert cm.assignment_error(a, b) == pytest.approx(1 - best / len(a), abs=ROUNDING)


def test_variation_of_information_is_a_sum_of_entropies():
    for a, b in random_pairs(6, max_rows=60):
        joint = cm.contingency(a, b) / len(a)
        h_a, h_b, h_ab = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0)), entropy(joint.ravel())
        information = h_a + h_b - h_ab
        expected = h_a + h_b - 2 * information
        assert cm.variation_of_information(a, b) == pytest.approx(expected, abs=ROUNDING)
        bits = cm.variation_of_information(a, b, base=2)
        assert bits == pytest.approx(expected / math.log(2), abs=ROUNDING)
        share = cm.variation_of_information(a, b, normalized=True)
        assert share == pytest.approx(expected / h_ab if h_ab > 0 else 0.0, abs=ROUNDING)


@pytest.mark.parametrize("normalized", [False, True])
def test_variation_of_information_is_a_metric(normalized):
    def distance(a, b):
        return cm.variation_of_information(a, b, normalized=normalized)

    rng = np.random.default_rng(7)
    for _ in range(100):
        n = int(rng.integers(2, 12))
        a, b, c = (rng.integers(0, rng.integers(1, 6), size=n) for _ in range(3))
        assert distance(a, a) == 0.0
        assert distance(a, b) == pytest.approx(distance(b, a), abs=ROUNDING)
        assert distance(a, c) <= distance(a, b) + distance(b, c) + ROUNDING
        assert (distance(a, b) == 0) == (cm.rand_index(a, b) == 1)


def test_purity_and_balanced_purity_from_their_definitions():
    for labels, truth in random_pairs(8):
        shares = [max(np.sum(truth[labels == k] == g) for g in set(truth)) for k in set(labels)]
        expected, k = sum(shares) / len(truth), len(set(truth))
        assert cm.purity(labels, truth) == pytest.approx(expected, abs=ROUNDING)
        largest = max(np.mean(truth == g) for g in set(truth))
        balanced = (1 - 1 / k) * (expected - largest) / (1 - largest) + 1 / k if k > 1 else 1.0
        assert cm.balanced_purity(labels, truth) == pytest.approx(balanced, abs=ROUNDING)
        assert 1 / k - ROUNDING <= cm.balanced_purity(labels, truth) <= 1 + ROUNDING


def test_worked_example_of_von_looz():
    first, second = [0, 0, 1, 1, 1], [0, 0, 1, 1, 2]
    assert cm.purity(first, second) == pytest.approx(4 / 5)
    assert cm.balanced_purity(first, second) == pytest.approx(7 / 9)
    assert cm.balanced_purity(second, first) == 1.0


def test_trivial_partitions():
    one, singles = np.zeros(6, int), np.arange(6)
    assert cm.jaccard_index(singles, singles) == cm.rand_index(singles, singles) == 1.0
    assert cm.rand_index(one, singles) == cm.jaccard_index(one, singles) == 0.0
    assert cm.variation_of_information(one, singles) == pytest.approx(math.log(6))
    assert cm.assignment_error(one, singles) == pytest.approx(5 / 6)
    assert cm.balanced_purity(singles, one) == 1.0
    assert cm.balanced_purity(one, singles) == pytest.approx(1 / 6)
    assert all(math.isnan(cm.hubert_gamma(trivial, [0, 0, 0, 1, 1, 1])) for trivial in (one, singles))


@pytest.mark.parametrize("name", list(cm.METRICS))
def test_renaming_labels_and_reordering_rows_change_nothing(name):
    function, _ = cm.METRICS[name]
    rng = np.random.default_rng(9)
    for a, b in random_pairs(10):
        value = function(a, b)
        new_names = rng.permutation(20)
        texts = [f"cluster {label}" for label in b]
        order = rng.permutation(len(a))
        for other in (function(new_names[a + 1], texts), function(a[order], b[order])):
            assert other == pytest.approx(value, abs=ROUNDING, nan_ok=True)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_indices_are_symmetric(name):
    function, _ = cm.METRICS[name]
    for a, b in random_pairs(11):
        assert function(a, b) == pytest.approx(function(b, a), abs=ROUNDING, nan_ok=True)


@pytest.mark.parametrize("name", list(cm.METRICS))
def test_the_same_partition_is_the_best_value(name):
    function, larger_is_better = cm.METRICS[name]
    for a, b in random_pairs(12):
        best, value = function(a, a), function(a, b)
        if not math.isnan(best):
            assert best == pytest.approx(1.0 if larger_is_better else 0.0, abs=ROUNDING)
        if not math.isnan(value):
            assert value <= 1 + ROUNDING if larger_is_better else value >= 0


def test_any_hashable_is_a_label():
    expected = [[1, 1], [0, 2]]
    y = [0, 1, 1, 1]
    assert cm.contingency([(0, 1), (0, 1), (2, 3), (2, 3)], y).tolist() == expected
    assert cm.contingency([1, 1, "1", "1"], y).tolist() == expected
    assert cm.contingency([None, None, "a", "a"], y).tolist() == expected
    assert cm.contingency((label for label in "xxyy"), y).tolist() == expected
    assert cm.contingency(np.array(["b", "b", "c", "c"]), np.array([False, True, True, True])).tolist() == expected
    # Sets are only partly ordered: sorting them must not tear equal labels apart.
    sets = [frozenset([i % 3]) for i in range(12)]
    assert cm.rand_index(sets, [i % 3 for i in range(12)]) == 1.0


def test_contingency_is_in_sorted_order_for_lists_and_arrays():
    a, b = [3, -1, 3, 2], ["b", "a", "a", "b"]
    expected = [[1, 0], [0, 1], [1, 1]]
    assert cm.contingency(a, b).tolist() == cm.contingency(np.array(a), np.array(b)).tolist() == expected


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "`a` must be one-dimensional and not empty"),
        (np.zeros((3, 1), int), "`a` must be one-dimensional and not empty"),
        (np.array(3), "`a` must be one-dimensional"),
        ([[0, 1], [1, 0], [1, 1]], "`a` must be one-dimensional, with hashable labels"),
        (5, "`a` must be one-dimensional"),
        ([0.0, math.nan, 1.0], "`a` must not contain missing labels"),
        (np.array([0.0, math.nan, 1.0]), "`a` must not contain missing labels"),
        (np.ma.masked_equal([0, 1, 2], 1), "`a` must not contain missing labels"),
        ([0, 1], "`a` and `b` must have the same length, got 2 and 3"),
    ],
)
def test_bad_labels_are_one_clear_error(bad, message):
    with pytest.raises(ValueError, match=message):
        cm.rand_index(bad, [0, 1, 1])


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`truth` must be one-dimensional"):
        cm.purity([0, 1], [])
    with pytest.raises(ValueError, match="`base` must be above 1"):
        cm.variation_of_information([0, 1], [0, 1], base=1)


def test_missing_values_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="`a` must"):
        cm.rand_index(pandas.Series([0, None, 1], dtype="Int64"), [0, 1, 1])
    assert cm.rand_index(pandas.Series(["u", "v", "v"], dtype="category"), [0, 1, 1]) == 1.0
