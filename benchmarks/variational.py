"""Variational inference against its peers, and against sampling.

python benchmarks/variational.py pass          a pass beside scikit-learn's and the yardstick
python benchmarks/variational.py density       100,000 x 10, 20 clusters: time to scikit-learn's held-out density
python benchmarks/variational.py million       1,000,000 x 16, 50 clusters: time, NMI, memory
python benchmarks/variational.py multinomial   10,000 histograms over 200 words, 20 clusters
python benchmarks/variational.py rome          Pletscher's Rome setting: held-out density beside collapsed Gibbs
python benchmarks/variational.py tables        time and held-out density of all engines on real tables
python benchmarks/variational.py crossover     sampling and variational at growing numbers of rows
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np
from common import SHARED, print_table, use_shared
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold

import countless as cl
from countless.inference import ENGINES, Problem
from countless.models.mixture.engines.mean_field import MeanField
from countless.models.mixture.engines.rearrange import seed_labels
from countless.partitions.stick_law import StickLaw
from countless.passes.passes import Passes
from countless.priors import CRP


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def one_pass(n=100_000, d=16, k=50):
    """Seconds of a pass with its global step, scikit-learn's, and the yardstick's, in one run."""
    use_shared("yardstick")
    import pass_yardstick

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(20, d))[rng.integers(20, size=n)]
    problem = Problem.of(X, cl.families.Gaussian().resolve(X), CRP().resolve(n))
    law = StickLaw(problem.prior, n)
    with Passes(problem) as passes:
        labels = seed_labels(problem, k, rng)
        field = MeanField.of(problem, law, passes.sums_of(labels, k))
        ours = []
        for _ in range(9):
            start = time.perf_counter()
            field = field.updated(passes.soften(field.natural, deletions=True).sums)
            ours.append(time.perf_counter() - start)
    natural = rng.normal(size=(1 + d + d * (d + 1) // 2, k)) * 0.05
    pass_yardstick.one_pass(X[:5000], natural)
    yard = [timed(lambda: pass_yardstick.one_pass(X, natural))[0] for _ in range(5)]
    theirs, _ = timed(
        lambda: BayesianGaussianMixture(n_components=k, max_iter=5, init_params="random_from_data", random_state=0).fit(
            X
        )
    )
    rows = [[n, d, k, f"{np.median(ours):.3f}", f"{np.median(yard):.3f}", f"{theirs / 5:.3f}"]]
    rows[0] += [f"{theirs / 5 / np.median(ours):.1f}", f"{np.median(ours) / np.median(yard):.2f}"]
    print_table(
        ["N", "D", "T", "s a pass", "yardstick", "scikit-learn", "scikit-learn / ours", "ours / yardstick"], rows
    )


def density(seeds=(0, 1)):
    workloads, metrics = _bench()
    rows = []
    for seed in seeds:
        work = workloads.make("W2-1e5", seed)
        fit = cl.DPMixture(inference="variational", random_state=seed)
        seconds, _ = timed(lambda: fit.fit(work.train))  # noqa: B023
        peer = BayesianGaussianMixture(
            n_components=30, max_iter=200, weight_concentration_prior_type="dirichlet_process", random_state=seed
        )
        theirs, _ = timed(lambda: peer.fit(work.train))  # noqa: B023
        rows.append(
            [
                seed,
                f"{seconds:.1f}",
                f"{fit.score(work.test):.4f}",
                f"{metrics.nmi(work.labels, fit.labels_):.4f}",
                f"{theirs:.1f}",
                f"{peer.score(work.test):.4f}",
                f"{work.oracle_lpd:.4f}",
                f"{theirs / seconds:.1f}",
            ]
        )
    print_table(["seed", "s", "held out", "NMI", "scikit-learn s", "held out", "oracle", "ratio of times"], rows)


def million():
    workloads, metrics = _bench()
    work = workloads.make("W3", 0)
    X = np.ascontiguousarray(work.train)
    labels, oracle = work.labels, metrics.nmi(work.labels, work.oracle_labels)
    del work
    cl.DPMixture(inference="variational", random_state=0).fit(X[:2000])  # compiled, and the libraries loaded
    _reset_peak()
    before = _resident()
    seconds, fit = timed(lambda: cl.DPMixture(inference="variational", random_state=0).fit(X))
    extra = (_peak() - before) / (X.nbytes / 1e6)
    header = ["s", "clusters", "NMI", "oracle", "peak memory (X and all else over X)"]
    found = [f"{seconds:.1f}", fit.n_clusters_, f"{metrics.nmi(labels, fit.labels_):.4f}", f"{oracle:.4f}"]
    print_table(header, [[*found, f"{1 + extra:.2f}"]])


def multinomial(seeds=(0, 1, 2)):
    workloads, metrics = _bench()
    rows = []
    for seed in seeds:
        work = workloads.make("W4", seed)
        X = np.ascontiguousarray(work.train, dtype=np.float64)
        cl.DPMixture("multinomial", inference="variational", random_state=0).fit(X[:200])
        fit = cl.DPMixture("multinomial", inference="variational", random_state=seed)
        seconds, _ = timed(lambda: fit.fit(X))  # noqa: B023
        found, best = metrics.nmi(work.labels, fit.labels_), metrics.nmi(work.labels, work.oracle_labels)
        rows.append([seed, f"{seconds:.1f}", fit.n_clusters_, f"{found:.4f}", f"{best:.4f}", f"{best - found:.4f}"])
    print_table(["seed", "s", "clusters", "NMI", "oracle", "gap"], rows)


def rome(repetitions=10, sigma2=0.2):
    """As in the source, with the covariance known, and with full covariances."""
    known = cl.families.SphericalGaussian(variance=sigma2, mean=0.0, mean_variance=3.0)
    for title, family in (("known covariance", known), ("full covariance", "gaussian")):
        rows = []
        for seed in range(repetitions):
            sample = cl.datasets.make_pletscher("rome", 1400, sigma2, configuration=None, random_state=seed)
            train, test = sample.X[:700], sample.X[700:]
            scores = []
            for engine in ("gibbs", "variational"):
                fit = cl.DPMixture(family, inference=engine, random_state=seed)
                seconds, _ = timed(lambda: fit.fit(train))  # noqa: B023
                scores += [f"{seconds:.1f}", fit.n_clusters_, fit.score(test)]
            loss = (scores[2] - scores[5]) / abs(scores[2])
            rows.append([seed, *[f"{s:.4f}" if isinstance(s, float) else s for s in scores], f"{100 * loss:.2f}%"])
        print(title)
        print_table(["seed", "Gibbs s", "K", "held out", "variational s", "K", "held out", "below"], rows)


def tables():
    rows = []
    for name, X in _tables().items():
        for engine in ENGINES:
            slow = cl.inference.SingleSiteGibbs(draws=1000, warmup=1000)
            settings = slow if engine == "single-site" else engine
            scores, seconds, clusters = [], [], []
            for train, test in KFold(5, shuffle=True, random_state=0).split(X):
                fit = cl.DPMixture(inference=settings, random_state=0)
                seconds.append(timed(lambda: fit.fit(X[train]))[0])  # noqa: B023
                scores.append(fit.score_samples(X[test]))
                clusters.append(fit.n_clusters_)
            held_out = np.concatenate(scores)
            error = held_out.std() / np.sqrt(len(held_out))
            rows.append([name, engine, f"{np.median(seconds):.2f}", clusters, f"{held_out.mean():.3f}", f"{error:.3f}"])
    print_table(["table", "engine", "s", "clusters", "held out", "error"], rows)


def crossover():
    rows = []
    for n in (1_000, 10_000, 60_000, 200_000):
        truth = cl.datasets.make_gaussian_mixture(n, 10, 20, random_state=0)
        test = cl.datasets.make_gaussian_mixture(2 * n, 10, 20, random_state=0)
        for engine in ("gibbs", "variational", "map"):
            if engine == "gibbs" and n > 60_000:
                continue
            fit = cl.DPMixture(inference=engine, random_state=0)
            seconds, _ = timed(lambda: fit.fit(truth.X))  # noqa: B023
            nmi = cl.metrics.normalized_mutual_information(fit.labels_, truth.labels)
            rows.append(
                [n, engine, f"{seconds:.1f}", fit.n_clusters_, f"{nmi:.4f}", f"{fit.score(test.X[-2000:]):.3f}"]
            )
    print_table(["rows", "engine", "s", "clusters", "NMI", "held out"], rows)


def _tables():
    import pandas as pd

    iris = pd.read_csv(SHARED / "data" / "iris.csv").select_dtypes("number").to_numpy()
    return {
        "Old Faithful": cl.datasets.load_faithful().to_numpy(dtype=float),
        "galaxies": cl.datasets.load_galaxies().to_numpy(dtype=float),
        "iris": iris[:, :4],
    }


def _bench():
    use_shared("bench")
    import workloads

    import metrics

    return workloads, metrics


def _resident():
    """Resident memory in MB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1e3


def _reset_peak():
    """Forget the peak so far, where the system can (Linux)."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        print("the peak of memory could not be reset; it includes the making of the data")


def _peak():
    """Peak of resident memory in MB."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


STUDIES = {
    "pass": one_pass,
    "density": density,
    "million": million,
    "multinomial": multinomial,
    "rome": rome,
    "tables": tables,
    "crossover": crossover,
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for study in sys.argv[1:] or STUDIES:
        print(f"\n{study}")
        STUDIES[study]()
