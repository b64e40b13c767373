"""``countless hmm``: what InfiniteHMM says to the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..command import (
    CHAIN_OPTIONS,
    COLUMNS,
    IGNORE,
    LABEL,
    TABLE,
    About,
    Command,
    Grid,
    Option,
    Prediction,
    Request,
    Results,
    asked_chains,
    check_column,
    plain,
    with_chains,
)

if TYPE_CHECKING:
    import pandas as pd

HELP = """
Find the states of sequences, and when each begins and ends; the number of states is inferred.

Writes [bold]report.html[/], states.csv (state of each row, its probability, the runner-up), summary.json and
summary.png into the folder --out. Stop it at any time; [bold]countless resume[/] continues.
"""
EXAMPLES = (
    "countless hmm nile.csv --time year",
    "countless hmm gait.csv --sequence walk --ignore person",
    "countless hmm counts.tsv --family poisson --transitions hdp --out run",
)


def _families() -> list[str]:
    from ...families import FAMILIES

    return [*sorted(FAMILIES.everything()), "auto"]


def _laws() -> list[str]:
    from ...transitions import _by_default

    return sorted(_by_default())


def _engines() -> list[str]:
    from .engines.choice import engines

    return [*sorted(engines()), "auto"]


SEQUENCE = Option(
    "sequence",
    "Column with the sequence of each row; left out, there is one.",
    panel=TABLE,
    metavar="COLUMN",
    column=True,
)
TIME = Option(
    "time",
    "Column that increases along each sequence; not fitted.",
    panel=TABLE,
    metavar="COLUMN",
    column=True,
)
OPTIONS = (
    COLUMNS,
    IGNORE,
    LABEL,
    SEQUENCE,
    TIME,
    Option(
        "family",
        "auto (default: column by column), gaussian, poisson, ...",
        default="auto",
        choices=_families,
    ),
    Option(
        "transitions",
        "sticky-hdp (default: states tend to last), hdp.",
        default="sticky-hdp",
        choices=_laws,
    ),
    Option(
        "inference",
        "auto (default), gibbs, beam, weak-limit, variational, map.",
        default="auto",
        choices=_engines,
    ),
    Option(
        "row_weight",
        "At most 1, less where rows resemble the last; auto is default.",
        default="auto",
        metavar="NUMBER",
    ),
    *CHAIN_OPTIONS,
)


def build(request: Request) -> tuple[Any, Any]:
    """An InfiniteHMM whose every choice has been checked against the table, and its sequences."""
    from ...core.errors import ColumnOfText, MissingCell
    from ...families import resolve_family
    from .engines.choice import engines
    from .estimator import InfiniteHMM

    sequences = sequences_of(request.table, request["sequence"], request["time"])
    name = "gibbs" if request["inference"] == "auto" and asked_chains(request) else request["inference"]
    engine: Any = name
    if asked_chains(request):
        if name not in engines():
            raise ValueError(f"--inference: {name!r} is not known; choose one of {', '.join(_engines())}")
        engine = with_chains(engines()[name](), request, name, "choose --inference gibbs")
    try:
        known, rows = resolve_family(request["family"]).read(sequences.table)
        known.check(rows)
    except ColumnOfText as error:
        raise ValueError(
            f"column {error.column!r} holds text; choose --family auto, which takes categories, or leave it out with "
            "--ignore"
        ) from None
    except MissingCell as error:
        column = str(sequences.table.columns[error.column])
        raise ValueError(
            f"column {column!r} has a missing cell in row {error.row + 1}; choose --family auto, which takes missing "
            "cells, or leave it out with --ignore"
        ) from None
    weight = _row_weight(request["row_weight"])
    model = InfiniteHMM(request["family"], request["transitions"], engine, request["seed"], row_weight=weight)
    return model, sequences


def _row_weight(written: str) -> float | str:
    if written == "auto":
        return written
    try:
        value = float(written)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise ValueError(f"--row-weight must be auto or a number above 0 and at most 1, got {written!r}")
    return value


def sequences_of(table: pd.DataFrame, sequence: str | None, time: str | None, file: Any = "the table") -> Any:
    """The columns to fit with the lengths of the sequences."""
    import numpy as np

    from ..sequences import Sequences, check_times, lengths_of_groups

    names = [str(name) for name in table.columns]
    for name in (sequence, time):
        if name is not None:
            check_column(file, name, names)
    lengths = np.array([len(table)])
    if sequence is not None:
        lengths = lengths_of_groups(table[sequence].to_numpy(), len(table), f"--sequence {sequence}", 1)
    if time is not None:
        check_times(table[time].tolist(), lengths, f"--time {time}")
    kept = table.drop(columns=[name for name in (sequence, time) if name is not None])
    if kept.shape[1] == 0:
        raise ValueError(f"{file}: no column is left to fit")
    return Sequences(kept, lengths, sequence)


def results(model: Any, about: About) -> Results:
    """Summary, tables for the screen, states and figure of a fitted model."""
    from ...plots import percent, render
    from ...report.settings import versions
    from .report import state_rows, summary_figure

    posterior = model.posterior_
    diagnostics = posterior.diagnostics()
    header, rows = state_rows(model)
    written = [[str(cell) if not isinstance(cell, int) else f"{cell:,}" for cell in row] for row in rows]
    screen: list[Grid | str] = [Grid("Which states?", header, written, right=(1, 3, 4))]
    pmf = posterior.n_states_pmf() if posterior.is_sampled else {}
    if pmf:
        top = max(pmf.values())
        bars = [[str(k), percent(share), "#" * round(24 * share / top)] for k, share in pmf.items() if share >= 0.005]
        screen.insert(0, Grid("How many states?", ("states", "probability", ""), bars))
    screen.append(diagnostics.sentence(command_line=True))
    summary: dict[str, Any] = {
        "n_states": int(model.n_states_),
        "n_states_probability": {str(k): share for k, share in pmf.items()} or None,
        **diagnostics.summary(),
        "states": [dict(zip(header, row, strict=True)) for row in rows],
        "transition_matrix": plain(model.transition_matrix_.round(6)),
        "start_probabilities": plain(model.start_probabilities_.round(6)),
        "data": {"file": about.file, "rows": len(model.labels_), "sequences": len(model.lengths_)},
        "family": plain(model.family_),
        "transitions": plain(model.transitions_),
        "row_weight": model.row_weight_,
        "bound_reached": model.bound_reached_,
        "inference": plain(model.inference_),
        "seed": model.random_state if isinstance(model.random_state, int) else None,
        "command": about.command,
        "versions": versions(),
    }
    compared = _compared(model, about)
    if compared is not None:
        summary["compared"] = compared
        figures = ", ".join(f"{name} {compared[name]:.3f}" for name in ("nmi", "ari"))
        screen.append(f"Against {about.label!r} ({compared['classes']} classes): {figures}.")
    files: dict[str, str | bytes] = {"states.csv": _states_text(model), "summary.png": render(summary_figure(model))}
    return Results(summary, screen, files)


def _compared(model: Any, about: About) -> dict[str, Any] | None:
    import numpy as np

    from ...metrics import compare

    if about.classes is None or len(about.classes) != len(model.labels_):
        return None
    known = [i for i, each in enumerate(about.classes) if each is not None]
    classes = [about.classes[i] for i in known]
    if not classes:
        return None
    values = compare(np.asarray(model.labels_)[known], classes, metrics=("nmi", "ari", "vi", "purity"))
    return {"label": about.label, "rows": len(known), "classes": len(set(classes)), **values}


def _states_text(model: Any) -> str:
    """One line per row, numbered from 1: its sequence, state, the probability of it, and what comes second."""
    import numpy as np

    sure = model.certainty_
    of = np.repeat(np.arange(1, len(model.lengths_) + 1), model.lengths_)
    lines = ["row,sequence,state,probability,runner_up,runner_up_probability"]
    columns = (of, model.labels_, sure.probability, sure.runner_up, sure.runner_up_probability)
    for i, (s, label, p, second, p2) in enumerate(zip(*columns, strict=True), start=1):
        tail = f"{second},{p2:.4f}" if second >= 0 else ","
        lines.append(f"{i},{s},{label},{p:.4f},{tail}")
    return "\n".join([*lines, ""])


def predict(model: Any, table: pd.DataFrame, file: Path) -> Prediction:
    """State of each step of new sequences, its probability, that of a new state, and the log density of the step."""
    from ...plots import percent

    names = [str(name) for name in model.posterior_.data.names]
    fitted = [str(name) for name in getattr(model, "feature_names_in_", names)]
    for name in names:
        check_column(file, name, [str(column) for column in table.columns])
    import numpy as np

    from ..sequences import Sequences, lengths_of_groups

    lengths = np.array([len(table)])
    if model.sequence_ is not None:
        check_column(file, model.sequence_, [str(column) for column in table.columns])
        lengths = lengths_of_groups(table[model.sequence_].to_numpy(), len(table), model.sequence_, 1)
    given = Sequences(table.reindex(columns=fitted, fill_value=np.nan), lengths)
    shares, density, path = model.predict_proba(given), model.score_samples(given), model.predict(given)
    columns = {
        "state": path.tolist(),
        "probability": shares[range(len(path)), path].round(4).tolist(),
        "new_state": shares[:, -1].round(4).tolist(),
        "log_density": density.round(4).tolist(),
    }
    rows = [
        [str(k), f"{int((path == k).sum()):,}", percent(float((path == k).mean()))]
        for k in range(model.n_states_)
        if (path == k).any()
    ]
    screen: list[Grid | str] = [Grid("Which states are the new steps in?", ("state", "steps", "share"), rows)]
    strange = int((shares[:, -1] > 0.5).sum())
    if strange:
        screen.append(f"{strange:,} of {len(path):,} steps fit none of the states (new_state above 0.5).")
    return Prediction(columns, screen)


def rehearsals() -> dict[str, Request]:
    """Small fits of a table and of numbers alone."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    states = np.arange(120) // 20 % 2
    numbers = pd.DataFrame(rng.normal(size=(120, 2)) + 6.0 * states[:, None], columns=["speed", "height"])
    table = numbers.assign(place=np.where(rng.random(120) < 0.8, states, 1 - states).astype(str))
    return {
        "a table": COMMAND.request(table.mask(rng.random(table.shape) < 0.05)),
        "numbers": COMMAND.request(numbers, family="gaussian"),
    }


COMMAND = Command("hmm", HELP, build, OPTIONS, EXAMPLES, results, predict, "finding the states of", rehearsals)
