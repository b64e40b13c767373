"""Moves of the mixture: one file each; the folder is the list of those that can be saved with a run."""

from __future__ import annotations

from ....core.register import import_folder

import_folder(__name__, __path__)
