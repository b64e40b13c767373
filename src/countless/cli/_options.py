"""Options that commands share, and how their values are completed in a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TABLE = "The table"
MODEL = "The model"
SAMPLING = "Sampling"
OUTPUT = "Output"


def _families() -> list[str]:
    from ..families import FAMILIES

    return ["auto", *sorted(FAMILIES)]


def _priors() -> list[str]:
    from ..priors.names import PRIORS

    return sorted(PRIORS)


def _engines() -> list[str]:
    from ..inference import ENGINES

    return ["auto", *sorted(ENGINES)]


def _tunings() -> list[str]:
    from ..tuning import TUNINGS

    return sorted(TUNINGS)


Family = Annotated[
    str,
    typer.Option(
        rich_help_panel=MODEL,
        metavar="NAME",
        autocompletion=_families,
        help=(
            "What the rows of one cluster look like. auto reads each column: text and codes as categories, small whole "
            "numbers as counts, other numbers as Gaussian; missing cells are fine. Others, for all columns alike: "
            "gaussian, diagonal-gaussian, poisson, categorical, bernoulli, multinomial, ..."
        ),
    ),
]
Prior = Annotated[
    str,
    typer.Option(
        rich_help_panel=MODEL,
        metavar="NAME",
        autocompletion=_priors,
        help="How rows fall into clusters: crp, pitman-yor, finite-dirichlet, mixture-of-finite.",
    ),
]
Inference = Annotated[
    str,
    typer.Option(
        rich_help_panel=MODEL,
        metavar="NAME",
        autocompletion=_engines,
        help=(
            "How the posterior is found: auto (samples, or optimises where rows are many), gibbs, variational, map, "
            "uncollapsed, blocked, single-site."
        ),
    ),
]
Concentration = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL,
        metavar="X",
        help="Fixed concentration of the prior; larger, more clusters. Left out, it is learned.",
        show_default=False,
    ),
]
Tune = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MODEL,
        metavar="NAME",
        autocompletion=_tunings,
        help="Learn hyperparameters of the family: empirical-bayes, greedy, cross-validation, sample.",
        show_default=False,
    ),
]
Chains = Annotated[
    int | None,
    typer.Option(rich_help_panel=SAMPLING, metavar="N", help="Independent chains; 4 if left out.", show_default=False),
]
Draws = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=SAMPLING, metavar="N", help="Draws kept in each chain; 250 if left out.", show_default=False
    ),
]
Warmup = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=SAMPLING,
        metavar="N",
        help="Sweeps before the first draw is kept; 100 if left out.",
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        rich_help_panel=SAMPLING, metavar="N", min=0, help="Random seed: the same seed gives the same result."
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object for machines, and nothing else."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as [bold]countless fit[/] wrote it.")]


def typed(context: typer.Context, leave_out: tuple[str, ...]) -> list[str]:
    """The options that were given, as words of a command line."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if not given or name in leave_out or parameter.param_type_name != "option":
            continue
        value: Any = context.params[name]
        option = parameter.opts[0]
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [option] if each is True else [option, str(each)]
    return words
