"""InfiniteHMM: a hidden Markov model whose number of states is inferred, behind the scikit-learn interface."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...chains.draws import Draws
from ...chains.engine import Inference
from ...chains.fields import Field
from ...core.random import as_generator
from ...core.validate import by_size, choose, whole_number
from ...families.base import Family, resolve_family
from ...families.gaussian.notes import with_notes
from ...families.table.regroup import regrouped
from ...families.table.table import Table
from ...partitions.seats import FloatArray, IntArray
from ...posterior.partition.certainty import Certainty, certainty_of_shares
from ...runs import register_estimator
from ...transitions import Transitions, resolve_transitions
from ...transitions.contract import first_steps
from ..command import Command
from ..estimator import Arrays, RunEstimator
from ..rows import Rows, column_names, read_new_rows, read_rows
from ..sequences import Sequences, as_lengths, lengths_of
from .command import COMMAND
from .data import SequenceData
from .engines.choice import resolve_inference
from .posterior import SequencePosterior, bound_reached, warn_of_bound
from .predictive import Fitted, Forecast, Predictor
from .row_weight import resolve_row_weight

if TYPE_CHECKING:
    import pandas as pd

    from ...report import Page

# Draws that a predictive density is averaged over.
PREDICTIVE_DRAWS = 100


@register_estimator("InfiniteHMM")
class InfiniteHMM(ClusterMixin, Rows, RunEstimator):
    """Hidden Markov model whose number of states is inferred from the sequences.

    Parameters
    ----------
    family : str or family object
        What the rows of one state look like; as for ``DPMixture``: ``"gaussian"`` (default), ``"poisson"``, ``"auto"``
        for tables with categories, counts or missing cells, or an object of ``countless.families``.
    transitions : str or transition law
        How states follow each other: ``"sticky-hdp"`` (default; states tend to last, how long is learned), ``"hdp"``,
        or an object of ``countless.transitions``.
    inference : str or inference object
        How the posterior is found: ``"auto"`` (default: sampling, or variational for long sequences), ``"gibbs"``,
        ``"beam"``, ``"weak-limit"``, ``"variational"``, ``"map"``, or an object of ``countless.inference``.
    row_weight : float or "auto"
        What each row counts for, at most 1. Where rows of one state hold on to the rows before them, as positions of a
        movement do, they say less than as many independent rows, and each counted as one makes far too many states.
        ``"auto"`` (default) finds a weight for such sequences by what is predicted of stretches left out, and leaves
        others at 1.
    random_state : None, int, Generator or RandomState
        Seed. The same seed gives the same draws whatever the number of threads.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.
    warm_start : bool
        Whether ``fit`` continues the chains of the last fit of the same sequences.

    Attributes
    ----------
    labels_ : array of int (step,)
        State of each step, all sequences one after the other: the consensus of the draws, numbered by the number of
        steps, the largest first.
    n_states_ : int
    posterior_ : SequencePosterior
        Every draw: ``labels`` (chain, draw, step), ``n_states``, ``log_joint``, and the numbers of the transition law
        that were learned.
    transition_matrix_ : array (state, state + 1)
        Mean probabilities of the next state, given ``labels_``; the last column is any new state.
    start_probabilities_ : array (state + 1,)
        The same for the first state of a sequence.
    expected_durations_ : array (state,)
        Mean number of steps that a visit to each state lasts.
    state_parameters_ : DataFrame
        What each state looks like: its posterior mode, by column, in the user's units.
    certainty_ : Certainty
        Of each step: the ``probability`` of its state, the ``runner_up`` (-1: none) and its ``runner_up_probability``.
    family_, transitions_, inference_ : the objects in use, with every number set.
        Numbers that were drawn have their posterior mean.
    row_weight_ : float
    bound_reached_ : float or None
        Share of the draws that use every state that ``WeakLimit`` allows; None for other engines.
    lengths_ : array of int (sequence,)
    sequence_ : str or None
        Column of the table that had the ids of the sequences, where the command line was given one.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    References
    ----------
    Beal, Ghahramani & Rasmussen 2002, *The infinite hidden Markov model*; Fox et al. 2011, *A sticky HDP-HMM*;
    Raykov, Boukouvalas & Little 2016, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 40), rng.normal(8, 1, 40), rng.normal(0, 1, 40)])[:, None]
    >>> model = cl.InfiniteHMM(random_state=0).fit(X)
    >>> model.n_states_, model.labels_[[0, 60, 119]].tolist()
    (2, [0, 1, 0])
    >>> model.predict([[0.1], [0.3], [7.9]]).tolist()
    [0, 0, 1]
    """

    data_class: ClassVar[Any] = SequenceData
    known_before: ClassVar[tuple[str, ...]] = (*RunEstimator.known_before, "lengths_", "sequence_")
    command: ClassVar[Command | None] = COMMAND
    result_fields: ClassVar[tuple[Field, ...]] = (Field("labels", "labels", ("step",), once=True),)

    posterior_: SequencePosterior

    def __init__(
        self,
        family: str | Family = "gaussian",
        transitions: str | Transitions = "sticky-hdp",
        inference: str | Inference = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        warm_start: bool = False,
        row_weight: float | str = "auto",
    ) -> None:
        self.family = family
        self.transitions = transitions
        self.inference = inference
        self.random_state = random_state
        self.progress = progress
        self.warm_start = warm_start
        self.row_weight = row_weight

    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Infer the states of the steps of ``X``.

        Parameters
        ----------
        X : array
            Rows of one sequence, or of several, one after the other.
        y : array, optional
            Ignored where it has an entry for each row, as in scikit-learn's pipelines; else the lengths, so that
            ``fit(X, lengths)`` is what it is in hmmlearn.
        lengths : array of int, optional
            Lengths of the sequences; by default there is one.
        groups : array, optional
            Instead of lengths, an id for each row; rows of a sequence stand together.
        checkpoint, checkpoint_every
            As for ``DPMixture.fit``.
        """
        rng = as_generator(self.random_state)
        self.sequence_ = None
        if isinstance(X, Sequences):
            X, lengths, self.sequence_ = X
        family, rows = read_rows(self, X, resolve_family(self.family))
        self.lengths_ = lengths_of(y, lengths, groups, len(rows))
        law = resolve_transitions(self.transitions).resolve()
        family.check(rows)
        if isinstance(family, Table):
            family = regrouped(family, [], {}, "columns of sequences are independent given the state")
        left_open = family.left_open()
        untuned = family.resolve(rows)
        width, missing = untuned.layout().statistics, untuned.draws_missing(rows)
        self.inference_ = resolve_inference(self.inference, len(rows), width, law, missing)
        columns = untuned.describe_columns(column_names(self))
        if left_open:
            columns = with_notes(columns, untuned, rows)
        data = SequenceData(rows, columns, untuned, law, self.lengths_, left_open)
        data = replace(data, row_weight=resolve_row_weight(self.row_weight, data.problem(), rng))
        self._fit(data, checkpoint, checkpoint_every, rng)
        warn_of_bound(self.bound_reached_, self.inference_)
        return self

    def _accept(self, problem: Any, draws: Draws, data: SequenceData, result: Arrays | None) -> None:
        data = replace(data, rows=data.rows.copy())
        problem = data.problem()
        self._description = replace(self._description, data=data)
        self.posterior_ = SequencePosterior(draws, data)
        if result is not None:
            self.labels_ = result["labels"].astype(np.int64)
        elif self.posterior_.mode is not None:
            self.labels_ = by_size(self.posterior_.mode)
        else:
            self.labels_ = self.posterior_.consensus()
        self.n_states_ = int(self.labels_.max()) + 1
        self.row_weight_ = data.row_weight
        law = problem.transitions
        self.transitions_ = law.with_numbers({name: float(draws[name].mean()) for name in law.laws})
        factors = self.posterior_.typical_factors()
        self.family_ = problem.tuned(factors).family_in_units() if factors else data.family
        self._predictor = Predictor(problem, draws, self.labels_, self.transitions_, factors)
        chain = self._predictor.consensus.chain
        self.start_probabilities_ = chain.start
        self.transition_matrix_ = chain.transition[:-1]
        self.expected_durations_ = 1.0 / (1.0 - np.diagonal(self.transition_matrix_))
        self._certainty: Certainty | None = None

    def _result(self) -> Arrays:
        return {"labels": self.labels_}

    def report_page(self, title: str | None = None, command: str | None = None, most_rows: int = 20_000) -> Page:
        """The page that ``countless.report`` writes.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> [section.name for section in model.report_page().sections][:3]
        ['answer', 'states', 'what']
        """
        from .report import report_page  # matplotlib is imported when it is needed

        check_is_fitted(self, "posterior_")
        return report_page(self, title, command)

    def _headline(self) -> str:
        from ...core.text import count

        return f"{count(self.n_states_, 'state')} in {count(len(self.labels_), 'step')}"

    @property
    def bound_reached_(self) -> float | None:
        """Share of the draws that use every state that ``WeakLimit`` allows."""
        check_is_fitted(self, "posterior_")
        return bound_reached(self.inference_, self.posterior_)

    @property
    def certainty_(self) -> Certainty:
        """How sure each step is of its state."""
        if self._certainty is None:
            if self.posterior_.is_sampled:
                self._certainty = self.posterior_.certainty(self.labels_)
            else:
                shares = self._smoothed(self._description.data.rows, self.lengths_)[:, :-1]
                self._certainty = certainty_of_shares(self.labels_, shares)
        return self._certainty

    @property
    def state_parameters_(self) -> pd.DataFrame:
        """What each state looks like."""
        from .parameters import state_parameters

        check_is_fitted(self, "posterior_")
        return state_parameters(self._predictor.consensus, self._description.data, self.labels_)

    # --- new sequences ---------------------------------------------------------------------------------------------

    def _new_steps(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> tuple[FloatArray, IntArray]:
        check_is_fitted(self, "posterior_")
        if isinstance(X, Sequences):
            X, lengths = X.table, X.lengths
        rows = read_new_rows(self, X, self.family_)
        return rows, as_lengths(lengths, groups, len(rows))

    def _scores(self, rows: FloatArray, lengths: IntArray) -> tuple[Fitted, FloatArray, Any]:
        from .predictive import local_rows

        fitted = self._predictor.consensus
        local, _ = local_rows(fitted.problem, rows)
        return fitted, fitted.weighted_scores(local), first_steps(lengths, len(rows))

    def _smoothed(self, rows: FloatArray, lengths: IntArray) -> FloatArray:
        fitted, scores, first = self._scores(rows, lengths)
        return fitted.chain.smoothed(scores, first)

    def predict(
        self,
        X: Any,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        method: str = "viterbi",
        new_states: bool = False,
    ) -> IntArray:
        """States of the steps of new sequences.

        Parameters
        ----------
        X, lengths, groups
            As for ``fit``.
        method : {"viterbi", "smoothed"}
            The most probable path, or the most probable state of each step.
        new_states : bool
            Whether a step may be in a state that the fit has not seen, -1.
        """
        choose("method", method, {"viterbi": None, "smoothed": None})
        rows, lengths = self._new_steps(X, lengths, groups)
        fitted, scores, first = self._scores(rows, lengths)
        if not new_states:
            scores[:, -1] = -np.inf
        if method == "viterbi":
            labels = fitted.chain.best(scores, first)[0]
        else:
            labels = np.argmax(fitted.chain.smoothed(scores, first), axis=1)
        return np.where(labels == self.n_states_, -1, labels)

    def predict_proba(self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None) -> FloatArray:
        """Probability of each state (columns) of each step given its whole sequence; the last column is a new state."""
        return self._smoothed(*self._new_steps(X, lengths, groups))

    def filter(self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None) -> FloatArray:
        """Probability of each state (columns) of each step given the steps so far; the last column is a new state."""
        rows, lengths = self._new_steps(X, lengths, groups)
        fitted, scores, first = self._scores(rows, lengths)
        return fitted.chain.filtered(scores, first)[0]

    def score_samples(self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None) -> FloatArray:
        """Log predictive density of each step given those before it in its sequence, averaged over draws."""
        rows, lengths = self._new_steps(X, lengths, groups)
        return self._predictor.log_density(rows, first_steps(lengths, len(rows)), PREDICTIVE_DRAWS)

    def score(
        self,
        X: Any,
        y: Any = None,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Mean of ``score_samples``; ``y`` as for ``fit``."""
        if not isinstance(X, Sequences):
            lengths, groups = lengths_of(y, lengths, groups, len(X)), None
        return float(np.mean(self.score_samples(X, lengths, groups)))

    def forecast(
        self, X: ArrayLike | None = None, steps: int = 1, n_draws: int = 1000, random_state: Any = 0
    ) -> Forecast:
        """Rows that may come after a sequence.

        Parameters
        ----------
        X : array, optional
            The sequence so far; by default the last one of the fit.
        steps : int
            How many steps.
        n_draws : int
            Paths into the future, from draws of the posterior in turn, with states that are new among them.
        random_state : None, int or Generator

        Returns
        -------
        Forecast
            ``draws`` (draw, step, column), ``mean``, ``quantiles(levels)``.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.InfiniteHMM(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]] * 3)
        >>> model.forecast(steps=2).quantiles([0.05, 0.95]).shape
        (2, 2, 1)
        """
        check_is_fitted(self, "posterior_")
        whole_number("steps", steps, 1)
        whole_number("n_draws", n_draws, 1)
        rows = None if X is None else self._new_steps(X)[0]
        return self._predictor.forecast(rows, steps, n_draws, as_generator(random_state))

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw a sequence of so many steps from the fitted model.

        Returns
        -------
        rows : array (n_samples, D)
        labels : array of int
            State of each step; -1 for a state that the fit has not seen.
        """
        check_is_fitted(self, "posterior_")
        rng = as_generator(self.random_state)
        fitted = self._predictor.consensus
        path = fitted.chain.simulate(whole_number("n_samples", n_samples, 1), rng)
        return fitted.emit(path, rng), np.where(path == self.n_states_, -1, path)
