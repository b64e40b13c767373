"""Engines of latent attributes."""

from __future__ import annotations

from ....core.register import import_folder

import_folder(__name__, __path__)
