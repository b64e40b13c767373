"""Posteriors of mixtures made by hand: draws whose law is known, without a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from countless.chains.draws import KINDS, Draws
from countless.chains.fields import Field
from countless.models.mixture.posterior import MixturePosterior


def posterior_of(
    labels: Any,
    log_joint: Any = None,
    concentration: Any = None,
    data: Any = None,
    kind: str = "sampled",
    arrays: dict[str, Any] | None = None,
    **known: Any,
) -> MixturePosterior:
    """A posterior with these labels (chain, draw, row); ``known`` are properties that follow from draws elsewhere."""
    labels = np.asarray(labels)
    shape, n_rows = labels.shape[:2], labels.shape[-1]
    counts = np.array([len(np.unique(draw)) for draw in labels.reshape(-1, n_rows)], dtype=np.int64).reshape(shape)
    learned = concentration is not None and np.ptp(concentration) > 0.0
    fields = (
        Field("labels", "labels", ("row",), of="n_clusters"),
        Field("n_clusters", "count", words="number of clusters"),
        Field("log_joint", "number"),
        Field("concentration", "number", compared=learned),
        Field("log_factors/*", "number", optional=True, compared=False),
        Field("objective", "number", ("step",), once=True, optional=True),
        Field("mode", "labels", ("row",), once=True, optional=True),
    )
    drawn = {
        "labels": labels,
        "n_clusters": counts,
        "log_joint": np.zeros(shape) if log_joint is None else np.asarray(log_joint),
        "concentration": np.ones(shape) if concentration is None else np.asarray(concentration),
        **(arrays or {}),
    }
    posterior = MixturePosterior(Draws(drawn, fields, {"row": n_rows}, KINDS[kind]), data)
    for name, value in known.items():
        setattr(posterior, name, value)
    return posterior
