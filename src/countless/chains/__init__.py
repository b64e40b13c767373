"""Chains: what any sampler needs, whatever it draws."""
