"""What a model class says to the command line: its options, how it is built from a table, what is shown and written.

Declarations only, which know nothing of the library that parses a command line. ``RunEstimator.command`` holds one;
``countless.cli`` makes a command of it and adds what all commands share: the file, the seed, the folder of the run.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

# Headings under which help lists options.
TABLE, MODEL, SAMPLING, OUTPUT = "The table", "The model", "Sampling", "Output"


# Rows of the grid of columns.
MOST_COLUMNS = 30


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : str
        ``"family"`` is ``--family`` on the command line and ``request["family"]`` in ``Command.build``; a name of two
        words has an underscore, ``"burn_in"``, which is a dash in ``--burn-in``.
    help : str
    kind : type
        ``str``, ``int``, ``float`` or ``bool``; an option of kind ``bool`` takes no value.
    default : object
        Value where it is left out. Help shows it unless it is None, or ``help`` says it.
    panel : str
        Heading under which help lists it.
    metavar : str
        What stands for its value in help.
    choices : callable, optional
        Gives the names that it may have, which shells complete. Any other name is refused.
    repeated : bool
        Whether it may be given several times; its value is a list then.
    minimum : int, optional
        Smallest number that it may have.
    column : bool
        Whether it names a column that ``build`` needs besides those to fit: it stays whatever ``--columns`` says.
    """

    name: str
    help: str
    kind: type = str
    default: Any = None
    panel: str = MODEL
    metavar: str = "NAME"
    choices: Callable[[], Sequence[str]] | None = None
    repeated: bool = False
    minimum: int | None = None
    column: bool = False

    @property
    def flag(self) -> str:
        """As it is written on the command line."""
        return f"--{self.name.replace('_', '-')}"


# Options about columns: the command line reads the file and takes the columns, and ``build`` gets what is left. A
# command has those that it lists.
COLUMNS = Option("columns", "Columns to use, separated by commas.", repeated=True, panel=TABLE, metavar="A,B")
KINDS = dataclasses.replace(
    COLUMNS,
    help="Columns to use: A,B; or kinds of some: age=gaussian,sex=categorical.",
)
IGNORE = Option("ignore", "Column to leave out; may be repeated.", repeated=True, panel=TABLE)
NAME = Option("name", "Column that names the rows; shown with them, never clustered.", panel=TABLE, metavar="NAME")
MISSING = Option(
    "missing",
    "Mark of a missing cell besides NA and ?, such as -999; may be repeated.",
    repeated=True,
    panel=TABLE,
    metavar="WORD",
)
LABEL = Option("label", "Column of known classes: only compared with the clusters.", panel=TABLE)

CHAINS = Option("chains", "Independent chains; left out, 4.", kind=int, panel=SAMPLING, metavar="N")
DRAWS = Option("draws", "Draws of each chain; left out, as many as it takes.", kind=int, panel=SAMPLING, metavar="N")
WARMUP = Option("warmup", "Sweeps before the first draw; left out, as many as it takes.", int, None, SAMPLING, "N")
MAX_SECONDS = Option(
    "max_seconds",
    "End sampling by the clock and keep what is there.",
    kind=float,
    panel=SAMPLING,
    metavar="X",
)
CHAIN_OPTIONS = (CHAINS, DRAWS, WARMUP, MAX_SECONDS)


@dataclass(frozen=True)
class Request:
    """What was asked for: a table and the values of the options, ``request["draws"]`` among them.

    Attributes
    ----------
    table : DataFrame
        The columns to fit.
    options : dict
        Values of the options of the command by name, and the ``seed``.
    kinds : dict
        Kinds that were given to single columns.
    """

    table: pd.DataFrame
    options: Mapping[str, Any]
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def numbers(self) -> NDArray[np.float64]:
        """The table as numbers (row, column); ValueError, in one sentence, for text and missing cells.

        Examples
        --------
        >>> import pandas as pd
        >>> from countless.models.command import Request
        >>> Request(pd.DataFrame({"x": [1, 2], "y": [0.5, 1.5]}), {}).numbers().tolist()
        [[1.0, 0.5], [2.0, 1.5]]
        """
        for name, column in self.table.items():
            if column.dtype.kind not in "biuf":
                raise ValueError(f"column {str(name)!r} holds {_held(column)}; this command needs numbers")
            if column.isna().any():
                row = int(column.isna().to_numpy().argmax()) + 1
                raise ValueError(f"column {str(name)!r} has a missing cell in row {row}; fill or drop it")
        rows: NDArray[np.float64] = self.table.to_numpy(dtype="float64")
        return rows

    def named(self) -> pd.DataFrame:
        """The table with its first column as names of the rows, where that is text and names each row differently.

        Examples
        --------
        >>> import pandas as pd
        >>> from countless.models.command import Request
        >>> Request(pd.DataFrame({"who": ["ox", "cow"], "x": [1, 2]}), {}).named().index.tolist()
        ['ox', 'cow']
        """
        table, first = self.table, self.table.columns[0]
        if table.index.name is None and table[first].dtype.kind not in "biuf" and table[first].is_unique:
            table = table.set_index(first)
            table.index = table.index.map(str)
        return table


def _held(column: pd.Series) -> str:
    return "dates" if column.dtype.kind in "mM" else "text"


def as_numbers(table: pd.DataFrame, advice: str) -> pd.DataFrame:
    """The cells of a table whose missing cells may stay; ValueError with an advice about a column of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from countless.models.command import as_numbers
    >>> as_numbers(pd.DataFrame({"x": [1, None]}), "").to_numpy().tolist()
    [[1.0], [nan]]
    """
    for name, column in table.items():
        if column.dtype.kind not in "biuf":
            raise ValueError(f"column {str(name)!r} holds {_held(column)}; {advice.format(name=name)}")
    return table.astype("float64")


def some_of(names: Sequence[str]) -> str:
    """The first eight names, with dots where there are more.

    Examples
    --------
    >>> from countless.models.command import some_of
    >>> some_of("abcdefghi")
    'a, b, c, d, e, f, g, h, ...'
    """
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


@dataclass(frozen=True)
class About:
    """What a run does not hold itself, and is kept beside it.

    Attributes
    ----------
    file : str or None
        Name of the table.
    command : str or None
        Command line that began the run.
    label : str or None
        Column of known classes.
    classes : list or None
        Known class of each row; None for a row whose class is unknown.
    """

    file: str | None = None
    command: str | None = None
    label: str | None = None
    classes: list[str | None] | None = None


class Grid(NamedTuple):
    """A small table for the screen; ``right`` are the numbers of the columns that are aligned to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: tuple[int, ...] = ()


class Results(NamedTuple):
    """What is reported at the end of a fit.

    Attributes
    ----------
    summary : dict
        For ``--json`` and summary.json: numbers, text, lists and dictionaries. The same run gives the same summary.
    screen : list of Grid and str
        For the screen, one after the other.
    files : dict
        Further files of the run by name.
    """

    summary: dict[str, Any]
    screen: list[Grid | str]
    files: Mapping[str, str | bytes] = MappingProxyType({})


class Prediction(NamedTuple):
    """What is reported about new rows: named columns with one entry per row, and grids and sentences for the screen."""

    columns: dict[str, list[Any]]
    screen: list[Grid | str]


def general_results(model: Any, about: About) -> Results:
    """Results of any model: its scalar quantities and whether the chains agree on them.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.models.command import About, general_results
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> general_results(model, About("rows.csv")).summary["quantities"]["n_clusters"]["interval"]
    [2.0, 3.0]
    """
    import numpy as np

    from ..runs.description import versions

    found = model.posterior_.diagnostics()
    quantities = {}
    rows = []
    for name, values in model.posterior_.quantities().items():
        low, high = (float(end) for end in np.quantile(values, [0.025, 0.975]))
        mean, sd = float(values.mean()), float(values.std())
        quantities[name] = {"mean": mean, "sd": sd, "interval": [low, high]}
        rows.append((model.posterior_.words(name), f"{mean:.4g}", f"{sd:.3g}", f"{low:.4g} to {high:.4g}"))
    settings = {name: plain(value) for name, value in model.get_params(deep=False).items() if name != "progress"}
    summary = {
        **found.summary(),
        "quantities": quantities,
        "data": {"file": about.file},
        **settings,
        "inference": plain(model.inference_),
        "command": about.command,
        "versions": versions(),
    }
    grid = Grid("What was found?", ("quantity", "mean", "sd", "95% interval"), rows, right=(1, 2))
    return Results(summary, [grid, found.sentence(command_line=True)])


@dataclass(frozen=True)
class Command:
    """The command of a model class.

    Attributes
    ----------
    name : str
        ``"fit"`` is ``countless fit FILE``.
    help : str
        A line that says what it does, and paragraphs with more, separated by empty lines.
    build : callable
        ``build(request) -> (estimator, what it is fitted to)``. Every choice is checked: ValueError, in one sentence,
        for a mistake. The fit itself comes later.
    options : tuple of Option
        Options of the model, in the order of help; ``COLUMNS``, ``IGNORE``, ``CHAINS`` and so on among them, where the
        model has use for them.
    examples : tuple of str
        Command lines that help shows.
    results : callable
        ``results(model, about) -> Results``.
    predict : callable, optional
        ``predict(model, table, file) -> Prediction`` for the rows of a new table (errors may name its file); None where
        a model cannot predict.
    doing : str
        What a fit does with rows, as in "clustering 40 rows".
    rehearsals : callable, optional
        ``rehearsals() -> {what: Request}``: small fits that compile the kernels of usual ones (``countless warmup``).

    Examples
    --------
    >>> import countless as cl
    >>> cl.DPMixture.command.name, [option.name for option in cl.DPMixture.command.options][:3]
    ('fit', ['columns', 'ignore', 'label'])
    """

    name: str
    help: str
    build: Callable[[Request], tuple[Any, Any]]
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    results: Callable[[Any, About], Results] = general_results
    predict: Callable[[Any, pd.DataFrame, Path], Prediction] | None = None
    doing: str = "fitting"
    rehearsals: Callable[[], Mapping[str, Request]] = dict

    def request(self, table: pd.DataFrame, **options: Any) -> Request:
        """A request for the fit of a table with these options, the others at their defaults."""
        defaults = {option.name: option.default for option in self.options}
        return Request(table, {"seed": 0, **defaults, **options})


def with_chains(engine: Any, request: Request, name: str | None = None, otherwise: str = "") -> Any:
    """The engine with the chains, draws, warm-up and time that were asked for.

    ``name`` is what people call the engine; ``otherwise`` is what they may do where it has no such setting, besides
    leaving it out.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.models.command import Request, with_chains
    >>> with_chains(cl.inference.CollapsedGibbs(), Request(None, {"draws": 500})).draws
    500
    """
    known = {each.name for each in dataclasses.fields(engine)}
    settings = asked_chains(request)
    for setting in settings:
        if setting not in known:
            tail = f" or {otherwise}" if otherwise else ""
            called, flag = name or type(engine).__name__, f"--{setting.replace('_', '-')}"
            raise ValueError(f"{flag}: inference {called!r} has no such setting; leave it out{tail}")
    return dataclasses.replace(engine, **settings)


def asked_chains(request: Request) -> dict[str, Any]:
    """Chains, draws, warm-up and time, as far as they were asked for."""
    asked = {option.name: request.options.get(option.name) for option in CHAIN_OPTIONS}
    return {name: value for name, value in asked.items() if value is not None}


def check_column(file: str | Path, name: str, names: Sequence[str]) -> None:
    """Raise ValueError, in one sentence, unless a table has a column."""
    if name not in names:
        listed = ", ".join(repr(known) for known in names[:20]) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{file} has no column {name!r}; it has {listed}")


def column_grid(columns: Sequence[dict[str, Any]]) -> list[Grid | str]:
    """Name, family and missing cells of each column (``report.settings.columns_of``), and why it was read so.

    What is said of several columns comes once, below.

    Examples
    --------
    >>> from countless.models.command import column_grid
    >>> column_grid([{"name": "x", "family": "gaussian", "missing": 2, "note": "measurements"}])[0].rows
    [['x', 'gaussian', '2', 'measurements']]
    """
    from ..report.settings import with_footnotes

    shown, common = with_footnotes(columns[:MOST_COLUMNS])
    noted = any(column["note"] for column in shown)
    header = ["column", "read as", "missing", *(["because it holds"] if noted else [])]
    rows = []
    for column in shown:
        missing = "" if column["missing"] is None else f"{column['missing']:,}"
        rows.append([column["name"], column["family"], missing, *([column["note"]] if noted else [])])
    if len(columns) > MOST_COLUMNS:
        rows.append([f"and {len(columns) - MOST_COLUMNS} more"])
    return [Grid("How were the columns read?", header, rows, right=(2,)), *common]


def csv_text(lines: Sequence[Sequence[Any]]) -> str:
    """Lines of cells as the text of a CSV file; cells with commas and quotes are quoted.

    Examples
    --------
    >>> from countless.models.command import csv_text
    >>> csv_text([["row", "name"], [1, "Smith, Ann"]])
    'row,name\\n1,"Smith, Ann"\\n'
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def plain(value: Any) -> Any:
    """A setting as JSON can hold it: objects as dictionaries with the name of their class, arrays as lists.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.models.command import plain
    >>> plain(cl.priors.CRP(0.5))
    {'name': 'CRP', 'concentration': 0.5}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return {"name": type(value).__name__, **parts}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
