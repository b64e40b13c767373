"""Which engine a hidden Markov model is given: by name, or by what sampling would cost."""

from __future__ import annotations

from ....chains.engine import Inference, engines_for
from ....core.errors import CannotDrawMissing
from ....core.validate import choose
from ....transitions import Transitions
from .sampling import sweep_cost

# Cost of a sweep up to which "auto" samples.
SAMPLING_LIMIT = 4e6
PREFIX = "hmm-"


def engines() -> dict[str, type[Inference]]:
    """The engines by the short names that people give them."""
    return {name.removeprefix(PREFIX): cls for name, cls in engines_for("hmm").items()}


def resolve_inference(
    inference: str | Inference, n_steps: int, width: int, transitions: Transitions, missing: bool
) -> Inference:
    """Engine object for a short string; ``"auto"`` samples where that takes minutes at most, else optimises."""
    known = engines()
    if isinstance(inference, str) and inference == "auto":
        small = missing or sweep_cost(n_steps, width) <= SAMPLING_LIMIT
        inference = "gibbs" if small else "variational"
    if isinstance(inference, Inference) and inference.serves != "hmm":
        listed = ", ".join(sorted(cls.__name__ for cls in known.values()))
        raise ValueError(f"inference: {type(inference).__name__} does not serve sequences; choose one of {listed}")
    if not isinstance(inference, Inference):
        inference = choose("inference", inference, known, "'auto' or a countless.inference object")()
    if missing and not inference.draws_missing:
        raise CannotDrawMissing(type(inference).__name__, ["gibbs"])
    return inference
