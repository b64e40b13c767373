"""What a run does not know of itself: the file it is about, the command that began it, and the known classes.

They are kept beside the run, in ``about.json``, from its beginning on: a run that was stopped can then be compared and
shown like any other. A file that is not there or not to be read costs these words and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

NAME = "about.json"
COMPARED = ("ari", "nmi", "vi", "purity")


@dataclass(frozen=True)
class About:
    """File, command, and the class of each row by a column that was not clustered (None: not known)."""

    file: str | None = None
    command: str | None = None
    label: str | None = None
    classes: list[str | None] | None = None

    @classmethod
    def of(cls, file: Path, options: list[str], label: Any) -> About:
        """Of a fit that is about to begin."""
        command = shlex.join(["countless", "fit", str(file), *options])
        if label is None:
            return cls(file.name, command)
        known = label.notna()
        classes = [str(value) if there else None for value, there in zip(label, known, strict=True)]
        return cls(file.name, command, str(label.name), classes)

    @classmethod
    def read(cls, run: Path) -> About:
        """Of a run that is there."""
        try:
            about = cls(**json.loads((run / NAME).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return cls()
        texts = (about.file, about.command, about.label)
        fine = all(value is None or isinstance(value, str) for value in texts)
        classes = [] if about.classes is None else about.classes
        fine = fine and isinstance(classes, list) and all(each is None or isinstance(each, str) for each in classes)
        return about if fine else cls()

    def text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self)) + "\n"

    @contextlib.contextmanager
    def beside(self, run: Path) -> Iterator[None]:
        """Written before a run begins, and removed again where none did."""
        from ..io import write_together

        began = (run / "run.json").exists()
        made = [place for place in (run, *run.parents) if not place.exists()]
        if not began:
            write_together(run, {NAME: self.text()}, "--out")
        try:
            yield
        finally:
            if not (run / "run.json").exists():
                (run / NAME).unlink(missing_ok=True)
                for place in made:
                    # A folder that is not empty stays: somebody else has put something there.
                    with contextlib.suppress(OSError):
                        place.rmdir()

    def compared(self, labels: Any) -> dict[str, Any] | None:
        """Agreement with the known classes, over the rows whose class is known."""
        import numpy as np

        from ..metrics import compare

        if self.classes is None or len(self.classes) != len(labels):
            return None
        known = [i for i, each in enumerate(self.classes) if each is not None]
        classes = [self.classes[i] for i in known]
        if not classes:
            return None
        values = compare(np.asarray(labels)[known], classes, metrics=COMPARED)
        return {"label": self.label, "rows": len(known), "classes": len(set(classes)), **values}
