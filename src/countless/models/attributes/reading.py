"""Matrices as users hand them in: arrays, sparse matrices, data frames, graphs, rows with a kernel; what is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...core.validate import as_rows
from .problem import LACKS, UNKNOWN, FloatArray, IntArray

# Largest difference of two cells that count as one, as a share of the largest cell.
ROUNDING = 1e-9


class Square(NamedTuple):
    """A square matrix, the names of its objects, where they have any, and whether it holds links."""

    matrix: FloatArray
    names: tuple[str, ...]
    binary: bool


class Known(NamedTuple):
    """Attributes that are known for some objects.

    Attributes
    ----------
    table : array (object, attribute)
        Number of the category; ``LACKS`` or ``UNKNOWN`` besides.
    levels : tuple of tuples
        Categories of each attribute.
    names : tuple of str
    """

    table: IntArray
    levels: tuple[tuple[Any, ...], ...]
    names: tuple[str, ...]


def read_matrix(R: Any, kernel: Any, directed: bool, observation: str) -> Square:
    """The matrix of pairs; ValueError, in one sentence, where it is none."""
    names = _names(R)
    if hasattr(R, "adjacency") and hasattr(R, "nodes"):
        matrix, names = _from_graph(R, directed, observation)
    elif sparse.issparse(R):
        matrix = np.asarray(R.toarray(), dtype=np.float64)
        if np.isinf(matrix).any():
            raise ValueError("R contains infinity; drop or fill such cells before the fit")
    else:
        matrix = as_rows(R, "R", missing=True)
    if kernel is not None:
        matrix = similarities(matrix, kernel)
    matrix = _checked(matrix, directed)
    return Square(matrix, names, _are_links(matrix, observation))


def read_asked(R: Any, like: FloatArray, directed: bool, binary: bool) -> FloatArray:
    """Pairs that are asked for, in a matrix of the shape of the fit; all others are NaN."""
    matrix = np.asarray(R.toarray(), dtype=np.float64) if sparse.issparse(R) else as_rows(R, "R", missing=True)
    if matrix.shape != like.shape:
        raise ValueError(f"R has shape {matrix.shape}, but the fit had {like.shape}; pairs not asked for are NaN")
    matrix = matrix if directed else _symmetric(matrix)
    _are_links(matrix, "bernoulli" if binary else "gaussian")
    return matrix


def _are_links(matrix: FloatArray, observation: str) -> bool:
    """Whether pairs are links: asked for, or all 0 or 1."""
    pairs = matrix[~np.isnan(matrix) & ~np.eye(len(matrix), dtype=np.bool_)]
    other = pairs[(pairs != 0.0) & (pairs != 1.0)]
    if observation == "bernoulli" and other.size:
        raise ValueError(
            f"R must hold 0 and 1 only for observation='bernoulli', got {other[0]:g}; real numbers are "
            "observation='gaussian'"
        )
    return observation == "bernoulli" or (observation == "auto" and not other.size)


def _checked(matrix: FloatArray, directed: bool) -> FloatArray:
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"R must be a square matrix of objects by objects, got shape {matrix.shape}; for rows of measurements "
            "choose a kernel, such as kernel='distance'"
        )
    if n < 2:
        raise ValueError("R has 1 object (n_samples=1) while a minimum of 2 is required: there are no pairs")
    matrix = np.array(matrix, dtype=np.float64, order="C")
    if not directed:
        matrix = _symmetric(matrix)
    pairs = matrix.copy()
    np.fill_diagonal(pairs, np.nan)
    there = ~np.isnan(pairs)
    if not there.any():
        raise ValueError("R: no pair of different objects was observed; all of its cells are NaN")
    empty = ~(there.any(axis=0) | there.any(axis=1))
    if empty.any():
        raise ValueError(f"R: object {int(empty.argmax())} has no observed pair; leave it out")
    return matrix


def _symmetric(matrix: FloatArray) -> FloatArray:
    """The matrix, made exactly symmetric; a cell that is seen on one side only counts for both."""
    turned = matrix.T
    gap = np.abs(matrix - turned)
    scale = float(np.nanmax(np.abs(matrix))) if (~np.isnan(matrix)).any() else 1.0
    worst = float(np.nanmax(gap)) if (~np.isnan(gap)).any() else 0.0
    if worst > ROUNDING * max(scale, 1e-300):
        i, j = (int(at) for at in np.unravel_index(int(np.nanargmax(gap)), gap.shape))
        raise ValueError(
            f"R is not symmetric: cells ({i}, {j}) and ({j}, {i}) differ by {worst:.3g}; choose directed=True, or "
            "average R and its transpose"
        )
    one = np.where(np.isnan(matrix), turned, matrix)
    other = np.where(np.isnan(turned), matrix, turned)
    return np.ascontiguousarray(0.5 * (one + other))


def _from_graph(graph: Any, directed: bool, observation: str) -> tuple[FloatArray, tuple[str, ...]]:
    import networkx as nx  # type: ignore[import-untyped, unused-ignore]

    if graph.is_directed() and not directed:
        raise ValueError("R is a directed graph; choose directed=True, or hand in graph.to_undirected()")
    matrix = nx.to_numpy_array(graph, weight=None if observation == "bernoulli" else "weight", dtype=np.float64)
    if observation == "bernoulli":
        matrix = (matrix > 0.0).astype(np.float64)
    return matrix, tuple(map(str, graph.nodes))


def similarities(rows: FloatArray, kernel: Any) -> FloatArray:
    """Similarities of rows: ``"distance"`` is minus the Euclidean distance, ``"dot"`` the scalar product."""
    if np.isnan(rows).any():
        raise ValueError("R: rows with a kernel must have no NaN; fill or drop such cells before the fit")
    from sklearn.metrics import pairwise

    if callable(kernel):
        found = np.array([[float(kernel(one, other)) for other in rows] for one in rows])
    elif kernel == "distance":
        found = -pairwise.euclidean_distances(rows)
    elif kernel == "dot":
        found = rows @ rows.T
    elif isinstance(kernel, str) and kernel in pairwise.PAIRWISE_KERNEL_FUNCTIONS:
        found = pairwise.pairwise_kernels(rows, metric=kernel)
    else:
        names = ", ".join(map(repr, ["distance", "dot", *sorted(pairwise.PAIRWISE_KERNEL_FUNCTIONS)]))
        raise ValueError(f"kernel: unknown kernel {kernel!r}; choose {names} or a function of two rows")
    return np.asarray(0.5 * (found + found.T), dtype=np.float64)


def _names(R: Any) -> tuple[str, ...]:
    """Names of objects: those of the rows of a data frame that do not only number them, else of its columns."""
    index, columns = getattr(R, "index", None), getattr(R, "columns", None)
    if columns is None or index is None or not hasattr(R, "iloc"):
        return ()
    if getattr(index, "dtype", np.dtype(np.int64)).kind not in "iu":
        return tuple(map(str, index))
    return tuple(columns) if len(columns) == len(index) and all(isinstance(name, str) for name in columns) else ()


def has_diagonal(matrix: FloatArray) -> bool:
    """Whether the diagonal says something: cells that are all the same, such as distances of 0, do not."""
    own = np.diag(matrix)[~np.isnan(np.diag(matrix))]
    return len(own) > 1 and bool(np.ptp(own) > 0.0)


def read_known(known: Any, n_objects: int, thresholds: Any = None) -> Known:
    """A table of known attributes: NaN or None is unknown, -1 or False that the object lacks it, all else a category.

    ``thresholds`` cut continuous attributes into categories: a number of quantile groups, or rising thresholds.
    """
    names = tuple(map(str, getattr(known, "columns", ())))
    table = np.asarray(known, dtype=object)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_objects:
        raise ValueError(f"known must have one row for each of the {n_objects} objects, got shape {np.shape(table)}")
    columns, levels = [], []
    for number, column in enumerate(table.T):
        codes, found = _codes(column, number, thresholds)
        columns.append(codes)
        levels.append(found)
    whole = np.array(columns, dtype=np.int64).reshape(len(levels), n_objects).T
    return Known(np.ascontiguousarray(whole), tuple(levels), names or tuple(f"known {k}" for k in range(len(levels))))


def _codes(column: NDArray[Any], number: int, thresholds: Any) -> tuple[IntArray, tuple[Any, ...]]:
    missing = np.array([cell is None or cell != cell for cell in column])
    if missing.all():
        raise ValueError(f"known: attribute {number} is unknown for every object; leave it out")
    codes = np.full(len(column), UNKNOWN, dtype=np.int64)
    cut = thresholds.get(number) if isinstance(thresholds, dict) else thresholds
    if cut is not None:
        values = np.array([float(cell) for cell in column[~missing]])
        edges = np.quantile(values, np.arange(1, cut) / cut) if isinstance(cut, int) else np.asarray(cut, dtype=float)
        bins = np.searchsorted(edges, values, side="right")
        used = np.unique(bins)
        codes[~missing] = np.searchsorted(used, bins)
        ends = ["-inf", *(f"{edge:.4g}" for edge in edges), "inf"]
        return codes, tuple(f"{ends[k]} to {ends[k + 1]}" for k in used)
    lacks = np.array([not gone and _lacks(cell) for cell, gone in zip(column, missing, strict=True)])
    codes[lacks] = LACKS
    kept = ~missing & ~lacks
    if not kept.any():
        raise ValueError(f"known: no object has attribute {number}; leave it out")
    found = sorted({_plain(cell) for cell in column[kept]}, key=lambda cell: (str(type(cell)), cell))
    place = {cell: code for code, cell in enumerate(found)}
    codes[kept] = [place[_plain(cell)] for cell in column[kept]]
    return codes, tuple(found)


def _lacks(cell: Any) -> bool:
    return cell is False or (not isinstance(cell, (str, bool)) and cell == -1)


def _plain(cell: Any) -> Any:
    value = cell.item() if hasattr(cell, "item") else cell
    return int(value) if isinstance(value, float) and value.is_integer() else value
