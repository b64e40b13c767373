"""Kernels of latent attributes: block sums of one attribute, sweeps over it, and ways to grow a new one."""
