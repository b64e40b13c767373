"""Runs and models in: read a fitted model from a file or from the folder of a run, and continue a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .. import estimators as _estimators  # noqa: F401  they register themselves
from ..core.errors import ArgumentError
from ..core.validate import whole_number
from ..models.estimator import Run, interval
from ..runs import ESTIMATORS, RunFolder, read_model
from ..runs.format import damaged


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file (``model.save``) or from the folder of a run (``fit(..., checkpoint=...)``).

    Nothing in the file is executed or unpickled. A run that is not finished gives the draws made so far, with
    ``posterior_.interrupted`` set.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        Fitted, of the class that was saved; ``posterior_`` has all draws and the data.

    Raises
    ------
    ValueError
        In one sentence: no such file, not a run, damaged, written by a newer version, or a run of a class that no
        imported module has registered.

    References
    ----------
    docs/runs.md documents the format.

    Examples
    --------
    >>> import tempfile
    >>> import countless as cl
    >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cl.load(model.save(folder + "/model.npz")).n_clusters_ == model.n_clusters_
    True
    """
    path = Path(path)
    if path.name == "run.json":
        path = path.parent
    if path.is_dir():
        run = RunFolder.open(path)
        found = run.result()
        description = run.description
        draws, result = found if found is not None else (run.draws(), None)
    elif path.exists():
        saved = read_model(path)
        description, draws, result = saved
    else:
        raise ValueError(f"{path}: there is no such file or folder")
    try:
        folder = path if path.is_dir() else None
        return ESTIMATORS[description.estimator]._revived(description, draws, result, folder)
    except Exception as error:
        raise damaged(path, error) from None


def resume(
    path: str | os.PathLike[str],
    draws: int | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 10.0,
) -> Any:
    """Continue a run that was stopped, from its last checkpoint, without the table that it was begun with.

    The draws are those of a run that was never stopped, one for one. A finished run is read.

    Parameters
    ----------
    path : path
        Folder of the run, as given to ``fit(..., checkpoint=path)``.
    draws : int, optional
        Draws that each chain is to have in the end; default, as many as the run was begun with.
    progress : bool, optional
        Show a progress bar; default, when standard error is a terminal.
    checkpoint_every : float
        Seconds between checkpoints of a chain.

    Returns
    -------
    estimator
        Fitted, of the class that began the run.

    Examples
    --------
    >>> import tempfile
    >>> import countless as cl
    >>> engine = cl.inference.CollapsedGibbs(chains=2, draws=10, warmup=10)
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = cl.DPMixture(inference=engine, random_state=0).fit(X, checkpoint=folder)
    ...     cl.io.resume(folder, draws=15).posterior_.labels.shape
    (2, 15, 4)
    """
    run = RunFolder.open(path, interval(checkpoint_every))
    if draws is not None:
        engine: Any = run.description.engine
        if not hasattr(engine, "chains"):
            raise ArgumentError(
                "draws", f"{path} is a run of {type(engine).__name__}, which has no chains to make longer"
            )
        run.extend(whole_number("draws", draws, 1))
    try:
        model = ESTIMATORS[run.description.estimator]._unfitted(run.description)
    except Exception as error:
        raise damaged(run.path, error) from None
    shown, model.progress = model.progress, progress
    model._infer(Run(run.description, run), stacklevel=3)
    model.progress = shown
    return model
