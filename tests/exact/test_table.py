"""Tables with holes in every kind of column: partitions and missing cells against the exact posterior.

Independent columns: the evidence of a block of rows is a product of evidences of single columns, each of the cells that
are there, asked of one-column families. The Gaussian block: its missing cells are integrated out numerically, on a
grid, from the textbook evidence of complete rows. Neither touches the code of tables.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln

from countless.chains.schedule import Schedule
from countless.families import FAMILIES, Table
from countless.inference import Problem, State
from countless.partitions.moves.split_merge import SplitMerge
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import CRP, PitmanYor

from .chains import LIMIT, WARMUP, excess, run_chain
from .enumeration import log_priors, partitions

GAP = np.nan
BLOCK = {"mean": [0.8, 0.9], "mean_strength": 0.3, "scale": [[1.0, 0.85], [0.85, 1.0]], "dof": 5.0}
# The second cell of row 1 and the first of row 5 are missing: what is left of these rows tells much about them.
CORRELATED = np.array([[0.0, 0.2], [0.4, GAP], [-0.3, -0.1], [1.4, 1.1], [2.2, 2.4], [GAP, 1.9], [2.6, 2.1]])

# One column each, with holes: family, hyperparameters, cells.
COLUMNS = {
    "diagonal-gaussian": (
        {"mean": [1.5], "mean_strength": 0.4, "scale": [2.8], "dof": [3.0]},
        [0, 0.9, GAP, 1.6, 2.7, 1.9, 3.0],
    ),
    "spherical-gaussian": (
        {"variance": 0.95, "mean": [1.5], "mean_variance": 5.0},
        [0.1, -0.4, 0.9, GAP, 2.0, 2.8, 2.9],
    ),
    "categorical": ({"concentration": [[0.9, 0.7, 0.5]], "n_levels": [3]}, [0, 0, 0, 1, GAP, 2, 1]),
    "bernoulli": ({"a": [0.7], "b": [0.8]}, [0, 0, GAP, 0, 1, 1, 1]),
    "binomial": ({"trials": [12], "a": [0.7], "b": [1.0]}, [2, GAP, 3, 5, 7, 6, 8]),
    "poisson": ({"shape": [1.5], "rate": [0.2]}, [10, 8, 9, 7, 4, GAP, 3]),
    "geometric": ({"a": [2.5], "b": [2.5]}, [0, 1, 0, GAP, 7, 11, 8]),
    "exponential": ({"shape": [2.0], "rate": [1.0]}, [0.4, 0.2, GAP, 0.9, 2.6, 3.5, 2.1]),
}  # fmt: skip


def _columns(*names: str):
    """A table of these columns and the Gaussian block between them, and its rows."""
    cells = [np.array(COLUMNS[name][1], dtype=float) for name in names]
    rows = np.column_stack([cells[0], CORRELATED[:, 0], *cells[1:], CORRELATED[:, 1]])
    spec = {j if j == 0 else j + 1: FAMILIES[name](**COLUMNS[name][0]) for j, name in enumerate(names)}
    spec[(1, rows.shape[1] - 1)] = FAMILIES["gaussian"](**BLOCK)
    table, read = Table(spec).read(rows)
    return table.resolve(read), read


def _column_evidence(name: str, which: tuple[int, ...]) -> float:
    settings, cells = COLUMNS[name]
    there = np.array(cells, dtype=float)[list(which)]
    there = there[~np.isnan(there)]
    return FAMILIES[name](**settings).log_marginal(there[:, None]) if len(there) else 0.0


def _niw_evidence(rows: np.ndarray) -> np.ndarray:
    """Evidence of complete rows (..., n, 2) in the words of Murphy (2007, eq. 266)."""
    mean, kappa, nu = np.array(BLOCK["mean"]), BLOCK["mean_strength"], BLOCK["dof"]
    scale = np.array(BLOCK["scale"])
    n = rows.shape[-2]
    centre = rows.mean(axis=-2, keepdims=True)
    scatter = np.swapaxes(rows - centre, -1, -2) @ (rows - centre)
    off = centre[..., 0, :] - mean
    after = scale + scatter + (kappa * n / (kappa + n)) * off[..., :, None] * off[..., None, :]
    det = after[..., 0, 0] * after[..., 1, 1] - after[..., 0, 1] ** 2
    return (
        -n * np.log(np.pi)
        + multigammaln((nu + n) / 2, 2)
        - multigammaln(nu / 2, 2)
        + nu / 2 * np.log(np.linalg.det(scale))
        - (nu + n) / 2 * np.log(det)
        + np.log(kappa / (kappa + n))
    )


@cache
def _block_evidence(which: tuple[int, ...]) -> tuple[float, float, float]:
    """Log evidence of the cells that are there, and the means of the two missing cells (NaN where not among them)."""
    rows = CORRELATED[list(which)]
    holes = np.argwhere(np.isnan(rows))
    # Heavy tails: the grid is even in u, x = centre + sinh(u).
    u = np.linspace(-6.5, 6.5, 261)
    values, log_weights = 1.0 + 0.5 * np.sinh(u), np.log(0.5 * np.cosh(u) * (u[1] - u[0]))
    grids = np.meshgrid(*[values] * len(holes), indexing="ij")
    filled = np.broadcast_to(rows, (*grids[0].shape, *rows.shape) if grids else rows.shape).copy()
    for (i, j), grid in zip(holes, grids, strict=True):
        filled[..., i, j] = grid
    log_density = _niw_evidence(filled)
    for axis in range(len(holes)):
        log_density = log_density + log_weights.reshape([-1 if axis == a else 1 for a in range(len(holes))])
    total = float(logsumexp(log_density))
    means = [np.nan, np.nan]
    for (i, _), grid in zip(holes, grids, strict=True):
        means[0 if which[i] == 1 else 1] = float(np.sum(np.exp(log_density - total) * grid))
    return total, *means


@cache
def _exact(names: tuple[str, ...], prior):
    """Posterior of all partitions, and the posterior means of the two missing cells of the block."""
    n = len(CORRELATED)
    blocks = [which for size in range(1, n + 1) for which in combinations(range(n), size)]
    evidence = {
        which: _block_evidence(which)[0] + sum(_column_evidence(name, which) for name in names) for which in blocks
    }
    log_joint = log_priors(prior, n).copy()
    means = np.zeros((len(log_joint), 2))
    for at, labels in enumerate(partitions(n)):
        for k in range(labels.max() + 1):
            which = tuple(np.flatnonzero(labels == k).tolist())
            log_joint[at] += evidence[which]
            for cell, row in enumerate((1, 5)):
                if row in which:
                    means[at, cell] = _block_evidence(which)[1 + cell]
    posterior = np.exp(log_joint - logsumexp(log_joint))
    return posterior, posterior @ means


def test_the_grid_integrates_to_the_student_t():
    """One row with one missing cell: the marginal of a Student-t, by scipy."""
    from scipy import stats

    dof = BLOCK["dof"] - 1
    shape = (BLOCK["mean_strength"] + 1) / (BLOCK["mean_strength"] * dof)
    assert _block_evidence((1,))[0] == pytest.approx(stats.t.logpdf(0.4, dof, 0.8, np.sqrt(shape)), abs=1e-6)


GROUPS = [
    ("diagonal-gaussian", "categorical", "poisson"),
    ("bernoulli", "binomial"),
    ("geometric", "exponential", "spherical-gaussian"),
]


# Tables with other columns than the usual ones compile kernels of their own, which takes minutes.
@pytest.mark.parametrize(
    "names",
    [GROUPS[0], *(pytest.param(names, marks=pytest.mark.slow) for names in GROUPS[1:])],
    ids=lambda names: "+".join(names),
)
def test_sweep_and_split_merge_with_holes(names, rng):
    prior = CRP(1.0) if len(names) == 3 else PitmanYor(0.8, 0.3)
    table, rows = _columns(*names)
    assert np.isnan(rows).sum() == 2 + len(names)
    posterior, _ = _exact(names, prior)
    assert posterior.max() < 0.6
    assert np.sum(posterior > 0.02) >= 3
    problem = Problem.of(rows, table, prior)
    draws = run_chain(problem, [GibbsSweep(), SplitMerge(3)], rng, thin=2, n_draws=10_000)
    assert excess(draws.labels, posterior, rng) <= LIMIT


def _cells(moves, n_draws, rng):
    """Draws of the two missing cells of the Gaussian block."""
    table, rows = _columns(*GROUPS[0])
    state = State(Problem.of(rows, table, CRP(1.0)), np.zeros(len(rows), dtype=np.int64), 1.0)
    schedule = Schedule(moves)
    cells = np.empty((n_draws, 2))
    for sweep in range(-WARMUP, n_draws):
        schedule.step(rng, state)
        if sweep >= 0:
            cells[sweep] = state.missing_values()
    return cells


def _have_their_means(cells):
    """Means over 100 batches: their spread is the Monte Carlo error, whatever the correlation of the sweeps."""
    _, expected = _exact(GROUPS[0], CRP(1.0))
    batches = cells.reshape(100, -1, 2).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / 10
    return np.all(np.abs(batches.mean(axis=0) - expected) < 4 * error)


def test_missing_cells_have_their_exact_means():
    assert _have_their_means(_cells([GibbsSweep()], 20_000, np.random.default_rng(5)))


class _IgnoringTheRow:
    """Fills missing cells from what the cluster predicts for them, as if the row showed nothing: the known mistake."""

    name = "broken"

    def step(self, rng, state):
        d = 2
        family = next(block.family for block in state.problem.family.blocks if block.name == "gaussian")
        for row in (1, 5):
            members = [i for i in np.flatnonzero(state.labels == state.labels[row]) if i != row]
            cells = state.rows[members][:, -2 * d : -d]
            parameters = family.draw_parameters(rng, np.ascontiguousarray(cells))
            fresh = family.draw_rows(parameters, 1, rng)[0]
            marks = state.rows[row, -d:] > 0
            state.rows[row, -2 * d : -d][marks] = fresh[marks]
        state.rebuild()


def test_filling_from_the_unconditional_law_is_caught(rng):
    """By the means of the cells, with a fifth of the draws."""
    assert not _have_their_means(_cells([GibbsSweep(), _IgnoringTheRow()], 4_000, rng))


@pytest.mark.slow
def test_filling_from_the_unconditional_law_shows_in_the_partitions(rng):
    names = GROUPS[0]
    table, rows = _columns(*names)
    problem = Problem.of(rows, table, CRP(1.0))
    posterior, _ = _exact(names, CRP(1.0))
    draws = run_chain(problem, [GibbsSweep(), _IgnoringTheRow()], rng, thin=2)
    assert excess(draws.labels, posterior, rng) > LIMIT
