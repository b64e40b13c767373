"""DPMixture: a mixture whose number of clusters is inferred."""
