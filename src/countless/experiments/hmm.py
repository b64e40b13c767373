"""The study of hidden Markov models of Raykov et al. 2016 (section 6.4, table 4), with both readings of its 0.9.

Five states with means 0.2, 1.1, 1.8, 3.4, 4.8 on each of three columns, self-transition 0.96, 4,000 steps. The spread
0.9 is called a variance in one place and could be a deviation: both are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..core.random import as_generator
from ..core.validate import choose
from ..metrics import normalized_mutual_information
from ..models.dp_means_hmm.estimator import DPMeansHMM
from ..models.hmm.chain import Chain
from ..models.hmm.estimator import InfiniteHMM

MEANS = np.array([0.2, 1.1, 1.8, 3.4, 4.8])
STAY = 0.96
# What the paper's table 4 says.
PAPER = {"gibbs": 0.77, "map": 0.62, "small variance": 0.58}
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


def table_four(n_steps: int = 4000, seeds: Sequence[int] = (0,), methods: Sequence[str] = METHODS) -> pd.DataFrame:
    """Agreement of each method with the true states, beside what the paper reports.

    Parameters
    ----------
    n_steps : int
    seeds : sequence of int
        One sequence each.
    methods : sequence of str
        Among ``METHODS``; ``"known parameters"`` is told everything but the states.

    Returns
    -------
    DataFrame
        One row for each reading of 0.9, method and seed: ``nmi``, number of ``states``, and the paper's ``paper_nmi``.

    Examples
    --------
    >>> from countless.experiments.hmm import table_four
    >>> found = table_four(600, methods=["known parameters"])
    >>> found["reading"].tolist()
    ['variance', 'deviation']
    """
    rows = []
    for reading, variance in (("variance", 0.9), ("deviation", 0.81)):
        for seed in seeds:
            X, truth = make_states(n_steps, variance, seed)
            for method in methods:
                choose("methods", method, dict.fromkeys(METHODS))
                labels = _found(method, X, variance, seed)
                nmi = normalized_mutual_information(labels, truth)
                states = len(np.unique(labels))
                rows.append((reading, method, seed, round(float(nmi), 4), states, PAPER.get(method)))
    return pd.DataFrame(rows, columns=["reading", "method", "seed", "nmi", "states", "paper_nmi"])


def _found(method: str, X: Any, variance: float, seed: int) -> NDArray[np.int64]:
    if method == "known parameters":
        scores = -0.5 * ((X[:, None, :] - MEANS[:, None]) ** 2).sum(axis=2) / variance
        first = np.zeros(len(X), dtype=np.bool_)
        first[0] = True
        return np.argmax(Chain(np.full(5, 0.2), _transition()).smoothed(scores, first), axis=1)
    if method == "small variance":
        return np.asarray(DPMeansHMM(random_state=seed).fit(X).labels_)
    return np.asarray(InfiniteHMM(inference=method, random_state=seed).fit(X).labels_)


def figure(found: pd.DataFrame) -> Any:
    """Agreement of each method, the paper's beside it.

    Examples
    --------
    >>> from countless.experiments.hmm import figure, table_four
    >>> figure(table_four(300, methods=["known parameters"])).axes[0].get_xlabel()
    'normalised mutual information'
    """
    from ..plots.parts.style import Picture, colour, headline, layout, quiet

    picture = Picture(figsize=(6.8, 3.6), layout=layout())
    ax = picture.add_subplot()
    methods = list(dict.fromkeys(found["method"]))
    for at, reading in enumerate(dict.fromkeys(found["reading"])):
        mine = found[found["reading"] == reading]
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
