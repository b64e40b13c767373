"""Every family and every prior of the library has a case file, from which all tests take their examples."""

from __future__ import annotations

import pytest

from cases import without_case


@pytest.mark.parametrize("kind", ["families", "priors"])
def test_every_family_and_prior_has_a_case_file(kind):
    files = [f"tests/cases/{kind}/{path.name}" for path in without_case(kind)]
    assert not files, f"write {', '.join(files)}; {files[0].rpartition('/')[0]}/ has examples of such files"
