"""The pictures of the README and the guide: ``python docs/examples/figures.py`` draws them into docs/images.

    python docs/examples/figures.py [NAME ...]

draws some of them only. The table with holes is made up here; the other tables ship with countless or scikit-learn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

import countless as cl
from countless import plots

IMAGES = Path(__file__).resolve().parent.parent / "images"


def library_visitors(n: int = 600, missing: float = 0.12, seed: int = 0) -> pd.DataFrame:
    """People who come to a library: numbers, counts and categories of four kinds of people, with missing cells."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, size=n, p=[0.35, 0.3, 0.2, 0.15])
    age = np.array([21.0, 38.0, 70.0, 11.0])[kind] + rng.normal(0.0, np.array([2.5, 6.0, 6.0, 2.0])[kind])
    distance = np.array([1.6, 5.5, 2.4, 1.1])[kind] + rng.normal(0.0, np.array([0.5, 1.3, 0.7, 0.3])[kind])
    loans = rng.poisson(np.array([2.0, 5.0, 9.0, 14.0])[kind])
    ways = [[0.2, 0.7, 0.1, 0.0], [0.1, 0.2, 0.2, 0.5], [0.5, 0.05, 0.4, 0.05], [0.6, 0.3, 0.1, 0.0]]
    way = [rng.choice(["on foot", "bicycle", "bus", "car"], p=ways[k]) for k in kind]
    likes = [[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]]
    shelf = [rng.choice(["science", "novels", "comics"], p=likes[k]) for k in kind]
    table = pd.DataFrame(
        {
            "age": age.round(),
            "distance in km": np.abs(distance).round(1),
            "loans": loans,
            "comes by": way,
            "favourite shelf": shelf,
            "has a card": rng.random(n) < np.array([0.9, 0.6, 0.8, 0.97])[kind],
        }
    )
    return table.mask(rng.random(table.shape) < missing)


def iris() -> cl.DPMixture:
    """Four measurements of 150 flowers."""
    table = load_iris(as_frame=True).data
    return cl.DPMixture(random_state=0).fit(table)


def old_faithful() -> cl.DPMixture:
    """Eruptions and the wait for the next one."""
    return cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful())


def galaxies() -> cl.DPMixture:
    """Velocities of 82 galaxies."""
    return cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_galaxies())


def visitors() -> cl.DPMixture:
    """A mixed table with holes."""
    return cl.DPMixture(family="auto", random_state=0).fit(library_visitors())


MODELS: dict[str, Callable[[], cl.DPMixture]] = {
    "iris": iris,
    "old-faithful": old_faithful,
    "galaxies": galaxies,
    "library": visitors,
}

# Name of the picture: the model, and how it is drawn.
PICTURES: dict[str, tuple[str, Callable]] = {
    "iris": ("iris", plots.summary),
    "iris-profiles": ("iris", plots.profiles),
    "old-faithful": ("old-faithful", plots.summary),
    "old-faithful-traces": ("old-faithful", plots.traces),
    "old-faithful-wavering": ("old-faithful", plots.wavering),
    "galaxies": ("galaxies", plots.summary),
    "galaxies-density": ("galaxies", plots.density),
    "galaxies-uncertainty": ("galaxies", plots.uncertainty),
    "library": ("library", plots.summary),
    "library-profiles": ("library", plots.profiles),
    "library-loans": ("library", lambda model: plots.density(model, "loans")),
    "library-shelf": ("library", lambda model: plots.density(model, "favourite shelf")),
}


def main(names: list[str]) -> None:
    """Draw the pictures of these names; of none, all."""
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"figures.py: {unknown[0]!r} is not a picture; choose among {', '.join(PICTURES)}")
    models: dict[str, cl.DPMixture] = {}
    for name in names or PICTURES:
        fitted, draw = PICTURES[name]
        if fitted not in models:
            models[fitted] = MODELS[fitted]()
        drawn = draw(models[fitted])
        path = IMAGES / f"{name}.png"
        path.write_bytes(plots.render(getattr(drawn, "figure", drawn)))
        print(path.name, plots.sentence(models[fitted]))


if __name__ == "__main__":
    main(sys.argv[1:])
