"""Where chains and searches begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.validate import as_labels, choose
from ....partitions.seats import FloatArray, IntArray
from ..problem import SIDES, Problem
from ..state import State
from .spectral import embeddings, labels_from

DISPERSED = ("spectral", "one", "spectral", "prior")
STARTS = ("dispersed", "one", "singletons", "prior", "spectral")


def start(problem: Problem, kind: Any, number: int, rng: np.random.Generator) -> State:
    """A state: one of ``STARTS``, ``"dispersed"`` for each in turn, or labels of rows and of columns."""
    sizes = problem.shape[: len(problem.priors)]
    if not isinstance(kind, str):
        return problem.state(*_given(problem, kind))
    if kind == "dispersed":
        kind = DISPERSED[number % len(DISPERSED)]
    choose("start", kind, dict.fromkeys(STARTS), "a pair of arrays of labels")
    most = [prior.max_clusters(n) for prior, n in zip(problem.priors, sizes, strict=True)]
    if kind == "one":
        labels = [np.zeros(n, dtype=np.int64) for n in sizes]
    elif kind == "singletons":
        labels = [np.arange(n, dtype=np.int64) % limit for n, limit in zip(sizes, most, strict=True)]
    elif kind == "prior":
        labels = [prior.initial().sample(n, rng) for prior, n in zip(problem.priors, sizes, strict=True)]
    else:
        labels = spectral_labels(problem, rng, 60)
    return problem.state(*labels)


def spectral_labels(problem: Problem, rng: np.random.Generator, at_most: int) -> list[IntArray]:
    """Clusters of both sides by their singular vectors; more of them than will be needed."""
    found, vectors = [], _embeddings(problem)
    if problem.tied:
        vectors = (np.hstack(vectors), vectors[1])
    for prior, coordinates in zip(problem.priors, vectors, strict=False):
        n = len(coordinates)
        wanted = max(1, min(at_most, int(np.ceil(n / 4)), prior.max_clusters(n)))
        found.append(labels_from(coordinates, wanted, rng))
    return found


def _embeddings(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Coordinates of rows and columns, computed once for all chains of a problem: they are no draw."""
    kept = vars(problem)
    if "embeddings" not in kept:
        kept["embeddings"] = embeddings(problem, np.random.default_rng(0))
    found: tuple[FloatArray, FloatArray] = kept["embeddings"]
    return found


def _given(problem: Problem, kind: Any) -> list[IntArray]:
    parts = list(kind) if isinstance(kind, (tuple, list)) else [kind]
    if len(parts) != len(problem.priors):
        wanted = "one array of labels" if problem.tied else "a pair of arrays, labels of rows and of columns"
        raise ValueError(f"start must be {wanted}, got {len(parts)} array{'s' * (len(parts) != 1)}")
    found = []
    for side, (part, prior) in enumerate(zip(parts, problem.priors, strict=True)):
        n = problem.shape[side]
        labels = as_labels(part, f"start of {SIDES[side]}s", n)
        if labels.max() >= prior.max_clusters(n):
            raise ValueError(
                f"start has {labels.max() + 1} {SIDES[side]} clusters, but the prior allows {prior.max_clusters(n)}"
            )
        found.append(labels)
    return found
