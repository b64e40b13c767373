"""Posterior: the draws of a fit, and what can be said from them whatever the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chains.draws import Draws, Kind, partition_fields, quantities
from .diagnostics import Diagnostics, diagnose
from .partition.view import PartitionDraws
from .to_arviz import to_arviz

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Posterior:
    """The draws of a fit.

    Parameters
    ----------
    draws : Draws
        What an engine returned: named arrays, what they are, and of which kind.
    data : optional
        What was fitted, where the model keeps it.

    Attributes
    ----------
    folder : path or None
        Folder of the run, where it is kept in one.

    Examples
    --------
    >>> import countless as cl
    >>> posterior = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]).posterior_
    >>> posterior["labels"].shape, posterior.kind.name
    ((4, 250, 6), 'sampled')
    """

    def __init__(self, draws: Draws, data: Any = None) -> None:
        self.draws = draws
        self.data = data
        self.folder: str | os.PathLike[str] | None = None
        self._partitions: dict[str, PartitionDraws] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The array of a field: (chain, draw, axes...)."""
        return self.draws[name]

    def __contains__(self, name: str) -> bool:
        return name in self.draws

    def get(self, name: str) -> Any:
        """The array of a field; None where these draws do not have it."""
        return self.draws.arrays.get(name)

    @property
    def kind(self) -> Kind:
        """What the draws are: sampled from the posterior, a single optimum, or from an approximation."""
        return self.draws.kind

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws of each."""
        return self.draws.shape

    @property
    def n_draws(self) -> int:
        """Number of draws over all chains."""
        n_chains, n_draws = self.shape
        return n_chains * n_draws

    @property
    def interrupted(self) -> bool:
        """Whether the fit was stopped before all draws were made."""
        return self.draws.interrupted

    @property
    def log_joint(self) -> FloatArray:
        """Log density of the data and of everything that was drawn, (chain, draw)."""
        return self.draws["log_joint"]

    @property
    def objective(self) -> FloatArray:
        """What an optimiser raised, at each of its steps; empty for samplers."""
        return self.draws["objective"] if "objective" in self.draws else np.empty(0)

    @property
    def is_sampled(self) -> bool:
        """Whether shares of the draws are posterior probabilities."""
        return self.kind.has_probabilities and self.n_draws > 1

    def spaced(self, at_most: int) -> IntArray:
        """Numbers of at most so many draws, evenly spaced over all chains."""
        return np.linspace(0, self.n_draws - 1, min(self.n_draws, at_most)).astype(np.int64)

    @property
    def partition_axes(self) -> list[str]:
        """Axes whose items are grouped in each draw."""
        found = partition_fields(self.draws.arrays, self.draws.fields)
        return [field.axes[0] for field in found if field.axes]

    def partition(self, axis: str = "row") -> PartitionDraws:
        """The draws of the partition of one axis: similarity, consensus, credible ball, certainty.

        Examples
        --------
        >>> import countless as cl
        >>> posterior = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]).posterior_
        >>> posterior.partition("row").consensus().tolist()
        [0, 0, 0, 1, 1, 1]
        """
        if axis not in self._partitions:
            for field in self.draws.fields:
                if field.kind == "labels" and not field.once and field.per is None and field.axes == (axis,):
                    self._partitions[axis] = PartitionDraws(self.draws[field.name], axis)
                    break
            else:
                known = ", ".join(map(repr, self.partition_axes)) or "none"
                raise ValueError(f"axis: {axis!r} is not an axis whose items are grouped; there is {known}")
        return self._partitions[axis]

    def quantities(self) -> dict[str, FloatArray]:
        """Numbers of each draw (chain, draw) that no renumbering of groups can change: what chains are compared by.

        Examples
        --------
        >>> import countless as cl
        >>> posterior = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]).posterior_
        >>> sorted(posterior.quantities())
        ['concentration', 'entropy', 'largest_share', 'log_joint', 'n_clusters']
        """
        return quantities(self.draws.arrays, self.draws.fields)

    def words(self, quantity: str) -> str:
        """A quantity as people read it."""
        field = self.draws.field(quantity)
        known = {"entropy": "entropy of sizes", "largest_share": "share of the largest cluster"}
        return known.get(quantity, quantity.replace("_", " ")) if field is None else field.title

    def diagnostics(self) -> Diagnostics:
        """Whether the chains agree: R-hat, effective draws, distance between chains, run length, and a verdict.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
        >>> model.posterior_.diagnostics().verdict
        'A single optimum: there are no chains to compare.'
        """
        return diagnose(self)

    def to_arviz(self, labels: bool = False, attrs: Mapping[str, Any] | None = None) -> Any:
        """The draws for ArviZ: ``InferenceData`` with ArviZ 0.x, a ``DataTree`` with 1.x.

        Parameters
        ----------
        labels : bool
            Whether fields with axes, such as the cluster of each row in each draw, are included.
        attrs : dict, optional
            Attributes to add to those that name the library and the model.

        Returns
        -------
        InferenceData or DataTree
            Groups ``posterior`` (numbers of each draw; with ``labels``, fields over axes by their names),
            ``sample_stats`` (``lp``, the log joint) and, where the model keeps its data, ``observed_data``.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> draws = model.posterior_.to_arviz(labels=True)
        >>> draws["posterior"]["labels"].dims
        ('chain', 'draw', 'row')
        """
        return to_arviz(self, labels, attrs)

    def arviz_extras(self) -> dict[str, Any]:
        """What a model adds for ArviZ: ``sample_stats``, ``observed_data`` (name to array and axes), ``attrs``."""
        return {}
