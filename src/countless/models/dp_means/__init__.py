"""DPMeans: k-means with a penalty for each cluster."""
