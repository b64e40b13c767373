"""Ctrl-C in a shell: answered within a second, whatever is running, with a true sentence about what is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import countless as cl
from cli.conftest import GAUSSIAN, environment, run

# Stretches in which nobody looks at interrupts, as in compiled code: one call of a C function that lets other threads
# run. The file tells that it has begun.
BUSY = """
import hashlib, pathlib
import countless as cl
import countless.chains.schedule

def busy(*_, **__):
    pathlib.Path("begun").touch()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 60_000_000)

{where} = busy
"""


def interrupted(folder, *arguments, busy):
    """The command, interrupted in a stretch that takes half a minute: seconds to its end, and what it said."""
    (folder / "busy_here.py").write_text(BUSY.format(where=busy))
    command = [sys.executable, "-m", "countless", *arguments, "--import", "busy_here"]

    def heed_interrupts():
        # A test run in the background of a shell inherits a SIGINT that is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_interrupts}
    with subprocess.Popen(command, cwd=folder, env=environment(), **pipes) as process:
        while process.poll() is None and not (folder / "begun").exists():
            time.sleep(0.05)
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert (out, "Traceback" in err) == ("", False)
    return time.perf_counter() - began, err.splitlines()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_while_files_are_written_the_fit_is_kept(here, table):
    seconds, said = interrupted(here, "fit", table, "--ignore", "name", *GAUSSIAN, busy="cl.plots.summary")
    assert said == (
        "error: interrupted; table-countless holds the finished fit: countless resume table-countless writes its files"
    )
    assert seconds < 1.5, "a second, and half of one for the system"
    assert run("resume", "table-countless", "--no-report", "-q").exit_code == 0
    assert (here / "table-countless" / "labels.csv").is_file()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_within_a_sweep_the_draws_on_disk_are_kept(here, table):
    fit = ["fit", table, "--ignore", "name", *GAUSSIAN, "--no-report"]
    assert run(*fit, "-q").exit_code == 0
    more = ["resume", "table-countless", "--draws", "100000"]
    seconds, said = interrupted(here, *more, busy="cl.chains.schedule.Schedule.step")
    assert said == (
        "error: interrupted; 20 draws of each of 2 chains are kept in table-countless: continue with countless resume "
        "table-countless"
    )
    assert seconds < 1.5, "a second, and half of one for the system"
    assert cl.load("table-countless").posterior_.shape == (2, 20)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_before_the_run_is_on_disk_nothing_is_left(here, table):
    seconds, said = interrupted(here, "fit", table, *GAUSSIAN, "--ignore", "name", busy="cl.DPMixture.fit")
    assert said == "error: interrupted; nothing was written"
    assert seconds < 1.5, "a second, and half of one for the system"
    assert not (here / "table-countless").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_a_search_that_has_not_ended_keeps_nothing_and_says_so(here, table):
    fit = ["fit", table, "--ignore", "name", "--family", "gaussian", "--inference", "map"]
    seconds, said = interrupted(here, *fit, busy="cl.inference.MAP._search")
    assert said == "error: interrupted before anything was kept: countless resume table-countless begins again"
    assert seconds < 1.5, "a second, and half of one for the system"
    assert run("resume", "table-countless", "--no-report", "-q").exit_code == 0
