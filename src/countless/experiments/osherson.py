"""The animals and features of Osherson et al. 1991, and how Pletscher (2007, tables 5.2 and 5.3) groups them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

if TYPE_CHECKING:
    import pandas as pd

Groups = tuple[str, ...]

# Table 5.2, one line for each cluster.
ANIMALS: Mapping[str, Groups] = {
    "asymmetric": (
        "tiger, leopard, fox, wolf, weasel, bobcat, lion",
        "antelope, horse, moose, ox, sheep, giraffe, buffalo, zebra, deer, pig, cow",
        "dalmatian, persian cat, german shepherd, siamese cat, chihuahua, collie",
        "killer whale, blue whale, humpback whale, seal, walrus, dolphin",
        "beaver, otter",
        "skunk, mole, hamster, squirrel, rabbit, rat, mouse, raccoon",
        "hippopotamus, rhinoceros, elephant",
        "spider monkey, gorilla, chimpanzee",
        "grizzly bear, polar bear",
        "bat",
        "giant panda",
    ),
    "symmetric": (
        "tiger, leopard, fox, wolf, bobcat, lion",
        "antelope, horse, giraffe, zebra, deer",
        "dalmatian, persian cat, german shepherd, siamese cat, chihuahua, weasel, collie",
        "killer whale, seal, walrus, dolphin",
        "beaver, otter",
        "skunk, mole, hamster, squirrel, rabbit, rat, mouse, raccoon",
        "hippopotamus, rhinoceros, elephant",
        "spider monkey, gorilla, chimpanzee, giant panda",
        "grizzly bear, polar bear",
        "bat",
        "moose, ox, sheep, buffalo, pig, cow",
        "blue whale, humpback whale",
    ),
}
# Table 5.3, as far as it is printed: the other clusters of the asymmetric model were left out there.
FEATURES: Mapping[str, Groups] = {
    "asymmetric": (
        "blue, strainteeth, tusks, plankton, skimmer",
        "fish, arctic, coastal",
        "flippers, ocean",
        "big, strong",
        "swims, water",
        "hands, bipedal, tree",
        "walks, quadrapedal, ground",
        "paws, claws",
        "orange, red, yellow, flys, desert, cave",
        "hooves, horns, grazer",
        "meatteeth, meat, hunter, stalker",
        "nocturnal, hibernate, scavenger",
        "chewteeth, smelly, group",
        "brown, tail, fast, active, newworld",
        "buckteeth, weak",
        "hairless, toughskin",
        "plains, fields",
        "stripes, hops, tunnels, insects",
        "bush, mountains",
        "lean, muscle, fierce",
        "patches, spots",
    ),
    "symmetric": (
        "blue, strainteeth, tusks, plankton, skimmer",
        "fish, arctic, coastal",
        "flippers, ocean",
        "big, strong",
        "swims, water",
        "hands, bipedal, tree",
        "walks, quadrapedal, ground",
        "paws, claws",
        "orange, red, yellow, stripes, longneck, desert",
        "hooves, horns",
        "meatteeth, meat, hunter, stalker, fierce",
        "nocturnal, hibernate, scavenger, cave",
        "chewteeth, smelly, vegetation, timid, group",
        "black, brown, furry, tail, fast, active, newworld, oldworld",
        "small, pads, buckteeth, weak, forager, forest",
        "gray, hairless, toughskin, bulbous, slow, inactive",
        "grazer, plains, fields",
        "flys, hops, tunnels, insects",
        "longleg, bush, jungle, mountains",
        "lean, muscle, agility, smart, solitary, nestspot",
        "white, patches, spots, domestic",
    ),
}
# Animals that belong together in every account of these data.
KNOWN: Mapping[str, str] = {
    "sea": "killer whale, seal, walrus, dolphin",
    "cats and wolves": "tiger, leopard, fox, wolf, bobcat, lion",
    "primates": "spider monkey, gorilla, chimpanzee",
    "hoofed": "antelope, horse, giraffe, zebra, deer",
    "large and slow": "hippopotamus, rhinoceros, elephant",
}


def load_animals(folder: Path, binary: bool = False) -> pd.DataFrame:
    """Animals x features, from a folder of data sets; the four ratings that are missing count as zero."""
    import pandas as pd

    name = "animals_binary.csv" if binary else "animals_continuous.csv"
    return pd.read_csv(folder / name, index_col=0).fillna(0.0)


def agreement(names: Sequence[str], labels: NDArray[np.int64], groups: Groups) -> float:
    """Adjusted Rand index with printed groups, over the items that are in one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from countless.experiments.osherson import agreement
    >>> agreement(["ox", "cow", "bat"], np.array([0, 0, 1]), ("ox, cow", "bat"))
    1.0
    """
    printed = {name: at for at, group in enumerate(groups) for name in group.split(", ")}
    there = [at for at, name in enumerate(names) if name in printed]
    return float(adjusted_rand_score([printed[names[at]] for at in there], np.asarray(labels)[there]))


def together(names: Sequence[str], labels: NDArray[np.int64]) -> dict[str, float]:
    """For each known group, the largest share of its animals that is in one cluster."""
    at = {name: place for place, name in enumerate(names)}
    found: dict[str, Any] = {}
    for group, members in KNOWN.items():
        own = np.asarray(labels)[[at[name] for name in members.split(", ")]]
        found[group] = float(np.bincount(own).max() / len(own))
    return found
