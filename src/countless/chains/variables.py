"""States that are a handful of named variables, each of them a field of the problem: all but the mathematics follows.

For models whose state is small and has nothing derived to keep current. Larger ones write their own state
(``models.mixture.state``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from .contract import Frozen, Problem
from .fields import check_arrays


class VariableState(ABC):
    """Everything that is drawn, as attributes called like the fields of the problem.

    Parameters
    ----------
    problem : VariableProblem
    **variables
        A number or an array for each field but ``log_joint``.
    """

    def __init__(self, problem: Problem, **variables: Any) -> None:
        self.problem = problem
        self._names = tuple(variables)
        vars(self).update(variables)

    @abstractmethod
    def log_joint(self) -> float:
        """Log density of the data and of everything that is drawn, in the user's units."""

    def is_possible(self) -> bool:
        """Whether the variables have values that they can have; asked of states that come from a file."""
        return True

    def draw(self) -> dict[str, Any]:
        """One complete draw."""
        fields = {field.name: field for field in self.problem.fields}
        kinds: dict[str, Any] = {"count": np.int64, "number": np.float64, "labels": np.int64, "bits": np.bool_}
        drawn: dict[str, Any] = {
            name: np.array(getattr(self, name), dtype=kinds[fields[name].kind]) for name in self._names
        }
        return {"log_joint": np.float64(self.log_joint()), **drawn}

    def freeze(self) -> Frozen:
        """The variables, copied."""
        return Frozen({}, {name: array for name, array in self.draw().items() if name != "log_joint"})

    def rebuild(self) -> None:  # noqa: B027 - there is nothing to do
        """Nothing is derived."""

    def status(self) -> str:
        """The variables that are one number."""
        return ", ".join(
            f"{name} {getattr(self, name):.4g}" for name in self._names if np.ndim(getattr(self, name)) == 0
        )


class VariableProblem:
    """A problem whose states are of one such class."""

    state_class: ClassVar[type[VariableState]]

    def thaw(self: Any, frozen: Frozen) -> VariableState:
        """The state that was frozen; ValueError where it is none of this problem."""
        fields = [field for field in self.fields if field.name != "log_joint"]
        try:
            check_arrays(frozen.arrays, fields, self.axes, ())
        except ValueError as error:
            raise ValueError(f"the state of a chain is damaged: {error}") from None
        values = {name: array.copy() if array.ndim else array.item() for name, array in frozen.arrays.items()}
        state: VariableState = self.state_class(self, **values)
        if not state.is_possible():
            raise ValueError("the state of a chain holds values that are not possible")
        return state
