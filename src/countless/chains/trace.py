"""The draws that chains keep: labels in as few bytes as they need, in segments, joined once at the end.

A segment is some consecutive draws as named arrays, which join along their first axis: one entry for each draw, or, for
``parameters`` and ``weights``, one for each cluster of each draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.mixture.state import FloatArray, IntArray, Problem, State
from .jobs import Draws, Truncation

Segment = dict[str, NDArray[Any]]

# Signed, so that labels minus one are what they look like.
LABEL_TYPES = (np.int8, np.int16, np.int32)
# Arrays with an entry for each cluster of each draw.
PER_CLUSTER = ("parameters", "weights")
LOG_FACTOR = "log_factors/"
# Draws of a segment: so many, or so many labels.
MOST_DRAWS, MOST_LABELS = 256, 4_000_000


def label_type(n_clusters: int) -> Any:
    """The smallest type that holds the labels of so many clusters."""
    return next(kind for kind in LABEL_TYPES if n_clusters - 1 <= np.iinfo(kind).max)


class Trace:
    """Draws of one chain, as they are made.

    Parameters
    ----------
    keep_parameters : bool
        Whether parameters of clusters are kept.
    segments : list of Segment
        Earlier draws of the same chain.
    """

    def __init__(self, keep_parameters: bool, segments: list[Segment] | None = None) -> None:
        self._keep_parameters = keep_parameters
        self._closed: list[Segment] = list(segments or [])
        self._open: dict[str, list[NDArray[Any]]] = {}
        self.done = sum(len(segment["n_clusters"]) for segment in self._closed)

    def keep(self, state: State, problem: Problem) -> float:
        """Add what the state shows now; returns its log joint."""
        log_joint = state.log_joint(problem)
        draw: dict[str, Any] = {
            "labels": state.partition().astype(label_type(state.n_clusters)),
            "n_clusters": np.int64(state.n_clusters),
            "log_joint": np.float64(log_joint),
            "concentration": np.float64(state.concentration),
        }
        for name, value in problem.log_factors.items():
            draw[LOG_FACTOR + name] = np.float64(value)
        if problem.draws_missing:
            draw["fills"] = problem.drawn_cells().astype(np.float32)
        if state.weights is not None:
            draw["n_sticks"] = np.int64(len(state.weights))
        for name, array in draw.items():
            self._open.setdefault(name, []).append(array[None])
        if self._keep_parameters:
            self._open.setdefault("parameters", []).append(state.chain.parameters[state.slots()])
        if state.weights is not None:
            self._open.setdefault("weights", []).append(state.weights[state.slots()])
        self.done += 1
        waiting = len(self._open["n_clusters"])
        if waiting >= MOST_DRAWS or waiting * problem.n_rows >= MOST_LABELS:
            self._close()
        return log_joint

    def _close(self) -> None:
        if self._open:
            self._closed.append({name: np.concatenate(arrays) for name, arrays in self._open.items()})
            self._open = {}

    def segments(self) -> list[Segment]:
        """All draws."""
        self._close()
        return self._closed

    def since(self, n_draws: int) -> Segment | None:
        """The draws after the first ``n_draws`` as one segment; None where there are none."""
        parts: list[Segment] = []
        first = self.done
        for segment in reversed(self.segments()):
            if first <= n_draws:
                break
            parts.insert(0, segment)
            first -= len(segment["n_clusters"])
        return without_first(concatenate(parts), n_draws - first) if parts else None

    def move_labels(self, place: NDArray[Any]) -> None:
        """Put the labels of the first draws into ``place`` (draw, row), and let the trace refer to them there."""
        at = 0
        for segment in self.segments():
            labels = segment["labels"]
            count = min(len(labels), len(place) - at)
            place[at : at + count] = labels[:count]
            if count == len(labels):
                segment["labels"] = place[at : at + count]
            at += count

    def first(self, name: str, n_draws: int) -> NDArray[Any] | None:
        """One of the arrays for the first ``n_draws`` draws; None where there is none."""
        parts = [segment[name] for segment in self.segments() if name in segment]
        if not parts:
            return None
        if name not in PER_CLUSTER:
            return np.concatenate(parts)[:n_draws]
        counts = self.first("n_clusters", n_draws)
        return np.concatenate(parts)[: int(counts.sum())]  # type: ignore[union-attr]

    def names(self) -> list[str]:
        """Names of the arrays."""
        return list(dict.fromkeys(name for segment in self.segments() for name in segment))


def concatenate(segments: list[Segment]) -> Segment:
    """Consecutive segments as one."""
    if len(segments) == 1:
        return segments[0]
    return {name: np.concatenate([segment[name] for segment in segments]) for name in segments[0]}


def without_first(segment: Segment, n_draws: int) -> Segment:
    """A segment less its first draws."""
    if n_draws <= 0:
        return segment
    n_clusters = int(segment["n_clusters"][:n_draws].sum())
    return {name: array[n_clusters if name in PER_CLUSTER else n_draws :] for name, array in segment.items()}


def join_traces(traces: list[Trace], problem: Problem) -> Draws:
    """One chain after the other, all as long as the shortest."""
    n_draws = min(trace.done for trace in traces)

    def parts(name: str) -> list[Any]:
        return [trace.first(name, n_draws) for trace in traces]

    def stacked(name: str) -> Any:
        found = parts(name)
        return None if found[0] is None else np.stack(found)

    def joined(name: str) -> Any:
        found = parts(name)
        return None if found[0] is None else np.concatenate(found)

    concentration, n_sticks, parameters = stacked("concentration"), stacked("n_sticks"), joined("parameters")
    factors = [name for name in traces[0].names() if name.startswith(LOG_FACTOR)]
    return Draws(
        labels=_join_labels(traces, n_draws, problem.n_rows),
        n_clusters=stacked("n_clusters"),
        log_joint=stacked("log_joint"),
        concentration=concentration,
        objective=np.empty(0),
        parameters=None if parameters is None else problem.describe(parameters),
        weights=joined("weights"),
        truncation=None if n_sticks is None else _truncation(problem, n_sticks, concentration),
        fills=stacked("fills"),
        log_factors={name.removeprefix(LOG_FACTOR): stacked(name) for name in factors} or None,
    )


def _join_labels(traces: list[Trace], n_draws: int, n_rows: int) -> NDArray[Any]:
    """Labels (chain, draw, row). Each segment is let go as soon as it is copied: never are there two of all."""
    kind = np.result_type(*[segment["labels"].dtype for trace in traces for segment in trace.segments()])
    labels = np.empty((len(traces), n_draws, n_rows), dtype=kind)
    for place, trace in zip(labels, traces, strict=True):
        trace.move_labels(place)
    return labels


def _truncation(problem: Problem, n_sticks: IntArray, concentration: FloatArray) -> Truncation:
    """The two bounds of each draw; computed once for each pair of values."""
    pairs = np.stack([n_sticks.ravel(), concentration.ravel()])
    values, where = np.unique(pairs, axis=1, return_inverse=True)
    bounds = np.empty((2, values.shape[1]))
    for at, (count, value) in enumerate(values.T):
        prior = problem.prior.with_concentration(value)
        bounds[0, at] = prior.truncation_bound(problem.n_rows, int(count))
        bounds[1, at] = prior.truncation_formula(problem.n_rows, int(count))
    bound, formula = bounds[:, where.ravel()].reshape(2, *n_sticks.shape)
    return Truncation(n_sticks, bound, formula)
