"""Core: what every room needs and none of them owns: compilation, randomness, checks, files, registers, words."""
