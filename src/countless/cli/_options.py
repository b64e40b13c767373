"""Options that all commands share, and options of models as Typer has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..models.command import OUTPUT, SAMPLING, Option

Table = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", show_default=False, help="CSV, TSV, Excel, Parquet, Feather, JSON lines; named columns."
    ),
]
Seed = Annotated[
    int,
    typer.Option(rich_help_panel=SAMPLING, metavar="N", min=0, help="The same seed gives the same result."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="FOLDER",
        help="Folder for the run; left out, named after the table.",
        show_default=False,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", rich_help_panel=OUTPUT, help="Start again where the folder holds a run."),
]
NoReport = Annotated[bool, typer.Option("--no-report", rich_help_panel=OUTPUT, help="Write no report.html.")]
Json = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object, and nothing else."),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Say nothing but warnings and errors."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as [bold]countless fit[/] wrote it.")]


def annotation(option: Option) -> Any:
    """The option of a model as the type of an argument that Typer reads."""
    kind: Any = list[option.kind] if option.repeated else option.kind  # type: ignore[name-defined]
    given = typer.Option(
        option.flag,
        rich_help_panel=option.panel,
        metavar=None if option.kind is bool else option.metavar,
        help=option.help,
        show_default=option.default is not None and option.kind is not bool and "default" not in option.help,
        min=option.minimum,
        autocompletion=None if option.choices is None else (lambda: list(option.choices())),  # type: ignore[misc]
    )
    return Annotated[kind | None if option.default is None else kind, given]


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
    for module in context.meta.get("countless.imports", []):
        words += ["--import", module]
    return words
