"""The ten synthetic studies of Pletscher 2007, section 4.4: a table of settings and a generator."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from ..core.random import as_generator
from ..core.validate import choose, whole_number
from ..families.gaussian.spherical import SphericalGaussian
from ..families.multinomial import Multinomial
from ..priors import CRP
from .generators import FloatArray, Sample, numbered

MEAN_VARIANCE = 3.0
TRIALS = 15

# The thesis says only that beta is much larger than 1. Here each weight of a balanced study has
# beta * alpha / N_C = 50, so that its relative standard deviation is about one seventh.
BALANCE = 50.0

# A configuration is chosen from this many draws by the distance between its two closest clusters.
CANDIDATES = 20


class Study(NamedTuple):
    """Settings of one study: a table of Pletscher 2007, section 4.4.

    Attributes
    ----------
    kind : {"gaussian", "multinomial"}
    n_columns, n_clusters : int
    concentration : float
        The alpha of the model that the study fits.
    sizes : tuple of int
        Numbers of rows that the study uses.
    sigma2 : tuple of float
        Variances within clusters that the study uses; empty for multinomial rows.
    weights : tuple of tuples
        Weights of the two configurations of an unbalanced study, as printed; empty for a balanced one.
    """

    kind: str
    n_columns: int
    n_clusters: int
    concentration: float
    sizes: tuple[int, ...]
    sigma2: tuple[float, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()


_SIZES = (25, 50, 100, 200, 300, 500)
_SIGMA2 = (0.05, 0.1, 0.2, 0.3, 0.4)

PLETSCHER: dict[str, Study] = {
    "zurich": Study("gaussian", 2, 3, 0.2, _SIZES, _SIGMA2),
    "berne": Study("gaussian", 2, 7, 0.2, _SIZES, _SIGMA2),
    "london": Study("gaussian", 8, 5, 0.2, (100, 200, 300, 500, 700), (0.1, 0.2, 0.3, 0.6, 0.8)),
    "delhi": Study("gaussian", 2, 3, 0.2, _SIZES, _SIGMA2, ((0.66, 0.11, 0.23), (0.67, 0.0813, 0.2464))),
    "rome": Study("gaussian", 12, 15, 1.0, (100, 200, 500, 700), (0.2, 0.3, 0.4)),
    "boston": Study("multinomial", 4, 3, 0.2, _SIZES),
    "toronto": Study("multinomial", 4, 7, 0.8, _SIZES),
    "new_york": Study("multinomial", 10, 5, 0.4, _SIZES),
    "los_angeles": Study("multinomial", 4, 3, 0.2, _SIZES, (), ((0.713, 0.249, 0.039), (0.013, 0.034, 0.953))),
    "san_francisco": Study("multinomial", 20, 12, 2.0, _SIZES),
}


def make_pletscher(
    name: str,
    n: int = 200,
    sigma2: float | None = None,
    configuration: int | None = 1,
    random_state: Any = None,
) -> Sample:
    r"""Draw the rows of one of the ten studies of Pletscher 2007, section 4.4.

    Finite mixtures of spherical Gaussians, :math:`\theta_k \sim N(0, 3 I)` and
    :math:`x \sim N(\theta_k, \sigma^2 I)`, or of histograms of 15 draws whose bin probabilities are uniform on the
    simplex. They are not draws from a Dirichlet process: in most studies the clusters have similar sizes.

    Parameters
    ----------
    name : str
        A key of ``countless.datasets.PLETSCHER``. Gaussian: ``"zurich"``, ``"berne"``, ``"london"``,
        ``"delhi"``, ``"rome"``. Multinomial: ``"boston"``, ``"toronto"``, ``"new_york"``,
        ``"los_angeles"``, ``"san_francisco"``.
    n : int
        Number of rows.
    sigma2 : float, optional
        Variance within clusters, Gaussian studies only. Default 0.1, or the smallest that the study uses.
    configuration : {1, 2, None}
        Cluster parameters: 1, an easier set; 2, a harder one; None, a new draw. ``random_state`` changes the rows,
        but never the parameters of a configuration.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    Sample
        ``X``, ``labels``, and the family and prior that the study fits.

    Notes
    -----
    The thesis prints neither its configurations nor beta. Here a configuration is one of 20 draws of the
    parameters with a fixed seed: the one whose closest clusters are farthest apart (1), or the one with the fifth
    smallest distance (2). Weights of balanced studies are Dirichlet(50, ..., 50), that is beta = 50 N_C / alpha.
    Printed weights that do not sum to one are rescaled.

    References
    ----------
    Pletscher 2007, *Model order selection and biclustering*, tables 4.1 to 4.10.

    Examples
    --------
    >>> import countless as cl
    >>> sample = cl.datasets.make_pletscher("zurich", n=100, random_state=0)
    >>> sample.X.shape, int(sample.labels.max()) + 1
    ((100, 2), 3)
    """
    study = choose("name", name, PLETSCHER)
    n, rng = whole_number("n", n, 1), as_generator(random_state)
    variance = _variance(study, name, sigma2)
    weights, centres = _parameters(study, name, configuration, rng)
    labels, centres = numbered(rng.choice(study.n_clusters, size=n, p=weights), centres)
    prior = CRP(study.concentration)
    if study.kind == "gaussian":
        X = centres[labels] + rng.normal(0.0, np.sqrt(variance), size=(n, study.n_columns))
        return Sample(X, labels, SphericalGaussian(variance, np.zeros(study.n_columns), MEAN_VARIANCE), prior)
    X = rng.multinomial(TRIALS, centres[labels]).astype(np.float64)
    return Sample(X, labels, Multinomial(np.ones(study.n_columns), TRIALS), prior)


def _variance(study: Study, name: str, sigma2: float | None) -> float:
    if study.kind != "gaussian":
        if sigma2 is not None:
            raise ValueError(f"sigma2: {name!r} holds histograms, which have no variance; leave it out")
        return np.nan
    value = max(0.1, min(study.sigma2)) if sigma2 is None else float(sigma2)
    if not 0.0 < value < np.inf:
        raise ValueError(f"sigma2 must be a positive number, got {sigma2!r}")
    return value


def _parameters(
    study: Study, name: str, configuration: int | None, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Weights and centres (means, or bin probabilities) of the clusters."""
    if configuration not in (1, 2, None):
        raise ValueError(f"configuration must be 1 (easier), 2 (harder) or None (a new draw), got {configuration!r}")
    if configuration is None:
        return _draw(study, 0, rng)
    fixed = np.random.default_rng(zlib.crc32(name.encode()))
    candidates = sorted(
        (_draw(study, configuration - 1, fixed) for _ in range(CANDIDATES)), key=lambda drawn: _gap(drawn[1])
    )
    return candidates[-1] if configuration == 1 else candidates[4]


def _draw(study: Study, printed: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    k, d = study.n_clusters, study.n_columns
    if study.kind == "gaussian":
        centres = rng.normal(0.0, np.sqrt(MEAN_VARIANCE), size=(k, d))
    else:
        centres = rng.dirichlet(np.ones(d), size=k)
    if study.weights:
        weights = np.array(study.weights[printed])
        return weights / weights.sum(), centres
    return rng.dirichlet(np.full(k, BALANCE)), centres


def _gap(centres: FloatArray) -> float:
    """Distance between the two closest centres."""
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)
    return float(distances[np.triu_indices(len(centres), 1)].min())
