"""Numbers and nouns in sentences."""

from __future__ import annotations

import pytest

from countless.core.text import count, listed, percent, plural


@pytest.mark.parametrize(
    ("noun", "several"),
    [
        ("row", "rows"),
        ("missing cell", "missing cells"),
        ("column of categories", "columns of categories"),
        ("category", "categories"),
        ("day", "days"),
        ("class", "classes"),
        ("box", "boxes"),
        ("batch of rows", "batches of rows"),
    ],
)
def test_plurals(noun, several):
    assert plural(noun) == several


def test_a_number_with_its_noun():
    assert [count(n, "column of categories") for n in (0, 1, 1200)] == [
        "0 columns of categories",
        "1 column of categories",
        "1,200 columns of categories",
    ]


def test_a_long_list_says_how_many_are_left():
    assert listed(["a", "b", "c"], at_most=3) == "a, b, c"
    assert listed([str(i) for i in range(2000)], at_most=2) == "0, 1 and 1,998 more"


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (1e-9, "<1%"), (0.0099, "<1%"), (0.01, "1%"), (0.991, ">99%"), (1.0, "100%")]
)
def test_only_certainty_is_written_as_certainty(share, text):
    assert percent(share) == text
