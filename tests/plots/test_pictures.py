"""The pictures of the guide: the script names what is there, and its table is what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("figures", DOCS / "examples" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_there(script):
    for name, (model, draw) in script.PICTURES.items():
        assert (DOCS / "images" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert model in script.MODELS
        assert callable(draw)


def test_the_mixed_table_has_holes_in_every_column(script):
    table = script.library_visitors()
    assert table.shape == (600, 6)
    assert table.isna().mean().between(0.05, 0.2).all()
    assert table.equals(script.library_visitors())


def test_an_unknown_picture_is_one_line(script):
    with pytest.raises(SystemExit, match=r"'iriss' is not a picture; choose among iris, "):
        script.main(["iriss"])
