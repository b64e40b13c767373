"""InfiniteHMM: a hidden Markov model whose number of states is inferred."""
