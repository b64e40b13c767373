"""FiniteMixture: a given number of components, by EM or by sampling, behind the scikit-learn interface."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...chains.draws import ESTIMATE, Draws
from ...chains.engine import Inference, engines_for
from ...chains.fields import Field
from ...chains.watch import Watch
from ...core.random import as_generator
from ...core.validate import as_weights, by_size, whole_number
from ...families import Family
from ...posterior.held_out import HeldOut
from ...posterior.partition.certainty import Certainty, certainty_of_shares
from ...priors import FiniteDirichlet
from ...runs import register_estimator
from ..estimator import Arrays, RunEstimator
from ..mixture.data import MixtureData
from ..mixture.engines.choice import resolve_inference
from ..mixture.estimator import DPMixture
from ..mixture.posterior import MixturePosterior
from ..mixture.problem import Problem
from ..rows import Mixture, column_names, family_for, read_rows, row_names, warn_if_implausible
from .criteria import CRITERIA, total_entropy
from .density import MixtureDensity, SampledDensity
from .em import EM, MixtureFit, as_draws, estimate_from_labels

if TYPE_CHECKING:
    from ...report import Page

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Weight of the prior of the parameters in each kind of EM.
PRIOR_WEIGHT = {"em": 0.0, "map": 1.0}


class ComponentMixture(Mixture):
    """Base of mixtures with a given number of components."""

    _mixture: MixtureDensity | SampledDensity

    def predict(self, X: ArrayLike) -> IntArray:
        """Most probable component of each row."""
        rows = self._new_rows(X)
        return self._mixture.best(rows)


@register_estimator("FiniteMixture")
class FiniteMixture(ComponentMixture, RunEstimator):
    """Mixture model with a given number of components.

    Parameters
    ----------
    n_components : int
        Number of components.
    family : str or family object, optional
        What the data of one component look like, with the default of ``DPMixture``. ``"gaussian"`` and
        ``"diagonal-gaussian"`` estimate mean and (co)variance of each component. ``"spherical-gaussian"`` and
        ``"gaussian-known-covariance"`` take the variance as known and estimate the means, as Pletscher and Faul do;
        set it, ``SphericalGaussian(variance=0.1)``, or a rough guess from the data is used. ``"multinomial"`` is
        the asymmetric clustering model (ACM).
    method : str or inference object
        ``"em"`` (default): maximum likelihood. ``"map"``: EM for the mode of the posterior of the parameters under
        the prior of the family; the mode is taken in the unconstrained basis of the parameters (log rates, log odds,
        soft-max, log covariance). ``"gibbs"`` or an object of ``countless.inference``: the partition is sampled under
        a finite Dirichlet prior with ``n_components`` components, some of which may have no rows.
    restarts : int
        Starts of EM; the best result is kept.
    max_iter : int
        Largest number of passes over the rows in one restart of EM.
    tol : float
        EM has converged when a pass gains less than this per row.
    start : str or array of labels
        Where EM begins: ``"kmeans++"`` (with the divergence of the family), ``"random"`` (random rows as centres), or
        labels of the rows, which are tried once.
    n_threads : int, optional
        Threads of EM; default, one per core. The result does not depend on it.
    random_state : None, int, Generator or RandomState
        Seed.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.

    Attributes
    ----------
    labels_ : array of int
        Most probable component of each row; components are numbered by the number of these rows (the sum of their
        weights), the largest first.
    n_clusters_ : int
        Number of components that have rows of their own.
    weights_ : array (K,)
    parameters_ : dict of arrays
        Parameters of the components by name, in the units of the data, for example ``"mean"`` and ``"covariance"``.
        Where partitions were sampled: the posterior mode given ``labels_``.
    log_likelihood_ : float
        Log likelihood of the rows at these parameters; where partitions were sampled, their log predictive density.
    objective_ : array
        What EM maximises, after each step: the log likelihood, with ``"map"`` plus the log prior of the parameters.
    n_iter_ : int
    converged_ : bool
    singular_ : array of bool (K,)
        Components that collapsed onto too few rows, so that their variance was kept at a floor of 1e-8 times that of
        the data, or that lost all rows; a warning names them. Restarts without such components are preferred.
    n_parameters_ : int
        Number of free parameters.
    posterior_ : MixturePosterior
        Draws of the partition if it was sampled; of EM, the single partition ``labels_``.
    inference_ : the engine in use.
    family_ : the family in use, with every hyperparameter set.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    References
    ----------
    Pletscher 2007, sections 2.4.1 and 2.4.2; Dempster, Laird and Rubin 1977; Fraley and Raftery 2007 for the mode.

    Examples
    --------
    >>> import numpy as np
    >>> import countless as cl
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    >>> model = cl.FiniteMixture(2, random_state=0).fit(X)
    >>> model.weights_.round(2).tolist()
    [0.5, 0.5]
    >>> model.parameters_["mean"].round().tolist()
    [[0.0, 0.0], [8.0, 8.0]]
    """

    data_class: ClassVar[Any] = MixtureData
    result_fields: ClassVar[tuple[Field, ...]] = (
        Field("labels", "labels", ("row",), once=True),
        Field("log_weights", "number", ("component",), once=True, optional=True),
        Field("components", "number", ("component", "parameter"), once=True, optional=True),
        Field("log_likelihood", "number", once=True, optional=True),
        Field("converged", "number", once=True, optional=True),
        Field("singular", "number", ("component",), once=True, optional=True),
    )

    posterior_: MixturePosterior

    def __init__(
        self,
        n_components: int = 2,
        family: str | Family | None = None,
        method: str | Inference = "em",
        restarts: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-6,
        start: Any = "kmeans++",
        n_threads: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.method = method
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.start = start
        self.n_threads = n_threads
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Fit the mixture to the rows of ``X``, each weighted by its ``sample_weight``; ``y`` is ignored.

        ``checkpoint`` is a folder in which the run is kept, as for ``DPMixture``.
        """
        n_components = whole_number("n_components", self.n_components, 1)
        rng = as_generator(self.random_state)
        family, rows = read_rows(self, X, family_for(self.family, X))
        warn_if_implausible(self, family, rows)
        if n_components > len(rows):
            raise ValueError(f"n_components={n_components} exceeds the number of rows of X, n_samples={len(rows)}")
        family.check(rows)
        names = row_names(X, family)
        family = family.resolve(rows)
        prior = FiniteDirichlet(n_components).resolve(len(rows))
        self.inference_ = self._resolved_engine(len(rows), family, prior, family.draws_missing(rows))
        if sample_weight is not None and not isinstance(self.inference_, EM):
            raise ValueError("sample_weight: samplers count every row once; omit it, or use method 'em' or 'map'")
        weights = as_weights(sample_weight, len(rows))
        columns = family.describe_columns(column_names(self))
        data = MixtureData(rows, columns, family, prior, weights, row_names=names)
        self._fit(data, checkpoint, checkpoint_every, rng)
        self._warn()
        return self

    def _resolved_engine(self, n_rows: int, family: Family, prior: FiniteDirichlet, missing: bool) -> Inference:
        if isinstance(self.method, str) and self.method in PRIOR_WEIGHT:
            if missing:
                raise ValueError(
                    f"X: cells are missing in correlated Gaussian columns, which method {self.method!r} cannot fit; "
                    "use method 'gibbs', or make the columns 'diagonal-gaussian'"
                )
            weight = PRIOR_WEIGHT[self.method]
            return EM(weight, self.restarts, self.max_iter, self.tol, self.start, self.n_threads)
        return resolve_inference(self._engine(), n_rows, family, prior, False, missing)

    def _run(self, problem: Any, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        if not isinstance(engine, EM):
            return engine.run(problem, rng, watch)
        (self._estimate,) = engine.search(problem, [problem.prior.n_components], rng, watch)
        return as_draws(problem, self._estimate)

    def _accept(self, problem: Any, draws: Draws, data: MixtureData, result: Arrays | None) -> None:
        data = replace(data, rows=data.rows.copy())  # what the user does to X after the fit must not reach these
        self._description = replace(self._description, data=data)
        problem = data.problem()
        self.family_, self.posterior_ = data.family, MixturePosterior(draws, data)
        self._inner: DPMixture | None = None
        if draws.kind is not ESTIMATE:
            self._keep_draws(problem, draws, data, result)
            return
        if result is not None:
            self._estimate = MixtureFit(
                result["log_weights"],
                result["components"],
                np.asarray(draws["objective"], dtype=np.float64),
                float(result["log_likelihood"]),
                bool(result["converged"]),
                result["singular"].astype(np.bool_),
            )
        self._keep(data.rows, problem, self._estimate)

    def _result(self) -> Arrays:
        if self._inner is not None:
            return {"labels": self.labels_}
        found = self._estimate
        return {
            "labels": self.labels_,
            "log_weights": found.log_weights,
            "components": found.parameters,
            "log_likelihood": np.array(found.log_likelihood),
            "converged": np.array(float(found.converged)),
            "singular": found.singular.astype(np.float64),
        }

    def _adopt(self, data: MixtureData, engine: EM, estimate: MixtureFit) -> None:
        """Take over a fit that was made elsewhere, as if ``fit`` had made it."""
        self.inference_, self._estimate = engine, estimate
        problem = data.problem()
        self._take(problem, as_draws(problem, estimate), self._described(data), None)

    @property
    def certainty_(self) -> Certainty:
        """How sure the component of each row is: its probability, the runner-up and the probability of that.

        From the draws of the partition where it was sampled; else the probabilities at the estimated parameters.
        """
        check_is_fitted(self)
        if self._inner is not None:
            return self._inner.certainty_
        shares = self._probabilities(self._description.data.rows)[:, : self.n_clusters_]
        return certainty_of_shares(self.labels_, shares)

    @property
    def held_out_(self) -> HeldOut | None:
        """How well each row is predicted from all others, where partitions were sampled; None for EM."""
        check_is_fitted(self)
        return None if self._inner is None else self._inner.held_out_

    @property
    def concentration_(self) -> float:
        """Concentration of the prior of the partition; its posterior mean where it was sampled."""
        return float(np.mean(self.posterior_["concentration"]))

    def report_page(self, title: str | None = None, command: str | None = None, most_rows: int = 20_000) -> Page:
        """The page that ``countless.report`` writes, with at most ``most_rows`` rows.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.FiniteMixture(2, random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
        >>> model.report_page().headline
        '2 clusters in 6 rows'
        """
        from ..mixture.report import report_page  # matplotlib is imported when it is needed

        check_is_fitted(self)
        return report_page(self, title, command, most_rows)

    def aic(self, X: ArrayLike) -> float:
        """Akaike's criterion on the rows of ``X``, -2 log likelihood + 2 parameters; the smaller the better."""
        return self._criterion("aic", X)

    def bic(self, X: ArrayLike) -> float:
        """Bayesian criterion on the rows of ``X``, -2 log likelihood + parameters log(rows); the smaller the better."""
        return self._criterion("bic", X)

    def icl(self, X: ArrayLike) -> float:
        """BIC plus twice the entropy of the assignments (Biernacki et al. 2000); the smaller the better."""
        return self._criterion("icl", X)

    def _criterion(self, name: str, X: ArrayLike) -> float:
        rows = self._new_rows(X)
        if self._inner is not None:
            raise ValueError(f"{name} compares mixtures at their best parameters; use method 'em' or 'map'")
        scores = self._mixture.log_weighted(rows)
        log_likelihood = float(np.logaddexp.reduce(scores, axis=1).sum())
        return CRITERIA[name](log_likelihood, self.n_parameters_, len(scores), total_entropy(scores))

    def _keep(self, rows: FloatArray, problem: Problem, fit: MixtureFit) -> None:
        """Store a result of EM, with the components numbered by size, those without rows last."""
        density = MixtureDensity.of(problem, fit.log_weights, fit.parameters)
        former = density.best(rows)
        self.labels_ = by_size(former, problem.weights)
        self.n_clusters_ = int(self.labels_.max()) + 1
        used = np.empty(self.n_clusters_, dtype=np.int64)
        used[self.labels_] = former
        order = np.concatenate([used, np.setdiff1d(np.arange(len(fit.log_weights)), used)])
        self._mixture = ordered = density.reordered(order)
        self.weights_ = np.exp(fit.log_weights[order])
        self.parameters_ = ordered.describe()
        self.n_parameters_ = density.n_parameters()
        self.log_likelihood_ = fit.log_likelihood
        self.objective_ = fit.objective
        self.n_iter_ = len(fit.objective)
        self.converged_ = fit.converged
        self.singular_ = fit.singular[order]

    def _warn(self) -> None:
        if self.singular_.any():
            names = ", ".join(map(str, np.flatnonzero(self.singular_)))
            warnings.warn(
                f"singular components: {names} (collapsed onto too few rows); use fewer components, method='map', or "
                "more restarts",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.converged_:
            warnings.warn(
                f"EM did not converge in {self.n_iter_} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _keep_draws(self, problem: Any, draws: Draws, data: MixtureData, result: Arrays | None) -> None:
        """Store draws of the partition: what they answer is what a mixture with this prior answers."""
        model = DPMixture(data.family, data.prior, random_state=self.random_state)
        model.n_features_in_ = self.n_features_in_
        model._description = self._description
        model._accept(problem, draws, data, None if result is None else {"labels": result["labels"]})
        n_components, n_used = int(self.n_components), model.n_clusters_
        # Refuses labels beyond the last component, so it comes before anything that is indexed by them.
        parameters = estimate_from_labels(problem, model.labels_, n_components, prior_weight=1.0)
        mixture = model._mixture
        self._mixture = SampledDensity(n_components, n_used, model._probabilities, mixture.log_density, mixture.sample)
        self._inner = model
        self.labels_, self.n_clusters_, self.posterior_ = model.labels_, n_used, model.posterior_
        sizes = np.bincount(model.labels_, minlength=n_components)
        share = model.concentration_ / n_components
        self.weights_ = (sizes + share) / (len(data.rows) + model.concentration_)
        at_labels = MixtureDensity.of(problem, np.log(self.weights_), parameters)
        self.parameters_, self.n_parameters_ = at_labels.describe(), at_labels.n_parameters()
        self.log_likelihood_ = float(mixture.log_density(data.rows).sum())
        self.objective_ = model.posterior_.objective
        self.n_iter_ = model.posterior_.n_draws
        self.converged_ = True
        self.singular_ = np.zeros(n_components, dtype=np.bool_)

    def _engine(self) -> str | Inference:
        names = {name for name in engines_for("mixture") if name not in PRIOR_WEIGHT}
        if isinstance(self.method, Inference) or (isinstance(self.method, str) and self.method in names):
            return self.method
        listed = ", ".join(repr(name) for name in sorted(names | set(PRIOR_WEIGHT)))
        if isinstance(self.method, type):
            raise TypeError(f"method: got the class {self.method.__name__}; pass an instance, or one of {listed}")
        raise ValueError(
            f"method: {self.method!r} is not known; choose one of {listed}, or pass a countless.inference object"
        )
