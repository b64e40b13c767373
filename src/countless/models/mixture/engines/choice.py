"""Which engine a mixture is given: by name, or by what sampling would cost."""

from __future__ import annotations

from ....chains.engine import ENGINES, Inference, engines_for
from ....core.errors import CannotDrawMissing
from ....core.validate import choose
from ....families.base import Family
from ....priors.verbs import Prior
from .sampling import sweep_cost

# Cost of a sweep up to which "auto" samples. A number costs 1 to 20 ns, by family, so that the first round, 350 sweeps
# of four chains, takes 10 s to two minutes on two cores (15,000 rows of ten correlated columns, 8,000 of sixty
# independent ones). Beyond it, "auto" optimises.
SAMPLING_LIMIT = 1e7


def resolve_inference(
    inference: str | Inference,
    n_rows: int,
    family: Family,
    prior: Prior,
    weighted: bool = False,
    missing: bool = False,
) -> Inference:
    """Engine object for a short string; ``"auto"`` picks by what a sweep over all rows costs.

    Sampling where it takes minutes at most; beyond, variational, or MAP for a prior without sticks. Rows that are
    ``weighted`` need an engine that can weigh them, and cells ``missing`` in correlated columns one that draws them.
    Family and prior are resolved.
    """
    engines = engines_for("mixture")
    if isinstance(inference, str) and inference == "auto":
        small = missing or (not weighted and sweep_cost(n_rows, family, prior) <= SAMPLING_LIMIT)
        inference = "gibbs" if small else "variational" if prior.has_sticks else "map"
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
