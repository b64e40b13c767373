"""Runs that survive: fits written down while they are made, fitted models in one file, and both read back.

``countless.io`` has what users call; docs/runs.md documents the format. Nothing here executes or unpickles anything:
a file is JSON and plain arrays, classes are looked up by name in the registers of families, priors and engines, and
whatever does not fit is one ValueError.
"""

from __future__ import annotations

from .description import Description
from .folder import RunFolder
from .model_file import SavedModel, read_model, write_model

__all__ = ["Description", "RunFolder", "SavedModel", "read_model", "write_model"]
