"""Moves that need nothing but a partition: sweeps over its rows, splits and merges, the numbers of the prior."""
