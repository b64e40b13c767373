"""What the tests need to know about a prior on partitions."""

from __future__ import annotations

from dataclasses import dataclass

from countless.priors import Prior


@dataclass(frozen=True)
class PriorCase:
    """One prior of the library.

    Attributes
    ----------
    exact : Prior
        All numbers given; enumeration over the partitions of seven rows decides what is right. Partitions into one,
        two and three clusters should all be likely.
    others : tuple of Prior
        More priors with all numbers given, at the edges of what they may be.
    learned : tuple of Prior
        Priors whose concentration is learned.
    """

    exact: Prior
    others: tuple[Prior, ...] = ()
    learned: tuple[Prior, ...] = ()
