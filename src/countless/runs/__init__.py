"""Runs that survive: fits written down while they are made, fitted models in one file, and both read back.

``countless.io`` has what users call; docs/runs.md documents the format. Nothing here executes or unpickles anything:
a file is JSON and plain arrays, classes are looked up by name in registers, and whatever does not fit is one
ValueError. Estimators are known through their register alone.
"""

from __future__ import annotations

from .description import ArrayData, Data, Description
from .folder import RunFolder
from .model_file import SavedModel, read_model, write_model
from .register import ESTIMATORS, register_estimator
from .settings import register_settings

__all__ = [
    "ESTIMATORS",
    "ArrayData",
    "Data",
    "Description",
    "RunFolder",
    "SavedModel",
    "read_model",
    "register_estimator",
    "register_settings",
    "write_model",
]
