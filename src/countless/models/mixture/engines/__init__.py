"""Engines of the mixture: one file each; the folder is the list."""

from __future__ import annotations

from ....core.register import import_folder

import_folder(__name__, __path__)
