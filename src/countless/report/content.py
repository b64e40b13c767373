"""What the page holds, as plain lists and numbers: everything that the scripts of the page show."""

from __future__ import annotations

from typing import Any

from ..plots._style import COLOURS, count
from .answer import answer
from .findings import SURE, Findings
from .profiles import profiles
from .rows import Shown, cells, plane, shares
from .settings import settings
from .views import agreement, counts, pairs, traces


def content(found: Findings, most_rows: int, title: str | None, command: str | None) -> dict[str, Any]:
    """The page of a fitted model with at most so many of its rows."""
    data, sure = found.data, found.certainty
    shown = Shown.of(data, found.labels, most_rows)
    n_rows, n_columns = data.rows.shape
    return {
        "title": title or f"{count(n_rows, 'row')}, {count(n_columns, 'column')}",
        "kind": found.kind,
        "nRows": n_rows,
        "nColumns": n_columns,
        "nClusters": int(found.model.n_clusters_),
        "sure": SURE,
        "colours": COLOURS,
        "answer": answer(found),
        "rows": {
            "number": (shown.rows + 1).tolist(),
            "cluster": found.labels[shown.rows].tolist(),
            "p": shares(sure.probability[shown.rows]),
            "second": sure.runner_up[shown.rows].tolist(),
            "p2": shares(sure.runner_up_probability[shown.rows]),
        },
        "columns": cells(data, shown),
        "plane": plane(data, shown),
        "profiles": profiles(found),
        "counts": counts(found),
        "pairs": pairs(found),
        "traces": traces(found),
        "agreement": agreement(found),
        "settings": settings(found.model, command),
    }
