"""Latent attributes: overlapping clusterings of one network (Palla et al. 2012; von Looz 2013)."""
