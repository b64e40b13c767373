"""FiniteMixture and MixtureSearch: mixtures with a given number of components."""
