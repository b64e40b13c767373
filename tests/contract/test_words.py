"""Docstrings: every public name has one, those for people show an example, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import countless as cl
from countless.chains import engines_for
from countless.families import FAMILIES
from countless.priors.names import PRIORS
from countless.tuning import TUNINGS

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(cl.__path__, "countless.") if not found.name.endswith("__main__")
)
ROOMS = (
    "families",
    "priors",
    "transitions",
    "inference",
    "posterior",
    "tuning",
    "metrics",
    "estimators",
    "datasets",
    "plots",
    "io",
    "report",
    "experiments",
)

# Names for those who write a family, a prior or a move, and records that functions return: a docstring is enough.
# CONTRIBUTING.md shows them at work.
WITHOUT_EXAMPLE = {
    "families": {"Family", "Layout", "implements", "linear_in_row", "localise", "resolve_family"},
    "priors": {"Prior", "PartitionTable", "Sticks", "register"},
    "transitions": {"Transitions", "resolve_transitions"},
    "inference": {
        "Components",
        "Draws",
        "Inference",
        "Move",
        "Problem",
        "Sampler",
        "Schedule",
        "State",
        "Truncation",
        "Watch",
        "resolve_inference",
    },
    "posterior": set(),
    "tuning": {"Tuning", "resolve_tuning"},
    "datasets": {"Sample", "Study"},
    "plots": {"percent", "render"},
    "experiments": {"Splitting"},
}


def _public() -> list[tuple[str, str]]:
    found = []
    for room in ROOMS:
        module = importlib.import_module(f"countless.{room}")
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("countless."):
                found.append((room, name))
    return found


@pytest.mark.parametrize(("room", "name"), _public())
def test_public_names_are_explained(room, name):
    thing = getattr(importlib.import_module(f"countless.{room}"), name)
    own = thing.__doc__ or ""
    assert len(own) > 20
    if name not in WITHOUT_EXAMPLE.get(room, set()):
        assert ">>>" in own, f"{room}.{name} shows no example"


def test_no_exception_is_out_of_date():
    public = set(_public())
    assert {(room, name) for room, listed in WITHOUT_EXAMPLE.items() for name in listed} <= public


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, name in _public()])
def test_public_methods_are_explained(room, name):
    thing = getattr(importlib.import_module(f"countless.{room}"), name)
    if not inspect.isclass(thing):
        return
    for method, function in inspect.getmembers(thing, inspect.isfunction):
        if not method.startswith("_") and function.__module__.startswith("countless."):
            assert inspect.getdoc(getattr(thing, method)), f"{name}.{method} has no docstring"


def _with_examples() -> list[str]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [
        name
        for name in MODULES
        if any(test.examples for test in finder.find(importlib.import_module(name), name.rsplit(".", 1)[-1]))
    ]


@pytest.mark.parametrize("name", _with_examples())
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_estimator_names_choices_that_exist():
    """A new family, prior, engine or way to tune needs no edit here; one that is gone does."""
    named = set(re.findall(r'``"([a-z-]+)"``', cl.DPMixture.__doc__))
    known = {*FAMILIES, *PRIORS, *engines_for("mixture"), *TUNINGS, "auto"}
    assert named <= known, f"the docstring of DPMixture names what does not exist: {sorted(named - known)}"
    assert len(named) >= 26


def test_the_estimator_documents_every_setting_and_every_fitted_name():
    text = cl.DPMixture.__doc__
    for name in cl.DPMixture().get_params():
        assert f"\n    {name} : " in text
    fitted = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [1.0], [9.0]])
    for name in vars(fitted):
        if name.endswith("_") and not name.startswith("_"):
            assert name in text
