"""Moves of mixed effects: one file each."""
