"""What a new process pays: the import over NumPy's own, a fit of 1,000 rows with its imports, and first fits.

First fits compile: they have an empty cache of kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

FIT = """
import numpy as np, countless as cl
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(m, 1, (250, 4)) for m in (0, 4, 8, 12)])
assert cl.DPMixture(random_state=0).fit(X).n_clusters_ == 4
"""

FIRST = """
import warnings, numpy as np, pandas as pd, countless as cl
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
numbers = rng.normal(size=(60, 3))
mixed = pd.DataFrame({{"a": rng.normal(size=60), "b": rng.integers(0, 3, 60).astype(str),
                       "c": rng.poisson(3, 60), "d": rng.random(60) < 0.5}})
cl.DPMixture("auto", inference=cl.inference.CollapsedGibbs(draws=20, warmup=20), random_state=0).fit({rows})
"""


def first_fit(rows: str) -> float:
    """Seconds of one new process that has to compile everything it uses."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        environment = {**os.environ, "COUNTLESS_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", FIRST.format(rows=rows)], check=True, env=environment)
        return time.perf_counter() - start


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
    for rows in ("numbers", "mixed"):
        print(f"first fit, nothing compiled, {rows}: {first_fit(rows):.1f} s")
