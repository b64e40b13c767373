"""Every registered family, prior and engine keeps the contract that the others rely on."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest

from cases import FAMILY_CASES, PRIOR_CASES
from countless.chains.engine import engines_for
from countless.families import FAMILIES, Family, Layout, verbs
from countless.inference import Inference
from countless.priors import Prior
from countless.priors.names import PRIORS


def _decorated(decorator: str) -> list[str]:
    tree = ast.parse(Path(verbs.__file__).read_text(encoding="utf-8"))
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(item, ast.Name) and item.id == decorator for item in node.decorator_list)
    ]


REQUIRED = _decorated("required")
OPTIONAL = _decorated("optional") + _decorated("inlined")


def _resolved(name: str) -> Family:
    rows = FAMILY_CASES[name].suitable((3, 2))
    FAMILIES[name]().check(rows)
    return FAMILIES[name]().resolve(rows)


def test_the_verbs_are_what_they_were_promised_to_be():
    assert REQUIRED == [
        "row_statistics",
        "log_marginal",
        "draw_parameters",
        "natural",
        "estimate",
        "log_prior",
        "expected_natural",
        "divergence",
        "mean_divergence",
    ]
    assert {"refresh", "add", "remove", "log_predictive", "log_predictive_without"} <= set(OPTIONAL)


@pytest.mark.parametrize("name", list(FAMILY_CASES))
def test_every_family_implements_every_required_verb(name):
    hyper = type(_resolved(name).prepare())
    missing = [verb for verb in REQUIRED if (verb, hyper) not in verbs._REGISTRY]
    assert not missing


def test_implementations_take_the_arguments_of_their_verb():
    stubs = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(Path(verbs.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    for (verb, hyper), function in verbs._REGISTRY.items():
        if verb in stubs:  # an engine may have verbs of its own
            assert len(inspect.signature(function).parameters) == len(stubs[verb]), (verb, hyper.__name__)


@pytest.mark.parametrize("name", list(FAMILY_CASES))
def test_families_are_small_immutable_objects(name):
    cls = FAMILIES[name]
    assert issubclass(cls, Family)
    family = _resolved(name)
    assert family == _resolved(name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(family, dataclasses.fields(cls)[0].name, 1.0)
    assert all(getattr(family, field.name) is not None for field in dataclasses.fields(cls)), (
        "resolve left a field as None"
    )
    assert isinstance(family.layout(), Layout)
    hyper = family.prepare()
    assert isinstance(hyper, tuple)
    for value in hyper:
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            assert value.flags.writeable
            assert value.dtype in (np.float64, np.int64)
        else:
            assert isinstance(value, (float, int))


@pytest.mark.parametrize("name", list(PRIOR_CASES))
def test_priors_are_small_immutable_objects(name):
    cls = PRIORS[name]
    assert issubclass(cls, Prior)
    prior = cls()
    assert prior == cls()
    assert hash(prior) == hash(cls())
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.concentration = 1.0
    table = prior.initial().table(5, 5)
    assert table.log_v.shape == (7,)
    assert table.offset > -1.0


@pytest.mark.parametrize("name", engines_for("mixture"))
def test_engines_are_small_immutable_objects(name):
    cls = engines_for("mixture")[name]
    assert issubclass(cls, Inference)
    assert cls() == cls()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cls(), dataclasses.fields(cls)[0].name, 1)


def test_a_family_that_lacks_a_verb_says_which():
    class Nothing(tuple):
        pass

    for verb in REQUIRED:
        with pytest.raises(NotImplementedError, match=f"Nothing does not implement the verb '{verb}'"):
            getattr(verbs, verb)(Nothing(), *[None] * 5)
