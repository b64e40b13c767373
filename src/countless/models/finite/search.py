"""MixtureSearch: finite mixtures with different numbers of components, of which a criterion chooses one."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ...chains.watch import Watch
from ...core.random import as_generator
from ...core.validate import as_weights, choose, whole_number
from ...families import Family
from ...priors import FiniteDirichlet
from ..mixture.data import MixtureData
from ..rows import WithoutDraws, column_names, family_for, read_rows, row_names, warn_if_implausible
from .criteria import CRITERIA, total_entropy
from .em import EM, MixtureFit
from .estimator import PRIOR_WEIGHT, ComponentMixture, FiniteMixture

FloatArray = NDArray[np.float64]


class MixtureSearch(WithoutDraws, ComponentMixture):
    """Finite mixtures by EM for a range of numbers of components; an information criterion chooses among them.

    Parameters
    ----------
    family : str or family object, optional
        What the data of one component look like, as for ``FiniteMixture``.
    criterion : {"bic", "aic", "icl"}
        ``"bic"`` (default) finds the number of components of well separated data; ``"aic"`` tends to choose more;
        ``"icl"`` prefers clusters that do not overlap.
    n_components : range, list of int or int, optional
        Numbers to try; those above the number of rows are left out. Default: 1 to 10.
    method : {"em", "map"}
        Maximum likelihood, or the mode of the posterior. With ``"map"`` no component collapses, so that mixtures
        with small clusters of full covariance can be compared.
    restarts : int
        Starts of EM for each number; they run in parallel.
    max_iter : int
        Largest number of passes over the rows in one restart.
    tol : float
        EM has converged when a pass gains less than this per row.
    start : {"kmeans++", "random"}
        Where EM begins, as for ``FiniteMixture``.
    n_threads : int, optional
        Default, one per core. The result does not depend on it.
    random_state : None, int, Generator or RandomState
        Seed.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.

    Attributes
    ----------
    scores_ : dict of arrays
        One entry per number tried: ``"n_components"``, ``"log_likelihood"``, ``"n_parameters"``, ``"aic"``, ``"bic"``,
        ``"icl"``, ``"n_iter"``, ``"converged"``, ``"singular"``.
    best_estimator_ : FiniteMixture
        The mixture with the smallest score, among those without singular components if there are any.
    n_clusters_ : int
        Its number of components.
    n_iter_ : int
        Iterations of its best restart.
    labels_ : array of int
        Most probable component of each row.
    frame_ : pandas frame
        The scores as a table.
    family_ : the family in use, with every hyperparameter set.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    References
    ----------
    Pletscher 2007, section 2.4.3. His scores are half of the usual ones, which are used here; the order is the same.

    Examples
    --------
    >>> import countless as cl
    >>> sample = cl.datasets.make_pletscher("zurich", n=100, random_state=0)
    >>> search = cl.MixtureSearch(sample.family, n_components=range(1, 6), random_state=0).fit(sample.X)
    >>> search.n_clusters_
    3
    >>> search.scores_["n_components"].tolist()
    [1, 2, 3, 4, 5]
    """

    instead: ClassVar[str] = "use best_estimator_, the mixture that was chosen"

    def __init__(
        self,
        family: str | Family | None = None,
        criterion: str = "bic",
        n_components: Any = None,
        method: str = "em",
        restarts: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-6,
        start: Any = "kmeans++",
        n_threads: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.family = family
        self.criterion = criterion
        self.n_components = n_components
        self.method = method
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.start = start
        self.n_threads = n_threads
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a mixture for each number of components; ``y`` is ignored."""
        choose("criterion", self.criterion, CRITERIA)
        prior_weight = choose("method", self.method, PRIOR_WEIGHT)
        rng = as_generator(self.random_state)
        family, rows = read_rows(self, X, family_for(self.family, X))
        warn_if_implausible(self, family, rows)
        family.check(rows)
        names = row_names(X, family)
        counts = self._counts(len(rows))
        weights = as_weights(sample_weight, len(rows))
        self.family_ = family.resolve(rows)
        if self.family_.draws_missing(rows):
            raise ValueError(
                "X: cells are missing in correlated Gaussian columns, which EM cannot fit; make the columns "
                "'diagonal-gaussian', or fit DPMixture"
            )
        columns = self.family_.describe_columns(column_names(self))
        data = MixtureData(rows, columns, self.family_, FiniteDirichlet(max(counts)), weights, row_names=names)
        problem = data.problem()
        engine = EM(prior_weight, self.restarts, self.max_iter, self.tol, self.start, self.n_threads)
        fits = engine.search(problem, counts, rng, Watch(self.progress))
        total = float(len(rows) if weights is None else weights.sum())
        models = [self._model(k, data, engine, fit) for k, fit in zip(counts, fits, strict=True)]
        table = [_scores(model, rows, weights, total) for model in models]
        self.scores_ = {name: np.array([entry[name] for entry in table]) for name in table[0]}
        # The likelihood of a collapsed component is as large as the floor of its variance allows: it means nothing.
        scores, singular = self.scores_[self.criterion], self.scores_["singular"]
        best = int(np.argmin(scores if singular.all() else np.where(singular, np.inf, scores)))
        self.best_estimator_ = models[best]
        self.best_estimator_._warn()
        self._mixture = self.best_estimator_._mixture
        self.labels_ = self.best_estimator_.labels_
        self.n_clusters_ = counts[best]
        self.n_iter_ = self.best_estimator_.n_iter_
        return self

    @property
    def frame_(self) -> Any:
        """The scores as a pandas frame, one row per number of components."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.scores_)

    def _counts(self, n_rows: int) -> list[int]:
        """Numbers of components to try, in rising order."""
        given = range(1, 11) if self.n_components is None else self.n_components
        given = [given] if isinstance(given, numbers.Integral) else given
        if not isinstance(given, Iterable) or isinstance(given, str):
            raise ValueError(f"n_components must be a list of whole numbers or a range, got {self.n_components!r}")
        counts = sorted({whole_number("n_components", k, 1) for k in given})
        fitting = [k for k in counts if k <= n_rows]
        if not fitting:
            raise ValueError(
                f"n_components must include a number of at most n_samples={n_rows}, got {self.n_components!r}"
            )
        return fitting

    def _model(self, n_components: int, data: MixtureData, engine: EM, fit: MixtureFit) -> FiniteMixture:
        """A fitted FiniteMixture with the settings of the search."""
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "criterion"}
        model = FiniteMixture(**{**settings, "n_components": n_components})
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model._adopt(replace(data, prior=FiniteDirichlet(n_components).resolve(len(data.rows))), engine, fit)
        return model


def _scores(model: FiniteMixture, rows: FloatArray, weights: FloatArray | None, total: float) -> dict[str, Any]:
    entropy = total_entropy(model._mixture.log_weighted(rows), weights)
    known = model.log_likelihood_, model.n_parameters_, total, entropy
    return {
        "n_components": model.n_components,
        "log_likelihood": model.log_likelihood_,
        "n_parameters": model.n_parameters_,
        **{name: criterion(*known) for name, criterion in CRITERIA.items()},
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "singular": bool(model.singular_.any()),
    }
