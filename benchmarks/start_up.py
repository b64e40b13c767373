"""What a new process pays: the import over NumPy's own, and a fit of 1,000 rows with its imports."""

from __future__ import annotations

import subprocess
import sys
import time

FIT = """
import numpy as np, countless as cl
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(m, 1, (250, 4)) for m in (0, 4, 8, 12)])
assert cl.DPMixture(random_state=0).fit(X).n_clusters_ == 4
"""


def seconds(code: str) -> float:
    """Best of five runs in new processes."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    seconds(FIT)  # fills the kernel cache
    print(f"import countless, over numpy: {seconds('import numpy, countless') - seconds('import numpy'):.3f} s")
    print(f"fit of 1,000 rows, new process, imports included: {seconds(FIT):.2f} s")
