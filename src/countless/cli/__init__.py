"""The command line: cluster a table in a file, go on with a run, ask it about new rows, see it, compare labels.

One file per command. Everything is checked before anything is computed; a mistake is one line on standard error and
exit code 2. Heavy modules are imported inside the commands, so that ``countless --version`` answers at once.
"""

from __future__ import annotations

from . import compare, demo, fit, predict, report, resume
from ._app import app, main

__all__ = ["app", "compare", "demo", "fit", "main", "predict", "report", "resume"]
