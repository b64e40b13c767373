"""Moves of biclusterings: one file each. All work on a ``View``, one side of the matrix, whichever it is."""
