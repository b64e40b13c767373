"""LatentAttributes: overlapping clusterings of one network or similarity matrix, behind the scikit-learn interface."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ...chains.draws import Draws
from ...chains.engine import Inference
from ...chains.fields import Field
from ...core.random import as_generator
from ...core.validate import choose
from ...priors import Gamma
from ...runs import register_estimator
from ..command import Command
from ..estimator import Arrays, RunEstimator
from .aggregate.loss import least_expected_loss
from .aggregate.weights import typical_weights
from .command import COMMAND
from .data import NOTHING, AttributesData
from .engines.choice import resolve_inference
from .kernels.blocks import FloatArray, IntArray
from .laws import Laws
from .posterior import AttributesPosterior, Solution
from .predictive import log_predictive, mean_links, memberships
from .problem import UNKNOWN
from .reading import has_diagonal, read_asked, read_known, read_matrix
from .sampling import drawn_matrix

OBSERVATIONS = ("auto", "gaussian", "bernoulli")
# Draws that the aggregate is found from.
AGGREGATED = 500
# Mean probability of the objects of an attribute to have it, from which it is shown.
LIKELY = 0.5


@register_estimator("LatentAttributes")
class LatentAttributes(RunEstimator):
    """Overlapping clusterings of the objects of a network or similarity matrix, their number inferred.

    Each object has some of an unknown number of attributes; the objects that have an attribute are clustered inside it;
    and each pair of clusters of an attribute has a weight. The value of a pair of objects is a bias plus the weights of
    all attributes that both have.

    Parameters
    ----------
    observation : {"auto", "gaussian", "bernoulli"}
        Real values with normal noise, or links that are there or not, with the sum as their log odds. ``"auto"``
        (default): links where all pairs are 0 or 1.
    concentration : float or Gamma(shape, rate), optional
        Of the Indian buffet: the larger, the more attributes. Default: learned under Gamma(1, 1).
    cluster_concentration : float or Gamma(shape, rate), optional
        Of the restaurants: the larger, the more clusters in each attribute. Default: learned under Gamma(1, 1).
    breadth : float
        Second number of the two-parameter buffet; 1 (default) is the usual one, more means that fewer objects have each
        attribute.
    weight_mean : float
        Prior mean of a weight.
    weight_variance : float or Gamma(shape, rate), optional
        Prior variance of a weight; a Gamma is the law of its inverse. Default: learned, starting from the variance of
        the matrix (from 4 for links).
    bias_mean, bias_variance : float, optional
        Of the bias. Default: mean and variance of the matrix (for links the log odds of their share, and 4).
    noise : float or Gamma(shape, rate), optional
        Variance of the noise; a Gamma is the law of its inverse. Default: learned, starting from a tenth of the
        variance of the matrix. Not used for links.
    kernel : str or callable, optional
        Turns rows of measurements into similarities: ``"distance"`` (minus the Euclidean distance), ``"dot"``, a
        pairwise kernel of scikit-learn, or a function of two rows. Default: the matrix is handed in as it is.
    diagonal : bool or "auto"
        Whether the value of an object with itself means something. ``"auto"``: not for links, nor where all of these
        are the same, such as distances of 0.
    directed : bool
        Whether (i, j) and (j, i) are two pairs, and weights need not be symmetric.
    inference : str or inference object
        ``"auto"`` and ``"gibbs"`` (sampling), ``"map"`` (the most probable solution), or an object of
        ``countless.inference``.
    random_state : None, int, Generator or RandomState
        Seed. The same seed gives the same draws whatever the number of threads.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.
    warm_start : bool
        Whether ``fit`` continues the chains of the last fit of the same matrix.

    Attributes
    ----------
    attributes_ : array of bool (object, attribute)
        Which object has which attribute: known ones first, then those of the solution with the least expected loss, the
        largest first.
    clusters_ : array of int (object, attribute)
        Cluster of each object in each attribute; -1 where it does not have it.
    weights_ : list of arrays (cluster, cluster)
        Posterior mean of the weights, given attributes and clusters.
    bias_, noise_ : float
        The same of the bias; posterior mean of the variance of the noise.
    membership_probabilities_, cluster_probabilities_ : arrays (object, attribute)
        How probable it is that the object has the attribute, and that it is in the cluster that most of the others in
        its cluster are in.
    n_attributes_ : int
    posterior_ : AttributesPosterior
        Every draw.
    laws_ : the prior in use, with what was left open filled in.
    inference_ : the engine in use.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    References
    ----------
    Palla, Knowles and Ghahramani 2012, *An infinite latent attribute model for network data*, ICML. Von Looz 2013,
    *Latent features and clusters*.

    Examples
    --------
    >>> import countless as cl
    >>> truth = cl.datasets.make_latent_attributes(30, concentration=0.5, random_state=1)
    >>> model = cl.LatentAttributes(random_state=0).fit(truth.R)
    >>> model.attributes_.shape[0], model.predict_links().shape
    (30, (30, 30))
    """

    data_class: ClassVar[Any] = AttributesData
    known_before: ClassVar[tuple[str, ...]] = RunEstimator.known_before
    command: ClassVar[Command | None] = COMMAND
    sure_in: ClassVar[str] = "membership_probabilities_"
    result_fields: ClassVar[tuple[Field, ...]] = (Field("solution", "count", ("attribute", "object"), once=True),)

    posterior_: AttributesPosterior

    def __init__(
        self,
        observation: str = "auto",
        concentration: float | Gamma | None = None,
        cluster_concentration: float | Gamma | None = None,
        breadth: float = 1.0,
        weight_mean: float = 0.0,
        weight_variance: float | Gamma | None = None,
        bias_mean: float | None = None,
        bias_variance: float | None = None,
        noise: float | Gamma | None = None,
        kernel: Any = None,
        diagonal: bool | str = "auto",
        directed: bool = False,
        inference: str | Inference = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        warm_start: bool = False,
    ) -> None:
        self.observation = observation
        self.concentration = concentration
        self.cluster_concentration = cluster_concentration
        self.breadth = breadth
        self.weight_mean = weight_mean
        self.weight_variance = weight_variance
        self.bias_mean = bias_mean
        self.bias_variance = bias_variance
        self.noise = noise
        self.kernel = kernel
        self.diagonal = diagonal
        self.directed = directed
        self.inference = inference
        self.random_state = random_state
        self.progress = progress
        self.warm_start = warm_start

    def fit(
        self,
        R: Any,
        y: Any = None,
        known: Any = None,
        thresholds: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
    ) -> Self:
        """Infer the attributes of the objects of ``R``; ``y`` is ignored.

        Parameters
        ----------
        R : array, sparse matrix, data frame or networkx graph
            One row and one column for each object; NaN is a pair that was not observed. With ``kernel``, rows of
            measurements.
        known : array or data frame (object, attribute), optional
            Attributes that are known for some objects: a category, -1 or False where the object lacks the attribute,
            NaN or None where nobody knows. These stay as they are; the others are inferred.
        thresholds : int, list of float, or dict by the number of the attribute, optional
            Cuts known attributes that are continuous into categories: so many quantile groups, or at these values.
        checkpoint, checkpoint_every
            As for ``DPMixture.fit``.
        """
        rng = as_generator(self.random_state)
        choose("observation", self.observation, dict.fromkeys(OBSERVATIONS))
        if not isinstance(self.directed, bool):
            raise ValueError(f"directed must be True or False, got {self.directed!r}")
        if not isinstance(self.diagonal, bool) and self.diagonal != "auto":
            raise ValueError(f"diagonal must be True, False or 'auto', got {self.diagonal!r}")
        laws = Laws(*(getattr(self, name) for name in Laws.__dataclass_fields__))
        square = read_matrix(R, self.kernel, self.directed, self.observation)
        binary = square.binary
        matrix = square.matrix
        diagonal = self.diagonal if isinstance(self.diagonal, bool) else not binary and has_diagonal(matrix)
        if not diagonal:
            matrix = matrix.copy()
            np.fill_diagonal(matrix, np.nan)
        self.n_features_in_ = len(matrix) if self.kernel is None else int(np.shape(R)[1])
        table = NOTHING if known is None else read_known(known, len(matrix), thresholds)
        resolved = laws.resolved(matrix[~np.isnan(matrix)], binary)
        data = AttributesData(matrix, resolved, binary, diagonal, self.directed, square.names, table)
        self.inference_ = resolve_inference(self.inference, data.problem())
        return self._fit(data, checkpoint, checkpoint_every, rng)

    def _accept(self, problem: Any, draws: Draws, data: AttributesData, result: Arrays | None) -> None:
        self.posterior_ = posterior = AttributesPosterior(draws, data)
        self.laws_ = data.laws
        labels = self._point() if result is None else _checked(result["solution"], data)
        self._labels = labels
        found = typical_weights(problem, posterior, labels)
        self.attributes_, self.clusters_ = (labels >= 0).T, labels.T.copy()
        self.n_attributes_ = len(labels)
        self.weights_, self.bias_, self.noise_ = found.weights, found.bias, found.noise
        has, same = memberships(posterior, labels)
        self.membership_probabilities_, self.cluster_probabilities_ = has.T, same.T

    def _point(self) -> IntArray:
        """Labels (attribute, object) of the solution to show: what is known, then what was found."""
        posterior = self.posterior_
        n_known = len(posterior.data.known.levels)
        which = posterior.spaced(AGGREGATED) if posterior.is_sampled else [posterior.best()]
        drawn = [posterior.labels(int(number)) for number in which]
        free = [labels[n_known:] for labels in drawn]
        found = self._likely(least_expected_loss(free)) if posterior.is_sampled else _shared(free[0])
        known = self._known_point(drawn)
        return np.vstack([known, _ordered(found)]) if len(found) or len(known) else found

    def _likely(self, labels: IntArray) -> IntArray:
        """Attributes that objects have with a probability of one half or more on average.

        One with a cluster for fewer than two objects must be as sure of its clusters.
        """
        has, same = memberships(self.posterior_, labels)
        inside = labels >= 0
        sizes, clusters = inside.sum(axis=1), labels.max(axis=1, initial=-1) + 1
        sure, settled = ((part * inside).sum(axis=1) >= LIKELY * sizes for part in (has, same))
        return labels[sure & (settled | (2 * clusters <= sizes))]

    def _known_point(self, drawn: list[IntArray]) -> IntArray:
        """Known attributes with the most probable category where nobody knows it."""
        shares = self._known_shares(drawn)
        table = self.posterior_.data.known.table
        found = [
            np.where(table[:, m] == UNKNOWN, share.argmax(axis=1) - 1, table[:, m]) for m, share in enumerate(shares)
        ]
        return np.array(found, dtype=np.int64).reshape(len(shares), len(self.posterior_.data.matrix))

    def _known_shares(self, drawn: list[IntArray]) -> list[FloatArray]:
        """For each known attribute, the share of draws in which each object lacks it (first), or has each category."""
        known = self.posterior_.data.known
        found = []
        for m, levels in enumerate(known.levels):
            column = known.table[:, m]
            # Categories by any object whose category is known: draws number their clusters by first appearance.
            first = [int((column == code).argmax()) for code in range(len(levels))]
            share = np.zeros((len(column), len(levels) + 1))
            for labels in drawn:
                share[:, 0] += labels[m] < 0
                for code, object_ in enumerate(first):
                    share[:, code + 1] += labels[m] == labels[m, object_]
            found.append(share / len(drawn))
        return found

    def _result(self) -> Arrays:
        return {"solution": self._labels}

    def _headline(self) -> str:
        n = len(self.attributes_)
        shared = "no attribute is" if not self.n_attributes_ else "1 attribute is" if self.n_attributes_ == 1 else None
        return f"{shared or f'{self.n_attributes_} attributes are'} shared among {n:,} objects"

    # --- what a fit answers ------------------------------------------------------------------------------------------

    def predict_links(self) -> FloatArray:
        """Posterior mean of the value of each pair, observed or not; for links, the probability of one."""
        check_is_fitted(self)
        return mean_links(self.posterior_)

    def score_pairs(self, R: ArrayLike) -> FloatArray:
        """Log predictive of each cell of ``R``, a matrix of the shape of the fit, NaN where nothing is asked."""
        check_is_fitted(self)
        data = self.posterior_.data
        new = read_asked(R, data.matrix, data.directed, data.binary)
        return log_predictive(self.posterior_, new)

    def score(self, R: ArrayLike, y: Any = None) -> float:
        """Sum of the log predictives of all pairs of ``R`` that are not NaN, each once; ``y`` is ignored."""
        scores = self.score_pairs(R)
        return float(np.nansum(scores if self.posterior_.data.directed else np.tril(np.nan_to_num(scores))))

    def predict_proba(self, attribute: int | str = 0) -> FloatArray:
        """Probabilities of the categories of an attribute that was known for some objects, for every object.

        The columns are ``categories_(attribute)``.
        """
        check_is_fitted(self)
        number = self._known_number(attribute)
        posterior = self.posterior_
        drawn = [posterior.labels(int(each)) for each in posterior.spaced(posterior.n_draws)]
        share = self._known_shares(drawn)[number]
        return share if posterior.data.problem().may_lack[number] else share[:, 1:]

    def categories_(self, attribute: int | str = 0) -> list[Any]:
        """Categories of a known attribute; None, where some object lacks it, comes first."""
        check_is_fitted(self)
        number = self._known_number(attribute)
        data = self.posterior_.data
        return [None] * bool(data.problem().may_lack[number]) + list(data.known.levels[number])

    def _known_number(self, attribute: int | str) -> int:
        names = self.posterior_.data.known.names
        if not names:
            raise ValueError("attribute: nothing was known in this fit; fit(R, known=...)")
        if isinstance(attribute, str) and attribute in names:
            return names.index(attribute)
        if isinstance(attribute, (int, np.integer)) and 0 <= attribute < len(names):
            return int(attribute)
        raise ValueError(f"attribute: got {attribute!r}; choose a number below {len(names)} or one of {list(names)}")

    def sample(self, random_state: Any = None) -> NDArray[np.float64]:
        """One matrix from the posterior predictive."""
        check_is_fitted(self)
        rng = as_generator(random_state)
        solution = self.posterior_.solution(int(rng.integers(self.posterior_.n_draws)))
        return drawn_matrix(self.posterior_.data.problem(), solution.sums(), solution.noise, rng)

    def solution(self) -> Solution:
        """The solution that is shown, as the draws of the posterior are."""
        check_is_fitted(self)
        return Solution(self._labels, self.weights_, self.bias_, self.noise_)

    def _sections(self, most_rows: int) -> list[Any]:
        from .report import sections

        return sections(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.pairwise = self.kernel is None
        return tags


def _checked(labels: IntArray, data: AttributesData) -> IntArray:
    """Labels (attribute, object) from a file; ValueError where they are none."""
    sizes = labels.max(axis=1, initial=-1)
    each = [
        np.unique(line[line >= 0]).tolist() == list(range(size + 1)) for line, size in zip(labels, sizes, strict=True)
    ]
    if labels.min(initial=0) < -1 or not all(each) or len(labels) < len(data.known.levels):
        raise ValueError("its solution is no set of attributes")
    return labels


def _shared(labels: IntArray) -> IntArray:
    """Attributes of at least two objects."""
    return labels[(labels >= 0).sum(axis=1) > 1]


def _ordered(labels: IntArray) -> IntArray:
    """Attributes by size, the largest first; clusters of each likewise."""
    lines = []
    for line in labels:
        inside = line >= 0
        values, counts = np.unique(line[inside], return_counts=True)
        first = np.array([int((line == value).argmax()) for value in values])
        order = np.lexsort((first, -counts))
        number = np.full(int(values.max()) + 1, -1, dtype=np.int64)
        number[values[order]] = np.arange(len(values))
        lines.append(np.where(inside, number[line], -1))
    lines.sort(key=lambda each: (-int((each >= 0).sum()), tuple(each)))
    return np.array(lines, dtype=np.int64).reshape(labels.shape)
