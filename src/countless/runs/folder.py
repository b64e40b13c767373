"""A run as a folder that grows while the chains run: whole files only, draws appended and never changed.

    run.json                   settings, columns, model, versions, seeds; a folder is a run once it is there
    data.npz                   the rows as they were clustered
    chain-0/draws-000001.npz   draws of chain 0 since its last checkpoint, one file each
    chain-0/state.npz          where chain 0 stands, replaced at each checkpoint; says how many draws came before
    result.npz                 at the end: what the estimator made of the draws, and the draws of engines without chains

A chain writes its new draws first and its state after them: a kill in between leaves draws that no state counts, which
are written again.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..chains.checkpoint import Snapshot
from ..chains.contract import Problem
from ..chains.draws import Draws
from ..chains.fields import check_arrays
from ..chains.trace import Segment, Trace
from ..core.errors import ArgumentError, CannotWrite, WrongRun
from ..core.files import check_folder, clear_stages
from .description import Description, versions
from .format import ABOUT, Unreadable, damaged, read_arrays, read_json, write_arrays, write_json
from .model_file import about_draws, checked_result, draws_from, flat_draws, part

RUN, DATA, RESULT, STATE = "run.json", "data.npz", "result.npz", "state.npz"


class RunFolder:
    """A run on disk; it records chains while they run (``countless.chains.checkpoint.Recorder``).

    Made by ``begin``, which starts a run or continues one, or ``open``, for one that is there.
    """

    def __init__(self, path: Path, identity: str, description: Description, interval: float) -> None:
        self.path = path
        self.description = description
        self.interval = interval
        self._identity = identity
        # Files and draws of each chain that its state counts.
        self._counts: dict[int, tuple[int, int]] = {}
        self._problem: Problem | None = None

    def problem(self) -> Problem:
        """The problem that the chains of the run solve."""
        if self._problem is None:
            self._problem = self.description.data.problem()
        return self._problem

    # --- beginnings -------------------------------------------------------------------------------------------

    @classmethod
    def begin(cls, path: str | os.PathLike[str], description: Description, interval: float) -> RunFolder:
        """Start a run in a folder, or take up the same run where it is there; a different run is refused."""
        folder = check_folder(path, "checkpoint")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                if (folder / RUN).exists():
                    run = cls.open(folder, interval)
                    run._go_on_as(description)
                    return run
                run = cls(folder, uuid.uuid4().hex, description, interval)
                write_arrays(folder / DATA, "data", {"run": run._identity}, description.data.arrays())
                run._describe()
                return run
        except OSError as error:
            raise CannotWrite("checkpoint", folder, error) from None

    @classmethod
    def open(cls, path: str | os.PathLike[str], interval: float = 10.0) -> RunFolder:
        """A run that is there; ValueError, in one sentence, where there is none or it is damaged."""
        folder = Path(path)
        if not folder.is_dir():
            raise ValueError(f"{folder}: there is no such folder")
        if not (folder / RUN).is_file():
            raise ValueError(f"{folder} is not a run of countless: it holds no {RUN}")
        about = read_json(folder / RUN, "run")
        data, arrays = read_arrays(folder / DATA, "data")
        try:
            if not isinstance(about["id"], str) or data["run"] != about["id"]:
                raise ValueError(f"{DATA} belongs to another run")
            description = Description.from_json(about["about"], arrays)
            written_with = dict(about["about"]["versions"])
        except Unreadable:
            raise
        except Exception as error:
            raise damaged(folder / RUN, error) from None
        run = cls(folder, about["id"], description, interval)
        run._written_with = written_with
        return run

    _written_with: Any = None

    @property
    def is_new(self) -> bool:
        """Whether the run was begun by this object."""
        return self._written_with is None

    def _describe(self) -> None:
        write_json(self.path / RUN, "run", {"id": self._identity, "about": self.description.as_json()})

    def _go_on_as(self, description: Description) -> None:
        differs = description.same_as(self.description)
        if differs is not None:
            raise WrongRun(self.path, differs)
        if description.n_draws:
            self.extend(description.n_draws)

    def extend(self, n_draws: int) -> None:
        """Let each chain have so many draws, if that is more than it was to have.

        Chains that decide when they are done have at least so many.
        """
        here = self.description.n_draws
        if n_draws < here:
            raise ArgumentError(
                "draws",
                f"{self.path} holds a run of {here} draws, more than the {n_draws} asked for; choose another folder, "
                "or ask for at least as many",
            )
        if n_draws > here:
            self.description = self.description.longer(n_draws)
            (self.path / RESULT).unlink(missing_ok=True)
            self._describe()

    @property
    def n_draws(self) -> int:
        """Draws that each chain is to have."""
        return self.description.n_draws

    @contextlib.contextmanager
    def writing(self) -> Iterator[RunFolder]:
        """Keep others from writing to the run; a process that dies lets go of it."""
        with _locked(self.path):
            clear_stages(self.path)
            for folder in self.path.glob("chain-*"):
                clear_stages(folder)
            mine = versions()
            if self._written_with is not None and self._written_with != mine:
                what = [name for name, version in mine.items() if self._written_with.get(name) != version]
                warnings.warn(
                    f"{self.path} was begun with a different version of {', '.join(what)}: new draws may differ from "
                    "those of a run that was never stopped",
                    stacklevel=4,
                )
            yield self

    # --- chains ----------------------------------------------------------------------------------------------

    def load(self, number: int) -> tuple[Snapshot, list[Segment]] | None:
        """The last state of a chain and the draws up to it; None where it is still to begin."""
        folder = self.path / f"chain-{number}"
        if not (folder / STATE).exists():
            return None
        about, arrays = read_arrays(folder / STATE, "state")
        try:
            self._check_place(about, number)
            n_files, n_draws, numbers = about["files"], about["draws"], about["numbers"]
            if type(n_files) is not int or type(n_draws) is not int or not isinstance(numbers, dict):
                raise ValueError("its counts are not numbers")
            if not 0 <= n_files <= n_draws:
                raise ValueError("it counts fewer draws than files")
        except Exception as error:
            raise damaged(folder / STATE, error) from None
        segments = [self._segment(number, at + 1) for at in range(n_files)]
        if sum(len(segment["log_joint"]) for segment in segments) != n_draws:
            raise Unreadable(f"{folder} is damaged: its files do not hold as many draws as its state says")
        self._counts[number] = (n_files, n_draws)
        return Snapshot(numbers, arrays), segments

    def save(self, number: int, snapshot: Snapshot, trace: Trace) -> None:
        """Write the draws that are new, then the state that counts them."""
        n_files, n_draws = self._counts.get(number, (0, 0))
        folder = self.path / f"chain-{number}"
        place = {"run": self._identity, "chain": number}
        try:
            folder.mkdir(exist_ok=True)
            new = trace.since(n_draws)
            if new is not None:
                n_files += 1
                write_arrays(_draws_file(folder, n_files), "draws", {**place, "number": n_files}, new)
            counts = {"files": n_files, "draws": trace.done}
            write_arrays(folder / STATE, "state", {**place, **counts, "numbers": snapshot.numbers}, snapshot.arrays)
        except OSError as error:
            raise CannotWrite("checkpoint", folder, error) from None
        self._counts[number] = (n_files, trace.done)

    def _segment(self, number: int, at: int) -> Segment:
        path = _draws_file(self.path / f"chain-{number}", at)
        about, arrays = read_arrays(path, "draws")
        try:
            self._check_place(about, number)
            if about["number"] != at:
                raise ValueError("it is another piece of the run")
            problem = self.problem()
            if arrays["log_joint"].ndim != 1 or not len(arrays["log_joint"]):
                raise ValueError("it holds no draws")
            check_arrays(arrays, problem.fields, problem.axes, arrays["log_joint"].shape)
        except Exception as error:
            raise damaged(path, error) from None
        return arrays

    def _check_place(self, about: dict[str, Any], number: int) -> None:
        if about["run"] != self._identity or about["chain"] != number:
            raise ValueError("it belongs to another run or another chain")

    # --- results -----------------------------------------------------------------------------------------------

    def finish(self, draws: Draws, result: dict[str, NDArray[Any]]) -> None:
        """Write what the fit has come to; the draws too, where no chains have written them."""
        arrays = {f"result/{name}": array for name, array in result.items()}
        if not self._counts:
            arrays.update(flat_draws(draws))
        about = {"run": self._identity, **about_draws(draws)}
        try:
            write_arrays(self.path / RESULT, "result", about, arrays)
        except OSError as error:
            raise CannotWrite("checkpoint", self.path, error) from None

    def result(self) -> tuple[Draws, dict[str, NDArray[Any]]] | None:
        """Draws and what the estimator made of them, of a finished run; None where it is not finished."""
        path = self.path / RESULT
        if not path.exists():
            return None
        about, arrays = read_arrays(path, "result")
        try:
            if about["run"] != self._identity:
                raise ValueError("it belongs to another run")
            result = checked_result(self.description, self.problem(), part(arrays, "result"))
            found = part(arrays, "draws")
            if found:
                return draws_from(found, self.problem(), about), result
        except Exception as error:
            raise damaged(path, error) from None
        draws = self.draws()
        if draws.interrupted:
            raise Unreadable(f"{self.path} is damaged: it claims to be finished, and draws of some chain are missing")
        return draws, result

    def draws(self) -> Draws:
        """The draws that are there, of all chains that have any, all as long as the shortest."""
        engine: Any = self.description.engine
        problem = self.problem()
        n_chains = getattr(engine, "chains", 0)
        traces = []
        for number in range(n_chains):
            found = self.load(number)
            if found is not None and found[1]:
                traces.append(engine.trace(problem, found[1]))
        if not traces:
            raise ValueError(f"{self.path} holds no draws yet; continue it with countless.io.resume")
        try:
            draws: Draws = engine.joined(traces, problem, self.n_draws)
        except Exception as error:
            raise damaged(self.path, error) from None
        return draws


def draws_on_disk(path: Path) -> list[int]:
    """Draws that each chain of a run has on disk, as their states count them; empty where no chain has a state.

    Nothing else is read, so that an interrupt can be answered at once.
    """
    counts = []
    for state in sorted(path.glob(f"chain-*/{STATE}")):
        with contextlib.suppress(OSError, ValueError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(state) as archive:
            counts.append(int(json.loads(archive.read(ABOUT))["draws"]))
    return counts


def _draws_file(folder: Path, number: int) -> Path:
    return folder / f"draws-{number:06d}.npz"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"{folder}: another process is working on this run") from None
        yield
