r"""A bound for the symmetric model, whose evidence depends on the sizes of clusters and not on statistics alone.

A block of c = m_mu m_nu cells and n counts adds f = log G(beta c + n) / G(beta c) - n log c. As the integral over a
rate per cell, lambda ~ Gamma(beta c, c), it is

    f(n, c) = L(n, c) + h(c),    L = log of the integral of lambda^(beta c + n - 1) exp(-c lambda)
                                   = log G(beta c + n) - (beta c + n) log c,
                                 h = beta c log c - log G(beta c).

L is the normaliser of a family with natural parameters (n, c): convex in both, so that E L(n, c) >= L(E n, E c). h is
concave, and Jensen would go the wrong way; but it depends on the sizes alone, which are two independent sums of
independent events: with their laws (SoftSide.size_law) its expectation is exact,

    E sum_mu sum_nu h(m_mu m_nu) = sum_a sum_b V(a) W(b) h(a b),

V(a) being the expected number of row clusters of a rows, W(b) of column clusters of b columns. A cluster without items
adds nothing, f(0, 0) = 0 where L and h have no value: both are taken given that there are items. With p = P(c > 0),

    E f >= p L(E n / p, E c / p) + E[h(c), c > 0].
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from ....partitions.seats import FloatArray
from .expected import IMPOSSIBLE, Slopes, SoftBlocks, SoftSide


def expected_blocks(strength: float, soft: SoftBlocks) -> Slopes:
    """The bound, and its slopes; those of E h by the shares are exact where shares are zero or one."""
    rows, columns = soft.sides
    chance = np.maximum(np.outer(rows.chance, columns.chance), 1e-300)
    cells = np.maximum(np.outer(rows.mass, columns.mass), 1e-300) / chance
    counts = soft.blocks[:, :, 0] / chance
    shape, log_cells = strength * cells + counts, np.log(cells)
    value = gammaln(shape) - shape * log_cells
    log_rate = digamma(shape) - log_cells
    by_cells = strength * log_rate - shape / cells
    by_chance = value - counts * log_rate - cells * by_cells
    of_rows, of_columns = _of_sizes(strength, rows, columns), _of_sizes(strength, columns, rows)
    items = []
    for side, rise, slope in (
        (rows, of_rows, by_chance @ columns.chance),
        (columns, of_columns, by_chance.T @ rows.chance),
    ):
        joined = (1.0 - side.shares) * rise[1] + side.shares * rise[2]
        items.append(joined + side.chance_of_no_other() * slope)
    total = float((chance * value).sum()) + of_rows[0]
    masses = by_cells @ columns.mass, by_cells.T @ rows.mass
    return Slopes(total, log_rate[:, :, None], masses, (items[0], items[1]))


def _of_sizes(strength: float, side: SoftSide, facing: SoftSide) -> tuple[float, FloatArray, FloatArray]:
    """E h over all blocks; and, for each cluster, what one more item adds, and what one less takes away."""
    law, other = side.size_law, facing.size_law.sum(axis=0)
    b = np.flatnonzero(other > IMPOSSIBLE)
    b = b[b > 0]
    known = law.max(axis=0) > IMPOSSIBLE
    wanted = known.copy()
    wanted[1:] |= known[:-1]
    wanted[:-1] |= known[1:]
    a = np.flatnonzero(wanted)
    a = a[a > 0]
    cells = np.outer(a, b).astype(np.float64)
    heights = np.zeros(law.shape[1] + 1)
    heights[a] = (strength * cells * np.log(cells) - gammaln(strength * cells)) @ other[b]
    more = law @ (heights[1:] - heights[:-1])
    less = law[:, 1:] @ (heights[1:-1] - heights[:-2])
    return float((law @ heights[:-1]).sum()), more, less
