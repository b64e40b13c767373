"""Normal equations of the bias and all weights together: each pair adds its precision to every two of its unknowns."""

from __future__ import annotations

import numpy as np

from ....core.jit import kernel


@kernel
def normal_equations(rest, pull, scale, directed, labels, sizes, firsts, matrix, vector):
    """Add up ``matrix`` and ``vector`` over all pairs.

    ``rest`` is precision times what is to be explained; ``labels`` (attribute, object) have -1 for absence; unknown 0
    is the bias, and the weights of attribute m, c <= d only unless directed, begin at ``firsts[m]``.
    """
    n_attributes, n = labels.shape
    active = np.empty(n_attributes + 1, dtype=np.int64)
    active[0] = 0
    for i in range(n):
        for j in range(n if directed else i + 1):
            if pull[i, j] == 0.0:
                continue
            count = 1
            for m in range(n_attributes):
                c, d = labels[m, i], labels[m, j]
                if c >= 0 and d >= 0:
                    if directed:
                        active[count] = firsts[m] + c * sizes[m] + d
                    else:
                        active[count] = (
                            firsts[m] + (c * (c + 1)) // 2 + d if c >= d else firsts[m] + (d * (d + 1)) // 2 + c
                        )
                    count += 1
            p, r = scale * pull[i, j], scale * rest[i, j]
            for a in range(count):
                vector[active[a]] += r
                for b in range(a + 1):
                    matrix[active[a], active[b]] += p
    for a in range(vector.size):
        for b in range(a):
            # An entry was added on whichever side its unknowns came.
            matrix[a, b] += matrix[b, a]
            matrix[b, a] = matrix[a, b]
