"""What the samplers of a mixture share: what a sweep costs, for the choice of an engine and for a budget of work."""

from __future__ import annotations

from typing import Any

from ....chains.sampler import Sampler
from ....families.base import Family
from ....priors.verbs import Prior


def sweep_cost(n_rows: int, family: Family, prior: Prior) -> float:
    """Numbers that one sweep over all rows touches: the statistics of the expected number of clusters, for each row.

    Family and prior are resolved.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> from countless.models.mixture.engines.sampling import sweep_cost
    >>> narrow, wide = (cl.families.Poisson().resolve(np.ones((2, d))) for d in (1, 10))
    >>> bool(sweep_cost(1000, narrow, cl.priors.CRP(1.0)) < sweep_cost(1000, wide, cl.priors.CRP(1.0)))
    True
    """
    return n_rows * family.layout().statistics * max(1.0, prior.expected_clusters(n_rows))


class MixtureSampler(Sampler):
    """Base of the samplers of a mixture."""

    def sweep_cost(self, problem: Any) -> float:
        """Statistics of the expected number of clusters, for each row."""
        return sweep_cost(problem.n_rows, problem.family, problem.prior)
