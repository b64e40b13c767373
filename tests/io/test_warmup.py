"""Kernels are compiled ahead, in processes of their own, and a fit in a later process compiles none of them again."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numba
import pytest

import countless as cl
from countless.io import rehearsals
from countless.models.command import Command, Request

FIT = """
import numba.core.event as event, countless as cl
seen = event.RecordingListener()
event.register("numba:compile", seen)
from countless.io.rehearsals import rehearse
rehearse("fit", "numbers")
print(sum(each.is_end for _, each in seen.buffer))
"""


def _never(*args):
    raise AssertionError("nothing is compiled for a wrong name")


def test_a_wrong_name_is_one_sentence(monkeypatch):
    monkeypatch.setattr(rehearsals, "_in_a_process", _never)
    with pytest.raises(ValueError, match=r"^commands: 'fitt' is not known; choose one of .*'fit'"):
        cl.warmup("fitt")


def test_without_a_folder_there_is_nothing_to_keep(monkeypatch):
    monkeypatch.setattr(rehearsals, "cache_directory", lambda: None)
    monkeypatch.setattr(rehearsals, "_in_a_process", _never)
    with pytest.raises(ValueError, match=r"^no folder for compiled kernels can be written; set COUNTLESS_CACHE_DIR"):
        cl.warmup()


def test_a_failure_is_told_with_its_reason(monkeypatch):
    def refuse(request):
        raise ValueError("not today")

    refusing = Command("refuse", "", refuse, rehearsals=lambda: {"one fit": Request(None, {})})
    monkeypatch.setattr(rehearsals, "_commands", lambda: {"refuse": refusing})
    with pytest.raises(ValueError, match=r"^not today$"):
        rehearsals.rehearse("refuse", "one fit")
    with pytest.raises(RuntimeError, match=r"^the fit of one fit for 'refuse' failed: KeyError: 'refuse'$"):
        rehearsals._in_a_process("refuse", "one fit")


def test_every_command_has_rehearsals():
    commands = {cls.command.name for cls in map(cl.estimators.__dict__.get, cl.estimators.__all__) if _command(cls)}
    assert commands <= set(rehearsals._commands())


def _command(cls):
    return getattr(cls, "command", None) is not None


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_later_process_compiles_nothing(monkeypatch):
    """The kernels of numbers are among those that other tests have compiled already, or are compiled here."""
    numbers = dataclasses.replace(cl.DPMixture.command, rehearsals=lambda: {"numbers": None})
    monkeypatch.setattr(rehearsals, "_commands", lambda: {"fit": numbers})
    told = []
    seconds = cl.warmup(jobs=2, progress=lambda *each: told.append(each))
    assert told == list(seconds.items())
    assert list(seconds) == ["fit: numbers"]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == 0
