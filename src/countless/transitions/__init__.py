"""Transitions: how the states of a sequence follow each other. One file each; the folder is the list."""

from __future__ import annotations

from ..core.register import import_folder
from ..core.validate import choose
from .contract import TRANSITIONS, Transitions, register

import_folder(__name__, __path__)
globals().update({cls.__name__: cls for cls in TRANSITIONS.values()})


def resolve_transitions(transitions: str | Transitions) -> Transitions:
    """Turn a name or an object into a transition law."""
    if isinstance(transitions, Transitions):
        return transitions
    found: Transitions = choose("transitions", transitions, _by_default(), "a countless.transitions object")()
    return found


def _by_default() -> dict[str, type[Transitions]]:
    """Laws that need no number of states."""
    return {name: cls for name, cls in TRANSITIONS.items() if "n_states" not in cls.__dataclass_fields__}


__all__ = ["TRANSITIONS", "Transitions", "register", "resolve_transitions"]
__all__ += [cls.__name__ for cls in TRANSITIONS.values()]
