"""``countless warmup``: kernels compiled ahead of the first fit."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from .._app import command
from .._errors import Interrupted, say
from .._interrupts import leaving

EXAMPLES = ("countless warmup", "countless warmup fit hmm")


@command(EXAMPLES)
def warmup(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="Commands that will be used; fit if left out.")
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Processes at a time.")] = os.cpu_count() or 1,
) -> None:
    """Compile the kernels of usual fits now, so that the first fit starts at once.

    For containers, courses and new machines: it takes a minute or two, and seconds where all is compiled already.
    """
    from ...core.jit import cache_directory
    from ...io import warmup as run

    begin = time.perf_counter()
    say("compiling; this takes a minute or two ...")
    left = "interrupted; what was compiled by then is kept: the same command goes on"
    try:
        with leaving(lambda: left):
            seconds = run(
                *(names or ("fit",)), jobs=jobs, progress=lambda what, taken: say(f"{what}, {taken:.0f} seconds")
            )
    except KeyboardInterrupt:
        raise Interrupted(left) from None
    typer.echo(f"{len(seconds)} small fits in {time.perf_counter() - begin:.0f} seconds; kernels: {cache_directory()}")
