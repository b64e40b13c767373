"""A change point in a Gaussian series: one integer and two means, and no partition at all. It keeps the contract honest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from countless.chains import Field, Frozen, Sampler, Schedule, register
from countless.models.estimator import RunEstimator
from countless.runs import register as register_estimator

SD = 10.0  # of the prior of a mean; the series has standard deviation 1 about its two means


@dataclass(frozen=True, eq=False)
class Series:
    values: Any
    noun: ClassVar[str] = "series"
    fields: ClassVar[Any] = (
        Field("log_joint", "number"),
        Field("change", "count", words="place of the change"),
        Field("means", "number", ("side",)),
    )

    def arrays(self):
        return {"values": self.values}

    def settings(self):
        return {}

    @classmethod
    def revived(cls, settings, arrays):
        if arrays["values"].ndim != 1 or arrays["values"].dtype != np.float64:
            raise ValueError("its values are not a series")
        return cls(arrays["values"])

    def problem(self):
        return self

    @property
    def axes(self):
        return {"time": len(self.values), "side": 2}

    def start(self, kind, number, rng):
        return State(self, int(rng.integers(1, len(self.values))), np.zeros(2))

    def thaw(self, frozen):
        change, means = frozen.numbers["change"], frozen.arrays["means"]
        if type(change) is not int or not 1 <= change < len(self.values) or means.shape != (2,):
            raise ValueError("the state of a chain is not one of this series")
        return State(self, change, means.copy())


@dataclass
class State:
    series: Series
    change: int
    means: Any

    def scores(self):
        """Log likelihood of the series for each place of the change, given the means."""
        left, right = norm.logpdf(self.series.values, self.means[:, None])
        return np.cumsum(left)[:-1] + right.sum() - np.cumsum(right)[:-1]

    def log_joint(self):
        scores = self.scores()
        return float(scores[self.change - 1] - np.log(len(scores)) + norm.logpdf(self.means, 0.0, SD).sum())

    def draw(self):
        return {"log_joint": np.float64(self.log_joint()), "change": np.int64(self.change), "means": self.means.copy()}

    def freeze(self):
        return Frozen({"change": int(self.change)}, {"means": self.means.copy()})

    def rebuild(self):
        pass

    def status(self):
        return f"change at {self.change}"


class Update:
    name = "update"

    def step(self, rng, state):
        for side, part in enumerate(np.split(state.series.values, [state.change])):
            precision = len(part) + SD**-2
            state.means[side] = rng.normal(part.sum() / precision, precision**-0.5)
        scores = state.scores()
        weights = np.exp(scores - scores.max())
        state.change = 1 + int(rng.choice(len(weights), p=weights / weights.sum()))


@register("change-point")
@dataclass(frozen=True)
class ChangeSampler(Sampler):
    serves: ClassVar[str] = "change-point"
    chains: int = 4
    draws: int = 200
    warmup: int = 50
    thin: int = 1
    start: Any = None
    n_threads: int | None = None

    def schedule(self):
        return Schedule([Update()])


@register_estimator("ChangePoint")
class ChangePoint(RunEstimator):
    data_class = Series

    def __init__(self, draws=200, random_state=None, progress=None):
        self.draws, self.random_state, self.progress = draws, random_state, progress

    def fit(self, X, y=None, checkpoint=None, checkpoint_every=10.0):
        self.inference_ = ChangeSampler(draws=self.draws)
        return self._fit(Series(np.asarray(X, dtype=np.float64).reshape(-1)), checkpoint, checkpoint_every)
