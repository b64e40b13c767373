"""Infinite biclustering: rows and columns grouped together, both numbers inferred (Pletscher 2007, chapter 5)."""
