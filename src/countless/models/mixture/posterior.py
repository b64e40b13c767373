"""The posterior of a mixture: draws of the partition of the rows, parameters, hyperparameters and missing cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.validate import as_labels, by_size
from ...posterior.checks import Checks
from ...posterior.data import Data
from ...posterior.partition.posterior import PartitionPosterior
from ...posterior.partition.summaries import ClusterSummary, summaries_frame, summarise
from ...posterior.partition.tree import ClusterTree
from ...posterior.posterior import FloatArray, IntArray
from .answers import predictive
from .data import MixtureData
from .impute import Imputation, impute
from .records import Components, Truncation, truncation_of
from .replicates import check

if TYPE_CHECKING:
    import pandas as pd


class MixturePosterior(PartitionPosterior):
    """Draws of the partition of rows, one row of arrays per chain.

    Attributes
    ----------
    labels : array (chain, draw, row)
        Cluster of each row in each draw, numbered by first appearance.
    n_clusters : array (chain, draw)
    log_joint : array (chain, draw)
        Log of p(rows, partition), with the density of a learned log concentration.
    concentration : array (chain, draw)
    objective : array
        Log joint (or bound) at each step of an optimiser; empty for samplers.
    interrupted : bool
        Whether the fit was stopped before all draws were made.
    kind : Kind
        Sampled, a single optimum, or an approximation.
    mode : array of int or None
        The labels that are most probable under a mixture that approximates the posterior.
    components : Components or None
        That mixture.
    parameters : dict of arrays or None
        Parameters of the clusters by name, in the user's units, from engines that draw them: those of all
        clusters of the first draw, then of the next, through all chains. ``parameters_of`` picks one draw.
    weights : array or None
        Weights of the same clusters, from engines that draw them.
    truncation : Truncation or None
        Number of sticks of each draw and bound on what truncation costs, for ``BlockedGibbs``.
    log_factors : dict of arrays (chain, draw, entry)
        Where hyperparameters of the family were learned: the logs of what their entries were multiplied by, or by how
        much locations were shifted, in units of the columns.
    hyperparameters : dict of arrays (chain, draw)
        Their sizes, as in ``Family.tunable``.
    fills : array (chain, draw, cell) or None
        Missing cells, where they were drawn along with the clusters; in the user's units.
    data : Data or None
        The rows that were clustered, their columns, family and prior.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> bool(model.posterior_.similarity()[0, 1] > 0.5)
    True
    """

    data: Data | None

    # --- arrays -------------------------------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each draw."""
        return self["n_clusters"]

    @property
    def concentration(self) -> FloatArray:
        """Concentration of each draw."""
        return self["concentration"]

    @property
    def mode(self) -> IntArray | None:
        """The most probable labels under a mixture that approximates the posterior."""
        return self["mode"].astype(np.int64) if "mode" in self else None

    @property
    def components(self) -> Components | None:
        """The mixture that approximates the posterior."""
        found = self.draws.group("components")
        return Components(**found) if found else None

    @property
    def parameters(self) -> dict[str, FloatArray] | None:
        """Parameters of the clusters of all draws by name."""
        return self.draws.group("parameters") or None

    @property
    def weights(self) -> FloatArray | None:
        """Weights of the clusters of all draws."""
        return self.get("weights")

    @cached_property
    def truncation(self) -> Truncation | None:
        """Truncated sticks of each draw."""
        if "n_sticks" not in self or self.data is None:
            return None
        return truncation_of(self.data.prior, self.labels.shape[-1], self.draws)

    @property
    def log_factors(self) -> dict[str, FloatArray]:
        """Offsets of learned hyperparameters on their lines, in units of the columns; mostly logs of factors."""
        return self.draws.group("log_factors")

    @property
    def fills(self) -> NDArray[np.float32] | None:
        """Missing cells that were drawn."""
        return self.get("missing")

    @cached_property
    def hyperparameters(self) -> Mapping[str, FloatArray]:
        """Sizes of learned hyperparameters that have one: the geometric mean of the entries."""
        if self.data is None:
            return {}
        family = self.data.family
        sizes = family.tunable() if self.log_factors else {}
        return {
            name: family.lower_bound(name)
            + (sizes[name] - family.lower_bound(name)) * np.exp(logs.reshape(*logs.shape[:2], -1).mean(axis=2))
            for name, logs in self.log_factors.items()
            if name in sizes
        }

    def typical_factors(self) -> dict[str, Any]:
        """Posterior means of the offsets of learned hyperparameters; empty where none were."""
        return {name: logs.mean(axis=(0, 1)) for name, logs in self.log_factors.items()}

    def flat_log_factors(self) -> dict[str, FloatArray]:
        """Offsets of learned hyperparameters of each draw over all chains."""
        return {name: logs.reshape(-1, *logs.shape[2:]) for name, logs in self.log_factors.items()}

    def quantities(self) -> dict[str, FloatArray]:
        """Numbers of each draw that no renumbering of clusters can change."""
        found = super().quantities()
        first = {name: found.pop(name) for name in ("n_clusters", "log_joint", "entropy", "largest_share")}
        entries = {name for name, logs in self.log_factors.items() if logs.ndim > 2}
        learned = {name: sizes for name, sizes in self.hyperparameters.items() if name not in entries}
        return {**first, **found, **learned}

    def parameters_of(self, chain: int, draw: int) -> dict[str, FloatArray]:
        """Parameters of the clusters of one draw, in the order of its labels, with their ``weights`` if there are any.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="uncollapsed", random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
        >>> drawn = model.posterior_.parameters_of(0, 5)
        >>> sorted(drawn)
        ['covariance', 'mean']
        >>> bool(len(drawn["mean"]) == model.posterior_.n_clusters[0, 5])
        True
        """
        if self.parameters is None:
            raise ValueError(
                "parameters_of: this fit kept no parameters; choose inference='uncollapsed', 'single-site' or "
                "'blocked', with keep_parameters=True"
            )
        n_chains, n_draws = self.shape
        if not (-n_chains <= chain < n_chains and -n_draws <= draw < n_draws):
            raise ValueError(
                f"parameters_of: there are {n_chains} chains of {n_draws} draws, got chain {chain} and draw {draw}"
            )
        counts = self.n_clusters.reshape(-1)
        at = (chain % n_chains) * n_draws + draw % n_draws
        first = int(counts[:at].sum())
        those = slice(first, first + int(counts[at]))
        named = self.parameters if self.weights is None else {**self.parameters, "weights": self.weights}
        return {name: values[those] for name, values in named.items()}

    # --- rows -----------------------------------------------------------------------------------------------------

    def impute(self, n_draws: int = 200, random_state: Any = 0) -> Imputation:
        """What the missing cells of the table may hold: draws from their posterior, and their means.

        Parameters
        ----------
        n_draws : int
            Draws of each cell, spread over the draws of the clusters.
        random_state : None, int or Generator

        Returns
        -------
        Imputation
            ``rows``, ``columns``, ``draws`` (draw, cell), ``mean``, ``best``; ``frame()`` lists the cells and
            ``filled()`` is the whole table.

        Examples
        --------
        >>> import pandas as pd
        >>> import countless as cl
        >>> frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 9.1, 9.2, 9.3] * 3, "sort": list("aaabb") * 3 + list("bbb")})
        >>> frame.loc[0, "x"] = None
        >>> family = cl.families.Table({"x": "diagonal-gaussian"})
        >>> model = cl.DPMixture(family=family, random_state=0).fit(frame)
        >>> missing = model.posterior_.impute()
        >>> missing.rows.tolist(), missing.draws.shape
        ([0], (200, 1))
        """
        return impute(self, n_draws, random_state)

    def checks(self, n_replicates: int = 100, random_state: Any = 0) -> Checks:
        """Does the model fit? The table beside tables drawn from the posterior, column by column and pair by pair.

        Parameters
        ----------
        n_replicates : int
            Tables to draw.
        random_state : None, int or Generator

        Returns
        -------
        Checks
            ``striking`` has what the table shows and the model lacks, in sentences; ``frame()`` has all checks.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful())
        >>> len(model.posterior_.checks(50).checks)  # two tails and repeats of two columns, and one pair
        7
        """
        return check(self, n_replicates, random_state)

    def tree(self, labels: ArrayLike | None = None) -> ClusterTree:
        """Which clusters overlap and would join next; ``model.merge`` makes groups of it.

        Parameters
        ----------
        labels : array of int, optional
            The clustering, ``model.labels_`` for one; default, the consensus, which is computed again. Clusters of the
            tree have the order of the labels.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> model.posterior_.tree(model.labels_).joins.tolist()
        [[0, 1]]
        """
        if not isinstance(self.data, MixtureData):
            raise ValueError("tree: these draws do not hold their rows; fit the model again")
        shown = self._shown()
        if labels is not None:
            as_labels(labels, n_rows=self.labels.shape[-1])
            shown = np.unique(labels, return_inverse=True)[1]
        mixture = predictive(self.data.problem(), self.draws, self, shown)
        return ClusterTree.of_mixture(mixture, int(shown.max()) + 1)

    def summaries(self, labels: ArrayLike | None = None, most_traits: int | None = None) -> list[ClusterSummary]:
        """What each cluster is like: its size with an interval, how sure it is, and what distinguishes it.

        Parameters
        ----------
        labels : array of int, optional
            The clustering to describe, ``model.labels_`` for one; default, the consensus, which is computed again.
        most_traits : int, optional
            Traits to keep for each cluster; default, all.

        Returns
        -------
        list of ClusterSummary
            In the order of the labels.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> [found.traits[0].text for found in model.posterior_.summaries(model.labels_)]
        ['column 0 0.10 (others 9.10)', 'column 0 9.10 (others 0.10)']
        """
        return summarise(self.data, self.flat_labels(), self._shown() if labels is None else labels, most_traits)

    def _shown(self) -> IntArray:
        """The clustering to show."""
        weights = self.data.weights if isinstance(self.data, MixtureData) else None
        return self.consensus() if self.mode is None else by_size(self.mode, weights)

    def summaries_frame(self, labels: ArrayLike | None = None, most_traits: int = 3) -> pd.DataFrame:
        """``summaries`` as a table with one row per cluster, its clearest traits in words."""
        return summaries_frame(self.summaries(labels), most_traits)

    def arviz_extras(self) -> dict[str, Any]:
        """Truncation, the rows, and how the columns were read."""
        extras: dict[str, Any] = {}
        if self.truncation is not None:
            extras["sample_stats"] = {
                "n_sticks": self.truncation.n_sticks,
                "truncation_bound": self.truncation.bound,
            }
        if self.data is not None:
            columns = self.data.columns
            levels = {each.name: list(each.levels) for each in columns if each.levels is not None}
            extras["coords"] = {"column": self.data.names}
            extras["observed_data"] = {"rows": (self.data.rows, ("row", "column"))}
            extras["attrs"] = {
                "family": type(self.data.family).__name__,
                "prior": type(self.data.prior).__name__,
                "columns": json.dumps({each.name: each.family for each in columns}),
                "levels": json.dumps(levels),
            }
        return extras
