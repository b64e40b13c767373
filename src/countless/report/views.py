"""The pictures that are about draws: the number of clusters, which rows belong together, and traces."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import Findings
from .rows import plain, spread

# Rows of the heat map and draws it is taken over: more would not be seen.
MOST_PAIRED = 300
MOST_DRAWS = 1_000
MOST_STEPS = 400
MOST_CHAINS = 8

WORDS = {
    "n_clusters": "number of clusters",
    "log_joint": "log joint density",
    "entropy": "evenness of the sizes (entropy)",
    "largest_share": "share of the largest cluster",
    "concentration": "concentration",
}


def counts(found: Findings) -> list[list[float]] | None:
    """Posterior of the number of clusters, as pairs; None where it is not known."""
    if found.kind != "sampled":
        return None
    return [[k, round(share, 4)] for k, share in sorted(found.posterior.n_clusters_pmf().items())]


def pairs(found: Findings) -> dict[str, Any] | None:
    """How probably rows share a cluster, for some rows in the order of the consensus; None for one partition."""
    if found.kind == "map":
        return None
    labels = found.labels
    rows = spread(labels, MOST_PAIRED, 5)
    size = np.bincount(labels)
    rows = rows[np.lexsort((-found.certainty.probability[rows], labels[rows], -size[labels[rows]]))]
    draws = found.posterior.flat_labels(MOST_DRAWS)[:, rows]
    share = together(draws)
    below = share[np.tril_indices(len(rows), -1)]
    return {
        "number": (rows + 1).tolist(),
        "cluster": labels[rows].tolist(),
        "all": len(rows) == len(labels),
        # One byte for each pair below the diagonal, row by row: 250 is certainty.
        "share": base64.b64encode(np.rint(250.0 * below).astype(np.uint8).tobytes()).decode(),
    }


def together(draws: NDArray[Any]) -> NDArray[np.float64]:
    """Share of the draws (draw, row) in which two rows are in one cluster."""
    total = np.zeros((draws.shape[1],) * 2)
    for draw in draws:
        total += draw[:, None] == draw
    return total / len(draws)


def traces(found: Findings) -> list[dict[str, Any]]:
    """Quantities along each chain, thinned evenly; along the steps of an optimiser for fits without chains."""
    posterior = found.posterior
    if found.kind != "sampled":
        steps = np.asarray(posterior.objective, dtype=np.float64).ravel()
        steps = steps[np.isfinite(steps)]
        name = "bound on the log evidence" if posterior.components is not None else "log joint density"
        return [_trace(name, steps[None], "step")] if len(steps) > 1 else []
    quantities = posterior.quantities()
    quantities.pop("entropy")
    return [_trace(WORDS.get(name, f"learned {name}"), values, "draw") for name, values in quantities.items()]


def agreement(found: Findings) -> list[dict[str, Any]]:
    """R-hat and effective draws of each quantity; empty where there are no chains to compare."""
    return [
        {
            "name": WORDS.get(each.name, f"learned {each.name}"),
            "rhat": _rounded(each.rhat, 3),
            "bulk": _rounded(each.ess_bulk, 0),
            "tail": _rounded(each.ess_tail, 0),
        }
        for each in found.diagnostics.quantities
    ]


def _rounded(value: float, decimals: int) -> float | None:
    return round(float(value), decimals) if np.isfinite(value) else None


def _trace(name: str, values: NDArray[Any], unit: str) -> dict[str, Any]:
    n = values.shape[1]
    at = np.unique(np.linspace(0, n - 1, min(n, MOST_STEPS)).astype(np.int64))
    chains = [plain(np.asarray(chain[at], dtype=np.float64), 6) for chain in values[:MOST_CHAINS]]
    return {"name": name, "unit": unit, "at": (at + 1).tolist(), "chains": chains, "nChains": len(values)}
