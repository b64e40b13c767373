"""The application: its commands, its exit codes, and errors that are one line, whoever raised them."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
import typer.core

from .. import __version__
from ._errors import Interrupted, complain, say
from ._imports import HELP as IMPORT_HELP
from ._imports import import_modules, take_imports
from ._interrupts import INTERRUPTED, NOTHING, answer_interrupts, claim_answer

# Commands for all models, in the order in which people need them; the commands of the models come before them.
COMMANDS = ("report", "predict", "resume", "compare", "demo", "reproduce", "warmup")
# Commands that read no run.
WITHOUT_RUNS = ("demo", "reproduce", "warmup")


class Commands(typer.core.TyperGroup):
    """The commands, those of the models among them; errors are one line on standard error and an exit code.

    Models are imported where one of their commands is asked for, or all of them are listed.
    """

    def invoke(self, context: Any) -> Any:
        """Run a command; an interrupt stays an interrupt."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            raise Interrupted(NOTHING) from None

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and leave with the exit code."""
        standalone = options.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except Interrupted as stop:
            code = _interrupted(str(stop))
        except (KeyboardInterrupt, typer.Abort):
            code = _interrupted(NOTHING)
        except Exception as error:
            code = complain(error)
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Import the modules of ``--import`` first: they may hold the command itself."""
        named, rest = take_imports(args)
        try:
            import_modules(named)
        except ValueError:
            # While a shell completes, the words may not be whole yet.
            if not context.resilient_parsing:
                raise
        context.meta["countless.imports"] = named
        return super().parse_args(context, rest)

    def list_commands(self, context: Any) -> list[str]:
        """Commands of the models, then those for all models."""
        from ._commands import model_commands

        return [*(name for name in model_commands() if name not in COMMANDS), *COMMANDS]

    def get_command(self, context: Any, name: str) -> Any:
        """A command by its name; None where there is none."""
        found = super().get_command(context, name)
        if found is None:
            from ._commands import model_command

            found = model_command(name)
        if found is not None and name not in WITHOUT_RUNS:
            self._tell_of_imports(found)
        return found

    def _tell_of_imports(self, command: Any) -> None:
        """Put ``--import`` into the help of a command; its values are taken before the command sees any."""
        if not any("--import" in each.opts for each in command.params):
            shown = copy.copy(next(each for each in self.params if "--import" in each.opts))
            shown.expose_value = False
            command.params.append(shown)


def _interrupted(sentence: str) -> int:
    """Say what is left, unless that was said already."""
    if claim_answer():
        say(f"error: {sentence}")
    return INTERRUPTED


app = typer.Typer(
    cls=Commands,
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
    answer_interrupts()
    app(prog_name="countless")


@app.callback(invoke_without_command=True)
def _about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
    _modules: Annotated[list[str] | None, typer.Option("--import", metavar="MODULE", help=IMPORT_HELP)] = None,
) -> None:
    if version:
        typer.echo(f"countless {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def command(examples: Iterable[str] = ()) -> Callable[[Any], Any]:
    """Decorator: make a function a command for all models. Its docstring is the help."""

    def add(function: Any) -> Any:
        app.command(**help_of(function.__doc__, examples))(function)
        return function

    return add


def help_of(text: str, examples: Iterable[str]) -> dict[str, Any]:
    """Help and epilog of a command: one line per paragraph, which Rich wraps."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    lines = list(examples)
    epilog = "[bold]Examples:[/] " + "\n".join(lines) if lines else None
    return {"help": "\n\n".join(paragraphs), "epilog": epilog}


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
