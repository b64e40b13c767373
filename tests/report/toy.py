"""A model that is no mixture and no partition: one change point of a series, with a page of its own."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from countless import report
from countless.chains.draws import KINDS, Draws
from countless.chains.fields import Field
from countless.posterior import Posterior


class ChangePoint(BaseEstimator):
    """Pretends to sample the place of a change; what matters is what its page is made from."""

    def __init__(self, window=5, random_state=None):
        self.window = window
        self.random_state = random_state

    def fit(self, X, kind="sampled"):
        rng = np.random.default_rng(0)
        arrays = {
            "change": rng.integers(40, 44, (2, 50)),
            "log_joint": rng.normal(size=(2, 50)),
            "objective": np.linspace(-9.0, -1.0, 7),
        }
        fields = (
            Field("change", "count", words="place of the change"),
            Field("log_joint", "number"),
            Field("objective", "number", ("step",), once=True),
        )
        self.posterior_ = Posterior(Draws(arrays, fields, {}, KINDS[kind]))
        self.change_ = 42
        return self

    def report_page(self, title, command, most_rows):
        diagnostics = self.posterior_.diagnostics()
        values, counts = np.unique(self.posterior_.quantities()["change"], return_counts=True)
        place = {int(value): count / counts.sum() for value, count in zip(values, counts, strict=True)}
        cards = [report.fact("Where?", "42", "Between 40 and 43."), report.converged(diagnostics)]
        return report.Page(
            title or "A series",
            "A change at 42",
            [
                report.facts(cards, [report.unfinished(self.posterior_)]),
                report.bars("where", "Where is the change?", place, "place", chosen=42, note="Probabilities."),
                report.chains(self.posterior_, diagnostics),
                report.settings(self, command),
            ],
        )
