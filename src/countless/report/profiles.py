"""Profiles of the clusters: what distinguishes each from the other rows, in words and as a small picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.text import listed
from ..plots.parts.fit import Fit
from ..posterior.partition.summaries import Trait
from .numbers import digits, plain, shares

FloatArray = NDArray[np.float64]

# Traits shown for each cluster.
MOST_TRAITS = 6
# Names of rows shown for each cluster, and how long they may be.
MOST_NAMES, LONGEST_NAME = 6, 24


def profiles(fit: Fit) -> list[dict[str, Any]]:
    """One entry for each cluster, the largest first."""
    data, place = fit.data, {column.name: j for j, column in enumerate(fit.data.columns)}
    entries = []
    for summary in fit.summaries:
        mine = fit.labels == summary.label
        traits = []
        for trait in summary.traits[:MOST_TRAITS]:
            j = place[trait.column]
            cells = data.rows[:, j]
            share = trait.level is not None or data.columns[j].cells == "shares" or _is_yes_or_no(cells)
            bar = _shares(trait) if share else _ranges(cells, mine, trait.value)
            traits.append({"text": trait.text, "effect": round(float(trait.effect), 3), "bar": bar})
        entries.append(
            {
                "label": int(summary.label),
                "size": int(summary.size),
                "low": int(summary.size_low),
                "high": int(summary.size_high),
                "names": such_as(fit, summary.label, MOST_NAMES),
                "p": shares(fit.certainty.probability[mine].mean(keepdims=True))[0],
                "traits": traits,
            }
        )
    return entries


def such_as(fit: Fit, label: int, most: int) -> str | None:
    """Rows of a cluster by name, the surest first; None where rows have no names, or are called by numbers."""
    if fit.data.row_names is None:
        return None
    members = np.flatnonzero(fit.labels == label)
    surest = members[np.argsort(-np.asarray(fit.certainty.probability)[members], kind="stable")]
    names = [str(name) for name in fit.data.row_names.values[surest[:most]]]
    if all(name.isdigit() for name in names):
        return None
    short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    return listed(short + [""] * (len(members) - len(short)), most)


def _is_yes_or_no(cells: FloatArray) -> bool:
    """Whether all cells are zeros and ones: their mean is a share."""
    return bool(np.all((cells == 0.0) | (cells == 1.0) | np.isnan(cells)))


def _shares(trait: Trait) -> dict[str, Any]:
    own, others = (1.0 - share if trait.lacks else share for share in (trait.value, trait.others))
    return {"kind": "share", "own": round(float(own), 4), "others": round(float(others), 4)}


def _ranges(cells: FloatArray, mine: NDArray[np.bool_], value: float) -> dict[str, Any] | None:
    """Ends of the line, the middle half of the other rows, that of the cluster, and its mean."""
    known = ~np.isnan(cells)
    own, others = cells[known & mine], cells[known & ~mine]
    if len(own) == 0 or len(others) == 0:
        return None
    significant = digits(cells[known])
    ends = np.quantile(cells[known], [0.01, 0.99])
    return {
        "kind": "range",
        "ends": plain(np.array([min(ends[0], value), max(ends[1], value)]), significant),
        "others": plain(np.quantile(others, [0.25, 0.75]), significant),
        "own": plain(np.append(np.quantile(own, [0.25, 0.75]), value), significant),
    }
