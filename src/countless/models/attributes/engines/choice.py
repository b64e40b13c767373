"""Which engine latent attributes are given: by name, or by size."""

from __future__ import annotations

from typing import Any

from ....chains.engine import Inference, engines_for
from ....core.validate import choose
from ..problem import Problem
from . import gibbs, map  # noqa: F401  they register themselves

PREFIX = "attributes-"


def resolve_inference(inference: Any, problem: Problem) -> Inference:
    """Engine object for a short string; ``"auto"`` samples."""
    if isinstance(inference, Inference):
        if inference.serves != "attributes":
            fitting = " or ".join(sorted(cls.__name__ for cls in engines_for("attributes").values()))
            raise ValueError(
                f"inference: {type(inference).__name__} does not serve latent attributes; choose {fitting}"
            )
        return inference
    engines = {name.removeprefix(PREFIX): cls for name, cls in engines_for("attributes").items()}
    if isinstance(inference, str) and inference == "auto":
        inference = "gibbs"
    engine: Inference = choose("inference", inference, engines, "'auto' or a countless.inference object")()
    return engine
