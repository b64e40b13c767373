"""Arithmetic of priors: ratios of gamma functions, sums over components, recursions, integrals on a line."""
