"""A real headless Chromium, one for all tests; they skip where it or Playwright is absent."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Chromium must not call anybody by itself: a request that a test sees is the page's own.
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser with an empty profile."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install countless[test]")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        profile = tmp_path_factory.mktemp("chromium")
        # Smooth scrolling would move the page under the pointer of a test.
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=found, args=ARGUMENTS, reduced_motion="reduce"
        )
        yield context
        context.close()


class Visit:
    """A page that was opened from a file, with all it said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def column(self, number: int) -> list[str]:
        """Cells of one column of the row table, counted from 1."""
        return [text.strip() for text in self.texts(f"#row-table tbody td:nth-child({number})")]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open an HTML text in the browser."""
    opened = []

    def open_page(html: str, width: int = 1200, height: int = 900) -> Visit:
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page()
        opened.append(page)
        page.set_viewport_size({"width": width, "height": height})
        visit = Visit(page)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=20_000)
        return visit

    yield open_page
    for page in opened:
        page.close()
