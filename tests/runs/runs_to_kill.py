"""Small fits of every sampler, as a program that can be killed: ``python runs_to_kill.py CASE FOLDER``."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import countless as cl
from countless.inference import BlockedGibbs, CollapsedGibbs, DirectAssignment, Gibbs, SingleSiteGibbs


def _blobs(n: int = 300) -> Any:
    rng = np.random.default_rng(5)
    return rng.standard_normal((n, 2)) + 4.0 * rng.integers(0, 4, size=(n, 1))


def _counts(n: int = 300) -> Any:
    rng = np.random.default_rng(6)
    return rng.poisson(np.array([1.0, 9.0, 40.0])[rng.integers(0, 3, size=n)])[:, None]


def _table(n: int = 150) -> Any:
    """Measurements with holes in a Gaussian block, beside categories and counts with holes."""
    import pandas as pd

    rng = np.random.default_rng(7)
    groups = rng.integers(0, 3, size=n)
    frame = pd.DataFrame(rng.standard_normal((n, 2)) + 4.0 * groups[:, None], columns=["height", "weight"])
    frame["colour"] = np.array(["red", "green", "blue"])[(groups + (rng.random(n) < 0.2)) % 3]
    frame["visits"] = rng.poisson(1.0 + 4.0 * groups)
    return frame.mask(rng.random(frame.shape) < 0.1)


MIXED = {"height": "gaussian", "weight": "gaussian", "colour": "categorical", "visits": "poisson"}


# Long enough to be killed on the way, on a machine that is not busy.
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "collapsed": ({"inference": CollapsedGibbs(chains=2, draws=400, warmup=50, thin=2)}, _blobs),
    "collapsed, learned": ({"inference": CollapsedGibbs(chains=2, draws=150, warmup=60), "tune": "sample"}, _blobs),
    "uncollapsed": ({"inference": Gibbs(chains=2, draws=500, warmup=50), "prior": "pitman-yor"}, _blobs),
    "single-site": (
        {"inference": SingleSiteGibbs(chains=2, draws=300, warmup=200, thin=3), "family": "poisson"},
        _counts,
    ),
    "table with holes": (
        {
            "inference": CollapsedGibbs(chains=2, draws=200, warmup=10),
            "family": cl.families.Table(MIXED),
            "tune": "sample",
        },
        _table,
    ),
    "until they suffice": (
        {"inference": CollapsedGibbs(chains=2), "prior": cl.priors.CRP(1.0)},
        _blobs,
    ),
    "blocked": ({"inference": BlockedGibbs(chains=2, draws=400, warmup=100)}, _blobs),
    "sequences": ({"inference": DirectAssignment(chains=2, draws=400, warmup=40)}, _blobs),
}


def model(case: str) -> Any:
    """The estimator of a case, with a seed."""
    fitted = cl.InfiniteHMM if case == "sequences" else cl.DPMixture
    return fitted(random_state=11, **CASES[case][0])


def table(case: str) -> Any:
    """Its rows."""
    return CASES[case][1]()


def same_posteriors(one: Any, other: Any) -> None:
    """Raise unless two posteriors are equal in every draw and every bit."""
    assert list(one.draws.arrays) == list(other.draws.arrays)
    assert (one.draws.kind, one.draws.interrupted) == (other.draws.kind, other.draws.interrupted)
    for name, array in one.draws.arrays.items():
        np.testing.assert_array_equal(array, other.draws.arrays[name], err_msg=name)


if __name__ == "__main__":
    warnings.simplefilter("ignore", cl.ConvergenceWarning)
    model(sys.argv[1]).fit(table(sys.argv[1]), checkpoint=sys.argv[2], checkpoint_every=0.02)
