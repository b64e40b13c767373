"""The draws that a chain keeps: labels in as few bytes as they need, in segments, joined once at the end.

A segment is some consecutive draws as named arrays, which join along their first axis: one entry for each draw, or, for
ragged fields, as many as the count of each draw says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .draws import SAMPLED, Draws
from .fields import Field, compact, field_of

Segment = dict[str, NDArray[Any]]

# Draws of a segment: so many, or so many numbers.
MOST_DRAWS, MOST_NUMBERS = 256, 4_000_000


class Trace:
    """Draws of one chain, as they are made.

    Parameters
    ----------
    fields : sequence of Field
    segments : list of Segment, optional
        Earlier draws of the same chain.
    leave_out : tuple of str
        Groups of fields that are not kept.
    times : sequence of int, optional
        When the earlier draws were made; 1, 2, 3, ... by default.

    Attributes
    ----------
    done : int
        Draws that were kept, whether or not they are still here.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        segments: list[Segment] | None = None,
        leave_out: tuple[str, ...] = (),
        times: Sequence[int] | None = None,
    ) -> None:
        self._fields = [field for field in fields if field.name.partition("/")[0] not in leave_out]
        self._counted = next(field.name for field in fields if field.per is None and not field.once)
        self._closed: list[Segment] = list(segments or [])
        self._open: dict[str, list[NDArray[Any]]] = {}
        self._waiting = 0
        self.done = sum(len(segment[self._counted]) for segment in self._closed)
        self._times = list(range(1, self.done + 1) if times is None else times)

    @property
    def held(self) -> int:
        """Draws that are here."""
        return len(self._times)

    @property
    def times(self) -> NDArray[np.int64]:
        """When the draws that are here were made."""
        return np.array(self._times, dtype=np.int64)

    def keep(self, draw: Mapping[str, Any], time: int | None = None) -> None:
        """Add a draw: a value for each field."""
        size = 0
        for name, value in draw.items():
            field = field_of(self._fields, name)
            if field is not None:
                array = compact(value) if field.kind == "labels" else np.asarray(value)
                self._open.setdefault(name, []).append(array if field.per else array[None])
                size = max(size, array.size)
        self.done += 1
        self._times.append(self.done if time is None else time)
        self._waiting += 1
        if self._waiting >= MOST_DRAWS or self._waiting * size >= MOST_NUMBERS:
            self._close()

    def _close(self) -> None:
        if self._open:
            self._closed.append({name: np.concatenate(arrays) for name, arrays in self._open.items()})
            self._open, self._waiting = {}, 0

    def segments(self) -> list[Segment]:
        """All draws."""
        self._close()
        return self._closed

    def select(self, which: NDArray[np.bool_]) -> None:
        """Let go of all draws that are here but some; ``since`` counts on as before."""
        if which.all():
            return
        whole = _concatenated(self.segments())
        chosen = {}
        for name, array in whole.items():
            field = field_of(self._fields, name)
            here = which if field is None or field.per is None else np.repeat(which, whole[field.per])
            chosen[name] = array[here]
        self._closed = [chosen]
        self._times = self.times[which].tolist()

    def since(self, n_draws: int) -> Segment | None:
        """The draws after the first ``n_draws`` that were ever kept as one segment; None where there are none."""
        parts: list[Segment] = []
        first = self.done
        for segment in reversed(self.segments()):
            if first <= n_draws:
                break
            parts.insert(0, segment)
            first -= len(segment[self._counted])
        return self._without_first(_concatenated(parts), n_draws - first) if parts else None

    def _without_first(self, segment: Segment, n_draws: int) -> Segment:
        if n_draws <= 0:
            return segment
        return {name: array[self._length(segment, name, n_draws) :] for name, array in segment.items()}

    def _length(self, segment: Segment, name: str, n_draws: int) -> int:
        """Entries of a field in the first draws of a segment."""
        field = field_of(self._fields, name)
        return n_draws if field is None or field.per is None else int(segment[field.per][:n_draws].sum())

    def names(self) -> list[str]:
        """Names of the fields that were drawn."""
        return list(dict.fromkeys(name for segment in self.segments() for name in segment))

    def first(self, field: Field, name: str, n_draws: int) -> NDArray[Any]:
        """One of the fields for the first ``n_draws`` draws."""
        whole = np.concatenate([segment[name] for segment in self.segments()])
        if field.per is None:
            return whole[:n_draws]
        counts = np.concatenate([segment[field.per] for segment in self.segments()])
        return whole[: int(counts[:n_draws].sum())]

    def move(self, name: str, place: NDArray[Any]) -> None:
        """Put a field of the first draws into ``place``, and let the trace refer to it there."""
        at = 0
        for segment in self.segments():
            array = segment[name]
            count = min(len(array), len(place) - at)
            place[at : at + count] = array[:count]
            if count == len(array):
                segment[name] = place[at : at + count]
            at += count


def _concatenated(segments: list[Segment]) -> Segment:
    """Consecutive segments as one."""
    if len(segments) == 1:
        return segments[0]
    return {name: np.concatenate([segment[name] for segment in segments]) for name in segments[0]}


def join_traces(traces: list[Trace], fields: Sequence[Field], axes: Mapping[str, int]) -> Draws:
    """One chain after the other, all as long as the shortest."""
    n_draws = min(trace.held for trace in traces)
    arrays: dict[str, NDArray[Any]] = {}
    for name in traces[0].names():
        field = field_of(fields, name)
        if field is None:
            raise ValueError(f"{name!r} is not a field of these draws")
        if field.kind == "labels" and field.per is None:
            arrays[name] = _joined_labels(traces, name, n_draws)
        else:
            parts = [trace.first(field, name, n_draws) for trace in traces]
            arrays[name] = np.stack(parts) if field.per is None else np.concatenate(parts)
    return Draws(arrays, tuple(fields), axes, SAMPLED)


def _joined_labels(traces: list[Trace], name: str, n_draws: int) -> NDArray[Any]:
    """Labels (chain, draw, item). Each segment is let go as soon as it is copied: there are never two of all."""
    parts = [segment[name] for trace in traces for segment in trace.segments()]
    labels = np.empty((len(traces), n_draws, parts[0].shape[1]), dtype=np.result_type(*[part.dtype for part in parts]))
    del parts
    for place, trace in zip(labels, traces, strict=True):
        trace.move(name, place)
    return labels
