"""The numerical tools of kernels against scipy.special and numpy.linalg."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import mpmath
import numba
import numpy as np
import pytest
from scipy import special, stats

from countless.core import special as functions
from countless.core.jit import OPTIONS, kernel
from countless.core.linking import InnerKernel

SIGNIFICANCE = 1e-6


def _compiled(function):
    """What Python would run as it is written, as kernels have it."""
    if not isinstance(function, InnerKernel):
        return function

    @numba.njit(**OPTIONS)
    def call(*arguments):
        return function(*arguments)

    return call


tools = SimpleNamespace(**{name: _compiled(value) for name, value in vars(functions).items()})


# --- special functions ------------------------------------------------------------


def test_digamma():
    points = np.concatenate([np.geomspace(1e-8, 1e12, 2001), np.arange(1, 40) / 2, [1.4616321449683623]])
    values = np.array([tools.digamma(x) for x in points])
    np.testing.assert_allclose(values, special.digamma(points), rtol=1e-12, atol=1e-12)


STARTS = [*(10.0**power for power in range(-12, 31, 3)), 0.5, 1.5, 2.0, 3.7, 19.99, 20.0, 250.0]
COUNTS = [0.0, 1.0, 2.0, 5.0, 12.0, 13.0, 40.0, 1000.0, 1e6, 1e9, 1e-6, 0.3, 0.5, 2.5, 12.5]


@pytest.mark.parametrize(
    "start", [*(10.0**power for power in range(-12, 31, 3)), 0.5, 1.0, 1.5, 2.0, 3.7, 19.99, 20.0, 250.0]
)
@pytest.mark.parametrize("count", COUNTS)
def test_log_rising(start, count):
    with mpmath.workdps(60):
        expected = float(mpmath.loggamma(mpmath.mpf(start) + count) - mpmath.loggamma(mpmath.mpf(start)))
    assert tools.log_rising(start, count) == pytest.approx(expected, rel=1e-14, abs=2e-14)


@pytest.mark.parametrize("start", [1e-9, 0.5, 3.7, 250.0, 1e6, 1e15])
@pytest.mark.parametrize("count", [0.0, 1.0, 2.5, 7.0, 12.0, 13.0, 400.0])
def test_log_rising_share(start, count):
    with mpmath.workdps(60):
        rising = mpmath.loggamma(mpmath.mpf(start) + count) - mpmath.loggamma(mpmath.mpf(start))
        expected = float(rising - mpmath.loggamma(mpmath.mpf(count) + 1))
    assert tools.log_rising_share(start, count) == pytest.approx(expected, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("start", [1e-9, 0.5, 1e6, 1e15])
@pytest.mark.parametrize("count", range(1, 13))
def test_log_rising_of_few_factors_is_their_product(start, count):
    expected = math.fsum(math.log(start + step) for step in range(count))
    assert tools.log_rising(start, float(count)) == pytest.approx(expected, rel=1e-13)


def _log_beta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


SHAPES = [1e-12, 0.001, 0.7, 3.0, 70.0, 1e4, 1e9, 1e15, 1e18, 1e20]


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(SHAPES, 2)))
def test_beta_functions(a, b):
    with mpmath.workdps(60):
        exact_a, exact_b = mpmath.mpf(a), mpmath.mpf(b)
        expected = float(_log_beta(exact_a, exact_b))
        assert tools.log_beta(a, b) == pytest.approx(expected, rel=1e-14, abs=1e-13)
        for more in itertools.product([0.0, 1.0, 2.5, 12.0, 13.0, 63.0, 70.0, 1e3, 1e6, 1e9], repeat=2):
            ratio = float(_log_beta(exact_a + more[0], exact_b + more[1]) - _log_beta(exact_a, exact_b))
            assert tools.log_beta_ratio(a, b, *more) == pytest.approx(ratio, rel=1e-12, abs=2e-12), more
            assert tools.log_beta_ratio(b, a, *more[::-1]) == pytest.approx(ratio, rel=1e-12, abs=2e-12), more


@pytest.mark.parametrize("n", [0, 1, 5, 30, 1000, 10**9])
def test_log_choose(n):
    for k in {0, min(1, n), n // 3, n // 2, max(n - 1, 0), n}:
        expected = float(mpmath.log(mpmath.binomial(n, k)))
        assert tools.log_choose(float(n), float(k)) == pytest.approx(expected, rel=1e-13, abs=1e-13)


@kernel
def _prior_plus_rest(prior, total, part):
    return prior + functions.less(total, part)


def test_a_tiny_prior_survives_a_row_that_leaves():
    """The compiler may change the order of other sums, not of this one."""
    assert _prior_plus_rest(1e-20, 7.3, 7.3) == 1e-20
    assert _prior_plus_rest(1e-13, 8.0, 7.0) == 1.0 + 1e-13


def test_the_scatter_of_equal_rows_is_zero():
    rng = np.random.default_rng(0)
    for _ in range(200):
        row, n = rng.normal(size=5) * 10.0 ** rng.uniform(-6, 6), int(rng.integers(1, 5))
        squares = math.fsum(n * row**2)
        assert tools.scatter(squares, (n * row) @ (n * row) / n) == 0.0
    assert tools.scatter(5.0, 4.5) == 0.5


@pytest.mark.parametrize(
    "values", [[0.0], [1.0, 2.0, 3.0], [-1000.0, -1000.0], [800.0, -np.inf, 801.0], [-np.inf, -np.inf]]
)
def test_log_sum_exp(values):
    array = np.array([*values, 1e9])  # what stands after the first n is not read
    assert tools.log_sum_exp(array, len(values)) == pytest.approx(special.logsumexp(values), rel=1e-14)


# --- draws ------------------------------------------------------------


@pytest.mark.parametrize(
    "log_weights",
    [
        [0.0],
        [0.3, -1.0, 2.0, 0.0],
        [-5000.0, -5001.0, -5000.5],
        [700.0, 701.0, -700.0],
        [-np.inf, 0.5, -np.inf, 1.0, -np.inf],
        [0.0, -np.inf],
        [-np.inf, 0.0],
    ],
)
def test_draws_from_log_weights(log_weights):
    rng = np.random.default_rng(1)
    log_weights = np.array(log_weights)
    n = 6_000
    counts = np.zeros(len(log_weights), dtype=int)
    for _ in range(n):
        counts[tools.draw_from_logs(rng, log_weights.copy(), len(log_weights))] += 1
    probability = special.softmax(log_weights)
    possible = n * probability >= 1e-9
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        expected = n * probability[possible] / probability[possible].sum()
        assert stats.chisquare(counts[possible], expected).pvalue > SIGNIFICANCE


def test_draws_read_the_first_n_only():
    rng = np.random.default_rng(2)
    drawn = {tools.draw_from_logs(rng, np.array([0.0, 0.0, 50.0]), 2) for _ in range(200)}
    assert drawn == {0, 1}


def test_shuffle_is_uniform_on_permutations():
    rng = np.random.default_rng(3)
    n = 24_000
    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    for _ in range(n):
        values = np.arange(6)
        tools.shuffle(rng, values, 4)
        assert values[4:].tolist() == [4, 5]
        counts[tuple(values[:4].tolist())] += 1
    assert stats.chisquare(list(counts.values())).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("n", [0, 1])
def test_shuffle_of_nothing(n):
    values = np.arange(3)
    tools.shuffle(np.random.default_rng(0), values, n)
    assert values.tolist() == [0, 1, 2]


def test_python_and_compiled_draws_agree():
    plain_draw = getattr(tools.draw_from_logs, "py_func", tools.draw_from_logs)
    plain_shuffle = getattr(tools.shuffle, "py_func", tools.shuffle)
    weights = np.random.default_rng(4).standard_normal((200, 5))
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    assert [tools.draw_from_logs(one, row.copy(), 5) for row in weights] == [
        plain_draw(other, row.copy(), 5) for row in weights
    ]
    first, second = np.arange(50), np.arange(50)
    tools.shuffle(one, first, 50)
    plain_shuffle(other, second, 50)
    np.testing.assert_array_equal(first, second)


# --- packed Cholesky factors ------------------------------------------------------------

AT, K = 3, 1  # the factor stands inside a wider array, as in a cluster's cache
SIZES = [1, 2, 3, 7, 20]


def _positive(d: int, seed: int = 0, condition: float = 1e3) -> np.ndarray:
    basis = np.linalg.qr(np.random.default_rng([seed, d]).standard_normal((d, d)))[0]
    return (basis * np.geomspace(1 / condition, 1.0, d)) @ basis.T


def _place(matrix: np.ndarray) -> np.ndarray:
    """The packed triangle in row K of an array of sentinels."""
    packed = tools.pack(matrix)
    array = np.full((3, AT + len(packed) + 2), -7.0)
    array[K, AT : AT + len(packed)] = packed
    return array


def _factor(array: np.ndarray, d: int) -> np.ndarray:
    factor = np.zeros((d, d))
    at = AT
    for j in range(d):
        factor[j:, j] = array[K, at : at + d - j]
        at += d - j
    return factor


def _factorised(matrix: np.ndarray) -> np.ndarray:
    array = _place(matrix)
    assert tools.factorise(array, K, AT, len(matrix))
    return array


def _only_the_factor_was_written(array: np.ndarray, d: int) -> bool:
    outside = array.copy()
    outside[K, AT : AT + d * (d + 1) // 2] = -7.0
    return bool(np.all(outside == -7.0))


def test_pack_by_columns():
    assert tools.pack(np.arange(9.0).reshape(3, 3)).tolist() == [0, 3, 6, 4, 7, 8]
    assert tools.pack(np.empty((0, 0))).size == 0


@pytest.mark.parametrize("d", SIZES)
def test_factorise(d):
    matrix = _positive(d)
    array = _factorised(matrix)
    np.testing.assert_allclose(_factor(array, d), np.linalg.cholesky(matrix), rtol=1e-10, atol=1e-12)
    assert _only_the_factor_was_written(array, d)


@pytest.mark.parametrize("matrix", [[[0.0]], [[-1.0]], [[1.0, 2.0], [2.0, 1.0]], [[np.nan]], [[1.0, 1.0], [1.0, 1.0]]])
def test_factorise_says_where_a_matrix_is_not_positive(matrix):
    matrix = np.array(matrix)
    assert not tools.factorise(_place(matrix), K, AT, len(matrix))


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rank_one(d, sign):
    matrix = _positive(d)
    vector = np.random.default_rng(6).standard_normal(d)
    if sign < 0:
        matrix = matrix + 1.5 * np.outer(vector, vector)
    array = _factorised(matrix)
    assert tools.rank_one(array, K, AT, d, vector.copy(), sign)
    expected = np.linalg.cholesky(matrix + sign * np.outer(vector, vector))
    np.testing.assert_allclose(_factor(array, d), expected, rtol=1e-8, atol=1e-11)
    assert _only_the_factor_was_written(array, d)


@pytest.mark.parametrize("d", SIZES)
def test_rank_one_down_refuses_what_is_not_positive(d):
    matrix = _positive(d)
    vector = np.linalg.cholesky(matrix) @ np.full(d, 1.1 / math.sqrt(d))  # v' M^-1 v = 1.21 > 1
    assert not tools.rank_one(_factorised(matrix), K, AT, d, vector, -1.0)


@pytest.mark.parametrize("d", SIZES)
def test_ten_thousand_rank_one_updates_up_and_down(d):
    """Every vector that was added is taken away again, in another order."""
    matrix = _positive(d, condition=10.0)
    vectors = np.random.default_rng(7).standard_normal((100, d))
    array = _factorised(matrix)
    for repeat in range(50):
        for sign in (1.0, -1.0):
            for vector in np.random.default_rng(repeat).permutation(vectors):
                assert tools.rank_one(array, K, AT, d, vector.copy(), sign)
    np.testing.assert_allclose(_factor(array, d), np.linalg.cholesky(matrix), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("d", SIZES)
def test_solved_square(d):
    matrix = _positive(d)
    vector = np.random.default_rng(8).standard_normal(d)
    solved = vector.copy()
    square = tools.solved_square(_factorised(matrix), K, AT, d, solved)
    assert square == pytest.approx(vector @ np.linalg.solve(matrix, vector), rel=1e-10)
    np.testing.assert_allclose(solved, np.linalg.solve(np.linalg.cholesky(matrix), vector), rtol=1e-9)


@pytest.mark.parametrize("d", SIZES)
def test_solve_transposed(d):
    matrix = _positive(d)
    vector = np.random.default_rng(9).standard_normal(d)
    solved = vector.copy()
    tools.solve_transposed(_factorised(matrix), K, AT, d, solved)
    np.testing.assert_allclose(solved, np.linalg.solve(np.linalg.cholesky(matrix).T, vector), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [*SIZES, 60])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_log_determinant(d, size):
    """Products that would leave the range of doubles are taken in parts."""
    matrix = size * _positive(d)
    expected = np.linalg.slogdet(matrix)[1]
    assert tools.log_determinant(_factorised(matrix), K, AT, d) == pytest.approx(expected, rel=1e-12, abs=1e-11)
