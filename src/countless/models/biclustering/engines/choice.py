"""Which engine a biclustering is given: by name, or by what sampling would cost."""

from __future__ import annotations

from typing import Any

from ....chains.engine import Inference, engines_for
from ....core.validate import choose
from ..problem import Problem
from . import gibbs, map, variational  # noqa: F401  they register themselves

# Cost of a sweep up to which "auto" samples; beyond, it optimises.
SAMPLING_LIMIT = 2e6
PREFIX = "bicluster-"


def resolve_inference(inference: Any, problem: Problem) -> Inference:
    """Engine object for a short string; ``"auto"`` picks by what a sweep over all items costs."""
    if isinstance(inference, Inference):
        if inference.serves != "biclustering":
            fitting = " or ".join(sorted(cls.__name__ for cls in engines_for("biclustering").values()))
            raise ValueError(f"inference: {type(inference).__name__} does not serve biclusterings; choose {fitting}")
        return inference
    engines = {name.removeprefix(PREFIX): cls for name, cls in engines_for("biclustering").items()}
    if isinstance(inference, str) and inference == "auto":
        inference = "gibbs" if problem.sweep_cost() <= SAMPLING_LIMIT else "map"
    engine: Inference = choose("inference", inference, engines, "'auto' or a countless.inference object")()
    return engine
