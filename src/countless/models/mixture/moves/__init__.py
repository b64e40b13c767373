"""Moves of the mixture: one file each."""
