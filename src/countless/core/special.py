"""Small numerical tools shared by kernels: rising factorials, log-sum-exp, draws, rank-one Cholesky.

A triangular factor is kept packed by columns: entry (i, j) of the lower factor, i >= j, is at
``start(j) + i - j``. Substitution and rank-one updates then walk through memory in order.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import exact_kernel, inner_kernel, kernel

LOG_2PI = math.log(2.0 * math.pi)
LOG_PI = math.log(math.pi)
# A weight this far (in logs) below the largest one cannot change a draw made in double precision.
NEGLIGIBLE = -45.0


# From here on four terms of Stirling's series are exact to double precision.
ASYMPTOTIC = 20.0
# Products of up to so many factors stay below the largest double.
LARGEST_FACTOR = 1e24
# With no more factors than this, rounding in a difference of rising factorials stays below 1e-12.
FEW_FACTORS = 64.0


@exact_kernel
def less(total, part):
    """total - part before anything is added to it.

    A tiny prior plus what is left of a sum when a row leaves it: in any other order the prior would be lost.
    """
    return total - part


@inner_kernel
def scatter(squares, about):
    """Sum of squares less that about the mean; zero where all that is left is rounding, as for equal rows."""
    left = squares - about
    return left if left > 2e-15 * squares else 0.0


@inner_kernel
def _stirling(x):
    """log Gamma(x) less its leading part (x - 1/2) log x - x + log(2 pi) / 2 (Abramowitz and Stegun 1964, 6.1.41)."""
    square = 1.0 / (x * x)
    return (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680))) / x


@inner_kernel
def log_rising(start, count):
    """log of start (start + 1) ... (start + count - 1) = log Gamma(start + count) - log Gamma(start).

    ``start`` is positive, ``count`` not negative; it need not be whole. A difference of two log-gammas would lose all
    digits where ``start`` is large, so that there the difference is taken term by term in Stirling's series.
    """
    if count <= 0.0:
        return 0.0
    if count <= 12.0 and count == math.floor(count) and start < LARGEST_FACTOR:
        product = start
        for step in range(1, int(count)):
            product *= start + step
        return math.log(product)
    if start < ASYMPTOTIC:
        return math.lgamma(start + count) - math.lgamma(start)
    end = start + count
    value = (start - 0.5) * math.log1p(count / start) + count * (math.log(end) - 1.0)
    return value + (_stirling(end) - _stirling(start))


@inner_kernel
def log_rising_share(start, count):
    """log of start (start + 1) ... (start + count - 1) / count!, with one logarithm where there are few factors."""
    if count <= 0.0:
        return 0.0
    if count <= 12.0 and count == math.floor(count) and start < LARGEST_FACTOR:
        product = start
        for step in range(1, int(count)):
            product *= (start + step) / (1.0 + step)
        return math.log(product)
    return log_rising(start, count) - log_rising(1.0, count)


@inner_kernel
def log_beta(a, b):
    """log of the beta function, accurate where both arguments are large (Didonato and Morris 1992, algorithm 708)."""
    small, large = min(a, b), max(a, b)
    if large < ASYMPTOTIC:
        return math.lgamma(small) + math.lgamma(large) - math.lgamma(small + large)
    if small < ASYMPTOTIC:
        return math.lgamma(small) - log_rising(large, small)
    total = small + large
    value = (small - 0.5) * math.log(small / total) - large * math.log1p(small / large)
    return value + 0.5 * (LOG_2PI - math.log(large)) + _stirling(small) + _stirling(large) - _stirling(total)


@inner_kernel
def log_beta_ratio(a, b, more_a, more_b):
    """log of B(a + more_a, b + more_b) / B(a, b), the evidence of ``more_a`` successes and ``more_b`` failures."""
    more = more_a + more_b
    if more <= FEW_FACTORS:
        return log_rising(a, more_a) + log_rising(b, more_b) - log_rising(a + b, more)
    return _log_beta_ratio_of_many(a, b, more_a, more_b)


@inner_kernel
def _log_beta_ratio_of_many(a, b, more_a, more_b):
    """The same where the rising factorials are so long that their difference would be rounding."""
    if more_a + more_b > a + b:
        return log_beta(a + more_a, b + more_b) - log_beta(a, b)
    if a < b:
        a, b, more_a, more_b = b, a, more_b, more_a
    # Where a is far larger than b, the rising factorials of a and a + b are nearly the same.
    end, far = a + more_a, a + b + more_a
    nearly = (a - 0.5) * math.log1p(more_a / a * (b / far))
    nearly -= b * math.log1p(more_a / (a + b)) + more_a * math.log1p(b / end)
    nearly += (_stirling(end) - _stirling(a)) - (_stirling(far) - _stirling(a + b))
    return nearly + log_rising(b, more_b) - log_rising(far, more_b)


@inner_kernel
def log_choose(n, k):
    """log of the binomial coefficient, n over k, without the difference of large log-gammas."""
    fewer = min(k, n - k)
    return log_rising(n - fewer + 1.0, fewer) - log_rising(1.0, fewer)


@kernel
def digamma(x):
    """Derivative of log Gamma for x > 0: recurrence up to 10, then the asymptotic series (DLMF 5.11.2)."""
    shifted = 0.0
    while x < 10.0:
        shifted -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1.0 / 12
        - inverse
        * (
            1.0 / 120
            - inverse
            * (1.0 / 252 - inverse * (1.0 / 240 - inverse * (1.0 / 132 - inverse * (691.0 / 32760 - inverse / 12.0))))
        )
    )
    return shifted + math.log(x) - 0.5 / x - series


@inner_kernel
def draw_from_logs(rng, log_weights, n):
    """Index drawn with probability proportional to exp(log_weights[:n]), one of them finite; they are overwritten."""
    largest = log_weights[0]
    for k in range(1, n):
        if log_weights[k] > largest:
            largest = log_weights[k]
    total = 0.0
    for k in range(n):
        difference = log_weights[k] - largest
        if difference > NEGLIGIBLE:
            total += math.exp(difference)
        log_weights[k] = total
    threshold = rng.random() * total
    for k in range(n):
        if threshold < log_weights[k]:
            return k
    return n - 1


@inner_kernel
def log_gamma_draw(rng, shape):
    """log of a gamma draw; below one by Gamma(shape + 1) U^(1 / shape), which never rounds to zero in logs."""
    if shape >= 1.0:
        return math.log(rng.standard_gamma(shape))
    return math.log(rng.standard_gamma(shape + 1.0)) + math.log(1.0 - rng.random()) / shape


@inner_kernel
def normalise_logs(values, k, start, stop):
    """Turn logarithms ``values[k, start:stop]`` into probabilities; a floor keeps their own logarithms finite."""
    largest = -math.inf
    for s in range(start, stop):
        largest = max(largest, values[k, s])
    total = 0.0
    for s in range(start, stop):
        values[k, s] = max(math.exp(values[k, s] - largest), 1e-300)
        total += values[k, s]
    for s in range(start, stop):
        values[k, s] /= total


@inner_kernel
def log_sum_exp(values, n):
    """log of the sum of exp(values[:n])."""
    largest = values[0]
    for k in range(1, n):
        if values[k] > largest:
            largest = values[k]
    if largest == -math.inf:
        return largest
    total = 0.0
    for k in range(n):
        total += math.exp(values[k] - largest)
    return largest + math.log(total)


@inner_kernel
def shuffle(rng, values, n):
    """Fisher-Yates on ``values[:n]``, with uniform draws only so that it is the same with and without JIT."""
    for last in range(n - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        values[last], values[other] = values[other], values[last]


@inner_kernel
def factorise(matrix, k, at, d):
    """Cholesky factor of the packed lower triangle in ``matrix[k, at:]``, in place; False if not positive."""
    start = at
    for j in range(d):
        pivot = matrix[k, start]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        matrix[k, start] = root
        length = d - j
        inverse = 1.0 / root
        for i in range(1, length):
            matrix[k, start + i] *= inverse
        below = start + length
        for column in range(1, length):
            factor = matrix[k, start + column]
            for i in range(column, length):
                matrix[k, below + i - column] -= factor * matrix[k, start + i]
            below += length - column
        start += length
    return True


@inner_kernel
def rank_one(matrix, k, at, d, vector, sign):
    """Factor of L L' + sign v v' from the packed factor L, in place; ``vector`` is used up.

    Returns False, with the factor spoilt, where a downdate would leave a matrix that is not positive.
    Golub and Van Loan, Matrix Computations, section 6.5.4.
    """
    start = at
    for j in range(d):
        diagonal = matrix[k, start]
        head = vector[j]
        square = diagonal * diagonal + sign * head * head
        if not square > 1e-14 * diagonal * diagonal:
            return False
        root = math.sqrt(square)
        cosine = root / diagonal
        sine = head / diagonal
        inverse = diagonal / root
        matrix[k, start] = root
        length = d - j
        for i in range(1, length):
            below = (matrix[k, start + i] + sign * sine * vector[j + i]) * inverse
            matrix[k, start + i] = below
            vector[j + i] = cosine * vector[j + i] - sine * below
        start += length
    return True


@inner_kernel
def solved_square(matrix, k, at, d, vector):
    """v' (L L')^-1 v for the packed factor L; ``vector`` is overwritten with L^-1 v."""
    start = at
    total = 0.0
    for j in range(d):
        head = vector[j] / matrix[k, start]
        vector[j] = head
        total += head * head
        for i in range(1, d - j):
            vector[j + i] -= head * matrix[k, start + i]
        start += d - j
    return total


@inner_kernel
def log_determinant(matrix, k, at, d):
    """log det(L L') of the packed factor L, with one logarithm where the product allows."""
    start = at
    total = 0.0
    product = 1.0
    for j in range(d):
        product *= matrix[k, start]
        if product > 1e100 or product < 1e-100:
            total += math.log(product)
            product = 1.0
        start += d - j
    return 2.0 * (total + math.log(product))


@inner_kernel
def solve_transposed(matrix, k, at, d, vector):
    """L'^-1 v in place for the packed factor L: turns standard normals into draws with covariance (L L')^-1."""
    start = at + d * (d + 1) // 2
    for j in range(d - 1, -1, -1):
        start -= d - j
        value = vector[j]
        for i in range(1, d - j):
            value -= matrix[k, start + i] * vector[j + i]
        vector[j] = value / matrix[k, start]


def pack(matrix: np.ndarray) -> np.ndarray:
    """Lower triangle of a symmetric matrix, by columns."""
    d = len(matrix)
    return np.concatenate([matrix[j:, j] for j in range(d)]) if d else np.empty(0)
