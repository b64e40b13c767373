"""Ctrl-C ends a command within a second, whatever is running: compiled code does not look at interrupts.

Python hands an interrupt to the main thread, which may be inside a kernel for seconds. A thread that waits for the
signal itself gives the command time to end by its own means, and then ends it. That is safe because files are whole or
absent (``core.files``) and what a run has on disk can be continued at any moment.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

INTERRUPTED = 130
# Seconds that a command has to end by its own means: chains come to the end of their sweep and write it down.
GRACE = 0.3

NOTHING = "interrupted; nothing was written"
# What is left on disk, in a sentence; the innermost context has the word.
_sentences: list[Callable[[], str]] = [lambda: NOTHING]
# Held by whoever answers an interrupt, from then on; None where nobody waits for interrupts.
_answered: threading.Lock | None = None


class Interrupted(Exception):
    """Ctrl-C, with a sentence about what is left on disk. KeyboardInterrupt itself would lose the sentence."""


@contextlib.contextmanager
def leaving(sentence: Callable[[], str]) -> Iterator[None]:
    """While this context lasts, ``sentence`` says what an interrupt leaves on disk; it may clear away first."""
    _sentences.append(sentence)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None
    finally:
        _sentences.remove(sentence)


def claim_answer() -> bool:
    """Whether nobody has answered the interrupt yet; the caller answers it then, and nobody else will."""
    return _answered is None or _answered.acquire(blocking=False)


def answer_interrupts() -> None:
    """From now on an interrupt ends this process ``GRACE`` seconds later at the latest."""
    global _answered
    _answered = threading.Lock()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_answer, args=(receiver, sender), daemon=True).start()


def _answer(receiver: socket.socket, _sender: socket.socket) -> None:
    """Wait for the signal and let the command end; else end it. The sender is kept from being closed."""
    while receiver.recv(1) != bytes([signal.SIGINT]):
        pass
    time.sleep(GRACE)
    if claim_answer():
        # A bar of progress has hidden the cursor.
        clean = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
        os.write(2, f"{clean}error: {_sentences[-1]()}\n".encode())
    for child in multiprocessing.active_children():
        child.terminate()
    os._exit(INTERRUPTED)
