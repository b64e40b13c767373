"""Where the page gets its figures: the posterior's own answers, in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# A row is called sure of its cluster from this probability on.
SURE = 0.9


def kind(model: Any) -> str:
    """``"sampled"``, ``"variational"`` or ``"map"``: what can be said about uncertainty."""
    posterior = model.posterior_
    if posterior.components is not None:
        return "variational"
    return "sampled" if posterior.is_sampled else "map"


class Certainty(NamedTuple):
    probability: NDArray[np.float64]
    runner_up: NDArray[np.int64]
    runner_up_probability: NDArray[np.float64]


def certainty(model: Any) -> Any:
    if hasattr(model, "certainty_"):
        return model.certainty_
    labels, k = np.asarray(model.labels_), int(model.n_clusters_)
    if kind(model) == "sampled":
        shares = _shares(labels, model.posterior_.flat_labels(300), k)
    else:
        scores = model._mixture.log_weighted(model.posterior_.data.rows)[:, :k]
        shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    at = np.arange(len(labels))
    own = shares[at, labels]
    shares[at, labels] = -1.0
    second = shares.argmax(axis=1)
    share = np.maximum(shares[at, second], 0.0)
    return Certainty(own, np.where(share > 0.0, second, -1), share)


def _shares(labels: NDArray[Any], draws: NDArray[Any], k: int) -> NDArray[np.float64]:
    at = np.arange(len(labels))
    others = np.tile(np.bincount(labels, minlength=k).astype(float), (len(labels), 1))
    others[at, labels] -= 1.0
    total = np.zeros((len(labels), k))
    for draw in draws:
        table = np.zeros((int(draw.max()) + 1, k))
        np.add.at(table, (draw, labels), 1.0)
        alone = table.sum(axis=1)[draw] == 1.0
        together = table[draw]
        together[at, labels] -= 1.0
        shares = together / np.maximum(others, 1.0)
        shares[at, labels] = np.where(others[at, labels] == 0.0, alone, shares[at, labels])
        total += shares
    return total / len(draws)


class Verdict(NamedTuple):
    text: str
    converged: bool | None


def verdict(model: Any) -> Verdict:
    """One sentence on convergence."""
    if hasattr(model.posterior_, "diagnostics"):
        found = model.posterior_.diagnostics()
        return Verdict(found.verdict, found.converged)
    if kind(model) != "sampled":
        return Verdict("One optimum was found; no chains to compare.", None)
    counts = np.asarray(model.posterior_.n_clusters, dtype=float)
    spread = counts.mean(axis=1).std()
    fine = bool(spread <= max(counts.std(), 0.5))
    return Verdict("The chains agree." if fine else "The chains disagree; run longer.", fine)


class Trait(NamedTuple):
    column: str
    level: str | None
    value: float
    overall: float
    effect: float
    text: str


class ClusterSummary(NamedTuple):
    label: int
    size: int
    size_low: int
    size_high: int
    probability: float
    traits: list[Trait]


def summaries(model: Any) -> Any:
    if hasattr(model.posterior_, "summaries"):
        return model.posterior_.summaries(model.labels_)
    data, labels = model.posterior_.data, np.asarray(model.labels_)
    probability = certainty(model).probability
    found = []
    for k in range(int(model.n_clusters_)):
        mine = labels == k
        size = int(mine.sum())
        traits = [trait for j, column in enumerate(data.columns) for trait in _traits(column, data.rows[:, j], mine)]
        traits.sort(key=lambda trait: -abs(trait.effect))
        found.append(ClusterSummary(k, size, size, size, float(probability[mine].mean()), traits))
    return found


def _traits(column: Any, cells: NDArray[np.float64], mine: NDArray[np.bool_]) -> list[Trait]:
    known = ~np.isnan(cells)
    if not (known & mine).any():
        return []
    if not column.is_categorical:
        value, overall = float(cells[known & mine].mean()), float(cells[known].mean())
        effect = (value - overall) / (float(cells[known].std()) or 1.0)
        return [Trait(column.name, None, value, overall, effect, f"{column.name} {value:.3g} (all: {overall:.3g})")]
    out = []
    for code, level in enumerate(column.levels):
        value, overall = float((cells[known & mine] == code).mean()), float((cells[known] == code).mean())
        odds = np.log((value + 0.01) / (1.01 - value)) - np.log((overall + 0.01) / (1.01 - overall))
        out.append(
            Trait(
                column.name, level, value, overall, odds, f"{column.name} = {level}: {value:.0%} (all: {overall:.0%})"
            )
        )
    return out
