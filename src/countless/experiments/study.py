"""A study of a source paper: cases that are run one by one, a table of what they gave, a figure and a page.

Each case is written down when it is done, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.files import write_together, write_whole
from ..core.register import Register

if TYPE_CHECKING:
    import pandas as pd

Case = dict[str, Any]
STUDIES: Register[Any] = Register("study", "countless.studies")


@dataclass(frozen=True)
class Study:
    """One study; a subclass registers itself under its name (``STUDIES.add``).

    Attributes
    ----------
    data : Path or None
        Folder of data sets, for studies of real data.

    Examples
    --------
    >>> from countless.experiments import STUDIES
    >>> sorted(STUDIES)
    ['biclusters', 'hmm', 'mixed-effects']
    """

    data: Path | None = None

    title = ""
    # What was studied, and what the source reports: a paragraph or more of Markdown.
    text = ""

    def cases(self, quick: bool) -> list[Case]:
        """Settings of each case, as JSON can hold them; fewer or smaller ones for a ``quick`` look."""
        raise NotImplementedError

    def run(self, case: Case) -> list[dict[str, Any]]:
        """Rows of the table that one case gives; the settings of the case are added to them."""
        raise NotImplementedError

    def summary(self, table: pd.DataFrame) -> pd.DataFrame:
        """What the page shows of the table; default, all of it."""
        return table

    def figure(self, table: pd.DataFrame) -> Any:
        """The figure of the source, beside ours (a Matplotlib figure)."""
        raise NotImplementedError


def reproduce(
    study: Study,
    folder: Path,
    quick: bool = False,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Path]:
    """Run what is left of a study, and write its table, figure and page into a folder.

    Parameters
    ----------
    study : Study
    folder : Path
    quick : bool
    n_jobs : int
        Processes that cases are divided over.
    progress : callable
        Told how many cases are done, and how many there are.

    Returns
    -------
    list of Path
        The files for people.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from countless.experiments.study import Study, reproduce
    >>> class Squares(Study):
    ...     def cases(self, quick): return [{"x": x} for x in range(2 if quick else 5)]
    ...     def run(self, case): return [{"square": case["x"] ** 2}]
    ...     def figure(self, table):
    ...         from countless.plots.parts.style import Picture
    ...         return Picture()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in reproduce(Squares(), Path(folder), quick=True)]
    ['table.csv', 'figure.png', 'index.md']
    """
    import pandas as pd

    from ..plots import render

    cases = study.cases(quick)
    kept = folder / "cases"
    kept.mkdir(parents=True, exist_ok=True)
    left = [case for case in cases if _kept(kept, case) is None]
    done = len(cases) - len(left)
    progress(done, len(cases))
    for case, rows in _results(study, left, n_jobs):
        write_whole(kept / _name(case), json.dumps({"case": case, "rows": rows}) + "\n")
        done += 1
        progress(done, len(cases))
    table = pd.DataFrame([{**case, **row} for case in cases for row in _kept(kept, case) or []])
    files: dict[str, str | bytes] = {
        "table.csv": table.to_csv(index=False, float_format="%.6g"),
        "figure.png": render(study.figure(table)),
        "index.md": _page(study, table),
    }
    return write_together(folder, files, "--out")


def _results(study: Study, cases: list[Case], n_jobs: int) -> Any:
    """Each case with its rows, in the order in which they end."""
    if n_jobs == 1 or len(cases) < 2:
        for case in cases:
            yield case, study.run(case)
        return
    # New processes: those that are forked while threads run may hang.
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        pending: dict[Future[Any], Case] = {pool.submit(study.run, case): case for case in cases}
        try:
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(future), future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _name(case: Mapping[str, Any]) -> str:
    words = [f"{name}={value}" for name, value in case.items()]
    return "".join(letter if letter.isalnum() or letter in "=.-" else "_" for letter in " ".join(words)) + ".json"


def _kept(folder: Path, case: Case) -> list[dict[str, Any]] | None:
    """The rows of a case that is done already."""
    try:
        found = json.loads((folder / _name(case)).read_text(encoding="utf-8"))
        rows: list[dict[str, Any]] = found["rows"]
        return rows if found["case"] == case else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _page(study: Study, table: pd.DataFrame) -> str:
    shown = study.summary(table)
    lines = [" | ".join(map(str, shown.columns)), " | ".join("---" for _ in shown.columns)]
    lines += [" | ".join(_cell(cell) for cell in row) for row in shown.itertuples(index=False)]
    grid = "\n".join(f"| {line} |" for line in lines)
    return f"# {study.title}\n\n{study.text.strip()}\n\n![{study.title}](figure.png)\n\n{grid}\n"


def _cell(cell: Any) -> str:
    return "" if cell != cell else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
