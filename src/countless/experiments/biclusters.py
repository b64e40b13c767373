"""Studies of Pletscher 2007, section 5.5: patterns, the symmetric model, noise, animals; all models compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import assignment_error
from .osherson import ANIMALS, FEATURES, agreement, load_animals, together
from .study import STUDIES, Case, Study

if TYPE_CHECKING:
    import pandas as pd

IntArray = NDArray[np.int64]
Truth = tuple[NDArray[np.float64], IntArray, IntArray]

MODELS = ("symmetric", "asymmetric")
# Log of beta, the prior counts of a block: from one block that has everything to blocks that are all alike.
LOG_BETAS = tuple(range(-14, 7, 2))
ROWS, COLUMNS, COUNTS, SIDES = 60, 40, 20_000, (4, 5)
# Counts of an object of the step pattern.
STEP_COUNTS = 200
# Deviation of the noise added to modules of ones (Prelic et al. 2006, first scenario), and the counts they become.
NOISE, MODULE_COUNTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25), 20_000
# Totals that the ratings of animals are turned into, and the models for each; ``None`` is the binary matrix.
TOTALS = (4_000, 8_000, 16_000)
# All models on the same data, by counts that were held out: name to settings.
COMPARED: dict[str, dict[str, Any]] = {
    "symmetric": {"model": "symmetric"},
    "symmetric, popularities": {"model": "symmetric", "degree_corrected": True},
    "asymmetric": {"model": "asymmetric"},
    "factorized": {"model": "factorized"},
    "relational": {"model": "relational", "family": "poisson"},
    "frequency": {"model": "frequency"},
}
COMPARED_ON = ("steps", "normalisation", "symmetric -2", "noise 0.1", "animals")
HELD_OUT = 0.1


def make_steps(rng: np.random.Generator) -> Truth:
    """Six clusters of 60 objects over ten of five features (5.5.2): each shifts the same histogram by one place.

    The source names no numbers: here 200 counts for each object, and shares that fall by a third from one to the next.
    The last two clusters of features then differ in their totals alone, and somebody who knew all shares would misplace
    a feature in less than one of a thousand matrices; with 60 counts, in one of 17.
    """
    rows, columns = np.repeat(np.arange(6), 60), np.repeat(np.arange(10), 5)
    cells = step_shares()[rows][:, columns]
    X = np.stack([rng.multinomial(STEP_COUNTS, line / line.sum()) for line in cells]).astype(np.float64)
    return _shuffled(X, rows, columns, rng)


def step_shares() -> NDArray[np.float64]:
    """Relative frequency of a feature of each of ten clusters in an object of each of six."""
    shares = (2.0 / 3.0) ** np.arange(10.0)
    return np.stack([np.roll(shares, k) for k in range(6)])


def make_normalisation(rng: np.random.Generator) -> Truth:
    """Two clusters of 50 objects; two clusters of features with the same shares and different totals (5.5.3).

    Features of the first two clusters come with probability 0.9 from the first objects. Those of a third one, from the
    second objects, keep the margins of the objects alike.
    """
    rows, columns = np.repeat([0, 1], 50), np.repeat([0, 1, 2], 8)
    means = np.array([[9.0, 2.7, 1.0], [1.0, 0.3, 9.0]])
    return _shuffled(rng.poisson(means[rows][:, columns]).astype(np.float64), rows, columns, rng)


def make_symmetric(log_beta: float, rng: np.random.Generator) -> Truth:
    """Counts thrown over blocks whose probabilities are a draw of Dirichlet(beta, ..., beta) (5.5.4)."""
    rows, columns = rng.permutation(np.arange(ROWS) % SIDES[0]), rng.permutation(np.arange(COLUMNS) % SIDES[1])
    shares = _dirichlet(np.exp(log_beta), SIDES[0] * SIDES[1], rng).reshape(SIDES)
    sizes = np.outer(np.bincount(rows), np.bincount(columns))
    cells = (shares / sizes)[rows][:, columns]
    X = rng.multinomial(COUNTS, cells.ravel() / cells.sum()).reshape(cells.shape)
    return X.astype(np.float64), rows, columns


def make_modules(noise: float, rng: np.random.Generator) -> Truth:
    """Ten modules of 10 genes and 5 conditions that are on, everything else off, with normal noise (5.5.5).

    Ratings below zero count as zero; all are turned into counts with a fixed total, as the source does.
    """
    rows, columns = np.repeat(np.arange(10), 10), np.repeat(np.arange(10), 5)
    ratings = (rows[:, None] == columns) + noise * rng.normal(size=(100, 50))
    ratings = np.maximum(ratings, 0.0)
    return _shuffled(np.round(ratings * (MODULE_COUNTS / ratings.sum())), rows, columns, rng)


def _dirichlet(beta: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """In logs: a gamma variable of shape b is one of shape b + 1 times u ** (1 / b), zero for tiny b."""
    logs = np.log(rng.standard_gamma(beta + 1.0, size=n)) + np.log(rng.random(n)) / beta
    shares: NDArray[np.float64] = np.exp(logs - logs.max())
    return shares / shares.sum()


def _shuffled(X: NDArray[np.float64], rows: IntArray, columns: IntArray, rng: np.random.Generator) -> Truth:
    i, j = rng.permutation(len(rows)), rng.permutation(len(columns))
    return np.ascontiguousarray(X[i][:, j]), rows[i], columns[j]


def error_of_side(found: IntArray, truth: IntArray, totals: NDArray[np.float64]) -> float:
    """Assignment error, or that against the truth with all items of no counts in one cluster, if it is less.

    Items without counts cannot be told apart (Pletscher 2007, 5.5.4).

    Examples
    --------
    >>> import numpy as np
    >>> from countless.experiments.biclusters import error_of_side
    >>> truth, totals = np.array([0, 0, 1, 2]), np.array([5.0, 3.0, 0.0, 0.0])
    >>> error_of_side(np.array([0, 0, 1, 1]), truth, totals)
    0.0
    """
    apart = np.where(totals > 0.0, truth, -1)
    return float(min(assignment_error(found, truth), assignment_error(found, apart)))


@STUDIES.add("biclusters")
class Biclusters(Study):
    """Pletscher's studies by his two models, animals by four, and all models by what they say of held-out counts.

    Examples
    --------
    >>> from countless.experiments.biclusters import Biclusters
    >>> len(Biclusters().cases(quick=True)) < len(Biclusters().cases(quick=False))
    True
    """

    title = "Biclusterings of Pletscher"
    text = """
Pletscher (2007), section 5.5. Both models find the step pattern (six clusters of objects, ten of features) and keep two
clusters of features apart that have the same distribution over the objects. Data of the symmetric model are drawn with
beta from tiny (one block has all counts) to large (all blocks are alike): the source reports an error "mostly
significantly under 10%" for the symmetric model, but for nearly uniform blocks, where one block is the best answer, and
a bump around log beta = -8; the asymmetric model fails below -10. The error is the mean over both sides of the share of
misplaced items under the best matching; items without counts may be a cluster of their own.

"noise": ten modules of ones with normal noise (Prelic et al. 2006), for which the source shows errors near zero.
"animals": 50 animals and 85 features (Osherson et al. 1991), ratings turned into counts that add up to the total; the
adjusted Rand index with the source's tables 5.2 (rows) and 5.3 (columns), and the known groups that are whole. The
number of clusters grows with the total: it says how many differences count as real. Needs `--data`. "held out": the
comparison that the source asks for. A tenth of the counts is held out, and each counts with the log of the share that
the fitted blocks give to its cell (nats a count; the larger, the better).
"""

    def cases(self, quick: bool) -> list[Case]:
        """Ten repetitions of each data set and model, or one; animals where there is a folder of data."""
        seeds = range(1 if quick else 10)
        data = ["steps", "normalisation", *(f"symmetric {log_beta}" for log_beta in LOG_BETAS[:: 3 if quick else 1])]
        data += [f"noise {noise}" for noise in NOISE[:: 3 if quick else 1]]
        found: list[Case] = [
            {"data": each, "model": model, "seed": seed} for each in data for model in MODELS for seed in seeds
        ]
        if self.data is not None:
            found += [
                {"data": f"animals {total}", "model": model, "seed": 0}
                for total in TOTALS[1 : 2 if quick else None]
                for model in (*MODELS, "frequency")
            ]
            found.append({"data": "animals binary", "model": "relational", "seed": 0})
        compared = [each for each in COMPARED_ON if each != "animals" or self.data is not None]
        pairs = [(each, model) for each in compared[: 1 if quick else None] for model in COMPARED]
        return found + [{"data": f"held out: {each}", "model": model, "seed": 0} for each, model in pairs]

    def run(self, case: Case) -> list[dict[str, Any]]:
        """Number of clusters, and error of each side, agreement with the source, or held-out log likelihood."""
        kind, seed = case["data"], case["seed"]
        if kind.startswith("animals"):
            return [self._animals(kind.split()[1], case["model"], seed)]
        if kind.startswith("held out"):
            return [self._held_out(kind.removeprefix("held out: "), case["model"], seed)]
        X, rows, columns = _data(kind, np.random.default_rng(seed))
        model = _fit(X, seed, "map", model=case["model"])
        errors = [
            error_of_side(model.row_labels_, rows, X.sum(axis=1)),
            error_of_side(model.column_labels_, columns, X.sum(axis=0)),
        ]
        return [{**_sizes(model), "row error": errors[0], "column error": errors[1]}]

    def _animals(self, total: str, name: str, seed: int) -> dict[str, Any]:
        assert self.data is not None
        table = load_animals(self.data, binary=total == "binary")
        settings = {"family": "bernoulli"} if total == "binary" else {"rescale": float(total)}
        model = _fit(table, seed, "auto", model=name, **settings)
        printed = name if name in ANIMALS else "symmetric"
        whole = together(list(table.index), model.row_labels_)
        return {
            **_sizes(model),
            "row index": agreement(list(table.index), model.row_labels_, ANIMALS[printed]),
            "column index": agreement(list(table.columns), model.column_labels_, FEATURES[printed]),
            "whole groups": sum(share == 1.0 for share in whole.values()),
        }

    def _held_out(self, kind: str, name: str, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        if kind == "animals":
            assert self.data is not None
            ratings = load_animals(self.data).to_numpy()
            X = np.round(ratings * (TOTALS[1] / ratings.sum()))
        else:
            X = _data(kind, rng)[0]
        new = rng.binomial(X.astype(np.int64), HELD_OUT).astype(np.float64)
        model = _fit(X - new, seed, "map", **COMPARED[name])
        if COMPARED[name]["model"] == "relational":
            means = model.block_means_[np.ix_(model.row_labels_, model.column_labels_)]
            value = float((new * np.log(means / means.sum())).sum())
        else:
            value = model.score(new)
        return {**_sizes(model), "held out": value / new.sum()}

    def summary(self, table: pd.DataFrame) -> pd.DataFrame:
        """Means over the repetitions."""
        labels = ("data", "model", "seed")
        numbers = [name for name in table.columns if name not in labels]
        return table.groupby(["data", "model"], sort=False)[numbers].mean().reset_index()

    def figure(self, table: pd.DataFrame) -> Any:
        """Error against log beta, as figure 5.19."""
        from ..plots.parts.style import Picture, colour, headline, layout, quiet

        picture = Picture(figsize=(6.8, 3.6), layout=layout())
        ax = picture.add_subplot()
        ours = table[table["data"].str.startswith("symmetric")]
        places = ours["data"].str.split().str[1].astype(float)
        errors = 0.5 * (ours["row error"] + ours["column error"])
        for at, model in enumerate(MODELS):
            mine = ours["model"] == model
            means = errors[mine].groupby(places[mine]).mean()
            ax.plot(places[mine], errors[mine], ".", color=colour(at), alpha=0.4)
            ax.plot(means.index, means, color=colour(at), label=f"{model} model")
        ax.axhline(0.1, color="#999999", linewidth=0.8, linestyle=":")
        ax.set_xlabel("log beta: from one block with everything to blocks that are all alike", fontsize=9)
        ax.set_ylabel("share of items misplaced", fontsize=9)
        ax.set_ylim(bottom=-0.02)
        ax.legend(frameon=False, fontsize=8)
        quiet(ax)
        headline(ax, "How well are blocks found that the symmetric model drew?")
        return picture


def _fit(X: Any, seed: int, inference: str, **settings: Any) -> Any:
    from ..models.biclustering.estimator import InfiniteBiclustering

    return InfiniteBiclustering(inference=inference, random_state=seed, progress=False, **settings).fit(X)


def _sizes(model: Any) -> dict[str, int]:
    return dict(zip(("rows", "columns"), model.n_clusters_, strict=True))


def _data(name: str, rng: np.random.Generator) -> Truth:
    if name == "steps":
        return make_steps(rng)
    if name.startswith("noise"):
        return make_modules(float(name.split()[1]), rng)
    return make_normalisation(rng) if name == "normalisation" else make_symmetric(float(name.split()[1]), rng)
