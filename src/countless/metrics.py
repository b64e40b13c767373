"""Agreement between clusterings: pair counts, information, matching and purity, for one pair or for many.

A clustering is a one-dimensional array of labels (integers, strings, anything hashable), one for each row. A
label is only a name: -1 is a cluster like any other, and renaming labels changes no index.
Sources: Pletscher (2007), Model order selection and biclustering, 4.3; von Looz (2013), Latent features and
clusters, 5.3.
"""

import contextlib
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy  # its parts load on first use
from numpy.typing import ArrayLike, NDArray

from .core.random import as_generator

_Labels: TypeAlias = Iterable[Any]
_Integers: TypeAlias = NDArray[np.int64]

_DENSE_CELLS = 2**22  # cells of the largest table that is stored dense, 32 MB of counts
_DRAWN_CELLS = 2**16  # above this, permuting rows is cheaper than drawing a table


def _encode(labels: _Labels, name: str) -> _Integers:
    """Labels as 0..k-1 in sorted order, or in order of appearance if they cannot be sorted."""
    try:
        # np.asarray would turn a list of tuples into columns, and make 1 and "1" equal.
        values = np.asarray(labels) if hasattr(labels, "__array__") else np.fromiter(labels, dtype=object)
        missing = np.ma.is_masked(labels) or bool((values != values).any())  # pandas.NA raises TypeError
        names: Iterable[Any] = dict.fromkeys(values if values.dtype == object else ())
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` must be one-dimensional, with hashable labels and none missing, got {type(labels).__name__}."
        ) from None
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"`{name}` must be one-dimensional and not empty, got shape {values.shape}.")
    if missing:
        raise ValueError(f"`{name}` must not contain missing labels or NaN.")
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    with contextlib.suppress(TypeError):  # labels of several types have no order
        names = sorted(names)
    codes = {label: code for code, label in enumerate(names)}
    return np.array([codes[label] for label in values], dtype=np.int64)


def _encode_pair(a: _Labels, b: _Labels, names: tuple[str, str] = ("a", "b")) -> tuple[_Integers, _Integers]:
    x, y = _encode(a, names[0]), _encode(b, names[1])
    if x.size != y.size:
        raise ValueError(f"`{names[0]}` and `{names[1]}` must have the same length, got {x.size} and {y.size}.")
    return x, y


def _tabulate(a: _Labels, b: _Labels, names: tuple[str, str] = ("a", "b")) -> Any:
    """Sparse contingency table: at most one entry per row of data, whatever the number of clusters."""
    x, y = _encode_pair(a, b, names)
    return scipy.sparse.coo_array((np.ones_like(x), (x, y))).tocsr()


def _pair_counts(a: _Labels, b: _Labels) -> tuple[int, int, int, int]:
    """Pairs of rows that are together in both clusterings, in `a`, in `b`, and all pairs."""
    table = _tabulate(a, b)
    # Sums of n(n-1)/2 fit into int64 up to 3e9 rows; products of such sums do not, so they are Python integers.
    sizes = table.data, table.sum(axis=1), table.sum(axis=0), table.data.sum(keepdims=True)
    both, in_a, in_b, n_pairs = (int((s * (s - 1) // 2).sum()) for s in sizes)
    return both, in_a, in_b, n_pairs


def contingency(a: _Labels, b: _Labels) -> _Integers:
    """Count the rows that each cluster of `a` shares with each cluster of `b`.

    The n_ij of Pletscher (2007), 4.3.2, with one row per cluster of `a` and one column per cluster of `b`, in
    sorted order of the labels, or in order of appearance if they cannot be sorted.

    Examples
    --------
    >>> contingency([0, 0, 1, 1], ["x", "y", "y", "y"]).tolist()
    [[1, 1], [0, 2]]
    """
    dense: _Integers = _tabulate(a, b).toarray()
    return dense


def rand_index(a: _Labels, b: _Labels) -> float:
    """Share of the pairs of rows on which two clusterings agree, in [0, 1].

    R = (a + d) / M, where a of the M = n (n - 1) / 2 pairs are together in both clusterings and d are apart in
    both; 1 for a single row, which has no pairs. W. M. Rand (1971), JASA 66, 846-850.

    Examples
    --------
    >>> rand_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.8333333333333334
    """
    both, in_a, in_b, n_pairs = _pair_counts(a, b)
    return (n_pairs - in_a - in_b + 2 * both) / n_pairs if n_pairs else 1.0


def jaccard_index(a: _Labels, b: _Labels) -> float:
    """Share of pairs together in both clusterings among those together in either, in [0, 1].

    J = a / (a + b + c), with a pairs together in both and b, c in only one; 1 if no pair is together in
    either, because both are then partitions into single rows. Pletscher (2007), 4.3.2.

    Examples
    --------
    >>> jaccard_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """
    both, in_a, in_b, _ = _pair_counts(a, b)
    return both / (in_a + in_b - both) if in_a + in_b else 1.0


def hubert_gamma(a: _Labels, b: _Labels) -> float:
    """Correlation, over pairs of rows, between being together in one clustering and in the other, in [-1, 1].

    Gamma = (M a - m1 m2) / sqrt(m1 m2 (M - m1) (M - m2)), where m1 and m2 of the M pairs are together in each
    clustering and a in both. It is undefined (``nan``) if a clustering has all rows in one cluster, or each row
    in its own. Pletscher (2007), 4.3.2.

    Examples
    --------
    >>> round(hubert_gamma([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6325
    """
    both, in_a, in_b, n_pairs = _pair_counts(a, b)
    spread = in_a * in_b * (n_pairs - in_a) * (n_pairs - in_b)
    return (n_pairs * both - in_a * in_b) / math.sqrt(spread) if spread else math.nan


def adjusted_rand_index(a: _Labels, b: _Labels) -> float:
    """Rand index corrected for chance, (R - E R) / (max R - E R): 1 for equal clusterings, 0 on average by chance.

    L. Hubert, P. Arabie (1985), Journal of Classification 2, 193-218; computed by scikit-learn.

    Examples
    --------
    >>> round(adjusted_rand_index([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_encode_pair(a, b)))


def normalized_mutual_information(a: _Labels, b: _Labels) -> float:
    """Mutual information divided by the mean of the two entropies, 2 I(a, b) / (H(a) + H(b)), in [0, 1].

    It is not corrected for chance and grows with the number of clusters. Von Looz (2013), 5.10; computed by
    scikit-learn.

    Examples
    --------
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_encode_pair(a, b), average_method="arithmetic"))


def variation_of_information(a: _Labels, b: _Labels, base: float = math.e, normalized: bool = False) -> float:
    """Information lost and gained between two clusterings, H(a | b) + H(b | a): a metric, in [0, log n].

    Logarithms are natural, or to `base` (2 for bits). With `normalized` the value is divided by the joint
    entropy H(a, b), which gives a metric in [0, 1]. M. Meila (2007), Journal of Multivariate Analysis 98, 873-895.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], [0, 0, 1, 2], base=2)
    0.5
    """
    if not base > 1:
        raise ValueError(f"`base` must be above 1, got {base!r}.")
    table = _tabulate(a, b).tocoo()
    counts, weights = table.data, table.data / table.data.sum()
    # Ratios of counts, cell by cell, because a difference of entropies is not exactly 0 for equal partitions.
    ratios = (table.sum(axis=1)[table.row] / counts) * (table.sum(axis=0)[table.col] / counts)
    value = float(weights @ np.log(ratios))
    return value / (float(-weights @ np.log(weights)) or 1.0) if normalized else value / math.log(base)


def _matched_rows(table: Any) -> int:
    """Largest number of rows in matched clusters, over all one-to-one matchings."""
    n_rows: int = table.shape[0]
    if n_rows * table.shape[1] <= _DENSE_CELLS:
        dense = table.toarray()
        return int(dense[scipy.optimize.linear_sum_assignment(dense, maximize=True)].sum())
    # The sparse solver needs a match for each row and no zero weights. So each row gets a partner of its own that
    # is worth nothing, and one is added to all weights.
    own = scipy.sparse.coo_array((np.ones(n_rows, dtype=np.int64), (np.arange(n_rows),) * 2))
    graph = scipy.sparse.hstack([table + table.sign(), own], format="csr")
    pairs = scipy.sparse.csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[pairs].sum()) - n_rows


def assignment_error(a: _Labels, b: _Labels) -> float:
    """Share of rows misplaced under the best one-to-one matching of clusters, in [0, 1).

    1 - max over matchings s of sum_i n_{i, s(i)} / n, found by the Hungarian method. The rows of a cluster
    without a partner are misplaced; small clusters hardly matter. Pletscher (2007), 4.3.

    Examples
    --------
    >>> assignment_error([0, 0, 1, 1], [5, 5, 3, 4])
    0.25
    """
    table = _tabulate(a, b)
    n = int(table.sum())
    return (n - _matched_rows(table)) / n


def purity(labels: _Labels, truth: _Labels) -> float:
    """Share of rows that belong to the true class most frequent in their cluster, in (0, 1].

    P = sum_k max_l n_kl / n, over clusters k of `labels` and classes l of `truth`. It is not symmetric.
    Splitting a cluster never lowers it, and clusters of single rows reach 1. Von Looz (2013), 5.1.

    Examples
    --------
    >>> purity([0, 0, 1, 1, 1], [0, 0, 1, 1, 2])
    0.8
    """
    table = _tabulate(labels, truth, ("labels", "truth"))
    return int(table.max(axis=1).sum()) / int(table.sum())


def balanced_purity(labels: _Labels, truth: _Labels) -> float:
    """Purity P of `labels`, rescaled so that one large class of `truth` does not inflate it, in [1/K, 1].

    BP = (1 - 1/K) (P - r) / (1 - r) + 1/K, where the largest of the K classes of `truth` holds a share r of
    the rows; 1 for K = 1. It is not symmetric. Von Looz (2013), 5.2-5.6.

    Examples
    --------
    >>> round(balanced_purity([0, 0, 1, 1, 1], [0, 0, 1, 1, 2]), 4)
    0.7778
    """
    table = _tabulate(labels, truth, ("labels", "truth"))
    n, largest, n_classes = table.sum(), table.sum(axis=0).max(), table.shape[1]
    if n_classes == 1:
        return 1.0
    return float((1 - 1 / n_classes) * (table.max(axis=1).sum() - largest) / (n - largest) + 1 / n_classes)


def explained_variance(labels: _Labels, values: ArrayLike) -> float:
    """Share of the variance of a continuous attribute that lies between clusters (one-way ANOVA), in [0, 1].

    Splitting a cluster never lowers it: compare it with permutations of `labels`, or with scipy's `f_oneway`. Von Looz
    (2013), 5.5.3.

    Examples
    --------
    >>> explained_variance([0, 0, 1, 1], [1.0, 1.0, 3.0, 3.0])
    1.0
    """
    x = _encode(labels, "labels")
    y = np.asarray(values, dtype=float)
    if y.shape != x.shape or not np.isfinite(y).all():
        raise ValueError(f"`values` must hold one finite number for each of {x.size} rows, got shape {y.shape}.")
    whole = float(((y - y.mean()) ** 2).sum())
    means = np.bincount(x, y) / np.maximum(np.bincount(x), 1)
    return float(((means[x] - y.mean()) ** 2).sum()) / whole if whole > 0.0 else 0.0


_Metric: TypeAlias = tuple[Callable[[Any, Any], float], bool]

#: Name -> (function, larger is better); `compare` and `comparison_matrix` accept every name in here.
METRICS: dict[str, _Metric] = {
    "rand": (rand_index, True),
    "jaccard": (jaccard_index, True),
    "hubert": (hubert_gamma, True),
    "ari": (adjusted_rand_index, True),
    "nmi": (normalized_mutual_information, True),
    "vi": (variation_of_information, False),
    "assignment_error": (assignment_error, False),
    "purity": (purity, True),
    "balanced_purity": (balanced_purity, True),
}


def _lookup(name: str) -> _Metric:
    if name not in METRICS:
        raise ValueError(f"Unknown metric {name!r}: choose from {', '.join(METRICS)}.")
    return METRICS[name]


def compare(a: _Labels, b: _Labels, metrics: Iterable[str] | None = None) -> dict[str, float]:
    """Several indices of two clusterings, by name: those of `metrics`, or all of `METRICS`.

    The purities take `b` as the truth. Pletscher (2007), 4.3, and von Looz (2013), 5.3, discuss the choice.

    Examples
    --------
    >>> compare([0, 0, 1, 1], [0, 0, 1, 2], metrics=["jaccard", "vi", "assignment_error"])
    {'jaccard': 0.5, 'vi': 0.34657359027997264, 'assignment_error': 0.25}
    """
    names = [metrics] if isinstance(metrics, str) else METRICS if metrics is None else metrics
    chosen = {name: _lookup(name)[0] for name in names}
    x, y = _encode_pair(a, b)
    return {name: function(x, y) for name, function in chosen.items()}


def _closeness(name: str, tables: _Integers) -> NDArray[Any] | None:
    """For each table, a sum that increases as the index improves, for fixed margins; None if none is known.

    Permutations of rows keep the margins. Comparing these sums is fast and makes ties exact.
    """
    match name:
        case "rand" | "jaccard" | "hubert" | "ari":
            return np.asarray(np.einsum("tij,tij->t", tables, tables))
        case "nmi" | "vi":
            return np.asarray(np.einsum("tij,tij->t", tables, np.log(np.maximum(tables, 1))))
        case "purity" | "balanced_purity":
            return np.asarray(tables.max(axis=2).sum(axis=1))
        case "assignment_error":
            matchings = (scipy.optimize.linear_sum_assignment(t, maximize=True) for t in tables)
            return np.array([t[pairs].sum() for t, pairs in zip(tables, matchings, strict=True)])
    return None


def _p_value(name: str, x: _Integers, y: _Integers, n_draws: int, rng: np.random.Generator) -> float:
    table = _tabulate(x, y)
    if min(table.shape) == 1:
        return 1.0  # there is only one table, and scipy's random_table would draw negative counts
    n_cells = table.shape[0] * table.shape[1]
    drawable = n_cells <= min(max(_DRAWN_CELLS, x.size), _DENSE_CELLS)
    target = _closeness(name, table.toarray()[None]) if drawable else None
    if target is not None:
        observed, step = target[0], _DENSE_CELLS // n_cells
        tables = scipy.stats.random_table(table.sum(axis=1), table.sum(axis=0), seed=rng)
        sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
        draws = np.concatenate([_closeness(name, tables.rvs(size)) for size in sizes])
    else:
        function, larger_is_better = _lookup(name)
        sign = 1 if larger_is_better else -1
        observed = sign * function(x, y)
        draws = np.array([sign * function(x, rng.permutation(y)) for _ in range(n_draws)])
    tolerance = 1e-12 * max(1.0, abs(observed))  # equal sums of logarithms may differ by rounding error
    return (1 + np.count_nonzero(draws >= observed - tolerance)) / (1 + n_draws)


class ComparisonMatrix(NamedTuple):
    """Result of `comparison_matrix`: `values`, and `p_values` or None.

    Examples
    --------
    >>> ComparisonMatrix(values=np.eye(2), p_values=None).values.shape
    (2, 2)
    """

    values: NDArray[np.float64]
    p_values: NDArray[np.float64] | None


def comparison_matrix(
    clusterings_a: Iterable[_Labels],
    clusterings_b: Iterable[_Labels] | None = None,
    metric: str = "nmi",
    n_permutations: int = 0,
    random_state: Any = None,
) -> ComparisonMatrix:
    """Compare every clustering of one list with every clustering of another, or of the same list.

    The p-value of a pair is (1 + g) / (1 + n_permutations), where g random permutations of the rows give an index
    at least as good. With many pairs, divide the threshold by their number. Von Looz (2013), 5.3.5.

    Parameters
    ----------
    clusterings_a, clusterings_b : sequences of array-like of shape (n,)
        Each gives one row or one column of the result. The purities take `clusterings_b` as the truths.
    metric : str
        A name from `METRICS`.
    n_permutations : int
        Number of permutations; `p_values` is None for 0.
    random_state : None, int, Generator or RandomState
        Seed of the permutations.

    Examples
    --------
    >>> comparison_matrix([[0, 0, 1, 1], [0, 1, 0, 1]], [[1, 1, 0, 0]], metric="ari").values.tolist()
    [[1.0], [-0.5]]
    """
    function, _ = _lookup(metric)
    if n_permutations < 0 or n_permutations != int(n_permutations):
        raise ValueError(f"`n_permutations` must be a non-negative integer, got {n_permutations!r}.")
    left = [_encode(labels, f"clusterings_a[{i}]") for i, labels in enumerate(clusterings_a)]
    others = enumerate(left if clusterings_b is None else clusterings_b)
    right = [_encode(labels, f"clusterings_b[{j}]") for j, labels in others]
    if len(lengths := {labels.size for labels in left + right}) > 1:
        raise ValueError(f"All clusterings must have the same length, got lengths {sorted(lengths)}.")
    shape, rng = (len(left), len(right)), as_generator(random_state)
    values = np.array([function(x, y) for x in left for y in right]).reshape(shape)
    if not n_permutations:
        return ComparisonMatrix(values, None)
    p_values = np.array([_p_value(metric, x, y, int(n_permutations), rng) for x in left for y in right])
    return ComparisonMatrix(values, np.where(np.isnan(values), np.nan, p_values.reshape(shape)))


def matched_mean(matrix: ArrayLike, larger_is_better: bool = True) -> float:
    """Mean of a matrix over the best one-to-one matching of rows and columns, e.g. the 'average NMI'.

    The matching has the largest mean, or the smallest if `larger_is_better` is false. In a matrix that is not
    square, rows or columns without a partner are left out. Von Looz (2013), 5.3.5.

    Examples
    --------
    >>> matched_mean([[0.1, 0.9], [0.7, 0.8]])
    0.8
    """
    scores = np.asarray(matrix, dtype=float)
    if scores.ndim != 2 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(f"`matrix` must be two-dimensional, non-empty and finite, got shape {scores.shape}.")
    return float(scores[scipy.optimize.linear_sum_assignment(scores, maximize=larger_is_better)].mean())
