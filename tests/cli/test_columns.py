"""--columns: which columns are used, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from countless.cli._tables import choose_columns, parse_columns

FILE = Path("a.csv")
NAMES = ["age", "sex", "a=b", "x,y"]


@pytest.mark.parametrize(
    ("entries", "only", "kinds"),
    [
        ([], [], {}),
        (["age,sex"], ["age", "sex"], {}),
        (["sex, age"], ["sex", "age"], {}),
        (["age", "sex"], ["age", "sex"], {}),
        (["age=gaussian,sex=categorical"], [], {"age": "gaussian", "sex": "categorical"}),
        (["age,sex=categorical"], ["age", "sex"], {"sex": "categorical"}),
        (["a=b"], ["a=b"], {}),
        (["a=b=poisson"], [], {"a=b": "poisson"}),
        (["x,y"], ["x,y"], {}),
        (["x,y=poisson", "age"], ["x,y", "age"], {"x,y": "poisson"}),
        (["age,age"], ["age"], {}),
    ],
)
def test_entries(entries, only, kinds):
    assert parse_columns(FILE, entries, NAMES) == (only, kinds)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (["height"], "a.csv has no column 'height'; it has 'age', 'sex'"),
        (["height=gaussian"], "has no column 'height'"),
        (["age="], "names no kind; write age=gaussian"),
        ([" , "], "name at least one column"),
    ],
)
def test_mistaken_entries(entries, says):
    with pytest.raises(ValueError, match=says):
        parse_columns(FILE, entries, NAMES)


def test_what_is_clustered(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,y,kind\n7,1,2,a\n8,3,4,b\n")
    chosen = choose_columns(path, ["x=poisson"], ["id"], "kind")
    assert list(chosen.table.columns) == ["x", "y"]
    assert chosen.kinds == {"x": "poisson"}
    assert chosen.label.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="no column is left"):
        choose_columns(path, ["x"], ["x"], None)
    with pytest.raises(ValueError, match="'x' has a kind, but is left out"):
        choose_columns(path, ["x=poisson"], ["x"], None)
    with pytest.raises(ValueError, match="has no column 'class'"):
        choose_columns(path, [], [], "class")
