"""The command line: fit a model to a table in a file, continue a run, predict new rows, show a run, compare labels.

Models bring their own commands (``models/command.py``), which ``_commands`` adds to those for all models, one file each
in ``commands/``. Everything is checked before anything is computed; a mistake is one line on standard error and exit
code 2. Heavy modules are imported inside the commands, so that ``countless --version`` answers at once.
"""

from __future__ import annotations

from . import commands
from ._app import app, main

__all__ = ["app", "commands", "main"]
