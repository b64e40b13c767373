"""Gaussian families: full, diagonal, spherical and known covariances, and missing cells of correlated columns."""
