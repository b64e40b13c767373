"""DPMeansHMM: states of sequences by small-variance asymptotics, with a penalty for each state and transition."""
