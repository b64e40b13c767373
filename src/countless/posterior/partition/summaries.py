"""Summaries of clusters: size, certainty, and what distinguishes each from the others.

Sizes and probabilities come from the draws, whatever their labels. What distinguishes a cluster is a list of *traits*,
all on the scale of standardised differences:

* numbers: mean of the cluster minus mean of the other rows, divided by the pooled standard deviation within clusters;
* categories, zeros and ones, shares of counts, missing cells: the log odds ratio against the other rows, with 1/2 added
  to each of the four counts (Haldane 1956, Anscombe 1956), times sqrt(3) / pi. The standard deviation of a logistic
  variable is pi / sqrt(3), which makes log odds ratios standardised differences (Hasselblad and Hedges 1995; Chinn
  2000);
* counts: the log ratio of the two rates, with 1/2 added to each sum, times the same factor, because it is a log odds
  ratio for rare events.

Traits are ordered by the size of the effect minus one standard error. Otherwise the rarest categories and the smallest
clusters, where chance gives large effects, would come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .draws import FloatArray, IntArray, thinned

if TYPE_CHECKING:
    import pandas as pd

    from ...families.columns import Column
    from ..data import Data

# Standard deviations per unit of a log odds ratio.
DEVIATIONS = float(np.sqrt(3.0) / np.pi)
# Labels from which sizes are counted; more draws are thinned evenly.
BUDGET = 50_000_000
# Weight of a category that a cluster lacks, relative to one that it has; share of the cluster or of the other rows that
# must have a category before it is preferred.
LACKING = 2 / 3
WIDESPREAD = 0.2
# Share of a cluster below which it is said that it does not have a category.
HARDLY = 0.1
# Missing cells are a trait if their share differs by this much, and by this many standard errors.
STRIKING_SHARE = 0.1
STRIKING_ERRORS = 3.0


class Trait(NamedTuple):
    """What one column says about a cluster.

    Attributes
    ----------
    column : str
    level : str or None
        The category; ``"missing"`` for missing cells; None for numbers and counts.
    value : float
        Mean of the cluster, or share of the level in it.
    overall : float
        The same for all rows.
    effect : float
        Difference from the other rows in standard deviations.
    text : str
        The trait in words.
    others : float
        The same as ``value``, for the rows of all other clusters.
    error : float
        Standard error of ``effect``.
    lacks : bool
        Whether the cluster hardly has the level: then the text is about all other levels.
    """

    column: str
    level: str | None
    value: float
    overall: float
    effect: float
    text: str
    others: float
    error: float
    lacks: bool = False

    @property
    def certain(self) -> float:
        """Size of the effect minus one standard error, by which traits are ordered."""
        return abs(self.effect) - self.error


class ClusterSummary(NamedTuple):
    """One cluster of a clustering.

    Attributes
    ----------
    label : int
    size : int
        Number of rows.
    size_low, size_high : int
        95% interval of the size over the draws: in each draw, the size of the cluster that holds most of these rows.
        Both equal ``size`` for a single partition (MAP), which says nothing about others.
    probability : float
        Mean over its rows of the probability that they belong to it: that a random companion of the row in a random
        draw is in this cluster. For a single row, the probability of having no companion.
    traits : list of Trait
        What distinguishes it from the other rows, the clearest first; empty where there are no others.
    """

    label: int
    size: int
    size_low: int
    size_high: int
    probability: float
    traits: list[Trait]

    def __str__(self) -> str:
        rows = f"{self.size} row{'' if self.size == 1 else 's'}"
        if self.size_low != self.size_high:
            rows += f" ({self.size_low} to {self.size_high})"
        words = "; ".join(trait.text for trait in self.traits[:5])
        return f"cluster {self.label}: {rows}, probability {self.probability:.2f}" + (f": {words}" if words else "")


def summarise(
    data: Data | None, draws: NDArray[Any], labels: ArrayLike, most_traits: int | None = None
) -> list[ClusterSummary]:
    """Summaries of the clusters of ``labels``, given the table and draws (draw, row); see ``Posterior.summaries``."""
    if data is None:
        raise ValueError("summaries: this posterior has no table of rows; use the posterior_ of a fitted model")
    given = np.asarray(labels)
    n_rows = len(data.rows)
    if given.shape != (n_rows,) or given.dtype.kind not in "iu":
        came = f"shape {given.shape} of {given.dtype}"
        raise ValueError(f"labels must be {n_rows} whole numbers, one per row, got {came}")
    names, codes, sizes = np.unique(given, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    low, high, probability = sizes_in_draws(codes, thinned(draws, max(50, BUDGET // max(n_rows, 1))))
    found = traits(data.rows, data.columns, codes)
    return [
        ClusterSummary(
            label=int(names[k]),
            size=int(sizes[k]),
            size_low=int(low[k]),
            size_high=int(high[k]),
            probability=float(probability[k]),
            traits=own[:most_traits],
        )
        for k, own in enumerate(found)
    ]


def summaries_frame(summaries: Iterable[ClusterSummary], most_traits: int = 3) -> pd.DataFrame:
    """Summaries as a table: one row per cluster, its clearest traits in words.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.posterior.partition.summaries import summaries_frame
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> frame = summaries_frame(model.posterior_.summaries(model.labels_))
    >>> frame["size"].tolist()
    [3, 3]
    """
    import pandas as pd

    rows = [(*each[:5], "; ".join(trait.text for trait in each.traits[:most_traits])) for each in summaries]
    return pd.DataFrame(rows, columns=list(ClusterSummary._fields))


def sizes_in_draws(codes: IntArray, draws: NDArray[Any]) -> tuple[IntArray, IntArray, FloatArray]:
    """Interval of the size of each cluster over draws (draw, row), and the probability that its rows belong to it.

    ``codes`` are 0, 1, 2, ... In each draw the counterpart of a cluster is the cluster that holds most of its rows (the
    smaller one if two hold equally many). Let n_ab of the n_b rows of cluster b of the draw be in cluster a. Each of
    them has n_b - 1 companions, n_ab - 1 of which are in a. So the mean over the n_a rows of a of the share of such
    companions is sum_b n_ab (n_ab - 1) / (n_b - 1) / n_a.
    """
    k = int(codes.max()) + 1
    sizes = np.bincount(codes)
    matched = np.empty((len(draws), k), dtype=np.int64)
    together = np.zeros(k)
    for at, draw in enumerate(draws):
        width = int(draw.max()) + 1
        table = np.bincount(codes * width + draw, minlength=k * width).reshape(k, width)
        theirs = table.sum(axis=0)
        best = np.argmax(table * (len(codes) + 1) - theirs, axis=1)
        matched[at] = theirs[best]
        alone = theirs[best] == 1
        companions = np.sum(table * (table - 1) / np.maximum(theirs - 1, 1), axis=1) / sizes
        together += np.where(sizes == 1, alone, companions)
    low, high = np.quantile(matched, [0.025, 0.975], axis=0, method="inverted_cdf")
    if len(draws) == 1:
        low = high = sizes
    return low.astype(np.int64), high.astype(np.int64), together / len(draws)


def traits(rows: FloatArray, columns: Sequence[Column], codes: IntArray) -> list[list[Trait]]:
    """Traits of each cluster (``codes`` are 0, 1, 2, ...), the clearest first."""
    k = int(codes.max()) + 1
    found: list[list[Trait]] = [[] for _ in range(k)]
    if k == 1:
        return found
    shared = [j for j, column in enumerate(columns) if column.cells == "shares"]
    totals = np.nansum(rows[:, shared], axis=1)
    for column, cells in zip(columns, rows.T, strict=True):
        for cluster, trait in _of_column(column, cells, codes, k, totals):
            found[cluster].append(trait)
    return [sorted(each, key=lambda trait: -trait.certain) for each in found]


def _of_column(
    column: Column, cells: FloatArray, codes: IntArray, k: int, totals: FloatArray
) -> Iterator[tuple[int, Trait]]:
    known = ~np.isnan(cells)
    values, clusters = cells[known], codes[known]
    kind = column.cells
    if kind == "categories":
        yield from _levels(column, values, clusters, k)
    elif values.size and np.ptp(values) > 0.0:
        if np.all((values == 0.0) | (values == 1.0)):
            counts = _sums(values, clusters, k), _sums(np.ones(len(values)), clusters, k)
            yield from _shares(column.name, None, *counts)
        elif kind == "shares":
            yield from _shares(column.name, None, _sums(values, clusters, k), _sums(totals[known], clusters, k))
        elif kind == "counts":
            yield from _rates(column.name, values, clusters, k)
        else:
            yield from _means(column, values, clusters, k)
    if not known.all():
        yield from _missing(column.name, _sums((~known).astype(np.float64), codes, k), np.bincount(codes, minlength=k))


def _sums(values: FloatArray, clusters: IntArray, k: int) -> FloatArray:
    return np.bincount(clusters, weights=values, minlength=k).astype(np.float64)


def _means(column: Column, values: FloatArray, clusters: IntArray, k: int) -> Iterator[tuple[int, Trait]]:
    name, overall, scale = column.name, float(values.mean()), float(values.std())
    centred = (values - overall) / scale  # otherwise sums of squares of numbers far from zero would cancel
    n, total = np.bincount(clusters, minlength=k), _sums(centred, clusters, k)
    means = total / np.maximum(n, 1)
    squares = float(np.sum((centred - means[clusters]) ** 2))
    # A column that is constant within clusters has no standard deviation there.
    freedom = max(len(values) - int(np.count_nonzero(n)), 1)
    within = max(float(np.sqrt(squares / freedom)), 1e-3)
    for cluster in range(k):
        rest = len(values) - n[cluster]
        if n[cluster] == 0 or rest == 0:
            continue
        others = -total[cluster] / rest
        effect = float((means[cluster] - others) / within)
        error = float(np.sqrt(1.0 / n[cluster] + 1.0 / rest))
        value, away = (float(overall + scale * each) for each in (means[cluster], others))
        shown = [column.number_in_words(each, _number(each, within * scale)) for each in (value, away)]
        text = f"{name} {shown[0]} (others {shown[1]})"
        yield cluster, Trait(name, None, value, overall, effect, text, away, error)


def _rates(name: str, values: FloatArray, clusters: IntArray, k: int) -> Iterator[tuple[int, Trait]]:
    n, total = np.bincount(clusters, minlength=k), _sums(values, clusters, k)
    overall = float(values.mean())
    for cluster in range(k):
        rest = len(values) - n[cluster]
        if n[cluster] == 0 or rest == 0:
            continue
        mine, theirs = total[cluster] + 0.5, total.sum() - total[cluster] + 0.5
        ratio = float(np.log(mine / n[cluster]) - np.log(theirs / rest))
        error = float(np.sqrt(1.0 / mine + 1.0 / theirs))
        value, away = float(total[cluster] / n[cluster]), float((total.sum() - total[cluster]) / rest)
        text = f"{name} {_number(value, overall)} (others {_number(away, overall)})"
        yield cluster, Trait(name, None, value, overall, ratio * DEVIATIONS, text, away, error * DEVIATIONS)


def _log_odds(x: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log odds ratio of each entry against all others, with its standard error, from counts x of n.

    Adding 1/2 moves the shares of small clusters towards 1/2. Where that changes the sign, the ratio is set to zero.
    """
    y, m = x.sum(axis=0) - x, n.sum(axis=0) - n
    cells = [x + 0.5, n - x + 0.5, y + 0.5, m - y + 0.5]
    ratio = np.log(cells[0]) - np.log(cells[1]) - np.log(cells[2]) + np.log(cells[3])
    ratio = np.where(ratio * (x * m - y * n) > 0.0, ratio, 0.0)
    return ratio, np.sqrt(np.sum([1.0 / cell for cell in cells], axis=0))


def _shares(name: str, level: str | None, x: FloatArray, n: FloatArray) -> Iterator[tuple[int, Trait]]:
    """A trait for each cluster with ``n`` above zero, from counts ``x`` of ``n``."""
    ratio, error = _log_odds(x, n)
    rest = n.sum() - n
    for cluster in np.flatnonzero((n > 0) & (rest > 0)):
        value, away = float(x[cluster] / n[cluster]), float((x.sum() - x[cluster]) / rest[cluster])
        yield (
            int(cluster),
            Trait(
                column=name,
                level=level,
                value=value,
                overall=float(x.sum() / n.sum()),
                effect=float(ratio[cluster]) * DEVIATIONS,
                text=f"{name}{'' if level is None else f': {_apart(level)}'} {_share(value)} (others {_share(away)})",
                others=away,
                error=float(error[cluster]) * DEVIATIONS,
            ),
        )


def _levels(column: Column, values: FloatArray, clusters: IntArray, k: int) -> Iterator[tuple[int, Trait]]:
    """For each cluster, the category that distinguishes it best; one that it lacks must do so far better."""
    levels = column.levels or ()
    x = np.zeros((k, len(levels)))
    np.add.at(x, (clusters, values.astype(np.int64)), 1.0)
    n = x.sum(axis=1)
    if np.count_nonzero(x.sum(axis=0)) < 2:
        return
    ratio, error = _log_odds(x, n[:, None])
    score = (np.abs(ratio) - error) * np.where(ratio < 0.0, LACKING, 1.0)
    share, others = x / np.maximum(n, 1.0)[:, None], (x.sum(axis=0) - x) / np.maximum(n.sum() - n, 1.0)[:, None]
    # Levels of only a few rows come last: they distinguish a cluster but do not describe it.
    best = np.argmax(np.where(np.maximum(share, others) >= WIDESPREAD, score, score - 1e3), axis=1)
    if len(levels) == 2:
        # Of two, the one that a cluster has more often than others: "toothed: no 100%" and not "toothed: yes 0%".
        best = np.argmax(share - others, axis=1)
    for level in np.unique(best):
        said = column.level_in_words(int(level))
        for cluster, trait in _shares(column.name, said, x[:, level], n):
            if best[cluster] == level:
                yield cluster, _without(column.name, said, trait)._replace(level=levels[level])


def _without(name: str, level: str, trait: Trait) -> Trait:
    """The trait; where a cluster hardly has the category, that it has others: "precip: not 2 in 100%"."""
    if trait.value >= HARDLY or trait.others < trait.value:
        return trait
    text = f"{name}: not {_apart(level)} {_share(1.0 - trait.value)} (others {_share(1.0 - trait.others)})"
    return trait._replace(text=text, lacks=True)


def _apart(level: str) -> str:
    """A category before its share, so that two numbers do not run together: "cp: 4 in 82%"."""
    return f"{level} in" if level[-1:].isdigit() else level


def _missing(name: str, x: FloatArray, n: IntArray) -> Iterator[tuple[int, Trait]]:
    for cluster, trait in _shares(name, "missing", x, n.astype(np.float64)):
        apart = abs(trait.value - trait.others)
        if apart >= STRIKING_SHARE and abs(trait.effect) > STRIKING_ERRORS * trait.error:
            yield cluster, trait._replace(text=trait.text.replace(f"{name}: missing", f"{name} missing", 1))


def _number(value: float, scale: float) -> str:
    """A number with as many decimals as its standard deviation justifies."""
    decimals = 1 - int(np.floor(np.log10(scale))) if scale > 0.0 else 3
    text = f"{value:.3g}" if decimals > 4 or decimals < -5 else f"{value:.{max(decimals, 0)}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def _share(value: float) -> str:
    if 0.0 < value < 0.01 or 0.99 < value < 1.0:
        return f"{value:.1%}" if 0.0005 <= value <= 0.9995 else ("<0.1%" if value < 0.5 else ">99.9%")
    return f"{value:.0%}"
