"""What a fit of mixed effects is made of: visits as users hand them in, with defaults; new visits; folds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...core.validate import positive_number, whole_number
from ...families import resolve_family
from ...priors import Gamma, resolve_prior
from .data import MixedData
from .kernels.kinds import able, hyper_of
from .visits.formula import Formula
from .visits.reading import check_designs, check_strangers, coded, codes_of, read_design, read_groups, read_outcomes
from .visits.subjects import fit_population
from .visits.units import Units

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Default deviation of a fixed effect, in deviations of the outcomes per deviation of its column.
FIXED_SPREAD = 10.0
# Weight of the default law of the noise: as much as twice so many visits. Less where each cluster has its own, which
# may be far from that of one population.
NOISE_SHAPE, CLUSTER_NOISE_SHAPE = 1.0, 0.5


def read_visits(model: Any, X: Any, y: Any, groups: Any, fixed: Any) -> tuple[int, MixedData]:
    """Number of effects, and the data with the model resolved; each mistake is one sentence."""
    design, names = read_design(X, "X")
    n = len(design)
    shared, fixed_names = read_design(fixed, "fixed", n)
    outcomes = read_outcomes(y, n)
    subjects = read_groups(groups, n)
    seen = ~np.isnan(outcomes)
    if not seen.any():
        raise ValueError("y holds no outcome that is not missing")
    design, shared = np.ascontiguousarray(design[seen]), np.ascontiguousarray(shared[seen])
    outcomes = np.ascontiguousarray(outcomes[seen])
    if len(design) < design.shape[1] + shared.shape[1]:
        raise ValueError(f"X: {len(design)} visits are too few for {design.shape[1] + shared.shape[1]} columns")
    check_designs(design, shared, names, fixed_names)
    subject_names, codes = coded(subjects[seen])
    variance = _fixed_variance(model.fixed_variance, shared, outcomes)
    prior = resolve_prior(model.prior).resolve(len(subject_names))
    family = resolve_family(model.family)
    population = fit_population(design, outcomes, shared, codes, len(subject_names))
    left_open = family.left_open()
    units = Units.of(population, family, shared)
    try:
        resolved = units.into(family).resolve(units.rows_like(population))
    except (TypeError, AttributeError, np.linalg.LinAlgError):
        raise ValueError(f"family: effects cannot be {type(family).__name__}; choose {able()}") from None
    hyper_of(resolved, design.shape[1])
    if not isinstance(model.cluster_noise, (bool, np.bool_)):
        raise ValueError(f"cluster_noise must be True or False, got {model.cluster_noise!r}")
    shape = CLUSTER_NOISE_SHAPE if model.cluster_noise else NOISE_SHAPE
    noise: Any = Gamma(shape, shape * population.noise) if model.noise is None else model.noise
    if not isinstance(noise, Gamma):
        noise = positive_number("noise", noise)
        if model.cluster_noise:
            raise ValueError(f"cluster_noise: the noise is given, {noise:g}; leave it out, or give a gamma law")
    all_names = (names, fixed_names)
    family = units.out_of(resolved)
    parts = (design, shared, outcomes, codes, subject_names, *all_names, family, prior, noise, variance, left_open)
    return design.shape[1], MixedData(*parts, population, bool(model.cluster_noise))


def _fixed_variance(value: Any, fixed: FloatArray, y: FloatArray) -> FloatArray:
    """Prior variance of each fixed effect."""
    f = fixed.shape[1]
    if value is not None:
        try:
            given = np.broadcast_to(np.asarray(value, dtype=np.float64), (f,)).copy()
        except (TypeError, ValueError):
            raise ValueError(f"fixed_variance must be a number or one for each of {f} columns, got {value!r}") from None
        if not np.isfinite(given).all() or np.any(given <= 0.0):
            raise ValueError(f"fixed_variance must hold finite numbers above 0, got {value!r}")
        return given
    spread = fixed.std(axis=0)
    spread = np.where(spread > 0.0, spread, np.abs(fixed).max(axis=0, initial=0.0))
    size = float(y.std()) or float(np.abs(y).max()) or 1.0
    return np.asarray((FIXED_SPREAD * size / spread) ** 2)


# --- new visits -------------------------------------------------------------------------------------------------------


def read_new_visits(model: Any, X: Any, groups: Any, fixed: Any) -> tuple[FloatArray, FloatArray, IntArray]:
    """Designs of new visits of a fitted model, and their subjects, as ``MixedEffects`` counts them."""
    data = model.posterior_.data
    if model.formula is not None:
        if not hasattr(X, "columns"):
            raise ValueError("X must be a DataFrame, since the model was fitted by a formula")
        formula = Formula.parse(model.formula)
        if groups is None and formula.group in X.columns:
            groups = X[formula.group]
        X, fixed = formula.designs(X, model.levels_)
    design, names = read_design(X, "X")
    _same_columns("X", design, names, data.effect_names, hasattr(X, "columns"))
    if fixed is None and data.fixed_names:
        raise ValueError(f"fixed: the model was fitted with {len(data.fixed_names)} columns, got none")
    shared, fixed_names = read_design(fixed, "fixed", len(design))
    _same_columns("fixed", shared, fixed_names, data.fixed_names, hasattr(fixed, "columns"))
    if groups is None:
        return design, shared, -1 - np.arange(len(design))
    subjects = read_groups(groups, len(design))
    codes = codes_of(subjects, data.subjects)
    if np.any(codes < 0):
        check_strangers(subjects[codes < 0], data.subjects)
        strangers = coded(subjects[codes < 0])[1]
        codes[codes < 0] = -1 - strangers
    return design, shared, codes


def _same_columns(name: str, rows: FloatArray, names: tuple[str, ...], known: tuple[str, ...], named: bool) -> None:
    if rows.shape[1] != len(known):
        raise ValueError(f"{name} has {rows.shape[1]} columns, but the model was fitted with {len(known)}")
    if named and names != known and not any(column.startswith(f"{name} ") for column in known):
        strange = next(mine for mine, other in zip(names, known, strict=True) if mine != other)
        listed = ", ".join(map(repr, known))
        raise ValueError(f"{name}: column {strange!r} is not what the model was fitted with; it had {listed}")


# --- folds ------------------------------------------------------------------------------------------------------------


def scores_of_folds(model: Any, X: Any, y: Any, groups: Any, fixed: Any, cv: Any) -> FloatArray:
    """Score of each fold under a model that was fitted to the others."""
    if model.formula is not None and y is None:
        formula = Formula.parse(model.formula)
        y, groups = formula.outcomes(X), np.asarray(formula.groups(X))
        seen = ~np.isnan(y)
        X = X[seen].reset_index(drop=True)
        splits = _splits(cv, X, y[seen], groups[seen])
        parts = [(clone(model).fit(X.iloc[train]), X.iloc[test]) for train, test in splits]
        return np.array([fitted.score(test.reset_index(drop=True)) for fitted, test in parts])
    design, _ = read_design(X, "X")
    shared, _ = read_design(fixed, "fixed", len(design))
    outcomes, subjects = read_outcomes(y, len(design)), read_groups(groups, len(design))
    seen = ~np.isnan(outcomes)
    design, shared, outcomes, subjects = design[seen], shared[seen], outcomes[seen], subjects[seen]
    scores = []
    for train, test in _splits(cv, design, outcomes, subjects):
        fitted = clone(model).fit(design[train], outcomes[train], subjects[train], shared[train])
        scores.append(fitted.score(design[test], outcomes[test], subjects[test], shared[test]))
    return np.array(scores)


def _splits(cv: Any, X: Any, y: Any, groups: Any) -> list[Any]:
    """Folds of a splitter, or so many by subject."""
    from sklearn.model_selection import GroupKFold

    splitter = cv if hasattr(cv, "split") and not isinstance(cv, str) else GroupKFold(whole_number("cv", cv, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        return list(splitter.split(X, y, groups))
