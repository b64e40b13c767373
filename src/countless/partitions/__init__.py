"""Partitions: which item sits where (seats), what each group holds (clusters), and the kernels that move items."""
