"""Commands of models: each estimator in the register that has a ``command`` gets one, over the shared parts."""

from __future__ import annotations

import inspect
from typing import Any

import typer
import typer.main

from ..models.command import Command, Option
from . import _options as options
from ._errors import one_line_warnings


def model_commands() -> dict[str, Command]:
    """What the models say about their commands, by name; models of other packages are among them."""
    from .. import estimators as _estimators  # noqa: F401  they register themselves
    from ..runs import ESTIMATORS

    found: dict[str, Command] = {}
    with one_line_warnings():
        known = ESTIMATORS.everything()
    for cls in known.values():
        command: Command | None = getattr(cls, "command", None)
        if command is not None:
            found.setdefault(command.name, command)
    return found


def model_command(name: str) -> Any:
    """The command of a model, as a command of the application; None where there is none of this name."""
    from ._app import help_of

    command = model_commands().get(name)
    if command is None:
        return None
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(command.name, **help_of(command.help, command.examples))(_function(command))
    return typer.main.get_command(alone)


def command_of(model: Any) -> Command:
    """The command of a fitted model; one in general terms where its class has none."""
    command: Command | None = getattr(type(model), "command", None)
    return command or Command(type(model).__name__, "", _not_here)


def _not_here(request: Any) -> Any:
    raise ValueError("this model cannot be fitted from the command line")


def _function(command: Command) -> Any:
    """A function whose arguments are the options of the command, for Typer to read."""

    def run(**values: Any) -> None:
        from ._fit import Order, fit

        own = {option.name: _value(option, values.pop(option.name)) for option in command.options}
        fit(command, Order(own=own, **values))

    needed = inspect.Parameter.empty
    arguments = [
        ("context", typer.Context, needed),
        ("file", options.Table, needed),
        *((option.name, options.annotation(option), option.default) for option in command.options),
        ("seed", options.Seed, 0),
        ("out", options.Out, None),
        ("overwrite", options.Overwrite, False),
        ("no_report", options.NoReport, False),
        ("as_json", options.Json, False),
        ("quiet", options.Quiet, False),
    ]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in arguments
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {name: kind for name, kind, _ in arguments}
    return run


def _value(option: Option, value: Any) -> Any:
    """The value of an option, checked against the names that it may have."""
    from ..core.errors import UnknownName

    if option.repeated:
        return list(value or [])
    if option.choices is not None and value is not None:
        choices = option.choices()
        if value not in choices:
            raise UnknownName(option.flag, value, choices)
    return value
