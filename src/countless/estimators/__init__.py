"""Estimators in the manner of scikit-learn: they validate, choose, call and store.

Every folder of ``models`` with an estimator that registers itself is in here, without a word about it elsewhere.
"""

from __future__ import annotations

from .. import models as _models
from ..core.register import import_folder
from ..models.dp_means.estimator import DPMeans
from ..models.dp_means_hmm.estimator import DPMeansHMM
from ..models.finite.estimator import FiniteMixture
from ..models.finite.search import MixtureSearch
from ..models.hmm.estimator import InfiniteHMM
from ..models.mixture.estimator import DPMixture
from ..models.partitional.estimator import Partitional
from ..runs import ESTIMATORS

import_folder(_models.__name__, _models.__path__, only="estimator")
_registered = {cls.__name__: cls for cls in ESTIMATORS.values() if cls.__module__.startswith(_models.__name__)}
globals().update(_registered)

__all__ = ["DPMeans", "DPMeansHMM", "DPMixture", "FiniteMixture", "InfiniteHMM", "MixtureSearch", "Partitional"]
__all__ += [name for name in _registered if name not in __all__]
