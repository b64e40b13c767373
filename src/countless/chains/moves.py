"""The register of moves that can be saved with a run: frozen dataclasses under a short name."""

from __future__ import annotations

from ..core.register import Register
from .contract import Move

MOVES: Register[type[Move]] = Register("move", "countless.moves")
register = MOVES.add
