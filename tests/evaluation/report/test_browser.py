"""The report in a browser, where one is installed: wide and narrow, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.evaluation.report.page import report_page
from tests.evaluation.report.test_page import page
from tests.evaluation.rows import row

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")

TEXT_SIZES = """() => Array.from(document.querySelectorAll("svg text"))
  .filter(text => text.getClientRects().length)
  .map(text => [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM()])
  .map(([size, matrix]) => size * Math.hypot(matrix.a, matrix.b))"""
LOW_CONTRASTS = """() => {
  const rgb = text => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = Array.from(element.childNodes).some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [one, other] = [light(rgb(colour)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`${element.tagName} ${element.textContent}: ${contrast}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def opened(browser: Any, folder: Path, width: int, scheme: str = "light") -> Any:
    (folder / "report.html").write_text(page(), encoding="utf-8")
    shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    shown.goto((folder / "report.html").as_uri())
    return shown


@pytest.mark.parametrize("width", [1280, 390])
def test_page_is_no_wider_than_the_window(browser: Any, tmp_path: Path, width: int) -> None:
    shown = opened(browser, tmp_path, width)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.close()


def test_letters_of_charts_are_readable_on_a_narrow_screen(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, 390)
    assert min(shown.evaluate(TEXT_SIZES)) >= 11
    shown.close()


def test_text_has_contrast(browser: Any, tmp_path: Path, scheme: str) -> None:
    shown = opened(browser, tmp_path, 1280, scheme)
    assert shown.evaluate(LOW_CONTRASTS) == []
    shown.close()


def printed(browser: Any, folder: Path, text: str) -> Any:
    """Return a page as a browser with a dark theme prints it on A4."""
    (folder / "report.html").write_text(text, encoding="utf-8")
    shown = browser.new_page(viewport={"width": 718, "height": 1040}, color_scheme="dark")
    shown.emulate_media(media="print")
    shown.goto((folder / "report.html").as_uri())
    return shown


def test_print_of_many_programs_is_light_readable_and_no_wider_than_the_paper(
    browser: Any, tmp_path: Path
) -> None:
    failure = (
        "worker died of SIGSEGV after 'function-simplification<O3>' at hash_insert; others were evaluated"
    )
    rows = [
        row(
            f"lib/a_module_with_a_long_name_{number}.c",
            90.0 + number,
            method=method,
            project=f"p{number % 4}",
        )
        for method in ("random", "mixed@llvm_passes-loaded-bytes")
        for number in range(40)
    ]
    rows[7] = replace(rows[7], cost=None, failure=failure)
    shown = printed(browser, tmp_path, report_page(rows, {}))
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.evaluate(LOW_CONTRASTS) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= 718
    marks = shown.evaluate(
        "Array.from(document.querySelectorAll('.strip i'), mark => getComputedStyle(mark).printColorAdjust)"
    )
    assert set(marks) == {"exact"}  # otherwise browsers leave the dots out
    heights = shown.evaluate("Array.from(document.querySelectorAll('#programs tr'), row => row.clientHeight)")
    assert len(heights) == 81
    assert max(heights) < 5 * min(heights)
    shown.close()
