"""The study of hidden Markov models of Raykov et al. 2016 (section 6.4, table 4), with both readings of its 0.9.

Five states with means 0.2, 1.1, 1.8, 3.4, 4.8 on each of three columns, self-transition 0.96, 4,000 steps. The spread
0.9 is called a variance in one place and could be a deviation: both are run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..core.random import as_generator
from ..metrics import normalized_mutual_information
from ..models.dp_means_hmm.estimator import DPMeansHMM
from ..models.hmm.chain import Chain
from ..models.hmm.estimator import InfiniteHMM
from .study import STUDIES, Case, Study

MEANS = np.array([0.2, 1.1, 1.8, 3.4, 4.8])
STAY = 0.96
# What the paper's table 4 says.
PAPER = {"gibbs": 0.77, "map": 0.62, "small variance": 0.58}
READINGS = {"variance": 0.9, "deviation": 0.81}
METHODS = ("gibbs", "beam", "variational", "map", "small variance", "known parameters")


def make_states(n_steps: int = 4000, variance: float = 0.9, random_state: Any = None) -> tuple[Any, NDArray[np.int64]]:
    """A sequence of the study: rows (step, 3) and the states.

    Examples
    --------
    >>> from countless.experiments.hmm import make_states
    >>> rows, states = make_states(100, random_state=0)
    >>> rows.shape, int(states.max()) < 5
    ((100, 3), True)
    """
    rng = as_generator(random_state)
    states = Chain(np.full(5, 0.2), _transition()).simulate(n_steps, rng)
    return MEANS[states][:, None] + rng.normal(scale=np.sqrt(variance), size=(n_steps, 3)), states


def _transition() -> NDArray[np.float64]:
    matrix = np.full((5, 5), (1.0 - STAY) / 4.0)
    np.fill_diagonal(matrix, STAY)
    return matrix


def _found(method: str, X: Any, variance: float, seed: int) -> NDArray[np.int64]:
    if method == "known parameters":
        scores = -0.5 * ((X[:, None, :] - MEANS[:, None]) ** 2).sum(axis=2) / variance
        first = np.zeros(len(X), dtype=np.bool_)
        first[0] = True
        return np.argmax(Chain(np.full(5, 0.2), _transition()).smoothed(scores, first), axis=1)
    if method == "small variance":
        return np.asarray(DPMeansHMM(random_state=seed).fit(X).labels_)
    return np.asarray(InfiniteHMM(inference=method, random_state=seed).fit(X).labels_)


@STUDIES.add("hmm")
class Sequences(Study):
    """Table 4 of Raykov et al. 2016: agreement of each method with the true states, beside what the paper reports.

    Examples
    --------
    >>> from countless.experiments.hmm import Sequences
    >>> found = Sequences().run({"reading": "variance", "method": "known parameters", "seed": 0, "steps": 600})
    >>> found[0]["nmi"] > 0.8
    True
    """

    title = "Five overlapping states: infinite hidden Markov models"
    text = """
Raykov, Boukouvalas, Baig and Little (2016), *What to do when K-means clustering fails*, section 6.4: five Gaussian
states on three columns, self-transition 0.96, 4,000 steps. Their table 4 reports normalised mutual information of
0.77 (Gibbs), 0.62 (MAP) and 0.58 (small variance). The spread 0.9 is called a variance in one place and may be a
deviation; both are run. "known parameters" is told everything but the states: no method can do better on average.
"""

    def cases(self, quick: bool) -> list[Case]:
        """Each reading, method and sequence: ten of 4,000 steps, or one of 1,000."""
        seeds, steps = (range(1), 1000) if quick else (range(10), 4000)
        return [
            {"reading": reading, "method": method, "seed": seed, "steps": steps}
            for reading in READINGS
            for method in METHODS
            for seed in seeds
        ]

    def run(self, case: Case) -> list[dict[str, Any]]:
        """Agreement with the true states, and how many states of at least 1% were found."""
        variance = READINGS[case["reading"]]
        X, truth = make_states(case["steps"], variance, case["seed"])
        labels = _found(case["method"], X, variance, case["seed"])
        found = np.bincount(labels)
        row = {
            "nmi": float(normalized_mutual_information(labels, truth)),
            "states": int(np.sum(found >= 0.01 * len(labels))),
            "paper": PAPER.get(case["method"]),
        }
        return [row]

    def summary(self, table: pd.DataFrame) -> pd.DataFrame:
        """Means over the sequences."""
        return table.groupby(["reading", "method"], sort=False)[["nmi", "states", "paper"]].mean().reset_index()

    def figure(self, table: pd.DataFrame) -> Any:
        """Agreement of each method, the paper's beside it."""
        from ..plots.parts.style import Picture, colour, headline, layout, quiet

        picture = Picture(figsize=(6.8, 3.6), layout=layout())
        ax = picture.add_subplot()
        methods = list(dict.fromkeys(table["method"]))
        for at, reading in enumerate(dict.fromkeys(table["reading"])):
            mine = table[table["reading"] == reading]
            places = [methods.index(method) + 0.12 * (2 * at - 1) for method in mine["method"]]
            ax.plot(mine["nmi"], places, "o", color=colour(at), markersize=5, label=f"0.9 is the {reading}")
        known = [(PAPER[method], at) for at, method in enumerate(methods) if method in PAPER]
        if known:
            ax.plot(*zip(*known, strict=True), "|", color="#222222", markersize=16, label="as the paper reports")
        ax.set_yticks(range(len(methods)), methods)
        ax.invert_yaxis()
        ax.set_xlabel("normalised mutual information", fontsize=9)
        ax.legend(frameon=False, fontsize=8, loc="lower left")
        quiet(ax)
        headline(ax, "How well are five overlapping states told apart?")
        return picture
