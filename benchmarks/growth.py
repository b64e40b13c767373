"""How the time of a sweep grows with the rows, the columns and the clusters."""

from __future__ import annotations

from common import print_table
from sweep import seconds_per_sweep

if __name__ == "__main__":
    rows = []
    for what, sizes in [
        ("N", [(1_000, 10, 20), (10_000, 10, 20), (100_000, 10, 20), (1_000_000, 10, 20)]),
        ("D", [(10_000, 2, 20), (10_000, 4, 20), (10_000, 8, 20), (10_000, 16, 20), (10_000, 32, 20)]),
        ("K", [(10_000, 10, 5), (10_000, 10, 20), (10_000, 10, 80)]),
    ]:
        for n, d, k in sizes:
            seconds = seconds_per_sweep(n, d, k, sweeps=7)
            rows.append([what, n, d, k, f"{1e3 * seconds:.2f}", f"{1e9 * seconds / n:.0f}"])
    print_table(["grows", "N", "D", "K", "ms a sweep", "ns a row"], rows)
