"""Moves of latent attributes: one file each."""
