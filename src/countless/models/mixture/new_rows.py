"""``countless predict``: what a fitted mixture says about the rows of a new table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..command import Grid, Prediction, check_column

if TYPE_CHECKING:
    import pandas as pd


def predict(model: Any, table: pd.DataFrame, file: Path) -> Prediction:
    """Cluster of each row of a new table, its probability, that of a new cluster, and the log density of the row."""
    rows = as_fitted(model, table, file)
    shares, density = model.predict_proba(rows), model.score_samples(rows)
    labels = shares[:, :-1].argmax(axis=1)
    columns = {
        **_names_of(model, table),
        "label": labels.tolist(),
        "probability": shares[range(len(labels)), labels].round(4).tolist(),
        "new_cluster": shares[:, -1].round(4).tolist(),
        "log_density": density.round(4).tolist(),
    }
    return Prediction(columns, [*_new_rows(labels, shares), *_unseen(model, rows)])


def _names_of(model: Any, table: pd.DataFrame) -> dict[str, list[str]]:
    """The names of new rows, where they have the column that named those of the fit."""
    names = model.posterior_.data.row_names
    if names is None or names.column not in map(str, table.columns):
        return {}
    return {
        "name": [
            "" if missing else str(name)
            for name, missing in zip(table[names.column], table[names.column].isna(), strict=True)
        ]
    }


def as_fitted(model: Any, table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """The columns of a new table that a model was fitted to, in their order; columns it left out may be absent."""
    import numpy as np

    names = [str(name) for name in getattr(model, "feature_names_in_", model.posterior_.data.names)]
    used = set(model.posterior_.data.names)
    for name in names:
        if name in used:
            check_column(file, name, [str(column) for column in table.columns])
    return table.reindex(columns=names, fill_value=np.nan)


def _unseen(model: Any, rows: pd.DataFrame) -> list[str]:
    """Categories of new rows that the fit has not seen."""
    from ...core.text import listed
    from ...families.columns import OTHER
    from ...families.table.frames import unseen

    columns = {column.name: column for column in model.posterior_.data.columns}
    said = []
    for name, texts in unseen(rows, list(columns.values())).items():
        taken = "a rare one" if OTHER in (columns[name].levels or ()) else "a missing cell"
        said.append(f"{name!r} holds categories that the fit has not seen, each read as {taken}: {listed(texts, 5)}.")
    return said


def _new_rows(labels: Any, shares: Any) -> list[Grid | str]:
    from ...plots import percent

    rows = []
    for k in range(shares.shape[1] - 1):
        mine = labels == k
        if mine.any():
            sure = percent(float(shares[mine, k].mean()))
            rows.append([str(k), f"{int(mine.sum()):,}", percent(float(mine.mean())), sure])
    header = ("cluster", "new rows", "share", "sure")
    screen: list[Grid | str] = [Grid("Where do the new rows belong?", header, rows)]
    strange = int((shares[:, -1] > 0.5).sum())
    if strange:
        screen.append(f"{strange:,} of {len(labels):,} rows fit none of the clusters (new_cluster above 0.5).")
    return screen
