"""The posterior of a model whose draws hold one partition: what the partition answers, the posterior answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from numpy.typing import NDArray

from ..posterior import Posterior
from .view import PartitionDraws


def _of_the_partition(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of the partition as a method of the posterior, with its signature and docstring."""

    @wraps(method)
    def asked(self: PartitionPosterior, *args: Any, **options: Any) -> Any:
        return method(self.partition(self.partition_axis), *args, **options)

    return asked


class PartitionPosterior(Posterior):
    """Draws with one partition, of the items of ``partition_axis``; ``partition(axis)`` has the same answers.

    Attributes
    ----------
    labels : array (chain, draw, item)
        Cluster of each item in each draw, numbered by first appearance.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model.posterior_.partition_axis, model.posterior_.consensus().tolist()
    ('row', [0, 0, 0, 1, 1, 1])
    """

    partition_axis: ClassVar[str] = "row"

    @property
    def labels(self) -> NDArray[Any]:
        """Cluster of each item in each draw."""
        return self["labels"]

    flat_labels = _of_the_partition(PartitionDraws.flat_labels)
    n_clusters_pmf = _of_the_partition(PartitionDraws.n_clusters_pmf)
    similarity = _of_the_partition(PartitionDraws.similarity)
    sampled_similarity = _of_the_partition(PartitionDraws.sampled_similarity)
    consensus = _of_the_partition(PartitionDraws.consensus)
    credible_ball = _of_the_partition(PartitionDraws.credible_ball)
    certainty = _of_the_partition(PartitionDraws.certainty)
