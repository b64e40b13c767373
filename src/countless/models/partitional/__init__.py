"""Partitional: K-means and K-medoids for comparison."""
