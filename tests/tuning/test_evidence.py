"""The evidence of fixed partitions and its maximum, against sums of evidences of clusters in plain Python."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from countless.families import FAMILIES
from countless.inference import Problem
from countless.priors import CRP
from countless.tuning.evidence import LIMIT, Evidence, log_normal_density, maximise
from estimators.cases import FAMILY_NAMES, two_groups

every_family = pytest.mark.parametrize("name", FAMILY_NAMES)
PARTITIONS = np.array([[0, 1] * 6, [0, 1] * 4 + [2, 1] * 2, [0] * 12])


def _case(name):
    X = two_groups(name, 6)
    family = FAMILIES[name]().resolve(X)
    return X, family, Problem.of(X, family, CRP(1.0))


def _evidence(problem, partitions):
    return Evidence(problem.untuned, [(problem.rows, partitions)], problem.weights)


def _plain(family, X, labels, logs):
    """Sum over clusters of the evidence of their rows, in the user's units."""
    tuned = family.with_tuned(logs)
    return sum(tuned.log_marginal(X[labels == k]) for k in range(labels.max() + 1))


@every_family
def test_it_is_the_sum_over_clusters(name):
    X, family, problem = _case(name)
    evidence = _evidence(problem, PARTITIONS)
    for shift in (-1.0, 0.0, 0.4):
        logs = {key: shift * (1 + at) for at, key in enumerate(family.tunable())}
        expected = np.mean([_plain(family, X, labels, logs) for labels in PARTITIONS])
        assert evidence(logs) + problem.log_jacobian == pytest.approx(expected, rel=1e-9, abs=1e-8)
        again = _evidence(problem.tuned(logs), PARTITIONS)
        assert again(logs) == pytest.approx(evidence(logs), rel=1e-12)


def test_weighted_rows_count_as_often_as_they_weigh():
    X, family, _ = _case("gaussian")
    labels, weights = PARTITIONS[0], np.tile([1.0, 2.0, 3.0], 4)
    weighted = _evidence(Problem.of(X, family, CRP(1.0), weights), labels[None])
    times = weights.astype(int)
    repeated = np.repeat(labels, times)
    plain = _plain(family, np.repeat(X, times, axis=0), repeated, {"scale": 0.5})
    jacobian = Problem.of(X, family, CRP(1.0), weights).log_jacobian
    assert weighted({"scale": 0.5}) + jacobian == pytest.approx(plain, rel=1e-9)


@every_family
@pytest.mark.parametrize("spread", [math.inf, 1.0], ids=["evidence", "with-prior"])
def test_the_maximum_is_that_of_a_grid_refined(name, spread):
    X, family, problem = _case(name)
    labels = PARTITIONS[0]
    names = tuple(family.tunable())

    def height(point):
        logs = dict(zip(names, np.clip(point, -LIMIT, LIMIT).tolist(), strict=True))
        return _plain(family, X, labels, logs) + log_normal_density(logs, spread)

    grid = list(product(np.linspace(-LIMIT, LIMIT, 7), repeat=len(names)))
    best = max(grid, key=height)
    oracle = minimize(lambda point: -height(point), best, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7})
    found = maximise(_evidence(problem, labels[None]), names, {}, spread)
    value = height([found[key] for key in names])
    assert value >= -oracle.fun - 1e-3
    assert value > height(np.zeros(len(names)))
    assert all(abs(logs) <= LIMIT for logs in found.values())


def test_the_maximum_is_never_worse_than_the_start():
    _, family, problem = _case("gaussian")
    evidence = _evidence(problem, PARTITIONS[:1])
    start = maximise(evidence, tuple(family.tunable()), {})
    again = maximise(evidence, tuple(family.tunable()), start)
    assert evidence(again) >= evidence(start)
