"""Records that draws of a mixture carry besides labels: a mixture in closed form, and truncated sticks."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...priors.verbs import Prior


class Components(NamedTuple):
    """A mixture in closed form: posterior statistics of each component (K, S) in local units, and log weights.

    ``log_weights`` has one entry more than there are components: the weight of anything not seen yet.
    """

    statistics: NDArray[np.float64]
    log_weights: NDArray[np.float64]

    def in_order(self, order: NDArray[np.int64]) -> Self:
        """The same mixture with its components in this order."""
        return self._replace(
            statistics=self.statistics[order], log_weights=np.append(self.log_weights[order], self.log_weights[-1])
        )


class Truncation(NamedTuple):
    """Truncated sticks of each kept draw (chain, draw).

    ``n_sticks`` is their number T; ``bound`` is 4 n E[what T - 1 sticks leave], which the variation distance between
    the laws of n rows under the truncated and the whole prior does not exceed (Ishwaran and James 2001, theorem 2,
    by Bernoulli's inequality); ``formula`` is its approximation 4 n exp(-(T - 1) / concentration), close to the bound
    for large concentrations of a Dirichlet process only, and the bound itself for other priors.
    """

    n_sticks: NDArray[np.int64]
    bound: NDArray[np.float64]
    formula: NDArray[np.float64]


def truncation_of(prior: Prior, n_rows: int, draws: Any) -> Truncation:
    """The two bounds of each draw; computed once for each set of values."""
    n_sticks, names = draws["n_sticks"], prior.learned_names
    sets = np.stack([n_sticks.ravel(), *(draws[name].ravel() for name in names)])
    values, where = np.unique(sets, axis=1, return_inverse=True)
    bounds = np.empty((2, values.shape[1]))
    for at, (count, *numbers) in enumerate(values.T):
        fixed = prior.with_numbers(dict(zip(names, numbers, strict=True)))
        bounds[0, at] = fixed.truncation_bound(n_rows, int(count))
        bounds[1, at] = fixed.truncation_formula(n_rows, int(count))
    bound, formula = bounds[:, where.ravel()].reshape(2, *n_sticks.shape)
    return Truncation(n_sticks, bound, formula)
