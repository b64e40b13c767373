"""DPMixture: a mixture whose number of clusters is inferred, behind the scikit-learn interface."""

from __future__ import annotations

import copy
import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ...chains.draws import APPROXIMATION, Draws
from ...chains.engine import Inference
from ...chains.fields import Field
from ...chains.watch import Watch
from ...core.random import as_generator
from ...core.validate import as_labels, as_weights, counted
from ...families.base import Family
from ...families.gaussian.notes import with_notes
from ...partitions.seats import FloatArray, IntArray
from ...posterior.held_out import HeldOut
from ...posterior.partition.certainty import Certainty
from ...priors import Prior, resolve_prior
from ...runs import register_estimator
from ...tuning import TUNINGS, Tuning, resolve_tuning
from ..command import Command
from ..estimator import Arrays, RunEstimator
from ..rows import (
    Mixture,
    column_names,
    family_for,
    read_rows,
    row_names,
    warn_if_implausible,
    warn_of_cost,
)
from .answers import certainty, held_out, point_estimate, predictive, relabelled
from .command import COMMAND
from .data import MixtureData
from .engines.choice import resolve_inference
from .posterior import MixturePosterior
from .shapes import choose_shapes

if TYPE_CHECKING:
    from ...report import Page

# Scale of a column below which variances in the user's units would be zero.
SMALLEST_UNIT = 1e-150


@register_estimator("DPMixture")
class DPMixture(Mixture, RunEstimator):
    """Mixture model whose number of clusters is inferred from the data.

    Parameters
    ----------
    family : str or family object, optional
        What the data of one cluster look like: ``"auto"`` for tables with categories, counts or missing cells
        (each column is read off the data, see ``countless.families.Table``), ``"gaussian"``,
        ``"diagonal-gaussian"``, ``"spherical-gaussian"``, ``"gaussian-known-covariance"``, ``"multinomial"``,
        ``"categorical"``, ``"bernoulli"``, ``"binomial"``, ``"poisson"``, ``"geometric"``, ``"exponential"``, any
        other name in ``countless.families.FAMILIES``, or an object of ``countless.families`` with hyperparameters
        of your own. Default: ``"auto"`` for frames and whatever holds text or columns of nothing but 0 and 1,
        ``"gaussian"`` for other arrays of numbers.
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
        How hyperparameters of the family are learned: ``"learn"`` (default: those that you leave open start from the
        data, have weak hyperpriors and are part of the posterior), None (they stay as set from the data), or one factor
        for each by ``"sample"``, ``"empirical-bayes"``, ``"greedy"``, ``"cross-validation"``, or an object of
        ``countless.tuning``.
    warm_start : bool
        Whether ``fit`` continues the chains of the last fit of the same table, so that 100 draws and then 100 more
        are the same as 200 at once. An interrupted fit is completed first. Engines without chains start again.

    Attributes
    ----------
    labels_ : array of int
        Consensus clustering, ``posterior_.consensus()``: the partition of least expected variation of information to
        the draws, in which rows that waver are where they are most of the time; or the MAP partition. Numbered by size
        (the sum of the weights of its rows), the largest first.
    n_clusters_ : int
    posterior_ : MixturePosterior
        Every draw: ``labels`` (chain, draw, row), ``n_clusters``, ``log_joint``, ``concentration``; ``parameters``
        of the clusters where the engine draws them, and the ``hyperparameters`` that were learned.
    family_, prior_, inference_ : the objects in use, with every hyperparameter set.
        Hyperparameters that were drawn have their posterior mean (of the logarithm) in ``family_``.
    certainty_ : Certainty
        Of each row: the ``probability`` of its cluster, the ``runner_up`` (-1: none) and its ``runner_up_probability``.
    concentration_ : float
        Concentration used with ``labels_`` for predictions: its posterior mean, or mode for MAP.
    is_relabelled_ : bool
        Whether ``labels_`` were given to ``relabel`` in place of the clusters that were found.
    held_out_ : HeldOut or None
        How well each row is predicted from all others.
    choice_ : list of dict
        What ``family="auto"`` compared for the measurements of a table, if anything: each ``shape`` with its
        ``log_density`` of rows that were left out, its ``gain`` over the first with the ``standard_error`` of that, the
        clusters of its short fit, and whether it was ``taken``.
    row_names_ : list of str or None
        What rows are called: the index of a frame, or the first column that was read as names.
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

    data_class: ClassVar[Any] = MixtureData
    known_before: ClassVar[tuple[str, ...]] = (*RunEstimator.known_before, "prior_", "choice_")
    command: ClassVar[Command | None] = COMMAND
    result_fields: ClassVar[tuple[Field, ...]] = (
        Field("labels", "labels", ("row",), once=True),
        # The clusters that were found, where ``labels`` are others.
        Field("found", "labels", ("row",), once=True, optional=True),
    )

    posterior_: MixturePosterior

    def __init__(
        self,
        family: str | Family | None = None,
        prior: str | Prior = "crp",
        inference: str | Inference = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        tune: str | Tuning | None = "learn",
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
            ``countless.io.resume``, continues from the last checkpoint, and the draws are those of a run that was never
            stopped. Where the folder holds the same run with fewer draws, it gets more; another run is refused.
        checkpoint_every : float
            Seconds between checkpoints of a chain.
        """
        rng = as_generator(self.random_state)
        family, rows = read_rows(self, X, family_for(self.family, X))
        warn_if_implausible(self, family, rows)
        weights = as_weights(sample_weight, len(rows))
        prior = resolve_prior(self.prior)
        family.check(rows)
        self.prior_ = prior.resolve(len(rows))
        family, self.choice_ = choose_shapes(family, rows, self.prior_, rng, self.progress)
        left_open = family.left_open()
        untuned = family.resolve(counted(rows, weights))
        self.inference_ = resolve_inference(
            self.inference,
            len(rows),
            untuned,
            self.prior_,
            weights is not None,
            untuned.draws_missing(rows),
        )
        warn_of_cost(untuned, rows.shape[1])
        self._warn_of_weights(untuned, rows, weights)
        columns = untuned.describe_columns(column_names(self))
        if left_open:
            columns = with_notes(columns, untuned, rows)
        names = row_names(X, family)
        data = MixtureData(rows, columns, untuned, self.prior_, weights, left_open, row_names=names)
        return self._fit(data, checkpoint, checkpoint_every, rng)

    def _warn_of_weights(self, family: Family, rows: FloatArray, weights: FloatArray | None) -> None:
        """Warn where weights are why the posterior is not sampled."""
        if weights is None or self.inference != "auto":
            return
        otherwise = resolve_inference("auto", len(rows), family, self.prior_, False, False)
        if type(otherwise) is not type(self.inference_):
            warnings.warn(
                f"sample_weight: samplers count every row once, so that these rows are fitted by "
                f"{type(self.inference_).__name__}, without draws of the posterior; omit sample_weight to sample",
                stacklevel=3,
            )

    def _run(self, problem: Any, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        return resolve_tuning(self.tune).run(problem, engine, rng, watch)

    def _further(self) -> dict[str, Any]:
        tuning = resolve_tuning(self.tune)
        return {"tune": tuning if type(tuning) in TUNINGS.values() else None}

    def _accept(self, problem: Any, draws: Draws, data: MixtureData, result: Arrays | None) -> None:
        # A copy: what the user does to X after the fit must not reach the predictions. An approximation needs no rows
        # for these, and has too many of them.
        if draws.kind is not APPROXIMATION:
            data = replace(data, rows=data.rows.copy())
            problem = data.problem()
            self._description = replace(self._description, data=data)
        self.posterior_ = MixturePosterior(draws, data)
        self.family_ = _learned_family(problem, data, self.posterior_.typical_factors())
        result = {"labels": point_estimate(self.posterior_, problem)} if result is None else result
        self._found = result.get("found", result["labels"]).astype(np.int64)
        self.concentration_ = float(np.mean(draws["concentration"]))
        self._held_out: HeldOut | None = None
        self._show(problem, result["labels"].astype(np.int64))

    def _show(self, problem: Any, labels: IntArray) -> None:
        """Make these labels those of the model: what it says of clusters is about them from now on."""
        draws, posterior, found = self.posterior_.draws, self.posterior_, self._found
        self.labels_, self.n_clusters_ = labels, int(labels.max()) + 1
        self._certainty: Certainty | None = None
        self.is_relabelled_ = not np.array_equal(labels, found)
        if self.is_relabelled_:
            self._mixture = relabelled(problem, draws, posterior, found, labels)
        else:
            self._mixture = predictive(problem, draws, posterior, labels)

    def relabel(self, labels: ArrayLike) -> Self:
        """The same fit under labels of one's own, such as clusters that were joined by hand.

        Summaries, certainty, report, figures and predictions of what is returned follow the labels; this model stays as
        it is. A cluster that was joined of several is still their mixture.

        Parameters
        ----------
        labels : array
            A label for each row. Whole numbers 0, 1, 2, ... stay, others are numbered in their order.

        Examples
        --------
        >>> import numpy as np
        >>> import countless as cl
        >>> X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [8.0], [24.0]], 30, axis=0)
        >>> model = cl.DPMixture(inference="map", random_state=0).fit(X)
        >>> mine = model.relabel(np.repeat(["near", "far"], [60, 30]))
        >>> model.n_clusters_, mine.n_clusters_, mine.predict([[0.0, 0.0], [24.0, 24.0]]).tolist()
        (3, 2, [1, 0])
        """
        check_is_fitted(self)
        as_labels(labels, n_rows=len(self.labels_))
        mine = copy.copy(self)
        mine._show(self._description.data.problem(), np.unique(labels, return_inverse=True)[1].astype(np.int64))
        return mine

    def _result(self) -> Arrays:
        found = {"found": self._found} if self.is_relabelled_ else {}
        return {"labels": self.labels_, **found}

    @property
    def certainty_(self) -> Certainty:
        """How sure the cluster of each row is: its probability, the runner-up and the probability of that.

        From the draws where there are any; for a single partition or an approximation, the probability of each
        cluster given the rows of all clusters.
        """
        if self._certainty is None:
            sampled = self.posterior_.is_sampled
            shares = np.empty((0, 0)) if sampled else self._probabilities(self._description.data.rows)[:, :-1]
            self._certainty = certainty(self.posterior_, self.labels_, shares)
        return self._certainty

    @property
    def held_out_(self) -> HeldOut | None:
        """How well the fit predicts each row from all others (``compare`` says which of several fits does best).

        None where rows have weights.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> str(model.held_out_)[:61]
        'log density of a row given the others, given the clusters fou'
        """
        if self._held_out is None:
            self._held_out = held_out(self.posterior_, self._description.data.problem())
        return self._held_out

    def report_page(self, title: str | None = None, command: str | None = None, most_rows: int = 20_000) -> Page:
        """The page that ``countless.report`` writes, with at most ``most_rows`` rows.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> [section.name for section in model.report_page().sections][:2]
        ['answer', 'rows']
        """
        from .report import report_page  # matplotlib is imported when it is needed

        check_is_fitted(self)
        return report_page(self, title, command, most_rows)

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


def _learned_family(problem: Any, data: MixtureData, offsets: Any) -> Family:
    """The family with learned hyperparameters at these offsets, in the user's units.

    Where the squares of these units are no numbers, those that have a unit cannot be told.
    """
    if not offsets or not (problem.scale.min() > SMALLEST_UNIT and problem.scale.max() < 1.0 / SMALLEST_UNIT):
        return data.family
    return problem.tuned(offsets).family_in_units()
