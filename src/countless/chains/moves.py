"""The register of moves that can be saved with a run: frozen dataclasses under a short name."""

from __future__ import annotations

from typing import Any

from ..core.register import Register

MOVES: Register[Any] = Register("move", "countless.moves")
register = MOVES.add
