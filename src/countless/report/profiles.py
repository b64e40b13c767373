"""Profiles of the clusters: what distinguishes each, in words and in figures of its own beside those of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _sources
from .rows import Shown, digits, plain

# Traits of one cluster that are worth a line.
MOST_TRAITS = 6


def profiles(model: Any, shown: Shown) -> list[dict[str, Any]]:
    """One entry for each cluster, the largest first."""
    data, labels = model.posterior_.data, np.asarray(model.labels_)
    scales = {column.name: _scale(column, data.rows[:, j]) for j, column in enumerate(data.columns)}
    at = {column.name: j for j, column in enumerate(data.columns)}
    found = []
    for summary in sorted(_sources.summaries(model), key=lambda each: (-each.size, each.label)):
        mine = labels == summary.label
        traits = []
        for trait in summary.traits[:MOST_TRAITS]:
            cells = data.rows[mine, at[trait.column]]
            traits.append(
                {
                    "text": trait.text,
                    "column": trait.column,
                    "level": trait.level,
                    "effect": round(float(trait.effect), 3),
                    "bar": _shares(trait)
                    if trait.level is not None
                    else _ranges(scales[trait.column], cells, trait.value),
                }
            )
        found.append(
            {
                "label": int(summary.label),
                "size": int(summary.size),
                "low": int(summary.size_low),
                "high": int(summary.size_high),
                "p": round(float(summary.probability), 3),
                "traits": traits,
            }
        )
    return found


def _shares(trait: Any) -> dict[str, Any]:
    return {"kind": "share", "own": round(float(trait.value), 4), "all": round(float(trait.overall), 4)}


def _scale(column: Any, cells: NDArray[np.float64]) -> Any:
    """Ends of the line that a column's dots are drawn on, and the middle half of all rows."""
    known = cells[np.isfinite(cells)]
    if column.is_categorical or len(known) == 0:
        return None
    significant = digits(known)
    return significant, plain(np.quantile(known, [0.01, 0.99, 0.25, 0.75]), significant)


def _ranges(scale: Any, cells: NDArray[np.float64], value: float) -> dict[str, Any] | None:
    known = cells[np.isfinite(cells)]
    if scale is None or len(known) == 0:
        return None
    significant, everyone = scale
    own = plain(np.append(np.quantile(known, [0.25, 0.75]), value), significant)
    return {"kind": "range", "all": everyone, "own": own}
