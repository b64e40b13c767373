"""``countless bicluster``: what InfiniteBiclustering says to the command line."""

from __future__ import annotations

from ..command import Command

COMMAND: Command | None = None
