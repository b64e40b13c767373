"""MixedEffects: regression with coefficients of each subject, whose distribution is a mixture of unknown size."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...chains.draws import Draws
from ...chains.engine import Inference, engines_for
from ...chains.fields import Field
from ...core.random import as_generator
from ...core.validate import by_size, choose, whole_number
from ...families import Family
from ...posterior.partition.certainty import Certainty, certainty_of_shares
from ...priors import Gamma, Prior
from ...runs import register_estimator
from ..command import Command
from ..estimator import Arrays, RunEstimator
from . import engines as _engines  # noqa: F401  they register themselves
from .command import COMMAND
from .data import MixedData
from .fitting import read_new_visits, read_visits, scores_of_folds
from .posterior import MixedPosterior
from .predictive import Given
from .tables import cluster_table, effects_table, fixed_table, summary_table
from .visits.formula import Formula
from .visits.reading import read_outcomes

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Short names of the engines.
ENGINES = {"gibbs": "mixed-effects-gibbs", "map": "mixed-effects-map"}


@register_estimator("MixedEffects")
class MixedEffects(RunEstimator):
    r"""Linear mixed effects whose distribution over subjects is a mixture with an unknown number of clusters.

    Each subject has regression coefficients of its own, drawn from a mixture of Gaussians under any prior on
    partitions: subjects of one cluster have similar trajectories, and how many clusters there are is inferred.

    .. math:: y_{ij} = x_{ij}' \beta_i + f_{ij}' \gamma + \epsilon_{ij}, \qquad \beta_i \sim P, \quad P \sim
    \text{mixture}

    Parameters
    ----------
    family : str or family object
        Distribution of the effects of one cluster: ``"gaussian"`` (default), ``"diagonal-gaussian"``,
        ``"spherical-gaussian"``, ``"gaussian-known-covariance"``, or an object of ``countless.families``.
        Hyperparameters that are left open are learned, from where the effects of one Gaussian population would be.
    prior : str or prior object
        How subjects fall into groups, as for ``DPMixture``.
    noise : float or Gamma, optional
        Variance of the outcomes about the trajectory of their subject: a number, or the law of its inverse. Default:
        it is learned, with a law worth two visits (of each cluster one, with ``cluster_noise``).
    inference : str or inference object
        ``"gibbs"`` (``"auto"`` is the same), ``"map"``, or an object, such as
        ``countless.models.mixed_effects.engines.gibbs.MixedEffectsGibbs(chains=2)``.
    random_state : None, int or Generator
    progress : bool, optional
        Whether to show progress; default, on a terminal.
    fixed_variance : float or array, optional
        Prior variance of each fixed effect, about zero. Default: ten deviations of the outcomes per deviation of its
        column, squared.
    cluster_noise : bool
        Whether each cluster has a variance of the noise of its own; ``noise`` is then the law of each.
    formula : str, optional
        Such as ``"y ~ age + (1 + time | subject)"``: then ``fit`` and ``predict`` take one table. In brackets is the
        design of the effects of each subject; columns outside that are also inside are left out, since the effects of
        subjects have a mean of their own. Needs the package formulaic.

    Attributes
    ----------
    labels_ : array of int
        Consensus cluster of each subject, numbered by size, in the order of ``subjects_``.
    subjects_ : array
        Names of the subjects, in order of first appearance.
    n_clusters_ : int
    posterior_ : MixedPosterior
    effects_ : DataFrame
        Effects of each subject: mean, deviation and 95% interval.
    fixed_effects_ : DataFrame
        The same of the fixed effects.
    cluster_effects_ : DataFrame
        For each cluster its size, and mean, 95% interval and spread of each effect over its subjects; with
        ``cluster_noise`` also mean and 95% interval of the variance of its noise.
    noise_ : float
        Variance of the noise, its posterior mean; over all visits, where clusters have one each.
    certainty_ : Certainty
        Of each subject, as for ``DPMixture``.
    concentration_ : float
    family_, prior_, inference_ : the objects in use.

    References
    ----------
    Kleinman and Ibrahim 1998, *A semiparametric Bayesian approach to the random effects model*, Biometrics 54.
    Raykov, Boukouvalas and Little 2016, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> subject, time = np.repeat(np.arange(40), 5), np.tile(np.arange(5.0), 40)
    >>> slope = np.where(subject < 20, 0.0, 4.0)
    >>> y = 1.0 + slope * time + rng.normal(size=200)
    >>> model = cl.MixedEffects(random_state=0).fit(np.column_stack([np.ones(200), time]), y, subject)
    >>> model.n_clusters_
    2
    >>> model.predict([[1.0, 10.0]], [39]).round(-1).tolist()
    [40.0]
    """

    data_class: ClassVar[Any] = MixedData
    known_before: ClassVar[tuple[str, ...]] = (*RunEstimator.known_before, "prior_", "levels_")
    command: ClassVar[Command | None] = COMMAND
    result_fields: ClassVar[tuple[Field, ...]] = (Field("labels", "labels", ("subject",), once=True),)

    posterior_: MixedPosterior

    def __init__(
        self,
        family: str | Family = "gaussian",
        prior: str | Prior = "crp",
        noise: float | Gamma | None = None,
        inference: str | Inference = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        fixed_variance: Any = None,
        cluster_noise: bool = False,
        formula: str | None = None,
    ) -> None:
        self.family = family
        self.prior = prior
        self.noise = noise
        self.inference = inference
        self.random_state = random_state
        self.progress = progress
        self.fixed_variance = fixed_variance
        self.cluster_noise = cluster_noise
        self.formula = formula

    @classmethod
    def from_formula(cls, formula: str, frame: pd.DataFrame, **settings: Any) -> Self:
        """Fit a formula to a table; ``settings`` are those of the constructor."""
        return cls(formula=formula, **settings).fit(frame)

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        fixed: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Infer effects and clusters of subjects.

        Parameters
        ----------
        X : array or DataFrame (visit, D)
            Design of the effects of each subject, with a column of ones for an intercept; with a ``formula``, the
            table.
        y : array (visit,)
            Outcomes; visits whose outcome is NaN are left out.
        groups : array (visit,)
            Subject of each visit; numbers or text, in any order.
        fixed : array or DataFrame (visit, F), optional
            Design of the effects that all subjects share. The means of the effects in ``X`` are free, so that this
            needs no intercept.
        checkpoint, checkpoint_every
            As for ``DPMixture``.
        """
        rng = as_generator(self.random_state)
        X, y, groups, fixed = self._tables(X, y, groups, fixed)
        data = self._read(X, y, groups, fixed)
        self.prior_ = data.prior
        self.inference_ = resolve_engine(self.inference)
        return self._fit(data, checkpoint, checkpoint_every, rng)

    def _tables(self, X: Any, y: Any, groups: Any, fixed: Any) -> tuple[Any, Any, Any, Any]:
        """What a formula makes of a table; without one, what was given."""
        self.levels_: dict[str, list[str]] = {}
        if self.formula is None:
            if y is None:
                raise ValueError("y must hold the outcome of each visit, got None")
            return X, y, groups, fixed
        if y is not None or groups is not None or fixed is not None or not hasattr(X, "columns"):
            raise ValueError("X must be a DataFrame, and y, groups and fixed are left out, where there is a formula")
        formula = Formula.parse(self.formula)
        outcomes, subjects = formula.outcomes(X), formula.groups(X)
        self.levels_ = formula.levels(X)
        random, shared = formula.designs(X, self.levels_)
        return random, outcomes, subjects, shared

    def _read(self, X: Any, y: Any, groups: Any, fixed: Any) -> MixedData:
        self.n_features_in_, data = read_visits(self, X, y, groups, fixed)
        return data

    def _accept(self, problem: Any, draws: Draws, data: MixedData, result: Arrays | None) -> None:
        self.posterior_ = MixedPosterior(draws, data)
        self.subjects_ = data.subjects
        if result is not None:
            self.labels_ = result["labels"].astype(np.int64)
        elif draws.kind.has_probabilities:
            self.labels_ = self.posterior_.consensus()
        else:
            self.labels_ = by_size(draws["labels"][0, 0].astype(np.int64))
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.concentration_ = float(np.mean(draws["concentration"]))
        self.noise_ = float(np.mean(draws["noise"]))
        log_factors = {name: logs.mean(axis=(0, 1)) for name, logs in draws.group("log_factors").items()}
        family = problem.family.with_tuned(log_factors) if log_factors else problem.family
        self.family_ = problem.units.out_of(family)
        self.feature_names_ = data.effect_names
        for name in ("_given", "effects_", "fixed_effects_", "cluster_effects_", "certainty_", "_effect_draws"):
            self.__dict__.pop(name, None)

    def _result(self) -> Arrays:
        return {"labels": self.labels_}

    @cached_property
    def _given(self) -> Given:
        return Given.of(self.posterior_)

    # --- what was found ---------------------------------------------------------------------------------------------

    @cached_property
    def certainty_(self) -> Certainty:
        """How sure the cluster of each subject is."""
        check_is_fitted(self, "posterior_")
        if self.posterior_.is_sampled:
            return self.posterior_.certainty(self.labels_)
        return certainty_of_shares(self.labels_, np.eye(self.n_clusters_)[self.labels_])

    @cached_property
    def _effect_draws(self) -> FloatArray:
        return self.posterior_.effects(400, 0)

    @cached_property
    def effects_(self) -> pd.DataFrame:
        """Effects of each subject: mean, deviation and 95% interval, with columns (effect, statistic)."""
        check_is_fitted(self, "posterior_")
        return effects_table(self)

    @cached_property
    def fixed_effects_(self) -> pd.DataFrame:
        """Fixed effects: mean, deviation and 95% interval."""
        check_is_fitted(self, "posterior_")
        return fixed_table(self)

    @cached_property
    def cluster_effects_(self) -> pd.DataFrame:
        """Size of each cluster, and mean, 95% interval and spread of the effects of its subjects."""
        check_is_fitted(self, "posterior_")
        return cluster_table(self)

    def summary(self) -> pd.DataFrame:
        """Means of the effects over subjects, fixed effects, deviations of effects over subjects, and noise, one per
        line.

        For readers of statsmodels: "mean" are its fixed effects, "sd of" the roots of its variance components.

        Examples
        --------
        >>> import numpy as np
        >>> import countless as cl
        >>> y = np.repeat([0.0, 0.1, 0.2, 0.3], 3) + np.tile([0.0, 0.1, -0.1], 4)
        >>> model = cl.MixedEffects(inference="map", random_state=0).fit(np.ones((12, 1)), y, np.repeat(range(4), 3))
        >>> model.summary().index.tolist()
        ['mean of X 0', 'sd of X 0', 'sd of noise']
        """
        check_is_fitted(self, "posterior_")
        return summary_table(self)

    # --- new visits -------------------------------------------------------------------------------------------------

    def _new(self, X: Any, groups: Any, fixed: Any) -> tuple[FloatArray, FloatArray, IntArray]:
        """Designs of new visits, and their subjects: numbers of known ones, or -1, -2, ... for each new one."""
        check_is_fitted(self, "posterior_")
        return read_new_visits(self, X, groups, fixed)

    def predict(
        self, X: Any, groups: Any = None, fixed: Any = None, interval: float | None = None, n_draws: int = 1000
    ) -> Any:
        """Outcomes that are expected at new visits.

        Parameters
        ----------
        X : array (visit, D)
            Design of the effects; with a formula, the table.
        groups : array (visit,), optional
            Subjects. Those of the fit have their own effects, new ones those of the mixture; without ``groups`` each
            visit is one of a new subject.
        fixed : array (visit, F), optional
        interval : float, optional
            Probability of an interval of the outcome, such as 0.95. Then the result is a DataFrame with the columns
            mean, lower and upper.
        n_draws : int
            Draws that the interval is taken from.

        Returns
        -------
        array (visit,) or DataFrame
        """
        design, shared, codes = self._new(X, groups, fixed)
        mean = self._given.mean(design, shared, codes)
        if interval is None:
            return mean
        import pandas as pd

        if not isinstance(interval, (int, float)) or not 0.0 < interval < 1.0:
            raise ValueError(f"interval must be a probability between 0 and 1, got {interval!r}")
        rng = np.random.default_rng(0)
        drawn = self._given.draw_outcomes(design, shared, codes, whole_number("n_draws", n_draws, 10), rng)
        low, high = np.quantile(drawn, [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=0)
        return pd.DataFrame({"mean": mean, "lower": low, "upper": high})

    def score_subjects(self, X: Any, y: Any = None, groups: Any = None, fixed: Any = None) -> FloatArray:
        """Log predictive density of the visits of each subject, jointly; known subjects first, then new ones."""
        design, shared, codes = self._new(X, groups, fixed)
        if y is None and self.formula is not None:
            y = Formula.parse(self.formula).outcomes(X)
        outcomes = read_outcomes(y, len(design), missing=False)
        order = np.where(codes < 0, len(self.subjects_) - 1 - codes, codes)
        found = self._given.log_density(design, outcomes, shared, codes)
        return found[np.argsort([np.max(order[codes == code]) for code in np.unique(codes)])]

    def score(self, X: Any, y: Any = None, groups: Any = None, fixed: Any = None) -> float:
        """Mean log predictive density of a visit; the visits of one subject are taken jointly.

        Subjects of the fit have the effects that were learned, others those of the mixture.
        """
        design, shared, codes = self._new(X, groups, fixed)
        if y is None and self.formula is not None:
            y = Formula.parse(self.formula).outcomes(X)
        outcomes = read_outcomes(y, len(design), missing=False)
        return float(self._given.log_density(design, outcomes, shared, codes).sum() / len(design))

    def cross_validate(self, X: Any, y: Any = None, groups: Any = None, fixed: Any = None, cv: Any = 5) -> FloatArray:
        """Score of each fold.

        Parameters
        ----------
        X, y, groups, fixed
            As in ``fit``.
        cv : int or splitter of scikit-learn
            A number of folds by subject; ``GroupKFold(5)`` is the same as 5, ``KFold(5, shuffle=True)`` leaves out
            visits.
        """
        return scores_of_folds(self, X, y, groups, fixed, cv)

    # --- the report -------------------------------------------------------------------------------------------------

    def _headline(self) -> str:
        clusters = f"{self.n_clusters_} cluster{'s' if self.n_clusters_ != 1 else ''}"
        return f"{clusters} among {len(self.subjects_):,} subjects"

    def _sections(self, most_rows: int) -> list[Any]:
        from .report import sections

        return sections(self, most_rows)


def resolve_engine(inference: Any) -> Inference:
    if isinstance(inference, str):
        name = "gibbs" if inference == "auto" else inference
        known = {short: engines_for("mixed-effects")[full] for short, full in ENGINES.items()}
        return choose("inference", name, known, "'auto' or an engine of mixed effects")()
    if not isinstance(inference, Inference) or inference.serves != "mixed-effects":
        raise ValueError(
            f"inference: {type(inference).__name__} does not serve mixed effects; choose 'gibbs', 'map' or an object "
            "of countless.models.mixed_effects.engines"
        )
    return inference
