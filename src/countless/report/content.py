"""What the page holds, as plain lists and numbers: everything that the scripts of the page show."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plots._style import COLOURS, count
from . import _sources
from .answer import answer
from .profiles import profiles
from .rows import Shown, cells, plane
from .settings import settings
from .views import counts, pairs, traces


def content(model: Any, most_rows: int, title: str | None, command: str | None) -> dict[str, Any]:
    """The page of a fitted model with at most so many of its rows."""
    data = model.posterior_.data
    labels = np.asarray(model.labels_)
    certainty = _sources.certainty(model)
    shown = Shown.of(data, labels, most_rows)
    n_rows, n_columns = data.rows.shape
    return {
        "title": title or f"{count(n_rows, 'row')}, {count(n_columns, 'column')}",
        "kind": _sources.kind(model),
        "nRows": n_rows,
        "nColumns": n_columns,
        "nClusters": int(model.n_clusters_),
        "sure": _sources.SURE,
        "colours": COLOURS,
        "answer": answer(model, certainty),
        "rows": {
            "number": (shown.rows + 1).tolist(),
            "cluster": labels[shown.rows].tolist(),
            "p": np.round(certainty.probability[shown.rows], 3).tolist(),
            "second": certainty.runner_up[shown.rows].tolist(),
            "p2": np.round(certainty.runner_up_probability[shown.rows], 3).tolist(),
        },
        "columns": cells(data, shown),
        "plane": plane(data, shown),
        "profiles": profiles(model, shown),
        "counts": counts(model),
        "pairs": pairs(model, certainty),
        "traces": traces(model),
        "settings": settings(model, command),
    }
