"""Small fits over all families, priors, engines and estimators: recorded once, compared after a change of the code.

    python benchmarks/recorded.py record before.npz      # with the code as it was
    python benchmarks/recorded.py compare before.npz     # with the code as it is

A change that is meant to move code and not answers must leave every label as it was and every number to rounding.
Only public names are used, so that both versions of the code can run this file.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import countless as cl

# Numbers of two versions of the code may differ by what another order of additions leaves.
RELATIVE, ABSOLUTE = 1e-9, 1e-9

FAMILIES = {
    "gaussian": lambda rng: rng.normal(5.0 * rng.integers(0, 3, (60, 1)), 1.0, (60, 3)),
    "diagonal-gaussian": lambda rng: rng.normal(5.0 * rng.integers(0, 3, (60, 1)), 1.0, (60, 3)),
    "spherical-gaussian": lambda rng: rng.normal(5.0 * rng.integers(0, 3, (60, 1)), 1.0, (60, 2)),
    "gaussian-known-covariance": lambda rng: rng.normal(6.0 * rng.integers(0, 3, (60, 1)), 1.0, (60, 2)),
    "multinomial": lambda rng: np.array(
        [rng.multinomial(20, p) for p in np.eye(3)[rng.integers(0, 3, 50)] * 0.7 + 0.1]
    ),
    "categorical": lambda rng: (rng.random((50, 5)) < 0.1 + 0.8 * rng.integers(0, 2, (50, 1))) * 2.0,
    "bernoulli": lambda rng: (rng.random((50, 6)) < 0.1 + 0.8 * rng.integers(0, 2, (50, 1))) * 1.0,
    "binomial": lambda rng: rng.binomial(12, 0.1 + 0.4 * rng.integers(0, 3, (50, 1)), (50, 2)),
    "poisson": lambda rng: rng.poisson(1.0 + 9.0 * rng.integers(0, 3, (50, 1)), (50, 2)),
    "geometric": lambda rng: rng.geometric(np.where(rng.integers(0, 2, (50, 1)), 0.6, 0.03), (50, 3)) - 1,
    "exponential": lambda rng: rng.exponential(np.where(rng.integers(0, 2, (50, 1)), 0.1, 9.0), (50, 3)),
}
PRIORS = ("crp", "pitman-yor", "finite-dirichlet", "mixture-of-finite")
SAMPLERS = {
    "gibbs": lambda: cl.inference.CollapsedGibbs(chains=2, draws=15, warmup=15),
    "uncollapsed": lambda: cl.inference.Gibbs(chains=2, draws=15, warmup=15),
    "single-site": lambda: cl.inference.SingleSiteGibbs(chains=2, draws=10, warmup=20, thin=2),
    "blocked": lambda: cl.inference.BlockedGibbs(chains=2, draws=15, warmup=20),
    "variational": lambda: cl.inference.Variational(restarts=2),
    "map": lambda: cl.inference.MAP(restarts=2, perturbations=2),
}


def rows_of(family: str) -> Any:
    """Rows of a few clusters of a family."""
    return np.asarray(FAMILIES[family](np.random.default_rng(list(FAMILIES).index(family))), dtype=np.float64)


def mixed(holes: bool = True) -> pd.DataFrame:
    """Measurements, categories and counts, with missing cells."""
    rng = np.random.default_rng(70)
    groups = rng.integers(0, 3, size=80)
    frame = pd.DataFrame(rng.standard_normal((80, 2)) + 4.0 * groups[:, None], columns=["height", "weight"])
    frame["colour"] = np.array(["red", "green", "blue"])[(groups + (rng.random(80) < 0.2)) % 3]
    frame["visits"] = rng.poisson(1.0 + 4.0 * groups)
    return frame.mask(rng.random(frame.shape) < 0.1) if holes else frame


MIXED = {"height": "gaussian", "weight": "gaussian", "colour": "categorical", "visits": "poisson"}
APART = {"height": "diagonal-gaussian", "weight": "diagonal-gaussian", "colour": "categorical", "visits": "poisson"}


def mixtures() -> Iterator[tuple[str, Callable[[], Any], Any]]:
    """Name, estimator and rows of every fit of a DPMixture."""

    def make(**settings: Any) -> Callable[[], Any]:
        return lambda: cl.DPMixture(random_state=3, **settings)

    for at, family in enumerate(FAMILIES):
        for name in ("gibbs", "map", list(SAMPLERS)[1 + at % 4]):
            prior = PRIORS[(at + list(SAMPLERS).index(name)) % 4]
            if prior == "mixture-of-finite" and name in ("blocked", "variational"):
                prior = "crp"
            yield (
                f"{family}, {prior}, {name}",
                make(family=family, prior=prior, inference=SAMPLERS[name]()),
                rows_of(family),
            )
    for name in ("uncollapsed", "single-site", "blocked", "variational"):
        yield f"gaussian, crp, {name}", make(inference=SAMPLERS[name]()), rows_of("gaussian")
    for tune in ("sample", "empirical-bayes", "greedy", "cross-validation"):
        yield f"poisson, {tune}", make(family="poisson", tune=tune, inference=SAMPLERS["gibbs"]()), rows_of("poisson")
    for tune in ("empirical-bayes", "greedy"):
        yield f"gaussian, {tune}, map", make(tune=tune, inference=SAMPLERS["map"]()), rows_of("gaussian")
    table = cl.families.Table(MIXED)
    yield "table with missing cells", make(family=table, inference=SAMPLERS["gibbs"]()), mixed()
    yield "table with missing cells, sample", make(family=table, tune="sample", inference=SAMPLERS["gibbs"]()), mixed()
    for name in ("map", "variational", "uncollapsed", "blocked"):
        apart = cl.families.Table(APART)
        yield f"table of independent columns, {name}", make(family=apart, inference=SAMPLERS[name]()), mixed()
    yield "table, map", make(family=table, inference=SAMPLERS["map"]()), mixed(holes=False)
    yield "weights", make(inference=SAMPLERS["variational"]()), rows_of("gaussian")


def others() -> Iterator[tuple[str, Callable[[], Any], Any]]:
    """The other estimators."""
    yield "EM", lambda: cl.FiniteMixture(3, random_state=1), rows_of("gaussian")
    yield "EM at the mode", lambda: cl.FiniteMixture(3, "poisson", "map", random_state=1), rows_of("poisson")
    yield "EM, random rows", lambda: cl.FiniteMixture(3, start="random", random_state=1), rows_of("gaussian")
    gibbs = cl.inference.CollapsedGibbs(chains=2, draws=15, warmup=15)
    yield "finite, sampled", lambda: cl.FiniteMixture(4, method=gibbs, random_state=1), rows_of("gaussian")
    yield "search", lambda: cl.MixtureSearch(n_components=range(1, 5), restarts=2, random_state=1), rows_of("gaussian")
    yield "DP-means", lambda: cl.DPMeans(random_state=1), rows_of("gaussian")
    yield "DP-means, number", lambda: cl.DPMeans(n_clusters=4, random_state=1), rows_of("gaussian")
    yield "DP-means, counts", lambda: cl.DPMeans(keep_counts=True, random_state=1), rows_of("gaussian")
    yield "DP-means, poisson", lambda: cl.DPMeans(divergence="poisson", random_state=1), rows_of("poisson")
    yield "DP-means, no splits", lambda: cl.DPMeans(splits=False, random_state=1), rows_of("gaussian")
    yield "k-means", lambda: cl.Partitional(n_clusters=3, random_state=1), rows_of("gaussian")


def fit(name: str, make: Callable[[], Any], rows: Any) -> dict[str, Any]:
    """Everything that a fit answers, as named arrays."""
    weights = {"sample_weight": 1.0 + (np.arange(len(rows)) % 3)} if name == "weights" else {}
    model = make().fit(rows, **weights)
    found: dict[str, Any] = {"labels": model.labels_, "n_clusters": model.n_clusters_}
    for attribute in ("concentration_", "weights_", "log_likelihood_", "objective_", "penalty_", "inertia_", "scores_"):
        value = getattr(model, attribute, None)
        for key, part in value.items() if isinstance(value, dict) else [("", value)]:
            if part is not None:
                found[f"{attribute}{key}"] = part
    posterior = getattr(model, "posterior_", None)
    if posterior is not None:
        for attribute in ("labels", "n_clusters", "log_joint", "concentration", "objective", "weights"):
            if getattr(posterior, attribute) is not None:
                found[f"draws/{attribute}"] = getattr(posterior, attribute)
        for attribute in ("parameters", "log_factors", "hyperparameters"):
            for key, part in (getattr(posterior, attribute) or {}).items():
                found[f"draws/{attribute}/{key}"] = part
    for method in ("predict", "predict_proba", "score_samples"):
        if hasattr(model, method) and isinstance(model, (cl.DPMixture, cl.FiniteMixture, cl.MixtureSearch)):
            found[method] = getattr(model, method)(rows)
    if hasattr(model, "sample") and isinstance(model, cl.DPMixture):
        found["sample"] = model.sample(20)[0]
    return {f"{name}|{key}": np.asarray(value) for key, value in found.items()}


def everything() -> dict[str, Any]:
    """All fits."""
    found: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    cases = [*mixtures(), *others()]
    for number, (name, make, rows) in enumerate(cases, start=1):
        print(f"{number}/{len(cases)} {name}", file=sys.stderr, flush=True)
        found.update(fit(name, make, rows))
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Arrays that differ."""
    wrong = [f"{key}: only before" for key in before if key not in after]
    wrong += [f"{key}: only after" for key in after if key not in before]
    for key in before:
        if key in after:
            one, other = before[key], after[key]
            exact = one.dtype.kind in "iub"
            if one.shape != other.shape:
                wrong.append(f"{key}: shape {one.shape} before, {other.shape} after")
            elif exact and not np.array_equal(one, other):
                wrong.append(f"{key}: {np.sum(one != other)} of {one.size} differ")
            elif not exact and not np.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
                wrong.append(f"{key}: differs by up to {np.nanmax(np.abs(one - other)):.3g}")
    return wrong


def main() -> None:
    """Record or compare."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    found = everything()
    fits = len({key.split("|")[0] for key in found})
    if sys.argv[1] == "record":
        np.savez_compressed(sys.argv[2], **found)
        print(f"{fits} fits, {len(found)} arrays recorded")
        return
    with np.load(sys.argv[2]) as file:
        before = {key: file[key] for key in file.files}
    wrong = compare(before, found)
    print("\n".join(wrong))
    print(f"{fits} fits, {len(found)} arrays compared, {len(wrong)} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
