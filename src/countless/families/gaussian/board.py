"""A row scored against all Gaussian clusters in one stride: what the sweep spends its time on."""

from __future__ import annotations

import math

from ...core.jit import inner_kernel
from ...core.special import NEGLIGIBLE
from .. import verbs
from ..verbs import implements
from .full import _CONSTANT, _DOF, _MEAN, _STRENGTH, NormalInverseWishart, leading

# Board of a cluster: constant, exponent and width of the Student-t, then the leading columns of m and of the
# factor (reciprocal diagonal), and room for L^-1 (x - m) and its squared length.
_HEIGHT, _EXPONENT, _WIDTH, _CENTRE = 0, 1, 2, 3
# With so few columns hardly any cluster is ruled out, and logarithms are most of the work.
FEW_COLUMNS = 4
# Up to here a short series gives log(1 + y); most clusters of a sweep, which have many rows, are below it.
LITTLE = 0.25


@implements(verbs.publish, NormalInverseWishart)
def _publish(family, statistics, cache, board, k):
    d = family.mean.size
    first = leading(d)
    c = cache[k, _STRENGTH]
    board[_HEIGHT, k] = cache[k, _CONSTANT]
    board[_EXPONENT, k] = 0.5 * (cache[k, _DOF] + 1.0)
    board[_WIDTH, k] = c / (c + 1.0)
    at = _CENTRE + first
    start = _MEAN + d
    for j in range(first):
        board[_CENTRE + j, k] = cache[k, _MEAN + j]
        board[at, k] = 1.0 / cache[k, start]
        for i in range(1, first - j):
            board[at + i, k] = cache[k, start + i]
        at += first - j
        start += d - j


@implements(verbs.add_log_predictives, NormalInverseWishart)
def _add_log_predictives(family, statistics, cache, board, n_slots, row, work, reference, scores):
    """Forward substitution of the leading columns for all clusters at once.

    Their share of the squared distance bounds the whole from below, and log(1 + y) >= y / (1 + y): clusters
    that this rules out need neither the other columns nor a logarithm.
    """
    d = row.size
    first = leading(d)
    start = _CENTRE + first
    room = start + first * (first + 1) // 2
    square = room + first
    for j in range(first):
        for k in range(n_slots):
            board[room + j, k] = row[j] - board[_CENTRE + j, k]
    for k in range(n_slots):
        board[square, k] = 0.0
    # Two columns of the factor at a time: what they leave of the later rows is read and written once for both.
    for pair in range(first // 2):
        j = 2 * pair
        after = start + first - j
        for k in range(n_slots):
            head = board[room + j, k] * board[start, k]
            other = (board[room + j + 1, k] - head * board[start + 1, k]) * board[after, k]
            board[room + j, k] = head
            board[room + j + 1, k] = other
            board[square, k] += head * head + other * other
        for i in range(2, first - j):
            for k in range(n_slots):
                board[room + j + i, k] -= (
                    board[room + j, k] * board[start + i, k] + board[room + j + 1, k] * board[after + i - 1, k]
                )
        start = after + first - j - 1
    if first % 2 == 1:
        for k in range(n_slots):
            head = board[room + first - 1, k] * board[start, k]
            board[square, k] += head * head
    log_growth = room
    few = d <= FEW_COLUMNS
    if few:
        for k in range(n_slots):
            board[log_growth, k] = _log1p_of_little(board[square, k] * board[_WIDTH, k])
    for k in range(n_slots):
        ratio = board[square, k] * board[_WIDTH, k]
        bound = scores[k] + board[_HEIGHT, k] - board[_EXPONENT, k] * ratio / (1.0 + ratio)
        if bound < reference + NEGLIGIBLE or scores[k] == -math.inf:
            scores[k] = -math.inf
        elif first == d:
            growth = board[log_growth, k] if few and ratio <= LITTLE else math.log1p(ratio)
            scores[k] += board[_HEIGHT, k] - board[_EXPONENT, k] * growth
        else:
            scores[k] += verbs.log_predictive(family, statistics, cache, k, row, work)


@inner_kernel
def _log1p_of_little(y):
    """log(1 + y) for 0 <= y <= LITTLE to double precision, without a branch so that a loop over it is vectorised.

    2 artanh(s) with s = y / (2 + y) <= 1/9; the first term left out, s^16 / 17, is below 4e-17 of the sum.
    """
    s = y / (2.0 + y)
    t = s * s
    tail = 1.0 / 11.0 + t * (1.0 / 13.0 + t * (1.0 / 15.0))
    return 2.0 * s * (1.0 + t * (1.0 / 3.0 + t * (1.0 / 5.0 + t * (1.0 / 7.0 + t * (1.0 / 9.0 + t * tail)))))
