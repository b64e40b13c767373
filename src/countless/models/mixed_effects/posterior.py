"""The posterior of mixed effects: draws of the partition of subjects, parameters of clusters, noise, fixed effects."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...core.random import as_generator
from ...posterior.partition.posterior import PartitionPosterior
from ...posterior.posterior import FloatArray, IntArray
from .data import MixedData


class MixedPosterior(PartitionPosterior):
    """Draws of a fit of ``MixedEffects``; effects are integrated out and drawn when asked for.

    Attributes
    ----------
    labels : array (chain, draw, subject)
        Cluster of each subject in each draw, numbered by first appearance; subjects are in the order of ``subjects_``.
    n_clusters, log_joint, concentration, noise : arrays (chain, draw)
        ``noise`` is the variance of the noise; ``log_joint`` is that of the outcomes and of all that a draw holds, with
        the effects integrated out.
    fixed : array (chain, draw, column)
        Fixed effects.
    parameters : dict
        ``"mean"`` (cluster, D) and ``"covariance"`` (cluster, D, D) of the effects of each cluster, those of all
        clusters of the first draw, then of the next, through all chains. With ``cluster_noise`` also ``"noise"``
        (cluster,).

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> subject = np.repeat(np.arange(20), 4)
    >>> y = np.where(subject < 10, 0.0, 9.0) + rng.normal(size=80)
    >>> model = cl.MixedEffects(random_state=0).fit(np.ones((80, 1)), y, subject)
    >>> posterior = model.posterior_
    >>> bool(posterior.similarity()[0, 1] > 0.9), posterior.effects(10).shape
    (True, (10, 20, 1))
    """

    partition_axis: ClassVar[str] = "subject"

    data: MixedData

    @property
    def n_clusters(self) -> IntArray:
        return self["n_clusters"]

    @property
    def concentration(self) -> FloatArray:
        return self["concentration"]

    @property
    def noise(self) -> FloatArray:
        return self["noise"]

    @property
    def fixed(self) -> FloatArray:
        found = self.get("fixed")
        return np.empty((*self.shape, 0)) if found is None else found

    @property
    def parameters(self) -> dict[str, FloatArray]:
        return self.draws.group("parameters")

    def parameters_of(self, draw: int) -> dict[str, FloatArray]:
        """Parameters of the clusters of one draw, numbered over all chains, in the order of its labels."""
        counts = self.n_clusters.reshape(-1)
        first = int(counts[:draw].sum())
        return {name: values[first : first + int(counts[draw])] for name, values in self.parameters.items()}

    def noise_of_subjects(self, n_draws: int = 400) -> FloatArray:
        """Variance of the noise of each subject (draw, subject), in as many draws, spread over all."""
        chosen = [int(draw) for draw in self.spaced(n_draws)]
        labels = self.labels.reshape(-1, self.labels.shape[-1])
        if "noise" not in self.parameters:
            return np.tile(self.noise.reshape(-1)[chosen, None], labels.shape[1])
        return np.array([self.parameters_of(draw)["noise"][labels[draw]] for draw in chosen])

    def effects(self, n_draws: int = 400, random_state: Any = 0) -> FloatArray:
        """Draws of the effects (draw, subject, column), spread over the draws of everything else.

        Given a draw of labels, parameters, noise and fixed effects the effects have normal laws: one draw from each, or
        more where there are fewer draws than asked for.
        """
        from .predictive import Given

        given = Given.of(self)
        return given.draw_effects(n_draws, as_generator(random_state))

    def arviz_extras(self) -> dict[str, Any]:
        """Outcomes and names for ArviZ."""
        data = self.data
        return {
            "coords": {"subject": data.subjects.tolist(), "fixed": list(data.fixed_names)},
            "observed_data": {"y": (data.y, ("visit",))},
            "attrs": {"family": type(data.family).__name__, "prior": type(data.prior).__name__},
        }
