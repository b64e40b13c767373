"""Peak memory of a fit with many rows and many kept draws, above what holds the data; with and without checkpoints.

``python memory.py 100000 1000 [checkpoint]``
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time

import numpy as np

import countless as cl


def peak() -> float:
    """Most memory that the process ever had, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1e6 if sys.platform == "darwin" else used / 1e3


def main(n_rows: int, draws: int, checkpoint: bool) -> None:
    """Two chains on five clusters in the plane."""
    rng = np.random.default_rng(0)
    warm = cl.DPMixture(inference=cl.inference.CollapsedGibbs(chains=2, draws=2, warmup=1), random_state=0)
    warm.fit(rng.standard_normal((50, 2)))  # whatever is compiled or loaded once
    X = rng.standard_normal((n_rows, 2)) + 8.0 * rng.integers(0, 5, size=(n_rows, 1))
    before = peak()
    engine = cl.inference.CollapsedGibbs(chains=2, draws=draws // 2, warmup=5, start="greedy")
    model = cl.DPMixture(inference=engine, random_state=0)
    consensus, marks = cl.posterior.Posterior.consensus, []

    def watched(*args, **settings):  # type: ignore[no-untyped-def]
        marks.append(peak() - before)
        return consensus(*args, **settings)

    cl.posterior.Posterior.consensus = watched  # type: ignore[method-assign]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        model.fit(X, **({"checkpoint": folder} if checkpoint else {}))
        labels = model.posterior_.labels
        print(
            f"{n_rows:,} rows, {draws:,} draws{', checkpoints' if checkpoint else ''}: {peak() - before:.0f} MB above "
            f"the data ({X.nbytes / 1e6:.1f} MB), {marks[0]:.0f} MB before the consensus; labels {labels.dtype}, "
            f"{labels.nbytes / 1e6:.0f} MB; {time.perf_counter() - start:.0f} s"
        )
        start = time.perf_counter()
        path = model.save(f"{folder}/model.npz")
        seconds = time.perf_counter() - start
        print(f"saved in {seconds:.1f} s, {path.stat().st_size / 1e6:.1f} MB; peak {peak() - before:.0f} MB")
        start = time.perf_counter()
        cl.load(path)
        print(f"loaded in {time.perf_counter() - start:.1f} s; peak with both {peak() - before:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "checkpoint" in sys.argv[3:])
