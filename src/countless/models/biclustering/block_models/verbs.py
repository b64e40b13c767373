"""What a block model must answer in kernels: two functions, chosen by the type of their first argument.

The log evidence of a matrix given both partitions is

    sum over blocks of log_block + sum over clusters of either side of log_side + what no partition changes

so that one move of a row or of a column serves every model. Side 0 are the rows, side 1 the columns. A block is one row
of additive statistics of its cells; a cluster has a *mass*, the sum of the weights of its items (their number, unless a
model weighs them), and a total, the sum of the counts in its items.
"""

from __future__ import annotations

from typing import NamedTuple

from ....families.verbs import implements, required
from ....partitions.seats import FloatArray

__all__ = ["Work", "implements", "log_block", "log_side"]


class Work(NamedTuple):
    """A block as models see it: ``statistics[0]``, with room for the cache of a family and scratch space."""

    statistics: FloatArray
    cache: FloatArray
    scratch: FloatArray


@required
def log_block(model, side, work, mass, other_mass):
    """Log evidence of the block in ``work``; ``mass`` is that of its cluster on ``side``."""


@required
def log_side(model, side, total, size):
    """What a cluster of ``size`` items on ``side`` whose cells add up to ``total`` adds to the log evidence."""
