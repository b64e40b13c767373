"""DPMixture: a mixture whose number of clusters is inferred, behind the scikit-learn interface."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from ...core.random import as_generator
from ...core.validate import as_weights, counted, whole_number
from ...families import Family, resolve_family
from ...inference import Draws, Inference, Problem, resolve_inference
from ...posterior import Posterior
from ...posterior.data import Data
from ...posterior.diagnostics import warn_if_unmixed
from ...posterior.partition.certainty import Certainty, certainty_of_shares
from ...priors import Prior, resolve_prior
from ...runs import Description
from ...tuning import Tuning, resolve_tuning
from ..estimator import Run, begin, save
from ..rows import Rows, column_names, read_new_rows, read_rows
from .closed_form import ClosedForm
from .predictive import ByPartition

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Draws that a predictive density is averaged over: beyond, the error is dominated by the chains' own.
PREDICTIVE_DRAWS = 100


class DPMixture(ClusterMixin, DensityMixin, Rows):
    """Mixture model whose number of clusters is inferred from the data.

    Parameters
    ----------
    family : str or family object
        What the data of one cluster look like: ``"auto"`` for tables with categories, counts or missing cells
        (each column is read off the data, see ``countless.families.Table``), ``"gaussian"`` (default),
        ``"diagonal-gaussian"``,
        ``"spherical-gaussian"``, ``"gaussian-known-covariance"``, ``"multinomial"``, ``"categorical"``,
        ``"bernoulli"``, ``"binomial"``, ``"poisson"``, ``"geometric"``, ``"exponential"``, or an object of
        ``countless.families`` with hyperparameters of your own.
    prior : str or prior object
        How rows fall into groups: ``"crp"`` (default), ``"pitman-yor"``, ``"finite-dirichlet"``,
        ``"mixture-of-finite"``, or an object of ``countless.priors``.
    inference : str or inference object
        How the posterior is found: ``"auto"`` (default: sampling, or variational for large problems), ``"gibbs"``,
        ``"uncollapsed"``, ``"blocked"`` and ``"single-site"`` (samplers that draw cluster parameters as well),
        ``"variational"``, ``"map"``, or an object of ``countless.inference``.
    random_state : None, int, Generator or RandomState
        Seed. The same seed gives the same draws whatever the number of threads.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.
    tune : None, str or tuning object
        Whether hyperparameters of the family are learned: None (default: they stay as given, or as set from the
        data), ``"empirical-bayes"``, ``"greedy"``, ``"cross-validation"``, ``"sample"`` (drawn with the clusters,
        for engines that sample), or an object of ``countless.tuning``.
    warm_start : bool
        Whether ``fit`` goes on with the chains of the last fit of the same table, so that 100 draws and then 100 more
        are the same as 200 at once. An interrupted fit is completed first. Engines without chains begin anew.

    Attributes
    ----------
    labels_ : array of int
        Consensus clustering: the partition of least expected variation of information to the draws, or the
        MAP partition. Numbered by first appearance.
    n_clusters_ : int
    posterior_ : Posterior
        Every draw: ``labels`` (chain, draw, row), ``n_clusters``, ``log_joint``, ``concentration``; ``parameters``
        of the clusters where the engine draws them, and the ``hyperparameters`` that were learned.
    family_, prior_, inference_ : the objects in use, with every hyperparameter set.
        Hyperparameters that were drawn have their posterior mean (of the logarithm) in ``family_``.
    certainty_ : Certainty
        Of each row: the ``probability`` of its cluster, the ``runner_up`` (-1: none) and its ``runner_up_probability``.
    concentration_ : float
        Concentration used with ``labels_`` for predictions: its posterior mean, or mode for MAP.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    >>> model = cl.DPMixture(random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict([[0.0, 0.0], [8.0, 8.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        family: str | Family = "gaussian",
        prior: str | Prior = "crp",
        inference: str | Inference = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        tune: str | Tuning | None = None,
        warm_start: bool = False,
    ) -> None:
        self.family = family
        self.prior = prior
        self.inference = inference
        self.random_state = random_state
        self.progress = progress
        self.tune = tune
        self.warm_start = warm_start

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Infer the clustering of the rows of ``X``; ``y`` is ignored.

        A fit that is interrupted (Ctrl-C) keeps the draws made so far, with a warning.

        Parameters
        ----------
        X : array
            Rows.
        sample_weight : array, optional
            How often each row counts; for engines that can, ``inference="variational"``.
        checkpoint : path, optional
            Folder in which the run is written down while it is made. Whatever ends the process, the same call, or
            ``countless.io.resume``, goes on from the last checkpoint, and the draws are those of a run that was never
            stopped. Where the folder holds the same run with fewer draws, it gets more; another run is refused.
        checkpoint_every : float
            Seconds between checkpoints of a chain.
        """
        rng = as_generator(self.random_state)
        family, rows = read_rows(self, X, resolve_family(self.family))
        weights = as_weights(sample_weight, len(rows))
        prior = resolve_prior(self.prior)
        family.check(rows)
        untuned = family.resolve(counted(rows, weights))
        self.prior_ = prior.resolve(len(rows))
        self.inference_ = resolve_inference(
            self.inference,
            len(rows),
            rows.shape[1],
            self.prior_.has_sticks,
            weights is not None,
            untuned.draws_missing(rows),
        )
        data = Data(rows, untuned.describe_columns(column_names(self)), untuned, self.prior_)
        return self._infer(begin(self, data, weights, rng, checkpoint, checkpoint_every))

    def _infer(self, run: Run) -> Self:
        """Find the posterior, or go on where a run stands."""
        data = run.description.data
        problem = Problem.of(data.rows, data.family, data.prior, run.description.sample_weight)
        self.inference_ = run.description.fitted["inference_"]
        found = run.found()
        if found is not None:
            self._take(found[0], run.description, problem, found[1])
            return self
        with run.recording() as recorder:
            draws = resolve_tuning(self.tune).run(
                problem, run.description.engine.recorded(recorder), run.generator(), self.progress
            )
            if draws.interrupted:
                warnings.warn(
                    f"the fit was interrupted: {draws.labels.shape[1]} draws of each of {draws.labels.shape[0]} chains "
                    f"are kept{run.advice}",
                    stacklevel=3,
                )
            self._take(draws, run.description, problem)
            run.finish(self, draws)
        if not draws.interrupted:
            warn_if_unmixed(self.posterior_, stacklevel=3)
        return self

    def _take(self, draws: Draws, description: Description, problem: Problem, labels: IntArray | None = None) -> None:
        """Hold what was found; the consensus ``labels`` may be known already."""
        # A copy: what the user does to X after the fit must not reach the predictions. A mixture in closed form needs
        # no rows for these, and has too many of them.
        data = description.data
        if draws.components is None:
            data = replace(data, rows=data.rows.copy())
        self._description = replace(description, data=data)
        self.posterior_ = Posterior.of(draws, data)
        factors = self.posterior_.typical_factors()
        self.family_ = data.family.with_tuned(factors)
        if labels is None:
            most = data.prior.max_clusters(len(data.rows))
            labels = self.posterior_.consensus(max_clusters=most) if draws.mode is None else draws.mode
        self.labels_ = labels
        self._certainty: Certainty | None = None
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.concentration_ = float(np.mean(draws.concentration))
        if draws.components is None:
            self._mixture: ByPartition | ClosedForm = ByPartition(
                data, self.family_, self.posterior_, self.labels_, self.concentration_, PREDICTIVE_DRAWS
            )
        else:
            self._mixture = ClosedForm.of(problem.tuned(factors), draws.components, self.n_clusters_)

    @property
    def certainty_(self) -> Certainty:
        """How sure the cluster of each row is: its probability, the runner-up and the probability of that.

        From the draws where there are any; for a single partition or an approximation, the probability of each
        cluster given the rows of all clusters.
        """
        if self._certainty is None:
            if self.posterior_.is_sampled:
                self._certainty = self.posterior_.certainty(self.labels_)
            else:
                shares = self._probabilities(self._description.data.rows)
                self._certainty = certainty_of_shares(self.labels_, shares[:, :-1])
        return self._certainty

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model, with every draw and the rows, into one file that ``countless.load`` reads.

        The file is JSON and plain arrays (see docs/runs.md); it is whole or absent, and replaces what was there.

        Examples
        --------
        >>> import tempfile
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     twin = cl.load(model.save(folder + "/model.npz"))
        >>> twin.predict([[0.05]]).tolist() == model.predict([[0.05]]).tolist()
        True
        """
        check_is_fitted(self)
        return save(self, path)

    def _new_rows(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return read_new_rows(self, X, self.family_)

    def predict(self, X: ArrayLike, new_clusters: bool = False) -> IntArray:
        """Most probable consensus cluster of each row.

        Parameters
        ----------
        X : array
            New rows.
        new_clusters : bool
            Give -1 to a row that a cluster of its own explains better (the MAP assignment of Raykov et al.
            2016, section 3.2).
        """
        rows = self._new_rows(X)
        scores = self._mixture.log_weighted(rows)
        if not new_clusters:
            return np.argmax(scores[:, :-1], axis=1)
        best = np.argmax(scores, axis=1)
        return np.where(best == self.n_clusters_, -1, best)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each consensus cluster, one column each; the last column is for a new cluster."""
        return self._probabilities(self._new_rows(X))

    def _probabilities(self, rows: FloatArray) -> FloatArray:
        scores = self._mixture.log_weighted(rows)
        return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Log of the predictive density of each row, averaged over draws of the posterior."""
        rows = self._new_rows(X)
        return self._mixture.log_density(rows)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log predictive density of the rows; ``y`` is ignored."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw rows from the posterior predictive of the consensus clustering.

        Returns
        -------
        rows : array (n_samples, D)
        labels : array of int
            Consensus cluster of each row, -1 for a new one.
        """
        check_is_fitted(self)
        n_samples = whole_number("n_samples", n_samples, 1)
        return self._mixture.sample(n_samples, as_generator(self.random_state))
