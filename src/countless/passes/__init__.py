"""Passes over all rows, a block at a time."""
