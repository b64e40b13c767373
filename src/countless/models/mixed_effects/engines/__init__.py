"""Engines of mixed effects."""

from __future__ import annotations

from ....core.register import import_folder

import_folder(__name__, __path__)
