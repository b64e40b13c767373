"""Watch: what goes along with a run and is no setting of it: progress, a recorder, how many draws, a way to stop."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .checkpoint import Recorder


@dataclass(frozen=True)
class Watch:
    """Who watches a run.

    Attributes
    ----------
    progress : bool, optional
        Whether a progress bar is shown; default, when standard error is a terminal.
    recorder : Recorder, optional
        Who keeps the chains while they run.
    n_draws : int
        Draws that each chain is to have, where that is more than the engine makes by itself.
    purpose : str
        What the run is for, where it is not the fit itself; progress says so.
    stop : Event
        Set it to end the run; what is done by then is kept. An interrupt (Ctrl-C) sets it.
    """

    progress: bool | None = None
    recorder: Recorder | None = None
    n_draws: int = 0
    purpose: str = ""
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    def unrecorded(self) -> Watch:
        """The same for a trial run, which nobody keeps."""
        return replace(self, recorder=None, n_draws=0)
