"""What an estimator needs of runs: begin one, go on with one, and make a fitted estimator of what is saved."""

from __future__ import annotations

import contextlib
import math
import numbers
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chains.checkpoint import MemoryRecorder, Recorder
from ..core.files import check_folder
from ..core.random import generator_from, generator_state
from ..inference import Draws, Problem
from ..posterior.data import Data
from ..runs import Description, RunFolder, SavedModel, write_model
from ..tuning import TUNINGS, resolve_tuning

# Fitted attributes that are there before the first draw; all others follow from the draws.
KNOWN_BEFORE = ("n_features_in_", "feature_names_in_", "columns_", "prior_", "inference_")


@dataclass
class Run:
    """A fit that is about to begin or to go on: recorded nowhere, in memory, or in a folder."""

    description: Description
    folder: RunFolder | None = None
    memory: MemoryRecorder | None = None
    # The user's own stream, where the run begins: it moves on.
    stream: np.random.Generator | None = None

    def generator(self) -> np.random.Generator:
        """The stream that everything is drawn from, at its beginning."""
        return generator_from(self.description.random) if self.stream is None else self.stream

    @contextlib.contextmanager
    def recording(self) -> Iterator[Recorder | None]:
        """Whoever records the chains, ready to do so."""
        if self.folder is None:
            yield self.memory
            return
        with self.folder.writing() as recorder:
            try:
                yield recorder
            except KeyboardInterrupt as stop:
                raise KeyboardInterrupt(f"{stop or 'the fit was interrupted'}{self.advice}") from None

    def found(self) -> tuple[Draws, NDArray[np.int64]] | None:
        """Draws and consensus, where the run is finished."""
        return None if self.folder is None else self.folder.result()

    @property
    def advice(self) -> str:
        """How to go on after an interrupt."""
        if self.folder is None:
            return ""
        return f"; countless.io.resume({str(self.folder.path)!r}), or countless resume {self.folder.path}, goes on"

    def finish(self, model: Any, draws: Draws) -> None:
        """Keep what was found where the run is kept."""
        model._memory = self.memory
        if self.folder is not None and not draws.interrupted:
            self.folder.finish(draws, model.labels_)


def begin(
    model: Any,
    data: Data,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
    checkpoint: str | os.PathLike[str] | None,
    every: float,
) -> Run:
    """Begin the run of an estimator that has looked at its table, or find the one that it goes on with."""
    tuning = resolve_tuning(model.tune)
    params = model.get_params(deep=False)
    if not (params["random_state"] is None or isinstance(params["random_state"], numbers.Integral)):
        params["random_state"] = generator_from(generator_state(rng))  # as it is now
    description = Description(
        type(model).__name__,
        params,
        fitted(model),
        data,
        model.inference_,
        tuning if type(tuning) in TUNINGS.values() else None,
        model.inference_.draws if hasattr(model.inference_, "chains") else 0,
        generator_state(rng),
        model.random_state is not None,
        weights,
    )
    if checkpoint is not None:
        folder = RunFolder.begin(checkpoint, description, interval(every))
        return Run(folder.description, folder, stream=rng if folder.is_new else None)
    if not model.warm_start or not hasattr(model.inference_, "chains"):
        return Run(description, stream=rng)
    memory, last = getattr(model, "_memory", None), getattr(model, "_description", None)
    if memory is None or last is None:
        return Run(description, memory=MemoryRecorder(description.n_draws), stream=rng)
    differs = description.same_as(last, streams=False)
    if differs is not None:
        raise ValueError(f"warm_start: the last fit had another {differs}; set warm_start=False to begin anew")
    memory.n_draws = last.n_draws + (0 if model.posterior_.interrupted else description.n_draws)
    return Run(last.longer(memory.n_draws), memory=memory)


def interval(every: Any) -> float:
    """Seconds between checkpoints."""
    if isinstance(every, bool) or not isinstance(every, numbers.Real) or not 0.0 <= float(every) < math.inf:
        raise ValueError(f"checkpoint_every must be a number of seconds of at least 0, got {every!r}")
    return float(every)


def fitted(model: Any) -> dict[str, Any]:
    """What the estimator knows about its table before the run."""
    return {name: vars(model)[name] for name in KNOWN_BEFORE if name in vars(model)}


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator into one file."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"path: {path} is a folder; give the name of a file")
    check_folder(path.parent, "path")
    posterior = model.posterior_
    draws = Draws(**{name: getattr(posterior, name) for name in Draws._fields})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_model(path, SavedModel(model._description, draws, model.labels_))
    except OSError as error:
        raise ValueError(f"path: cannot write {path}: {error.strerror or error}") from None
    return path


def unfitted(cls: Any, description: Description) -> Any:
    """The estimator as it was when its run began; ValueError where the description is of something else."""
    params, known = dict(description.params), cls().get_params(deep=False)
    if description.estimator != cls.__name__ or not set(params) <= set(known):
        raise ValueError(f"it is no {cls.__name__} of this version of countless")
    model = cls(**params)
    for name, value in description.fitted.items():
        if name not in KNOWN_BEFORE:
            raise ValueError(f"{name!r} is no attribute of a fitted {cls.__name__}")
        setattr(model, name, value)
    return model


def revived(cls: Any, description: Description, draws: Draws, labels: NDArray[np.int64] | None) -> Any:
    """A fitted estimator from what was saved."""
    model = unfitted(cls, description)
    data = description.data
    problem = Problem.of(data.rows, data.family, data.prior, description.sample_weight)
    model._take(draws, description, problem, labels)
    return model
