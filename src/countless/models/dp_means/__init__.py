"""DPMeans: clusters at a price each."""
