"""Moves of a hidden Markov model; each leaves the posterior of path, base weights and numbers as it is."""
