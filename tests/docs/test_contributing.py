"""The code of CONTRIBUTING.md is quoted from the example or runs, and what it shows is true."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest

import countless as cl
from countless.chains.schedule import Schedule
from countless.inference import Problem, State
from countless.partitions.moves.sweeps import GibbsSweep
from countless.priors import CRP
from exact.enumeration import exact_posterior, expected_total_variation, frequencies, partitions, total_variation

from .conftest import EXAMPLE, ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
QUOTED = [block for block in BLOCKS if block in EXAMPLE.read_text(encoding="utf-8")]


@pytest.fixture
def guide(example, monkeypatch):
    """The names that the blocks define, run one after the other as a reader would."""
    module = ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", module)
    for block in BLOCKS:
        if block not in QUOTED:
            exec(compile(block, "guide", "exec"), vars(module))
    return vars(module)


def test_the_blocks_run_and_the_family_is_quoted_from_its_file(guide):
    assert len(QUOTED) >= 2
    assert len(BLOCKS) - len(QUOTED) >= 3
    labels = guide["model"].labels_
    assert np.bincount(labels[:30]).argmax() != np.bincount(labels[30:]).argmax()  # the two groups of the guide


def test_it_is_one_page_and_every_file_it_names_exists():
    assert len(GUIDE.splitlines()) < 150
    for path in re.findall(r"`((?:tests|docs|countless)/[\w/.]+)`", GUIDE):
        place = path.removesuffix("/NAME.py")
        assert (ROOT / place).exists() or (ROOT / "src" / place).exists(), path


def test_the_prior_of_the_guide_is_a_probability(guide):
    prior = guide["Gnedin"](0.3)
    for n in (1, 2, 5):
        total = sum(np.exp(prior.log_prob(labels)) for labels in partitions(n))
        assert total == pytest.approx(1.0, rel=1e-10)
    # One row is added to five: the probabilities of its places, in one partition, against those of six.
    five = np.array([0, 0, 1, 0, 2])
    places = [prior.log_prob(np.append(five, place)) for place in range(4)]
    assert np.logaddexp.reduce(places) == pytest.approx(prior.log_prob(five), rel=1e-10)
    new = np.exp(places[3] - np.logaddexp.reduce(places))
    assert new == pytest.approx(3 * (3 - 0.3) / (5 * (5 + 0.3)), rel=1e-10)


def test_the_move_of_the_guide_leaves_the_posterior_as_it_is(guide, example):
    X = np.array([[0.0], [1.0], [0.0], [4.0], [11.0], [8.0]])
    family = example.NegativeBinomial(3.0, 2.0, 1.2).resolve(X)
    exact = exact_posterior(family, X, CRP(1.0))
    problem = Problem.of(X, family, CRP(1.0))
    rng = np.random.default_rng(8)
    state = State(problem, np.zeros(6, dtype=np.int64), 1.0)
    schedule = Schedule([guide["SwapRows"](), GibbsSweep(), guide["SwapRows"]()])
    draws = np.empty((4000, 6), dtype=np.int64)
    for t in range(len(draws)):
        for _ in range(3):
            schedule.step(rng, state)
        draws[t] = state.partition()
    limit = 1.5 * expected_total_variation(exact, len(draws), np.random.default_rng(0))
    assert total_variation(frequencies(draws), exact) < limit


def test_the_move_alone_keeps_the_sizes_and_the_books(guide, example):
    X = np.arange(12.0)[:, None]
    problem = Problem.of(X, example.NegativeBinomial(3.0).resolve(X), CRP(1.0))
    state = State(problem, np.arange(12) % 3, 1.0)
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(200):
        guide["SwapRows"]().step(rng, state)
        seen.add(tuple(state.partition()))
        assert sorted(state.cluster_sizes()) == [4, 4, 4]
    assert len(seen) > 5
    fresh = State(problem, state.partition(), 1.0)
    assert state.log_joint() == pytest.approx(fresh.log_joint(), rel=1e-12)


def test_the_names_of_the_guide_are_forgotten():
    assert "negative-binomial" not in cl.families.FAMILIES
    with pytest.raises(ValueError, match="gnedin"):
        cl.priors.resolve_prior("gnedin")
