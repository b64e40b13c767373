"""Sections of the report that only biclusterings have: who is in which cluster, and the matrix before and after."""

from __future__ import annotations

from typing import Any

# Names that are listed of a cluster.
MOST_NAMES = 30


def sections(model: Any) -> list[Any]:
    """Clusters of rows and of columns, the matrix before and after, and what the model learned."""
    from ... import report
    from .figures import matrix_figure

    found = []
    data = model.posterior_.data
    for side, labels in enumerate((model.row_labels_, model.column_labels_)[: len(data.priors)]):
        word, names = ("row", "column")[side], data.names(side)
        lines: list[list[str | int]] = []
        for k in range(int(labels.max()) + 1):
            members = [name for name, label in zip(names, labels, strict=True) if label == k]
            tail = ", ..." if len(members) > MOST_NAMES else ""
            lines.append([k, len(members), ", ".join(members[:MOST_NAMES]) + tail])
        found.append(report.table(f"{word}s", f"Clusters of {word}s", ["cluster", "size", f"{word}s"], lines))
    figure = matrix_figure(model)
    found.append(report.image("matrix", "The matrix before and after", figure, "The matrix, sorted by clusters."))
    return found
