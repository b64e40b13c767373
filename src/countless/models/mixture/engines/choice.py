"""Which engine a mixture is given: by name, or by the size of the problem."""

from __future__ import annotations

from ....chains.engine import ENGINES, Inference, engines_for
from ....core.errors import CannotDrawMissing
from ....core.validate import choose

# Rows times columns to the power 1.5 that sampling covers in about two minutes on two cores (60,000 rows of ten
# columns); beyond it, "auto" optimises.
SAMPLING_LIMIT = 2_000_000


def resolve_inference(
    inference: str | Inference,
    n_rows: int,
    n_columns: int,
    sticks: bool = True,
    weighted: bool = False,
    missing: bool = False,
) -> Inference:
    """Engine object for a short string; ``"auto"`` picks by the size of the problem.

    Sampling where it takes minutes at most; beyond, variational, or MAP for a prior without ``sticks``. Rows that are
    ``weighted`` need an engine that can weigh them, and cells ``missing`` in correlated columns one that draws them.
    """
    engines = engines_for("mixture")
    if isinstance(inference, str) and inference == "auto":
        small = missing or (n_rows * max(n_columns, 4) ** 1.5 <= SAMPLING_LIMIT and not weighted)
        inference = "gibbs" if small else "variational" if sticks else "map"
    if not isinstance(inference, Inference):
        if isinstance(inference, str) and inference not in engines:
            # Engines that other packages announce.
            ENGINES.everything()
            engines = engines_for("mixture")
        inference = choose("inference", inference, engines, "'auto' or a countless.inference object")()
    if weighted and not inference.weighs_rows:
        able = " or ".join(sorted(repr(name) for name, cls in engines.items() if cls.weighs_rows))
        raise ValueError(f"sample_weight: {type(inference).__name__} counts every row once; choose inference={able}")
    if missing and not inference.draws_missing:
        drawing = sorted(name for name, cls in engines.items() if cls.draws_missing)
        raise CannotDrawMissing(type(inference).__name__, drawing)
    return inference
