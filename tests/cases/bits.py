"""Rows of zeros and ones for the families that take them."""

from __future__ import annotations

import numpy as np


def two_kinds_of_bits(n, width=12):
    """``n`` rows of zeros with a single one, and ``n`` rows of ones with a single zero, each in a column of its own."""
    few = np.arange(width) == np.arange(n)[:, None] % width
    return few, ~few[:, ::-1]
