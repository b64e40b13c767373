"""Mixed effects of Raykov et al. 2016 (section 7): which covariates predict outcomes of subjects that were not seen.

Data of the shape of theirs are simulated, and real longitudinal sets are beside them. Each model is fitted to four
fifths of the subjects and judged by the log predictive density of a visit of the others: the mixture, one Gaussian
population by the same code, and MixedLM of statsmodels, where it is installed.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..core.random import as_generator
from .study import STUDIES, Case, Study

FloatArray = NDArray[np.float64]

METHODS = ("mixture", "one population", "MixedLM")
SIMULATED = "simulated survey"
FOLDS = 5
# Columns of the effects of subjects besides the intercept, and of the effects that all share, by data set.
COVARIATES: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    SIMULATED: {"depression and ADL": (("depression", "adl"), ()), "memory and fluency": (("memory", "fluency"), ())},
    "sleepstudy": {"days": (("days",), ()), "intercept only": ((), ())},
    "orthodont": {"age": (("age",), ()), "age, sex": (("age",), ("male",))},
    "pbc910": {"year": (("year",), ()), "intercept only": ((), ())},
}
OUTCOMES = {SIMULATED: "quality", "sleepstudy": "reaction", "orthodont": "distance", "pbc910": "log_bilirubin"}
SUBJECTS = {"pbc910": "id"}


def make_survey(n_subjects: int = 6805, n_waves: int = 5, random_state: Any = None) -> pd.DataFrame:
    """Quality of life of older people in waves of a survey, with depression, daily living (adl), memory and fluency.

    Three kinds of people differ in their level and in what depression and difficulties with daily living do to them.
    Memory and fluency have small effects that are the same for all. Covariates are standard, and partly lasting.

    Examples
    --------
    >>> from countless.experiments.mixed_effects import make_survey
    >>> survey = make_survey(100, random_state=0)
    >>> survey.shape, survey.columns.tolist()
    ((500, 7), ['subject', 'wave', 'quality', 'depression', 'adl', 'memory', 'fluency'])
    """
    rng = as_generator(random_state)
    subject, wave = np.divmod(np.arange(n_subjects * n_waves), n_waves)
    kind = rng.choice(3, n_subjects, p=[0.6, 0.3, 0.1])
    centres = np.array([[45.0, -1.5, -0.8], [38.0, -4.0, -2.0], [31.0, -0.5, -6.0]])
    effects = centres[kind] + rng.normal(size=(n_subjects, 3)) * [2.5, 0.8, 0.8]
    lasting, passing = rng.normal(size=(n_subjects, 4)), rng.normal(size=(len(subject), 4))
    cells = np.sqrt(0.6) * lasting[subject] + np.sqrt(0.4) * passing
    cells[:, 2:] -= 0.1 * (wave[:, None] - 0.5 * (n_waves - 1))
    quality = effects[subject, 0] + np.sum(effects[subject, 1:] * cells[:, :2], axis=1) + 0.4 * cells[:, 2]
    quality += 0.3 * cells[:, 3] + rng.normal(scale=3.0, size=len(subject))
    columns = dict(zip(("depression", "adl", "memory", "fluency"), cells.T, strict=True))
    return pd.DataFrame({"subject": subject, "wave": wave, "quality": quality, **columns})


class Visits(NamedTuple):
    """Designs of the effects of subjects and of those that all share, outcomes, subjects."""

    X: FloatArray
    fixed: FloatArray
    y: FloatArray
    subject: NDArray[Any]

    def some(self, chosen: NDArray[np.bool_]) -> Visits:
        """Some of the visits."""
        return Visits(*(part[chosen] for part in self))


def _table(name: str, folder: Path | None, n_subjects: int) -> pd.DataFrame:
    if name == SIMULATED:
        return make_survey(n_subjects, random_state=0)
    frame = pd.read_csv(Path(folder or ".") / f"{name}.csv")
    if name == "pbc910":
        frame["year"] = frame["month"] / 12.0
    if name == "orthodont":
        frame["male"] = (frame["sex"] == "Male").astype(float)
    return frame


def _visits(name: str, frame: pd.DataFrame, covariates: str) -> Visits:
    own, shared = COVARIATES[name][covariates]
    ones = np.ones((len(frame), 1))
    X = np.hstack([ones, frame[list(own)].to_numpy(dtype=np.float64)])
    fixed = frame[list(shared)].to_numpy(dtype=np.float64)
    return Visits(X, fixed, frame[OUTCOMES[name]].to_numpy(), frame[SUBJECTS.get(name, "subject")].to_numpy())


def _ours(train: Visits, test: Visits, method: str, sampled: bool) -> dict[str, Any]:
    from ..models.mixed_effects.engines.gibbs import MixedEffectsGibbs
    from ..models.mixed_effects.estimator import MixedEffects
    from ..priors import FiniteDirichlet

    engine = MixedEffectsGibbs(chains=2, draws=1000, warmup=300) if sampled else "map"
    prior = FiniteDirichlet(1) if method == "one population" else "crp"
    model = MixedEffects(prior=prior, inference=engine, random_state=0, progress=False)
    model.fit(train.X, train.y, train.subject, train.fixed)
    score = model.score(test.X, test.y, test.subject, test.fixed)
    return {"score": score, "clusters": model.n_clusters_}


def _maximum_likelihood(train: Visits, test: Visits) -> float:
    """Score of MixedLM of statsmodels: subjects that were not seen are normal with its mean and covariance."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    design = np.hstack([train.X, train.fixed])
    model = MixedLM(train.y, design, train.subject, exog_re=train.X)
    # Its optimisers may stop anywhere, even at infinity; the likelihood without effects of subjects must be reached.
    residual = train.y - design @ np.linalg.lstsq(design, train.y, rcond=None)[0]
    bound = -0.5 * len(residual) * (np.log(2.0 * np.pi * np.mean(residual**2)) + 1.0)
    for method in ("lbfgs", "bfgs", "powell"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = model.fit(reml=False, method=method)
        if bound - 1e-6 < fit.llf < np.inf:
            break
    left = test.y - np.hstack([test.X, test.fixed]) @ fit.fe_params
    return normal_score(test.X, left, test.subject, fit.cov_re, fit.scale)


def normal_score(X: FloatArray, left: FloatArray, subject: NDArray[Any], covariance: Any, noise: float) -> float:
    """Mean log density of a visit, whose subject has normal effects of mean zero.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from countless.experiments.mixed_effects import normal_score
    >>> found = normal_score(np.ones((1, 1)), np.zeros(1), np.zeros(1), np.eye(1), 3.0)
    >>> bool(np.isclose(found, norm.logpdf(0.0, scale=2.0)))
    True
    """
    from scipy.stats import multivariate_normal

    total = 0.0
    for each in np.unique(subject):
        here = subject == each
        spread = X[here] @ np.asarray(covariance) @ X[here].T + noise * np.eye(int(here.sum()))
        total += float(multivariate_normal(np.zeros(int(here.sum())), spread).logpdf(left[here]))
    return float(total / len(left))


@STUDIES.add("mixed-effects")
class Survey(Study):
    """Held-out likelihood of two sets of covariates, by the mixture, one population, and MixedLM.

    Examples
    --------
    >>> from countless.experiments.mixed_effects import Survey
    >>> {case["data"] for case in Survey().cases(quick=True)}
    {'simulated survey'}
    """

    title = "Mixed effects: which covariates predict quality of life?"
    text = """
Raykov, Boukouvalas, Baig and Little (2016), section 7: quality of life of 6,805 people in five waves of the English
longitudinal survey of ageing, by MAP, for two sets of covariates. The survey is not public. Here data of its shape are
simulated (`make_survey`), in which depression and difficulties with daily living matter more than memory and fluency,
and differently for three kinds of people; `--data FOLDER` adds real sets (sleepstudy, orthodont and the logarithm of
bilirubin of pbc910), which are sampled. Score: mean log predictive density of a visit of subjects that were left out,
all visits of a subject jointly, five folds; larger is better. Their table 5 reports 3.834 for depression and daily
living and 0.364 for memory and fluency; their text calls the former lower, so that the sign of their number is not
clear. Their fits took 11 and 16 seconds, sampling more than five hours.
"""

    def cases(self, quick: bool) -> list[Case]:
        """Each data set, set of covariates, method and fold; a survey of 600 and two folds for a quick look."""
        found = [SIMULATED] if self.data is None else list(COVARIATES)
        return [
            {
                "data": name,
                "covariates": covariates,
                "method": method,
                "fold": fold,
                **({"subjects": 600 if quick else 6805} if name == SIMULATED else {}),
            }
            for name in found
            for covariates in COVARIATES[name]
            for method in METHODS
            for fold in range(2 if quick else FOLDS)
        ]

    def run(self, case: Case) -> list[dict[str, Any]]:
        """Score, number of clusters and seconds; none for MixedLM where statsmodels is not installed."""
        name, method = case["data"], case["method"]
        frame = _table(name, self.data, case.get("subjects", 0))
        visits = _visits(name, frame, case["covariates"])
        names = np.unique(visits.subject)
        out = np.random.default_rng(0).permutation(len(names)) % FOLDS == case["fold"]
        left_out = np.isin(visits.subject, names[out])
        train, test = visits.some(~left_out), visits.some(left_out)
        begin = time.perf_counter()
        if method != "MixedLM":
            found = _ours(train, test, method, sampled=name != SIMULATED)
        else:
            try:
                found = {"score": _maximum_likelihood(train, test), "clusters": 1}
            except ModuleNotFoundError:
                return []
        return [found | {"seconds": time.perf_counter() - begin}]

    def summary(self, table: pd.DataFrame) -> pd.DataFrame:
        """Means over the folds."""
        groups = table.groupby(["data", "covariates", "method"], sort=False)
        return groups[["score", "clusters", "seconds"]].mean().reset_index()

    def figure(self, table: pd.DataFrame) -> Any:
        """Scores of each set of covariates, one panel for each data set; dots are folds, lines their means."""
        from ..plots.parts.style import Picture, colour, headline, layout, quiet

        names = list(dict.fromkeys(table["data"]))
        picture = Picture(figsize=(6.8, 0.6 + 1.5 * len(names)), layout=layout())
        for at, name in enumerate(names):
            ax = picture.add_subplot(len(names), 1, at + 1)
            mine = table[table["data"] == name]
            sets = list(dict.fromkeys(mine["covariates"]))
            for k, method in enumerate(METHODS):
                here = mine[mine["method"] == method]
                places = np.array([sets.index(each) for each in here["covariates"]]) + 0.22 * (k - 1)
                ax.plot(here["score"], places, "o", color=colour(k), markersize=4, alpha=0.45)
                means = here.groupby("covariates")["score"].mean()
                heights = [sets.index(str(each)) + 0.22 * (k - 1) for each in means.index]
                ax.plot(means, heights, "|", color=colour(k), markersize=14, markeredgewidth=2.2, label=method)
            ax.set_yticks(range(len(sets)), sets)
            ax.set_ylim(len(sets) - 0.4, -0.6)
            quiet(ax)
            headline(ax, name, "")
            if at == 0:
                ax.legend(frameon=False, fontsize=7, loc="best")
        ax.set_xlabel("log predictive density of a visit of unseen subjects", fontsize=9)
        return picture
