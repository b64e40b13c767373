"""Kernels over steps: sweeps, whole paths, the best path. Plain arrays in, plain arrays out."""
