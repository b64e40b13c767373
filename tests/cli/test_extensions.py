"""Packages of one's own on the command line: models, families, priors, engines, tunings and moves, by --import and by
entry points; and the sentence for a run whose classes nobody has registered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import countless as cl
from cli.conftest import SHORT, environment, run, shell, two_groups
from countless.chains.engine import ENGINES
from countless.core.errors import NotRegistered
from countless.runs import ESTIMATORS

# --- a model of one's own ----------------------------------------------------------------------------------------

TOY = ["--import", "contract.change_point"]
SERIES = np.round(np.random.default_rng(3).normal(np.repeat([0.0, 2.0], [12, 8]), 1.0), 3)
SPREAD = 10.0


def exact_change(values):
    """Posterior probabilities of a change at 1, 2, ..., n - 1: the means are integrated out."""

    def log_evidence(part):
        n, variance = len(part), SPREAD**2
        inside = part.sum() ** 2 * variance / (1.0 + n * variance)
        return -0.5 * (np.sum(part**2) - inside + np.log1p(n * variance))

    scores = np.array([log_evidence(values[:c]) + log_evidence(values[c:]) for c in range(1, len(values))])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@pytest.fixture
def registers():
    """The registers as they were, after the test."""
    yield
    ESTIMATORS.remove("ChangePoint")
    ENGINES.remove("change-point")
    sys.modules.pop("contract.change_point", None)


@pytest.fixture
def changed(here, registers):
    """A folder with a series and a run of the toy model; what the command printed."""
    (here / "series.csv").write_text("\n".join(["value", *map(str, SERIES), ""]))
    options = ["--chains", "2", "--draws", "1000", "--warmup", "50", "--no-report", "--json"]
    result = run(*TOY, "change-point", "series.csv", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_model_that_is_not_a_partition_has_a_command(here, changed):
    assert changed["files"] == ["series-countless/summary.json"]
    assert changed["command"] == (
        "countless change-point series.csv --chains 2 --draws 1000 --warmup 50 --import contract.change_point"
    )
    assert (changed["inference"]["name"], changed["data"]["file"]) == ("ChangeSampler", "series.csv")
    weights, places = exact_change(SERIES), np.arange(1, len(SERIES))
    mean = weights @ places
    sd = np.sqrt(weights @ (places - mean) ** 2)
    # Draws of the place are nearly independent; a fifth of them is a safe count of effective ones.
    assert changed["quantities"]["change"]["mean"] == pytest.approx(mean, abs=5 * sd / np.sqrt(2000 / 5))
    assert json.loads((here / "series-countless" / "summary.json").read_text())["quantities"] == changed["quantities"]


def test_a_run_of_it_is_continued_and_shown(here, changed):
    result = run("resume", "series-countless", "--draws", "1010", "--no-report", *TOY)
    assert result.exit_code == 0, result.output
    assert "place of the change" in result.stdout
    assert "Settled: 2 chains agree" in result.stdout
    assert "New rows" not in result.stdout
    assert cl.load(here / "series-countless").posterior_["change"].shape == (2, 1010)


def test_it_cannot_predict_and_says_so(here, changed):
    (here / "new.csv").write_text("value\n1\n")
    result = run("predict", "series-countless", "new.csv", "--out", "never.csv", *TOY)
    assert result.exit_code == 2
    assert result.stderr == "error: series-countless is a run of ChangePoint, which cannot predict new rows\n"
    assert not (here / "never.csv").exists()


def test_a_run_of_a_model_without_a_command_is_shown_all_the_same(here, changed, monkeypatch):
    monkeypatch.setattr(ESTIMATORS["ChangePoint"], "command", None)
    result = run("resume", "series-countless", "--no-report")
    assert result.exit_code == 0, result.output
    assert "place of the change" in result.stdout
    assert "change-point" not in run("--help").stdout


def test_its_help_and_its_mistakes(here, registers, monkeypatch):
    monkeypatch.setenv("COUNTLESS_IMPORT", "contract.change_point")
    text = run("change-point", "--help").stdout
    assert "Find where the mean of a series changes." in text
    for option in ("--draws", "--seed", "--out", "--overwrite", "--json", "--import"):
        assert option in text
    assert "--family" not in text
    assert "--columns" not in text
    listed = run("--help").stdout
    assert listed.index("change-point") < listed.index("report ")
    (here / "words.csv").write_text("value\na\nb\n")
    result = run("change-point", "words.csv")
    assert (result.exit_code, result.stderr) == (2, "error: column 'value' holds text; this command needs numbers\n")
    assert not (here / "words-countless").exists()


def test_a_run_of_an_estimator_that_nobody_registered(here, changed):
    ESTIMATORS.remove("ChangePoint")
    says = (
        "it needs the estimator 'ChangePoint' of the module contract.change_point, which is not known here; import "
        "contract.change_point first (on the command line, --import contract.change_point)"
    )
    with pytest.raises(ValueError, match=r"import contract\.change_point first") as caught:
        cl.load("series-countless")
    assert str(caught.value).endswith(says)
    assert "damaged" not in str(caught.value)
    for command in ("resume", "report", "predict"):
        result = run(command, "series-countless", *(["new.csv"] if command == "predict" else []))
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1].endswith(says)


# --- parts of one's own ------------------------------------------------------------------------------------------

OWN_PARTS = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from countless import families, inference
from countless.core.validate import by_first_appearance


@families.register("own-gaussian")
@dataclass(frozen=True)
class OwnGaussian(families.Gaussian):
    """The Gaussian family under a name of one's own."""


@inference.register_move("stay")
@dataclass(frozen=True)
class Stay:
    """Draws a number and changes nothing: the draws after it are different ones, the posterior is the same."""

    name: ClassVar[str] = "stay"
    times: int = 1

    def step(self, rng, state):
        rng.random(self.times)
'''
FIT_OWN = """
import own_parts
import countless as cl
import numpy as np

X = np.loadtxt("table.csv", delimiter=",", skiprows=1, usecols=(0, 1))
for folder, draws in (("short", 8), ("long", 16)):
    engine = cl.inference.CollapsedGibbs(chains=2, draws=draws, warmup=10, extra_moves=(own_parts.Stay(3),))
    cl.DPMixture(family="own-gaussian", inference=engine, random_state=0).fit(X, checkpoint=folder)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder with a module of one's own and two runs, of eight and sixteen draws, that need it."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_parts.py").write_text(OWN_PARTS)
    (folder / "table.csv").write_text(two_groups())
    code = "import warnings; warnings.simplefilter('ignore')\n" + FIT_OWN
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return folder


def drawn(run_folder):
    """Labels and log joints of all chains of a run, as their files hold them."""
    found = []
    for chain in sorted(Path(run_folder).glob("chain-*")):
        files = [np.load(path) for path in sorted(chain.glob("draws-*.npz"))]
        found.append(np.concatenate([file["log_joint"] for file in files]))
    return np.array(found)


@pytest.mark.parametrize("command", ["resume", "report", "predict"])
def test_a_run_with_a_family_that_nobody_registered(own, command):
    result = run(command, own / "short", *([own / "table.csv"] if command == "predict" else []))
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert "it needs the " in last
    assert last.endswith("which is not known here; import own_parts first (on the command line, --import own_parts)")
    assert "damaged" not in last


def test_loading_it_in_python_says_the_same(own):
    with pytest.raises(ValueError, match=r"of the module own_parts, which is not known here; import own_parts first"):
        cl.load(own / "short")
    with pytest.raises(ValueError, match="import own_parts first"):
        cl.io.resume(own / "short")


def test_with_its_module_it_is_continued_draw_for_draw(own):
    result = shell("--import", "own_parts", "resume", "short", "--draws", "16", "--json", "--no-report", folder=own)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["family"]["name"] == "OwnGaussian"
    assert found["inference"]["extra_moves"] == [{"name": "Stay", "times": 3}]
    np.testing.assert_array_equal(drawn(own / "short"), drawn(own / "long"))
    assert drawn(own / "short").shape == (2, 16)


def test_a_family_of_ones_own_by_name(own):
    words = ["fit", "table.csv", "--ignore", "name", "--family", "own-gaussian", "--out", "named", "--no-report"]
    result = shell(*words, *SHORT, "--json", folder=own, COUNTLESS_IMPORT="own_parts")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["family"]["name"] == "OwnGaussian"
    # A family that is not there is refused with the names that are.
    assert "choose one of" in run("fit", own / "table.csv", "--family", "own-gaussian").stderr


# --- entry points ------------------------------------------------------------------------------------------------

ENTRY_POINTS = """
[countless.families]
installed-gaussian = installed_parts.family

[countless.priors]
installed-crp = installed_parts.prior

[countless.inference]
installed-gibbs = installed_parts.engine

[countless.tuning]
installed-tuning = installed_parts.tuning

[countless.moves]
installed-move = installed_parts.move

[countless.estimators]
Installed = installed_parts.estimator
"""
INSTALLED = {
    "__init__": "",
    "family": """
from dataclasses import dataclass
from countless import families

@families.register("installed-gaussian")
@dataclass(frozen=True)
class InstalledGaussian(families.Gaussian):
    pass
""",
    "prior": """
from dataclasses import dataclass
from countless import priors

@priors.register("installed-crp")
@dataclass(frozen=True)
class InstalledCRP(priors.CRP):
    pass
""",
    "engine": """
from dataclasses import dataclass
from countless import inference

@inference.register("installed-gibbs")
@dataclass(frozen=True)
class InstalledGibbs(inference.CollapsedGibbs):
    pass
""",
    "tuning": """
from dataclasses import dataclass
from countless import tuning
from countless.tuning.base import TUNINGS

@TUNINGS.add("installed-tuning")
@dataclass(frozen=True)
class InstalledTuning(tuning.EmpiricalBayes):
    pass
""",
    "move": """
from dataclasses import dataclass
from countless import inference

@inference.register_move("installed-move")
@dataclass(frozen=True)
class InstalledMove:
    name = "installed-move"

    def step(self, rng, state):
        pass
""",
    "estimator": "from contract import change_point\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process in which a package with entry points is installed, and a folder to work in."""
    folder = tmp_path_factory.mktemp("installed")
    about = folder / "site" / "installed_parts-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    package = folder / "site" / "installed_parts"
    package.mkdir()
    for name, text in INSTALLED.items():
        (package / f"{name}.py").write_text(text)
    (folder / "table.csv").write_text(two_groups())
    path = environment()["PYTHONPATH"]
    return folder, {"PYTHONPATH": f"{folder / 'site'}:{path}"}


def test_an_installed_package_is_known_by_its_entry_points(installed):
    folder, more = installed
    own = ["--family", "installed-gaussian", "--prior", "installed-crp", "--inference", "installed-gibbs"]
    result = shell("fit", "table.csv", "--ignore", "name", *own, *SHORT, "--json", folder=folder, **more)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    names = (found["family"]["name"], found["prior"]["name"], found["inference"]["name"])
    assert names == ("InstalledGaussian", "InstalledCRP", "InstalledGibbs")
    again = shell("resume", "table-countless", "--draws", "25", "--no-report", "--json", folder=folder, **more)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["family"]["name"] == "InstalledGaussian"


def test_every_register_looks_for_entry_points(installed):
    folder, more = installed
    code = """
from countless.chains.moves import MOVES
from countless.cli._commands import model_commands
from countless.inference import ENGINES
from countless.families import FAMILIES
from countless.priors.names import PRIORS
from countless.runs import ESTIMATORS
from countless.tuning import TUNINGS

assert "installed-gaussian" in FAMILIES
assert "installed-crp" in PRIORS
assert "installed-gibbs" in ENGINES
assert "installed-tuning" in TUNINGS
assert "installed-move" in MOVES
assert {"fit", "change-point"} <= set(model_commands())
assert "ChangePoint" in ESTIMATORS
"""
    words = [sys.executable, "-W", "error", "-c", code]
    made = subprocess.run(words, cwd=folder, env=environment(**more), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_a_broken_package_is_left_out_with_a_warning(installed):
    folder, more = installed
    about = folder / "broken" / "broken_parts-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[countless.estimators]\nBroken = broken_parts\n")
    result = shell("--help", folder=folder, PYTHONPATH=f"{folder / 'broken'}:{more['PYTHONPATH']}")
    assert result.returncode == 0
    assert "change-point" in result.stdout
    assert result.stderr == (
        "warning: the estimator 'Broken' of an installed package is left out: broken_parts cannot be imported "
        "(ModuleNotFoundError: No module named 'broken_parts')\n"
    )


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--import", "not_there", "compare"], "--import: there is no module 'not_there'"),
        (["compare", "--import=not_there.deep"], "--import: there is no module 'not_there.deep'"),
        (["compare", "--import", "broken"], "--import: 'broken' cannot be imported (ZeroDivisionError: division"),
        (["compare", "--import", "needs_more"], "--import: 'needs_more' cannot be imported (ModuleNotFoundError: "),
        (["compare", "--import"], "--import: '' is not the name of a module"),
        (["compare", "--import", "a-b.py"], "--import: 'a-b.py' is not the name of a module"),
    ],
)
def test_modules_that_cannot_be_imported(here, monkeypatch, words, says):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (here / "broken.py").write_text("1 / 0\n")
    (here / "needs_more.py").write_text("import not_installed_anywhere\n")
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_environment_names_modules_too(here, monkeypatch):
    monkeypatch.setenv("COUNTLESS_IMPORT", "json, not_there")
    result = run("--version")
    assert result.exit_code == 2
    assert "COUNTLESS_IMPORT: there is no module 'not_there'" in result.stderr


def test_words_after_two_dashes_are_not_options():
    from countless.cli._imports import take_imports

    assert take_imports(["fit", "--import", "a", "x", "--import=b", "--", "--import", "c"]) == (
        ["a", "b"],
        ["fit", "x", "--", "--import", "c"],
    )


def test_the_error_has_fields():
    error = NotRegistered("family", "rayleigh", "their_package.rayleigh")
    assert (error.kind, error.name, error.module) == ("family", "rayleigh", "their_package.rayleigh")
