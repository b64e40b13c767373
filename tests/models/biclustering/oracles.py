"""Evidences of small matrices in plain Python, and the exact posterior over all pairs of partitions.

Nothing here touches the library's block models: each evidence is written down from the generative process, block by
block, with SciPy's functions; those of relations ask the family for the evidence of the cells of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp

import countless as cl
from countless.models.biclustering.block_models import Asymmetric, Factorized, Frequency, Relational, Symmetric
from exact.enumeration import frequencies, partitions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Evidence = Callable[[FloatArray, IntArray, IntArray], float]

BETA, GAMMA, DRAWS = 0.3, 0.7, 60.0
COUNTS = np.array([[3, 0, 1, 0], [2, 1, 0, 0], [0, 2, 0, 3], [0, 1, 1, 2]], dtype=np.float64)
# Partitions of four items are so few that one in twenty runs of independent draws would be beyond the limit.
RELATION = np.array(
    [
        [1, 3, 0, 0, 1, 0],
        [2, 0, 1, 0, 0, 0],
        [3, 2, 0, 0, 0, 1],
        [0, 0, 1, 0, 2, 3],
        [0, 1, 0, 2, 1, 1],
        [0, 0, 0, 3, 2, 0],
    ],
    dtype=np.float64,
)
WIDE = np.array([[2, 0, 1, 0, 3], [1, 1, 0, 2, 0], [0, 3, 0, 1, 1]], dtype=np.float64)


def _rising(start: float, count: float) -> float:
    return float(gammaln(start + count) - gammaln(start))


def _dirichlet_multinomial(weights: FloatArray, counts: FloatArray) -> float:
    """Log probability of counts in a given order, the probabilities integrated out."""
    within = sum(_rising(w, n) for w, n in zip(weights.ravel(), counts.ravel(), strict=True))
    return within - _rising(float(weights.sum()), float(counts.sum()))


def _arrangements(X: FloatArray) -> float:
    return float(gammaln(X.sum() + 1.0) - gammaln(X + 1.0).sum())


def _blocks(X: FloatArray, rows: IntArray, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    sums = np.array([[X[np.ix_(rows == k, columns == m)].sum() for m in set(columns)] for k in set(rows)])
    return sums, np.bincount(rows).astype(float), np.bincount(columns).astype(float)


def _spread(margins: FloatArray, labels: IntArray, popularity: float | None) -> float:
    """How the counts of each cluster fall on its items: evenly, or with Dirichlet popularities."""
    value = 0.0
    for k in range(labels.max() + 1):
        counts = margins[labels == k]
        if popularity is None:
            value -= counts.sum() * np.log(len(counts))
        else:
            value += _dirichlet_multinomial(np.full(len(counts), popularity), counts)
    return float(value)


def symmetric(popularity: float | None) -> Evidence:
    def evidence(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
        sums, m, n = _blocks(X, rows, columns)
        value = _arrangements(X) + _dirichlet_multinomial(BETA * np.outer(m, n), sums)
        return value + _spread(X.sum(axis=1), rows, popularity) + _spread(X.sum(axis=0), columns, popularity)

    return evidence


def asymmetric(popularity: float | None) -> Evidence:
    def evidence(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
        sums, _, n = _blocks(X, rows, columns)
        value = sum(_arrangements(row) for row in X) + _spread(X.sum(axis=0), columns, popularity)
        return value + sum(_dirichlet_multinomial(BETA * n, line) for line in sums)

    return evidence


def factorized(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
    sums, m, n = _blocks(X, rows, columns)
    value = _arrangements(X) + _spread(X.sum(axis=1), rows, None) + _spread(X.sum(axis=0), columns, None)
    return (
        value + _dirichlet_multinomial(BETA * m, sums.sum(axis=1)) + _dirichlet_multinomial(BETA * n, sums.sum(axis=0))
    )


def relational(family: Any) -> Evidence:
    def evidence(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
        value = 0.0
        for k in range(rows.max() + 1):
            for m in range(columns.max() + 1):
                cells = X[np.ix_(rows == k, columns == m)].ravel()
                cells = cells[~np.isnan(cells)]
                value += family.log_marginal(cells[:, None]) if len(cells) else 0.0
        return value

    return evidence


def popular_poisson(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
    """Rates Gamma(1, 1) times popularities, m times Dirichlet(gamma): totals of clusters are thrown on their items."""
    sums, m, n = _blocks(X, rows, columns)
    cells = np.outer(m, n)
    value = float((gammaln(1.0 + sums) - (1.0 + sums) * np.log(1.0 + cells)).sum() - gammaln(X + 1.0).sum())
    for margins, labels in ((X.sum(axis=1), rows), (X.sum(axis=0), columns)):
        value += _spread(margins, labels, GAMMA)
        value += sum(margins[labels == k].sum() * np.log(np.sum(labels == k)) for k in range(labels.max() + 1))
    return float(value)


def frequency(X: FloatArray, rows: IntArray, columns: IntArray) -> float:
    """Cells are Poisson with mean draws * u * v * theta, theta ~ Beta(beta, 1): one integral for each block."""
    u, v = ((part + 0.5) / (part + 0.5).sum() for part in (X.sum(axis=1), X.sum(axis=0)))
    sums, _, _ = _blocks(X, rows, columns)
    value = float((X * np.log(DRAWS * np.outer(u, v))).sum() - gammaln(X + 1.0).sum())
    for k in range(rows.max() + 1):
        for m in range(columns.max() + 1):
            exposure = DRAWS * u[rows == k].sum() * v[columns == m].sum()
            n = sums[k, m]
            # theta = s^(1 / beta) makes the prior uniform
            found = quad(
                lambda s, n=n, t=exposure: s ** (n / BETA) * np.exp(-t * s ** (1 / BETA)), 0.0, 1.0, epsabs=1e-13
            )
            value += np.log(found[0])
    return value


def _numbered(X: FloatArray) -> IntArray:
    return np.arange(X.size).reshape(X.shape)


BERNOULLI = cl.families.Bernoulli(0.5, 0.7)
POISSON = cl.families.Poisson(1.0, 1.0)
GAUSSIAN = cl.families.Gaussian(0.5, 0.5, 1.0, 3.0)
CATEGORICAL = cl.families.Categorical([[0.5, 0.6, 0.7, 0.5]], n_levels=4)
# Name to model, evidence, and what its cells are made of counts: so that no posterior sits on one or two partitions,
# where the total variation of independent draws is beyond 1.5 times its mean in one of ten runs.
CASES: dict[str, tuple[Any, Evidence, Callable[[FloatArray], FloatArray]]] = {
    "symmetric": (Symmetric(BETA), symmetric(None), lambda X: X),
    "symmetric-popular": (Symmetric(BETA, True, GAMMA), symmetric(GAMMA), lambda X: X),
    "asymmetric": (Asymmetric(BETA), asymmetric(None), lambda X: X),
    "asymmetric-popular": (Asymmetric(BETA, True, GAMMA), asymmetric(GAMMA), lambda X: X),
    "factorized": (Factorized(BETA), factorized, lambda X: X),
    "bernoulli": (Relational(BERNOULLI), relational(BERNOULLI), lambda X: (X > 0).astype(float)),
    "poisson": (Relational(POISSON), relational(POISSON), lambda X: X),
    "poisson-popular": (Relational(POISSON, True, GAMMA), popular_poisson, lambda X: X),
    "gaussian": (Relational(GAUSSIAN), relational(GAUSSIAN), lambda X: 0.7 * X + 0.2 * (3 * _numbered(X) % 7)),
    "categorical": (Relational(CATEGORICAL), relational(CATEGORICAL), lambda X: X),
    "missing": (Relational(POISSON), relational(POISSON), lambda X: np.where(_numbered(X) % 5 == 1, np.nan, X)),
    "frequency": (Frequency(BETA, DRAWS), frequency, lambda X: X),
}


def exact_posterior(evidence: Evidence, X: FloatArray, prior: Any, tied: bool = False) -> FloatArray:
    """Probability of each pair of partitions (of each partition, where sides are tied), rows running slowest."""
    rows = partitions(X.shape[0])
    if tied:
        logs = np.array([evidence(X, part, part) + prior.log_prob(part) for part in rows])
    else:
        columns = partitions(X.shape[1])
        logs = np.array(
            [evidence(X, one, other) + prior.log_prob(one) + prior.log_prob(other) for one in rows for other in columns]
        )
    return np.exp(logs - logsumexp(logs))


# By how much the total variation of draws of a chain may exceed that of independent draws by the chain's memory alone.
MOST_MEMORY = 1.1


def thinning(posterior: FloatArray, *sides: int) -> int:
    """How many exact Gibbs sweeps must lie between two draws, so that the memory of the chain hardly shows.

    Nothing of the library is asked: the transition matrix T of a sweep over the items of one or two sides follows from
    the posterior alone. A share among n draws has the variance (2 p Z - p - p^2) / n, where Z is the diagonal of the
    fundamental matrix (I - T + 1 p)^-1 (Kemeny and Snell 1960, section 4.6); independent draws have p (1 - p) / n.
    """
    sweep, thin = _sweep(posterior, *sides), 1
    alone, kernel = np.sqrt(posterior * (1.0 - posterior)).sum(), sweep
    while True:
        memory = np.diag(np.linalg.inv(np.eye(len(posterior)) - kernel + posterior))
        variance = np.maximum(2.0 * posterior * memory - posterior - posterior**2, 0.0)
        if np.sqrt(variance).sum() <= MOST_MEMORY * alone:
            return thin
        kernel, thin = kernel @ sweep, thin + 1


def _sweep(posterior: FloatArray, *sides: int) -> FloatArray:
    """Transition matrix of one Gibbs sweep, item by item; the last side runs fastest."""
    parts = [partitions(n) for n in sides]
    places = np.unravel_index(np.arange(len(posterior)), [len(part) for part in parts])
    kernel = np.eye(len(posterior))
    for side, n in enumerate(sides):
        for i in range(n):
            # What stays is the partition of the others, and the other side as it is.
            rest = np.argmax(np.stack([frequencies(row[None]) for row in np.delete(parts[side], i, axis=1)]), axis=1)
            stays = rest[places[side]]
            for other in range(len(sides)):
                stays = stays if other == side else stays * len(posterior) + places[other]
            reached = np.where(stays[:, None] == stays, posterior, 0.0)
            kernel = kernel @ (reached / reached.sum(axis=1, keepdims=True))
    return kernel
