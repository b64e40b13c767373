"""Base weights and the numbers of the transition law, given the path.

Given path and base weights, draw how often each state was asked of the base (tables); given these alone the numbers of
the base, then the base weights; given the base weights and the path the numbers of the rows, whose likelihood has a
closed form, so that no auxiliary variables are needed (Teh et al. 2006, appendix A; Fox et al. 2011, supplement).
"""

from __future__ import annotations

import numpy as np

from ....transitions.paths import draw_tables
from ..state import State


class BaseUpdate:
    """Draw tables, numbers of the base, base weights and numbers of the rows."""

    name = "base weights"

    def step(self, rng: np.random.Generator, state: State) -> None:
        """Update ``state`` in place."""
        law, fixed = state.problem.transitions, state.fixed
        laws = law.laws
        if fixed.base_shapes(state.n_states) is not None:
            tables = np.zeros(state.n_states)
            draw_tables(rng, state.counts, state.weights, float(fixed.concentration), fixed.stay, tables)
            for name in law.base_numbers:
                if name in laws:
                    at = fixed
                    value = laws[name].step(
                        rng, getattr(fixed, name), lambda x, n=name, at=at: at.with_numbers({n: x}).log_tables(tables)
                    )
                    fixed = fixed.with_numbers({name: value})
            drawn = fixed.draw_weights(rng, tables)
            assert drawn is not None
            state.weights, state.rest = drawn
        for name in law.row_numbers:
            if name in laws:
                at = fixed
                value = laws[name].step(
                    rng,
                    getattr(fixed, name),
                    lambda x, n=name, at=at: at.with_numbers({n: x}).log_rows(state.counts, state.weights),
                )
                fixed = fixed.with_numbers({name: value})
        state.fixed = fixed
