"""Seven rows for every family, and the priors, from the case files in ``tests/cases``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cases import FAMILY_CASES, PRIOR_CASES
from countless.families import Family
from countless.priors import Prior

PRIORS: dict[str, Prior] = {name: case.exact for name, case in PRIOR_CASES.items()}
_SEVENS = {seven.name: seven for case in FAMILY_CASES.values() for seven in case.sevens}
EXAMPLES = tuple(_SEVENS)


def example(name: str) -> tuple[Family, NDArray[np.float64]]:
    """A resolved family and its seven rows."""
    rows = np.ascontiguousarray(_SEVENS[name].rows, dtype=np.float64)
    return _SEVENS[name].family.resolve(rows), rows
