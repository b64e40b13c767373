"""A change point in a Gaussian series: one integer, two means, and no partition. It keeps the contract honest."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from countless import report
from countless.chains import Field, MoveSampler, Schedule, VariableProblem, VariableState, register
from countless.models.command import CHAIN_OPTIONS, Command, with_chains
from countless.models.estimator import RunEstimator
from countless.runs import ArrayData, register_estimator


class State(VariableState):
    def scores(self):  # log likelihood for each place of the change, given the means
        before, after = norm.logpdf(self.problem.values, self.means[:, None])
        return np.cumsum(before)[:-1] + after.sum() - np.cumsum(after)[:-1]

    def log_joint(self):
        scores = self.scores()
        return float(scores[self.change - 1] - np.log(len(scores)) + norm.logpdf(self.means, 0.0, 10.0).sum())

    def is_possible(self):
        return 1 <= self.change < len(self.problem.values)


@dataclass(frozen=True, eq=False)
class Series(ArrayData, VariableProblem):
    values: np.ndarray
    noun, state_class, axes = "series", State, {"side": 2}
    change = Field("change", "count", words="place of the change")
    fields = (Field("log_joint", "number"), change, Field("means", "number", ("side",), watched=True))

    def start(self, kind, number, rng):
        return State(self, change=int(rng.integers(1, len(self.values))), means=np.zeros(2))


class Update:
    name = "update"

    def step(self, rng, state):
        for side, part in enumerate(np.split(state.problem.values, [state.change])):
            precision = len(part) + 0.01
            state.means[side] = rng.normal(part.sum() / precision, precision**-0.5)
        weights = np.exp(state.scores() - state.scores().max())
        state.change = 1 + int(rng.choice(len(weights), p=weights / weights.sum()))


@register("change-point")
@dataclass(frozen=True)
class ChangeSampler(MoveSampler):
    serves = "change-point"

    def schedule(self):
        return Schedule([Update()])


@register_estimator("ChangePoint")
class ChangePoint(RunEstimator):
    data_class = Series

    def __init__(self, inference=None, random_state=None, progress=None):
        self.inference, self.random_state, self.progress = inference, random_state, progress

    def fit(self, X, y=None, checkpoint=None, checkpoint_every=10.0):
        self.inference_ = self.inference or ChangeSampler()
        return self._fit(Series(np.array(X, dtype=np.float64).reshape(-1)), checkpoint, checkpoint_every)

    def _sections(self, most_rows):
        places, counts = np.unique(self.posterior_["change"], return_counts=True)
        shares = dict(zip(places.tolist(), (counts / counts.sum()).tolist(), strict=True))
        return [report.bars("where", "Where is the change?", shares, "place", note="Posterior probabilities.")]

    def _build(request):
        return ChangePoint(with_chains(ChangeSampler(), request), request["seed"]), request.numbers()[:, 0]

    command = Command("change-point", "Find where the mean of a series changes.", _build, CHAIN_OPTIONS)
