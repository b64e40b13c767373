"""Metropolis-Hastings proposals that change the clusters of many rows at once."""
