"""From options to a fitted model."""

from __future__ import annotations

import dataclasses
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._app import Interrupted, say

if TYPE_CHECKING:
    import pandas as pd

    from ..estimators import DPMixture


def build(
    table: pd.DataFrame,
    family: str,
    kinds: dict[str, str],
    prior: str,
    inference: str,
    concentration: float | None,
    tune: str | None,
    seed: int,
    **sampling: int | None,
) -> DPMixture:
    """An estimator whose every choice has been checked against the table."""
    from ..estimators import DPMixture
    from ..families import resolve_family
    from ..inference import resolve_inference
    from ..priors import resolve_prior
    from ..tuning import resolve_tuning

    chosen_family: Any = family
    if kinds:
        chosen_family = _with_kinds(family, kinds)
    known, rows = _read(from_name("--family", resolve_family, chosen_family), table)
    known.check(rows)
    resolved = known.resolve(rows)
    chosen_prior: Any = from_name("--prior", resolve_prior, prior)
    if concentration is not None:
        try:
            chosen_prior = chosen_prior.with_concentration(concentration)
        except ValueError as error:
            raise ValueError(f"--concentration: {error}") from None
    if tune is not None:
        from_name("--tune", resolve_tuning, tune)
    settings = {key: value for key, value in sampling.items() if value is not None}
    if inference == "auto" and settings:
        inference = "gibbs"
    missing = resolved.draws_missing(rows)
    engine: Any = from_name(
        "--inference",
        lambda name: resolve_inference(name, len(rows), rows.shape[1], chosen_prior.has_sticks, False, missing),
        inference,
    )
    _check_settings(engine, inference, settings)
    return DPMixture(
        family=chosen_family,
        prior=prior if concentration is None else chosen_prior,
        inference=dataclasses.replace(engine, **settings) if settings else inference,
        random_state=seed,
        tune=tune,
    )


def _with_kinds(family: str, kinds: dict[str, str]) -> Any:
    """A mixed table in which some columns have a kind of their own."""
    from ..families import FAMILIES, Table, resolve_family

    if not isinstance(from_name("--family", resolve_family, family), Table):
        raise ValueError(f"--columns: kinds of single columns need --family auto, got {family!r}")
    for name, kind in kinds.items():
        if kind != "ignore" and kind not in FAMILIES:
            listed = ", ".join(repr(known) for known in sorted(FAMILIES))
            raise ValueError(f"--columns: {kind!r} for {name!r} is not known; choose one of {listed}, 'ignore'")
    return Table(dict(kinds))


def _read(family: Any, table: pd.DataFrame) -> Any:
    try:
        return family.read(table)
    except ValueError as error:
        text = str(error).replace("family='auto'", "--family auto").removeprefix("X: ")
        raise ValueError(text.replace(", or drop it", ", or leave it out with --ignore")) from None


def _check_settings(engine: Any, name: str, settings: dict[str, int]) -> None:
    known = {field.name for field in dataclasses.fields(engine)}
    for setting in settings:
        if setting not in known:
            raise ValueError(f"--{setting}: inference {name!r} has no such setting; leave it out or choose 'gibbs'")
    dataclasses.replace(engine, **settings)


def from_name(option: str, resolve: Any, name: Any) -> Any:
    """What a short name stands for; errors speak of the option, not of Python objects."""
    try:
        return resolve(name)
    except ValueError as error:
        listed = str(error).split(", or pass ")[0].partition("choose one of ")[2]
        if not listed:
            raise
        extra = ", 'auto'" if "'auto'" not in listed and option in ("--inference", "--family") else ""
        raise ValueError(f"{option}: {name!r} is not known; choose one of {listed}{extra}") from None


def fitted(model: DPMixture, table: pd.DataFrame, out: Path | None) -> tuple[DPMixture, float]:
    """Fit with checkpoints in a folder; an interrupted fit says what is there, other warnings are one line."""
    n_rows, n_columns = table.shape
    say(f"clustering {n_rows:,} rows x {n_columns} columns (the first run compiles, a minute or two) ...")
    start = time.perf_counter()
    with one_line_warnings():
        try:
            model = model.fit(table) if out is None else model.fit(table, checkpoint=out)
        except ValueError as error:
            raise ValueError(_about_folder(str(error))) from None
        except (KeyboardInterrupt, UserWarning):
            raise Interrupted(stopped(out)) from None
    return model, time.perf_counter() - start


def _about_folder(error: str) -> str:
    """The same words with the names of options."""
    if not error.startswith("checkpoint: "):
        return error
    return "--out: " + error.removeprefix("checkpoint: ").replace(
        "choose another folder, or remove this one", "choose another folder, or begin anew with --overwrite"
    )


def stopped(out: Path | None) -> str:
    """What is left on disk after an interrupt, and how to go on."""
    if out is None or not (out / "run.json").exists():
        return "interrupted; nothing was written"
    return f"interrupted; what was drawn so far is in {out}: go on with countless resume {out}"


class one_line_warnings(warnings.catch_warnings):
    """Warnings are one line on standard error; an interrupt that the fit survived is an interrupt."""

    def __enter__(self) -> Any:
        from ..core.warnings import ConvergenceWarning

        log = super().__enter__()
        warnings.filterwarnings("error", message="the fit was interrupted")
        # What it says is the verdict, which is shown with the results.
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.showwarning = lambda message, *_: say(f"warning: {' '.join(str(message).split())}")
        return log
