"""What every estimator with a posterior shares: fit, checkpoint, resume, save, load.

A model class says what its data are, which problem they make, and what it keeps of the draws; the steps of a fit, and
how a run is written down, continued and read back, stand here once.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..chains.checkpoint import MemoryRecorder
from ..chains.contract import Problem
from ..chains.draws import Draws
from ..chains.engine import Inference
from ..chains.fields import Field
from ..chains.watch import Watch
from ..core.files import check_folder
from ..core.random import as_generator, generator_from, generator_state
from ..core.text import count
from ..core.warnings import InterruptedFit
from ..posterior.diagnostics import warn_if_unmixed
from ..posterior.posterior import Posterior
from ..runs import ESTIMATORS, Description, RunFolder, SavedModel, write_model
from .command import Command

if TYPE_CHECKING:
    from ..report import Page

Arrays = dict[str, NDArray[Any]]


class RunEstimator(BaseEstimator):
    """Base of estimators whose fit is a run: it can be checkpointed, resumed, saved and loaded.

    A subclass registers itself (``runs.register_estimator``), has the settings ``random_state`` and ``progress`` (and
    ``warm_start``, where its chains can be continued), and says:

    - ``data_class``: what it was fitted to, see ``runs.Data``;
    - ``fit``, which checks what users hand in, sets ``inference_`` and calls ``_fit(data, ...)``;
    - ``_accept(problem, draws, data, result)``, which sets the fitted attributes;
    - ``result_fields`` and ``_result()``, what is costly to compute again from the draws;
    - ``_headline`` and ``_sections``, what its report shows besides chains and settings;
    - ``command``, where it has one.
    """

    # What it was fitted to.
    data_class: ClassVar[Any]
    # Fitted attributes that are there before the first draw; all others follow from the draws.
    known_before: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_", "inference_")
    # Arrays that are saved besides the draws.
    result_fields: ClassVar[tuple[Field, ...]] = ()
    # What the command line offers; without one there is no command to fit it, and its runs are shown in general terms.
    command: ClassVar[Command | None] = None
    # Where a model without one clustering of rows says how sure it is.
    sure_in: ClassVar[str] = "posterior_"

    inference_: Inference
    posterior_: Posterior
    random_state: Any
    progress: bool | None

    # --- what a model class says ------------------------------------------------------------------------------------

    def _run(self, problem: Problem, engine: Inference, rng: np.random.Generator, watch: Watch) -> Draws:
        """Find the posterior; a model class may do more than let the engine run."""
        return engine.run(problem, rng, watch)

    def _further(self) -> dict[str, Any]:
        """Objects besides data and engine that have a say in the draws."""
        return {}

    def _accept(self, problem: Problem, draws: Draws, data: Any, result: Arrays | None) -> None:
        """Set the fitted attributes; ``result`` is what ``_result`` gave, where it is known already."""
        self.posterior_ = Posterior(draws, data)

    def _result(self) -> Arrays:
        """Arrays that are saved besides the draws."""
        return {}

    @property
    def certainty_(self) -> Any:
        """How sure each row is of its cluster; without one clustering of rows an AttributeError says where to look."""
        raise AttributeError(
            f"{type(self).__name__} has no single clustering of rows; {self.sure_in} says how sure it is"
        )

    def relabel(self, labels: Any) -> Self:
        """Show the fit under labels of one's own, where a model can; here an AttributeError says what else there is."""
        name = type(self).__name__
        raise AttributeError(
            f"{name} keeps the labels that it found; cl.metrics.compare puts labels of your own beside them"
        )

    def _headline(self) -> str:
        """What was found, in a few words."""
        return type(self).__name__

    def _sections(self, most_rows: int) -> list[Any]:
        """Sections of the report that only this model class has."""
        return []

    # --- the skeleton -----------------------------------------------------------------------------------------------

    def _fit(
        self,
        data: Any,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Begin the run of these data, or continue the one that a folder or the last fit holds."""
        stream = as_generator(self.random_state) if rng is None else rng
        return self._infer(_begin(self, data, stream, checkpoint, checkpoint_every))

    def _described(self, data: Any) -> Description:
        """What a fit to these data is, before its first step; ``inference_`` is set."""
        return _begin(self, data, as_generator(self.random_state), None, 0.0).description

    def _infer(self, run: Run, stacklevel: int = 4) -> Self:
        """Find the posterior, or continue where a run stands; ``stacklevel`` leads warnings to the user's line."""
        description = run.description
        self.inference_ = description.fitted["inference_"]
        found = run.found()
        if found is not None:
            self._take(run.problem(), found[0], description, found[1], run.path)
            return self
        problem = run.problem()
        with run.watched(self.progress) as watch:
            draws = self._run(problem, description.engine, run.generator(), watch)
            if draws.interrupted and not draws.spent:
                what = f"the fit was interrupted: {_kept(draws, run)}"
                warnings.warn(what, InterruptedFit, stacklevel=stacklevel)
            self._take(problem, draws, description, None, run.path)
            run.finish(self, draws)
        if not draws.interrupted:
            warn_if_unmixed(self.posterior_, stacklevel=stacklevel)
        return self

    def _take(
        self,
        problem: Problem,
        draws: Draws,
        description: Description,
        result: Arrays | None,
        folder: Path | None = None,
    ) -> None:
        self._description = description
        self._accept(problem, draws, description.data, result)
        self.posterior_.folder = folder

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model, with every draw and the data, into one file that ``countless.load`` reads.

        The file is JSON and plain arrays (see docs/runs.md); it is whole or absent, and replaces what was there.

        Examples
        --------
        >>> import tempfile
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     twin = cl.load(model.save(folder + "/model.npz"))
        >>> twin.predict([[0.05]]).tolist() == model.predict([[0.05]]).tolist()
        True
        """
        check_is_fitted(self, "posterior_")
        path = Path(path)
        if path.is_dir():
            raise ValueError(f"path: {path} is a folder; give the name of a file")
        check_folder(path.parent, "path")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_model(path, SavedModel(self._description, self.posterior_.draws, self._result()))
        except OSError as error:
            raise ValueError(f"path: cannot write {path}: {error.strerror or error}") from None
        return path

    def report_page(self, title: str | None = None, command: str | None = None, most_rows: int = 20_000) -> Page:
        """The page that ``countless.report`` writes, with at most ``most_rows`` rows of data.

        Whether the chains agree, what the model class has to show, the chains, and the settings that reproduce the fit.
        """
        from .. import report  # matplotlib is imported when it is needed

        check_is_fitted(self, "posterior_")
        found = self.posterior_.diagnostics()
        sections = [
            report.facts([report.converged(found)], [report.unfinished(self.posterior_)]),
            *self._sections(most_rows),
            report.chains(self.posterior_, found),
            report.settings(self, command),
        ]
        return report.Page(title or type(self).__name__, self._headline(), sections)

    @classmethod
    def _unfitted(cls, description: Description) -> Self:
        """The estimator as it was when its run began; ValueError where the description is of something else."""
        params, known = dict(description.params), cls().get_params(deep=False)
        if not set(params) <= set(known):
            raise ValueError(f"it is not a {cls.__name__} of this version of countless")
        model = cls(**params)
        for name, value in description.fitted.items():
            if name not in cls.known_before:
                raise ValueError(f"{name!r} is not an attribute of a fitted {cls.__name__}")
            setattr(model, name, value)
        return model

    @classmethod
    def _revived(
        cls, description: Description, draws: Draws, result: Arrays | None, folder: Path | None = None
    ) -> Self:
        """A fitted estimator from what was saved, in a file or in the folder of its run."""
        model = cls._unfitted(description)
        model._take(description.data.problem(), draws, description, result, folder)
        return model


@dataclass
class Run:
    """A fit that is about to begin or to continue: recorded nowhere, in memory, or in a folder."""

    description: Description
    folder: RunFolder | None = None
    memory: MemoryRecorder | None = None
    # The user's own stream, where the run begins: it moves on.
    stream: np.random.Generator | None = None

    def problem(self) -> Problem:
        """The problem that is solved."""
        problem: Problem = self.description.data.problem() if self.folder is None else self.folder.problem()
        return problem

    def generator(self) -> np.random.Generator:
        """The stream that everything is drawn from, at its beginning."""
        return generator_from(self.description.random) if self.stream is None else self.stream

    @contextlib.contextmanager
    def watched(self, progress: bool | None) -> Iterator[Watch]:
        """The watch of the run, with whoever records its chains ready to do so."""
        n_draws = self.description.n_draws
        if self.folder is None:
            yield Watch(progress, self.memory, n_draws)
            return
        with self.folder.writing() as recorder:
            try:
                yield Watch(progress, recorder, n_draws)
            except KeyboardInterrupt as stop:
                raise KeyboardInterrupt(f"{stop or 'the fit was interrupted'}{self.advice}") from None

    def found(self) -> tuple[Draws, Arrays] | None:
        """Draws and result, where the run is finished."""
        return None if self.folder is None else self.folder.result()

    @property
    def path(self) -> Path | None:
        """Folder of the run, where it is kept in one."""
        return None if self.folder is None else self.folder.path

    @property
    def advice(self) -> str:
        """How to continue after an interrupt."""
        if self.folder is None:
            return ""
        path = self.folder.path
        return f"; continue with countless.io.resume({str(path)!r}), or countless resume {path}"

    def finish(self, model: Any, draws: Draws) -> None:
        """Keep what was found where the run is kept."""
        model._memory = self.memory
        if self.folder is not None and not draws.interrupted:
            self.folder.finish(draws, model._result())


def _kept(draws: Draws, run: Run) -> str:
    """What an interrupted fit keeps, and how to continue it."""
    if not draws.kind.has_chains:
        return "the best result so far is kept"
    chains, kept = draws.shape
    return f"{count(kept, 'draw')} of each of {count(chains, 'chain')} are kept{run.advice}"


def _begin(
    model: Any, data: Any, rng: np.random.Generator, checkpoint: str | os.PathLike[str] | None, every: float
) -> Run:
    """Begin the run of an estimator that has looked at its data, or find the one that it continues."""
    params = model.get_params(deep=False)
    if not (params["random_state"] is None or isinstance(params["random_state"], numbers.Integral)):
        params["random_state"] = generator_from(generator_state(rng))  # as it is now
    has_chains = hasattr(model.inference_, "chains")
    description = Description(
        ESTIMATORS.name_of(type(model)),
        params,
        {name: vars(model)[name] for name in model.known_before if name in vars(model)},
        data,
        model.inference_,
        model._further(),
        model.inference_.n_draws if has_chains else 0,
        generator_state(rng),
        model.random_state is not None,
    )
    if checkpoint is not None:
        folder = RunFolder.begin(checkpoint, description, interval(every))
        return Run(folder.description, folder, stream=rng if folder.is_new else None)
    if not getattr(model, "warm_start", False) or not has_chains:
        return Run(description, stream=rng)
    memory, last = getattr(model, "_memory", None), getattr(model, "_description", None)
    if memory is None or last is None:
        return Run(description, memory=MemoryRecorder(), stream=rng)
    differs = description.same_as(last, streams=False)
    if differs is not None:
        raise ValueError(f"warm_start: the last fit had a different {differs}; set warm_start=False to start again")
    if model.posterior_.interrupted:
        return Run(last, memory=memory)
    # Chains that decide when they are done go on for at least one round.
    longer = last.n_draws + description.n_draws if description.n_draws else 2 * model.posterior_.draws.made
    return Run(last.longer(longer), memory=memory)


def interval(every: Any) -> float:
    """Seconds between checkpoints."""
    if isinstance(every, bool) or not isinstance(every, numbers.Real) or not 0.0 <= float(every) < math.inf:
        raise ValueError(f"checkpoint_every must be a number of seconds of at least 0, got {every!r}")
    return float(every)
