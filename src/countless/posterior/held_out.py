"""How well a fit predicts: the density of each row given all others, from draws that had seen it.

Of draws of the partition from p(partition | all rows), those that a row i would have had no say in are weighted by
1 / p(row i | partition and rows of the others), so that (Gelfand 1996)

    p(row i | others) = 1 / mean over draws of 1 / p(row i | partition and rows of the others).

The own cluster of the row and the parameters of all clusters are integrated out, so that the weights vary little. They
are truncated at their mean times the square root of the number of draws (Ionides 2008), which bounds the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """Log density of each row given all other rows; the larger, the better the fit predicts.

    Attributes
    ----------
    log_density : array (row,)
        In nats, in the units of the table.
    given_clusters : bool
        Whether the clusters of all rows are those that were found, the row itself included: then the densities are
        somewhat too large.

    Examples
    --------
    >>> import countless as cl
    >>> found = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful()).held_out_
    >>> len(found.log_density), found.given_clusters
    (272, False)
    """

    log_density: FloatArray
    given_clusters: bool = False

    @property
    def mean(self) -> float:
        """Mean over the rows."""
        return float(self.log_density.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean, over tables like this one; NaN for a single row."""
        n_rows = len(self.log_density)
        return float(self.log_density.std(ddof=1) / np.sqrt(n_rows)) if n_rows > 1 else float("nan")

    def summary(self) -> dict[str, Any]:
        """What machines want to know."""
        error = self.standard_error
        return {"log_density": self.mean, "standard_error": error, "given_clusters": self.given_clusters}

    def __str__(self) -> str:
        caution = ", given the clusters found" if self.given_clusters else ""
        return (
            f"log density of a row given the others{caution}: {self.mean:.4g} nats on average "
            f"(standard error {self.standard_error:.2g})"
        )


def leave_one_out(log_density: FloatArray) -> FloatArray:
    """Log density of each row given the others, from those at several draws of the partition (draw, row).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.posterior.held_out import leave_one_out
    >>> np.exp(leave_one_out(np.log([[0.5, 0.2], [0.25, 0.2]]))).round(4).tolist()
    [0.3333, 0.2]
    """
    n_draws = len(log_density)
    log_weights = -log_density
    log_mean = np.logaddexp.reduce(log_weights, axis=0) - np.log(n_draws)
    log_weights = np.minimum(log_weights, log_mean + 0.5 * np.log(n_draws))
    total = np.logaddexp.reduce(log_weights, axis=0)
    found: FloatArray = np.logaddexp.reduce(log_weights + log_density, axis=0) - total
    return found
