"""Compiled parts: laws of effects, effects integrated out, passes over subjects, the noise of clusters."""
