"""A model that is no mixture and no partition: one change point of a series, with a page of its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from countless import report
from countless.posterior.diagnostics import Diagnostics, Quantity
from countless.posterior.raftery import raftery_lewis


class ChangePoint(BaseEstimator):
    """Pretends to sample the place of a change; what matters is what its page is made from."""

    def __init__(self, window=5, random_state=None):
        self.window = window
        self.random_state = random_state

    def fit(self, X, kind="sampled"):
        rng = np.random.default_rng(0)
        quantities = {"change": rng.integers(40, 44, (2, 50)).astype(float), "log_joint": rng.normal(size=(2, 50))}
        found = tuple(
            Quantity(name, each.mean(), each.std(), 1.01, 80.0, 75.0, raftery_lewis(each), each.mean(axis=1))
            for name, each in quantities.items()
        )
        self.posterior_ = SimpleNamespace(
            kind=kind,
            quantities=lambda: quantities,
            diagnostics=lambda: Diagnostics("The 2 chains agree.", True, [], 2, 50, found),
            interrupted=False,
            objective=np.linspace(-9.0, -1.0, 7),
        )
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
