"""A model that is not a partition: one change point in a Gaussian series of unit variance, and the means around it.

The tests import it by ``--import cli.change_point`` in processes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countless.chains import Field, Sampler, Schedule, register
from countless.chains.contract import Frozen
from countless.models.command import CHAIN_OPTIONS, Command, Request, with_chains
from countless.models.estimator import RunEstimator
from countless.runs import register as register_estimator

SPREAD = 10.0


@dataclass(frozen=True)
class Series:
    """The data, which are the problem too."""

    values: np.ndarray
    noun: ClassVar[str] = "series"

    def arrays(self):
        return {"values": self.values}

    def settings(self):
        return {}

    @classmethod
    def revived(cls, settings, arrays):
        return cls(arrays["values"])

    def problem(self):
        return self

    @property
    def axes(self):
        return {"time": len(self.values)}

    @property
    def fields(self):
        names = ("before", "after", "log_joint")
        return (Field("change", "count", words="place of the change"), *(Field(name, "number") for name in names))

    def start(self, kind, number, rng):
        return State(self, int(rng.integers(1, len(self.values))), np.zeros(2))

    def thaw(self, frozen):
        return State(self, frozen.numbers["change"], frozen.arrays["means"].copy())


@dataclass
class State:
    """Values before ``change`` have the first mean, the others the second."""

    problem: Series
    change: int
    means: np.ndarray

    def log_joint(self) -> float:
        return float(self.scores()[self.change - 1] - 0.5 * np.sum(self.means**2) / SPREAD**2)

    def scores(self):
        """Log likelihood, up to a constant, of a change at 1, 2, ..., n - 1."""
        before, after = (-0.5 * (self.problem.values - mean) ** 2 for mean in self.means)
        return np.cumsum(before)[:-1] + np.cumsum(after[::-1])[::-1][1:]

    def draw(self):
        before, after = self.means
        return {"change": np.int64(self.change), "before": before, "after": after, "log_joint": self.log_joint()}

    def freeze(self):
        return Frozen({"change": self.change}, {"means": self.means.copy()})

    def rebuild(self):
        return None

    def status(self):
        return f"change at {self.change}"


class Gibbs:
    """Draw the means, then the place of the change."""

    name = "gibbs"

    def step(self, rng, state):
        parts = np.split(state.problem.values, [state.change])
        for k, part in enumerate(parts):
            variance = 1.0 / (len(part) + SPREAD**-2)
            state.means[k] = rng.normal(variance * part.sum(), np.sqrt(variance))
        weights = np.exp(state.scores() - state.scores().max())
        state.change = 1 + int(rng.choice(len(weights), p=weights / weights.sum()))


@register("change-point")
@dataclass(frozen=True)
class ChangePointGibbs(Sampler):
    """The engine."""

    serves: ClassVar[str] = "change point"

    chains: int = 4
    draws: int = 250
    warmup: int = 100
    thin: int = 1
    start: Any = None
    n_threads: int | None = None

    def schedule(self):
        return Schedule([Gibbs()])


def build(request: Request):
    """The first column, in the order of time."""
    return ChangePoint(with_chains(ChangePointGibbs(), request), request["seed"]), request.numbers()[:, 0]


@register_estimator("ChangePoint")
class ChangePoint(RunEstimator):
    """The estimator."""

    data_class = Series
    command = Command("change-point", "Find where the mean of a series changes.", build, CHAIN_OPTIONS)

    def __init__(self, inference=None, random_state=None, progress=None):
        self.inference, self.random_state, self.progress = inference, random_state, progress

    def fit(self, y, checkpoint=None):
        self.inference_ = self.inference or ChangePointGibbs()
        return self._fit(Series(np.ascontiguousarray(y)), checkpoint)
