"""Kernels: compiled once for each family, the same with JIT off, and a cache that damage cannot break."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import countless as cl
from countless.core import jit
from countless.inference import MAP, CollapsedGibbs
from countless.partitions import icm, partition, starts, sums, sweep
from countless.partitions.proposals import propose

SOURCES = Path(cl.__file__).resolve().parent
ENGINES = {
    "gibbs": CollapsedGibbs(chains=2, draws=20, warmup=10),
    "map": MAP(restarts=3, perturbations=4),
}


def _python(code, **environment):
    """Run code in a new interpreter in which warnings are errors; returns what it printed."""
    settings = {**os.environ, "PYTHONPATH": str(SOURCES.parent), **environment}
    settings = {name: value for name, value in settings.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=settings, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _rows(kind, n, d, seed):
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return rng.standard_normal((n, d)) + 4.0 * rng.integers(0, 3, size=(n, 1))
    return rng.poisson(2.0 + 9.0 * rng.integers(0, 3, size=(n, 1)), size=(n, d)).astype(float)


# --- compilations --------------------------------------------------------------------------------------------


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
@pytest.mark.parametrize("engine", ENGINES)
def test_one_compilation_for_each_family(engine):
    """Whatever the number of rows and columns, the seed, the prior, and the form in which rows come."""
    for kind in ("gaussian", "poisson"):
        forms = (np.asarray, np.asfortranarray, lambda rows: rows.astype(np.float32), np.ndarray.tolist)
        for seed, ((n, d), form) in enumerate(zip([(20, 1), (35, 2), (50, 14), (20, 2)], forms, strict=True)):
            X = _rows(kind, n, d, seed)
            cl.DPMixture(kind, inference=ENGINES[engine], random_state=seed).fit(form(X))
        for prior in ("pitman-yor", "finite-dirichlet", "mixture-of-finite", cl.priors.CRP(1.0)):
            cl.DPMixture(kind, prior, inference=ENGINES[engine], random_state=0).fit(X)
    kernels = {
        "gibbs": [sweep._sweep, propose._propose, sums.add_by_label, partition.log_evidence, starts._allocate],
        "map": [sweep._sweep, icm._join, icm._divide, sums.add_by_label, partition.log_evidence, starts._allocate],
    }
    for compiled in kernels[engine]:
        families = [signature[0].instance_class.__name__ for signature in compiled.signatures]
        assert len(families) == len(set(families)), f"{compiled} was compiled again: {compiled.signatures}"
        assert {"NormalInverseWishart", "GammaCounts"} <= set(families)


# --- the same without compilation ------------------------------------------------------------------------------

_FIT = """
import json, warnings
import numpy as np
import countless as cl
from countless.inference import MAP, CollapsedGibbs
from countless.priors import CRP, FiniteDirichlet, Gamma
warnings.simplefilter("ignore", cl.ConvergenceWarning)  # the chains are short
for kind, prior, rows in [{cases}]:
    model = cl.DPMixture(kind, prior, inference={engine}, random_state=5).fit(np.array(rows))
    print(json.dumps([model.posterior_.labels.tolist(), model.posterior_.log_joint.tolist()]))
"""


_CASES = [("gaussian", "CRP(Gamma(1.0, 1.0))"), ("poisson", "CRP(1.0)"), ("poisson", "FiniteDirichlet(2, 1.0)")]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_without_compilation(engine):
    """Plain Python is the reference of the compiled kernels: twelve rows, the same seed, the same draws."""
    cases = ", ".join(f"({kind!r}, {prior}, {_rows(kind, 12, 2, 1).tolist()})" for kind, prior in _CASES)
    code = _FIT.format(cases=cases, engine=ENGINES[engine])
    printed = (_python(code, NUMBA_DISABLE_JIT=switch).splitlines() for switch in "10")
    for case, *both in zip(_CASES, *printed, strict=True):
        plain, compiled = map(json.loads, both)
        np.testing.assert_array_equal(plain[0], compiled[0], err_msg=str(case))
        np.testing.assert_allclose(plain[1], compiled[1], rtol=1e-10, err_msg=str(case))


# --- the cache -------------------------------------------------------------------------------------------------

_SMALL = "from countless.core.special import digamma; print(digamma(1.0))"
_HITS = _SMALL + "; print(sum(digamma.stats.cache_hits.values()))"


def _small(cache, code=_SMALL):
    words = _python(code, COUNTLESS_CACHE_DIR=str(cache), NUMBA_DISABLE_JIT="0").split()
    assert float(words[0]) == pytest.approx(-np.euler_gamma, rel=1e-13)
    return words


def _cached(cache, suffix):
    return sorted(Path(cache).rglob(f"*{suffix}"))


def test_a_second_process_takes_kernels_from_the_cache(tmp_path):
    assert _small(tmp_path, _HITS)[1] == "0"
    assert _cached(tmp_path, ".nbi")
    assert _small(tmp_path, _HITS)[1] == "1"


@pytest.fixture(scope="module")
def good_cache(tmp_path_factory):
    """A cache that one process has filled."""
    cache = tmp_path_factory.mktemp("good")
    _small(cache)
    return cache


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [(".nbi", b""), (".nbc", b"not a cache"), (".nbi", None), (".nbc", None)],
    ids=["empty", "foreign", "cut-index", "cut-code"],
)
def test_a_damaged_cache_costs_a_compilation(suffix, damage, good_cache, tmp_path):
    shutil.copytree(good_cache, tmp_path, dirs_exist_ok=True)
    files = _cached(tmp_path, suffix)
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:40] if damage is None else damage)
    _small(tmp_path)
    assert _small(tmp_path, _HITS)[1] == "1"  # the second process has repaired it


def test_a_cache_that_cannot_be_written_is_none(tmp_path):
    """A file where the folder should be: no one, not even root, can write below it."""
    (tmp_path / "file").write_text("in the way")
    _small(tmp_path / "file")
    code = "from countless.core.jit import cache_directory; print(cache_directory())"
    assert _python(code, COUNTLESS_CACHE_DIR=str(tmp_path / "file")).strip() == "None"


def test_where_the_cache_is(tmp_path):
    """The folder that was asked for, then Numba's own."""
    code = "from countless.core.jit import cache_directory; print(cache_directory())"
    chosen = {"COUNTLESS_CACHE_DIR": str(tmp_path / "a"), "NUMBA_CACHE_DIR": str(tmp_path / "b")}
    for settings, folder in ((chosen, "a"), ({**chosen, "COUNTLESS_CACHE_DIR": None}, "b")):
        assert Path(_python(code, **settings).strip()) == tmp_path / folder / "countless" / "kernels"


def _edited(tree, name):
    with (tree / name).open("a", encoding="utf-8") as file:
        file.write("# one more line\n")


REACHED = ["core/jit.py", "core/special.py", "families/verbs.py", "partitions/sweep.py", "partitions/clusters.py"]
ELSEWHERE = ["plots/heatmap.py", "families/poisson.py", "models/mixture/estimator.py", "partitions/icm.py"]


@pytest.mark.parametrize(("name", "reached"), [*((name, True) for name in REACHED), *((n, False) for n in ELSEWHERE)])
def test_a_stamp_covers_what_a_kernel_reaches_and_nothing_else(name, reached, tmp_path):
    before = jit.source_stamp(["countless.partitions.sweep"])
    shutil.copytree(SOURCES, tmp_path / "countless", ignore=shutil.ignore_patterns("__pycache__"))
    _edited(tmp_path / "countless", name)
    after = jit.source_stamp(["countless.partitions.sweep"], tmp_path / "countless")
    assert (after != before) == reached


_EVIDENCE = "import countless as cl; print(cl.families.Poisson(2.0, 3.0).log_marginal([[1.0], [4.0]]))"


def test_an_edit_of_a_family_reaches_kernels_that_were_compiled_with_it(tmp_path):
    """The same kernel of the same file, in a later process: it must not come from the cache."""
    shutil.copytree(SOURCES, tmp_path / "countless", ignore=shutil.ignore_patterns("__pycache__"))
    settings = {"PYTHONPATH": str(tmp_path), "COUNTLESS_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    before = float(_python(_EVIDENCE, **settings))
    assert float(_python(_EVIDENCE, **settings)) == before
    family = tmp_path / "countless" / "families" / "poisson.py"
    text = family.read_text(encoding="utf-8")
    assert "    out[0] = 1.0\n" in text
    family.write_text(text.replace("    out[0] = 1.0\n", "    out[0] = 2.0\n", 1), encoding="utf-8")
    assert float(_python(_EVIDENCE, **settings)) != before
