"""The application: its commands, its exit codes, and errors that are one line, whoever raised them."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
import typer.core

from .. import __version__

DEFECT = 1
MISTAKE = 2
INTERRUPTED = 130

COMMANDS = ("fit", "report", "predict", "resume", "compare", "demo")


class Interrupted(Exception):
    """Ctrl-C, with what is left on disk in words. KeyboardInterrupt itself would lose them on its way out."""


class OneLineErrors(typer.core.TyperGroup):
    """A group whose errors are one line on standard error and an exit code, whoever raised them."""

    def invoke(self, context: Any) -> Any:
        """Run a command; Ctrl-C keeps its place in the order of things."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; nothing was written") from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and leave with the exit code."""
        standalone = options.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except Interrupted as stop:
            say(f"error: {stop}")
            code = INTERRUPTED
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            code = complain(error)
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, context: Any) -> list[str]:
        """Commands in the order in which people need them."""
        return [name for name in COMMANDS if name in self.commands]


app = typer.Typer(
    cls=OneLineErrors,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Clustering when you do not know how many: the number of clusters is inferred from the data, with its "
        "uncertainty."
    ),
    epilog=(
        "[bold]From a table to a report:[/]  countless fit table.csv\n\n"
        "[bold]Exit codes:[/]  0 fine, 1 a defect of countless, 2 a mistake in the command or in a file, "
        "130 interrupted"
    ),
)


def main() -> None:
    """Entry point of the command ``countless``.

    Examples
    --------
    >>> from countless.cli import main
    >>> callable(main)
    True
    """
    app(prog_name="countless")


@app.callback(invoke_without_command=True)
def _about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(f"countless {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def command(examples: str = "") -> Callable[[Any], Any]:
    """Decorator: make a function a command. Its docstring is the help, one line per paragraph, which Rich wraps."""

    def add(function: Any) -> Any:
        text = inspect.cleandoc(function.__doc__)
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
        lines = [line.strip() for line in examples.splitlines() if line.strip()]
        epilog = "\n\n".join(["[bold]Examples[/]", *lines]) if lines else None
        app.command(help="\n\n".join(paragraphs), epilog=epilog)(function)
        return function

    return add


def complain(error: Exception) -> int:
    """Say what is wrong in one line; returns the exit code."""
    if os.environ.get("COUNTLESS_DEBUG"):
        raise error
    if hasattr(error, "format_message"):
        say(f"error: {error.format_message()}")
        return MISTAKE
    if isinstance(error, (ValueError, OSError)):
        say(f"error: {error}")
        return MISTAKE
    if isinstance(error, MemoryError):
        say("error: there is not enough memory for a table of this size")
        return MISTAKE
    say(f"error: a defect of countless ({type(error).__name__}: {error}); COUNTLESS_DEBUG=1 shows where")
    return DEFECT


def say(line: str) -> None:
    """One line on standard error."""
    typer.echo(" ".join(line.split()), err=True)


def print_json(content: Any) -> None:
    """One JSON object on standard output; numbers that JSON does not have become null."""
    import json

    typer.echo(json.dumps(finite(content), indent=2))


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value
