"""Engines of a hidden Markov model. One file each; they register themselves."""

from __future__ import annotations

from ....core.register import import_folder

import_folder(__name__, __path__)
