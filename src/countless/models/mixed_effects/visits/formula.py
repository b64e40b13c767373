"""Formulas such as ``y ~ age + (1 + time | subject)``, read with the package formulaic.

The part in brackets is the design of the effects of each subject, what remains that of the effects that all share. The
effects of subjects have a mean of their own, so that columns of the second that are in the first, the intercept most
of all, are left out of the second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
# Functions of formulas that look at the whole column: new rows would be treated differently.
STATEFUL = ("center", "scale", "standardize", "poly", "bs", "cs", "cr", "cc", "hashed", "lag")
# Functions that a formula may call: it may come with a file from somebody else, and others would run any code.
POWERS = ("abs", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "square", "cbrt", "sign")
CALLABLE = ("I", "C", *POWERS, "sin", "cos", "tan", "arctan", "tanh", "floor", "ceil", "maximum", "minimum", "where")


@dataclass(frozen=True)
class Formula:
    """A formula in its parts; ``text`` is what was written, for messages."""

    outcome: str
    fixed: str
    random: str
    group: str
    text: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: Any) -> Self:
        """The parts; ValueError, in one sentence with the position, where it is no formula of mixed effects."""
        if not isinstance(text, str):
            raise ValueError(
                f"formula must be text such as 'y ~ age + (1 + time | subject)', got {type(text).__name__}"
            )
        if text.count("~") != 1:
            where = "none" if "~" not in text else f"a second one at position {text.rindex('~') + 1}"
            raise ValueError(f"formula: one '~' must separate the outcome from the rest, got {where} in {text!r}")
        tilde = text.index("~")
        outcome, right = text[:tilde].strip(), text[tilde + 1 :]
        if not outcome:
            raise ValueError(f"formula: there is no outcome before '~' (position {tilde + 1}) in {text!r}")
        start, end = _bracket_with_bar(text, tilde + 1)
        inside = text[start + 1 : end]
        bar = inside.index("|")
        random, group = inside[:bar].strip(), inside[bar + 1 :].strip()
        if "|" in group:
            raise ValueError(f"formula: a second '|' at position {start + 3 + bar + group.index('|')} in {text!r}")
        if not random or not group:
            what = "effects before" if not random else "a column of subjects after"
            raise ValueError(f"formula: there must be {what} '|' (position {start + bar + 2}) in {text!r}")
        before, after = right[: start - tilde - 1].strip(), right[end - tilde :].strip()
        if before and not before.endswith("+"):
            raise ValueError(f"formula: a '+' must stand before '(' (position {start + 1}) in {text!r}")
        if after and not after.startswith("+"):
            raise ValueError(f"formula: a '+' must stand after ')' (position {end + 1}) in {text!r}")
        fixed = "+".join(part for part in (before.removesuffix("+").strip(), after.removeprefix("+").strip()) if part)
        _check_calls(text)
        again = re.search(rf"\b{re.escape(outcome)}\b", right) if re.fullmatch(r"\w+", outcome) else None
        if again:
            raise ValueError(f"formula: the outcome {outcome!r} is also at position {tilde + 2 + again.start()}")
        return cls(outcome, fixed, random, group, text)

    def levels(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Levels of the columns of text that the designs use."""
        words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", f"{self.fixed} {self.random}"))
        words |= {word for part in (self.fixed, self.random) for word in re.findall(r"`([^`]*)`", part)}
        found = {}
        for name in frame.columns:
            if str(name) in words and frame[name].dtype.kind not in "biuf":
                if frame[name].isna().any():
                    raise ValueError(f"column {str(name)!r} has a missing cell in row {_first(frame[name].isna())}")
                found[str(name)] = sorted(frame[name].astype(str).unique())
        return found

    def designs(self, frame: pd.DataFrame, levels: Mapping[str, list[str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Designs of the effects of each subject, and of those that all share."""
        import pandas as pd

        table = frame.copy()
        for name, known in levels.items():
            if name not in table.columns:
                raise ValueError(f"the table has no column {name!r}")
            cells = table[name].astype(str)
            strange = ~cells.isin(known)
            if strange.any():
                listed = ", ".join(map(repr, known[:10]))
                raise ValueError(
                    f"column {name!r}: {cells[strange].iloc[0]!r} was not there in the fit; it had {listed}"
                )
            table[name] = pd.Categorical(cells, categories=known)
        random = self._matrix(self.random, table)
        fixed = self._matrix(self.fixed or "0", table)
        return random, fixed[[name for name in fixed.columns if name not in set(random.columns)]]

    def outcomes(self, frame: pd.DataFrame) -> FloatArray:
        """The outcome of each row; NaN is a missing one."""
        if self.outcome in frame.columns:
            column = frame[self.outcome]
            if column.dtype.kind not in "biuf":
                raise ValueError(f"formula: the outcome {self.outcome!r} holds text; it must hold numbers")
            return np.asarray(column.to_numpy(dtype=np.float64))
        return np.asarray(self._matrix(f"{self.outcome} - 1", frame, "ignore").to_numpy(dtype=np.float64))[:, 0]

    def groups(self, frame: pd.DataFrame) -> Any:
        """The subject of each row."""
        if self.group not in frame.columns:
            raise ValueError(f"formula: {self._no_column(self.group)}; it has {_listed(frame)}")
        return frame[self.group]

    def _matrix(self, terms: str, frame: pd.DataFrame, missing: str = "raise") -> pd.DataFrame:
        try:
            import formulaic
        except ModuleNotFoundError:
            raise ImportError(
                "formula: formulaic is not installed; install it with: pip install countless[formula]"
            ) from None
        import pandas as pd

        try:
            matrix = formulaic.model_matrix(terms, frame, na_action=missing)
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            empty = re.search(r"`([^`]+)` contains null values", str(error))
            if empty:
                name = empty.group(1)
                raise ValueError(f"formula: {name!r} is missing in {_missing_row(frame, name)}") from None
            operator = re.search(r"Operator `(.+?)`", str(error))
            if operator:
                where = f"operator {operator.group(1)!r} at position {self._place(operator.group(1))}"
                raise ValueError(f"formula: {where} cannot stand there") from None
            unknown = re.search(r"(?:`([^`]+)`|([A-Za-z_][A-Za-z0-9_.]*)'?) is not (?:present|defined)", str(error))
            name = (unknown.group(1) or unknown.group(2)) if unknown else None
            if name is not None and name not in frame.columns:
                raise ValueError(f"formula: {self._no_column(name)}; it has {_listed(frame)}") from None
            where = f" at position {self.text.find(terms) + 1}" if terms in self.text else ""
            raise ValueError(f"formula: {terms!r}{where} cannot be read ({first})") from None
        return pd.DataFrame(np.asarray(matrix, dtype=np.float64), columns=list(matrix.columns), index=frame.index)

    def _no_column(self, name: str) -> str:
        return f"the table has no column {name!r} (position {self._place(name)})"

    def _place(self, part: str) -> int:
        """Position of a name or of an operator, from 1."""
        name = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", self.text)
        return name.start() + 1 if name else self.text.find(part) + 1


def _check_calls(text: str) -> None:
    """Refuse functions that look at whole columns, and all that could do more than compute."""
    plain = re.sub(r"`[^`]*`", lambda found: " " * len(found.group()), text)
    odd = re.search(r"[\[\]{}@;=]|__|\blambda\b", plain)
    if odd:
        raise ValueError(f"formula: {odd.group()!r} at position {odd.start() + 1} has no place in a formula")
    for found in re.finditer(r"([A-Za-z_][A-Za-z0-9_.]*)\s*\(", plain):
        name = re.sub(r"^(np|numpy)\.", "", found.group(1))
        where = f"{found.group(1)}(...) at position {found.start() + 1}"
        if name in STATEFUL:
            raise ValueError(f"formula: {where} looks at the whole column; compute it first")
        if name not in CALLABLE:
            listed = ", ".join(sorted(CALLABLE))
            raise ValueError(f"formula: {where} is no function of formulas; they have {listed}; or compute it first")


def _bracket_with_bar(text: str, start: int) -> tuple[int, int]:
    """Where the bracket that holds '|' begins and ends."""
    stack: list[int] = []
    found: list[tuple[int, int]] = []
    for place in range(start, len(text)):
        if text[place] == "(":
            stack.append(place)
        elif text[place] == ")":
            if not stack:
                raise ValueError(f"formula: ')' at position {place + 1} closes no bracket in {text!r}")
            first = stack.pop()
            if not stack and "|" in text[first:place]:
                found.append((first, place))
    if stack:
        raise ValueError(f"formula: '(' at position {stack[-1] + 1} is not closed in {text!r}")
    if not found:
        where = f"'|' at position {text.index('|') + 1} is in no bracket" if "|" in text else "it is missing"
        raise ValueError(f"formula: needs a bracket such as (1 + time | subject), but {where} in {text!r}")
    if len(found) > 1:
        raise ValueError(f"formula: only one bracket may hold '|', got a second one at position {found[1][0] + 1}")
    return found[0]


def _missing_row(frame: pd.DataFrame, term: str) -> str:
    if term not in frame.columns:
        return "some rows; only outcomes may be missing"
    return f"row {_first(frame[term].isna())}; only outcomes may be missing"


def _listed(frame: pd.DataFrame) -> str:
    names = [repr(str(name)) for name in frame.columns]
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _first(mask: Any) -> int:
    return int(np.asarray(mask).argmax()) + 1
