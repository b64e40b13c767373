"""Cross-validation: among some candidates, the hyperparameters that predict rows left out best.

Raykov et al. 2016, app. A, item 4, and section 3.2 for the density of a row left out; Blei and Jordan 2004.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.watch import Watch
from ..core.validate import whole_number
from .base import Tunable, Tuning, register
from .evidence import SPREAD, learned_names, positive

# Draws that a predictive density is averaged over.
MOST_DRAWS = 20


@register("cross-validation")
@dataclass(frozen=True)
class CrossValidation(Tuning):
    """Choose the candidate with the largest mean log predictive density of rows left out.

    Trial fits are shorter than the fit itself, which is made on all rows with the candidate chosen.

    Parameters
    ----------
    candidates : int, mapping or sequence of mappings
        What hyperparameters are multiplied by. A mapping such as ``{"scale": [0.1, 1, 10]}`` is a grid; a sequence
        such as ``[{"scale": 0.1}, {"scale": 1.0, "mean_strength": 10.0}]`` lists all candidates. A number: as many,
        the first unchanged and the others spread evenly (Halton's sequence) over a normal law of the logs.
    cv : int or scikit-learn splitter
        Number of folds, drawn at random, or an object with ``split``.
    names : tuple of str, optional
        Hyperparameters to learn where ``candidates`` is a number; default, all in ``tunable()``.
    spread : float
        Standard deviation of the log factors where ``candidates`` is a number.

    Examples
    --------
    >>> import countless as cl
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.3], [5.4]]
    >>> choice = cl.tuning.CrossValidation({"scale": [1e-3, 1.0]}, cv=2)
    >>> model = cl.DPMixture(inference="map", tune=choice, random_state=0).fit(X)
    >>> sorted(model.posterior_.hyperparameters)
    ['scale']
    """

    candidates: int | Mapping[str, Sequence[float]] | Sequence[Mapping[str, float]] = 16
    cv: Any = 3
    names: tuple[str, ...] | None = None
    spread: float = SPREAD

    def __post_init__(self) -> None:
        if not positive("spread", self.spread) < math.inf:
            raise ValueError("spread must be finite where candidates are drawn")
        if not isinstance(self.candidates, (Mapping, Sequence)) or isinstance(self.candidates, str):
            whole_number("candidates", self.candidates, 1)
        if not hasattr(self.cv, "split"):
            whole_number("cv", self.cv, 2)

    def run(self, problem: Tunable, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Score all candidates on the same folds, then run the engine with the best."""
        listed = list(self._listed(problem, rng))
        folds = self._folds(problem.n_rows, rng)
        scores = np.full(len(listed), -np.inf)
        for at, factors in enumerate(listed):
            total, interrupted = _score(problem.tuned(factors), engine.pilot(), folds, rng, watch.unrecorded())
            if interrupted:
                raise KeyboardInterrupt("stopped before all candidates were compared")
            scores[at] = total
        best = listed[int(np.argmax(scores))]
        return engine.run(problem.tuned(best), rng, watch)

    def _listed(self, problem: Tunable, rng: np.random.Generator) -> Iterator[dict[str, float]]:
        """Candidates as log factors, all with the same names."""
        if not isinstance(self.candidates, (Mapping, Sequence)):
            from scipy.stats import norm, qmc

            names = learned_names(problem.untuned, self.names)
            yield dict.fromkeys(names, 0.0)
            points = qmc.Halton(len(names), seed=rng).random(self.candidates)[1:]
            for point in self.spread * norm.ppf(np.clip(points, 1e-6, 1.0 - 1e-6)):
                yield dict(zip(names, point.tolist(), strict=True))
            return
        from sklearn.model_selection import ParameterGrid

        chosen: Any = ParameterGrid(self.candidates) if isinstance(self.candidates, Mapping) else self.candidates
        names = tuple(dict.fromkeys(name for candidate in chosen for name in candidate))
        learned_names(problem.untuned, names)
        for candidate in chosen:
            yield {name: math.log(positive("candidates", candidate.get(name, 1.0))) for name in names}

    def _folds(self, n_rows: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        from sklearn.model_selection import KFold

        splitter = self.cv
        if not hasattr(splitter, "split"):
            if n_rows < splitter:
                raise ValueError(f"cv: {splitter} folds need at least as many rows, got {n_rows}")
            splitter = KFold(splitter, shuffle=True, random_state=int(rng.integers(2**31)))
        return list(splitter.split(np.empty((n_rows, 1))))


def _score(
    problem: Any, engine: Inference, folds: list[tuple[Any, Any]], rng: np.random.Generator, watch: Watch
) -> tuple[float, bool]:
    """Mean log predictive density of the rows left out, in local units, and whether it was interrupted."""
    densities = []
    for train, left_out in folds:
        part = problem.some(train)
        draws = engine.run(part, rng, watch)
        if draws.interrupted:
            return -math.inf, True
        densities.append(part.held_out(draws, left_out, problem, MOST_DRAWS))
    return float(np.mean(np.concatenate(densities))), False
