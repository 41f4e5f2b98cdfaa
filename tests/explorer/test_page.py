"""The page in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
SROA = "sroa<modify-cfg>"

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, address: str, width: int = 1280) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(address)
    expect(action(page, "simplifycfg")).to_be_attached(timeout=20_000)
    return page


def action(page: Page, name: str) -> Locator:
    """Return an action of the list; one that was tried before shows its effect before the name."""
    return page.locator("#action-list li").filter(has_text=re.compile(rf"(^|%|crash){re.escape(name)}$"))


def steps(page: Page) -> list[str]:
    return page.locator("#trace a").all_inner_texts()


def test_action_by_click_and_undo(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    action(page, SROA).click()
    expect(page.locator("#trace a")).to_have_text([SROA])
    expect(page.locator("#change-list summary", has_text="transpose")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("#trace a")).to_have_count(0)
    expect(page.locator("#undo")).to_be_disabled()
    page.close()


def test_action_by_keyboard(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    page.keyboard.press("/")
    page.keyboard.type("early-cse")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#action-list [aria-selected=true]").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#trace a")).to_have_count(1)
    assert steps(page)[0] in chosen
    page.close()


def test_reload_and_a_second_tab_keep_their_states(browser: Browser, address: str) -> None:
    first, second = opened(browser, address), opened(browser, address)
    action(first, SROA).click()
    expect(first.locator("#trace a")).to_have_text([SROA])
    expect(second.locator("#trace a")).to_have_count(0)
    first.reload()
    expect(first.locator("#trace a")).to_have_text([SROA], timeout=20_000)
    first.close()
    second.close()


def test_help_and_narrow_page(browser: Browser, address: str) -> None:
    page = opened(browser, address, width=390)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Costs").click()
    expect(page.locator("#chart svg")).to_be_visible()
    expect(page.locator("#action-list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_illegal_address_is_said_and_the_page_works(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#%5B%22no-such-pass%22%5D")
    expect(page.locator("#action-list li").first).to_be_visible(timeout=20_000)
    page.close()


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Return a function that opens the state after a trace; an error of the page's scripts is a failure."""
    errors: list[str] = []
    pages: list[Page] = []

    def opened(*trace: str, width: int = 1280) -> Page:
        page = browser.new_page(viewport={"width": width, "height": 800})
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto(f"{address}#{quote(json.dumps(trace))}")
        expect(page.locator("#trace a")).to_have_count(len(trace), timeout=20_000)
        expect(page.locator("#change-list details").first).to_be_attached()
        return page

    yield opened
    for page in pages:
        page.close()
    assert not errors


def test_texts_side_by_side_have_a_row_for_each_pair(visit: Visit) -> None:
    page = visit(SROA)
    removed = page.locator("#change-list pre").first.locator(".removed").count()
    assert removed
    page.get_by_label("side by side").check()
    sides = page.locator("#change-list pre.sides").first
    expect(sides.locator(".removed")).to_have_count(removed)
    places = (
        "all => all.map(one => [one.className, ...['x', 'y'].map(key => one.getBoundingClientRect()[key])])"
    )
    cells = sides.locator("> span").evaluate_all(places)
    assert len(cells) % 2 == 0
    for (left, x, y), (right, beside, row) in zip(cells[::2], cells[1::2], strict=True):
        assert (left != "added", right != "removed") == (True, True)
        assert y == row
        assert x < beside


def test_choices_stay_from_state_to_state(visit: Visit) -> None:
    page = visit(SROA)
    page.get_by_label("side by side").check()
    page.get_by_label("Kind of text").select_option("assembly")
    expect(page.locator("#change-list pre").first).to_contain_text("%r")
    page.get_by_label("Filter functions").click()
    page.keyboard.type("MULTI us")  # u and s are keys elsewhere
    expect(page.locator("#change-list .empty")).to_have_text("No changed function matches the filter.")
    page.keyboard.press("Enter")
    page.get_by_label("Filter functions").fill("MULTI")
    expect(page.locator("#trace a")).to_have_count(1)
    expect(page.locator("#change-list summary")).to_have_count(1)
    expect(page.locator("#change-list summary")).to_contain_text("multiply")
    page.evaluate("location.hash = location.hash.replace('%5D', '%2C%22simplifycfg%22%5D')")
    expect(page.locator("#trace a")).to_have_count(2)
    expect(page.get_by_label("Kind of text")).to_have_value("assembly")
    expect(page.locator("#change-list pre.sides").first).to_be_visible()
    expect(page.locator("#change-list summary")).to_have_count(1)


def test_all_states_are_compared_with_the_pinned_one(visit: Visit) -> None:
    page = visit(SROA)
    expect(page.locator("#since option[value=pinned]")).to_be_disabled()
    page.get_by_role("button", name="Pin").click()
    expect(page.locator("#change-list")).to_have_text(re.compile("Both states are the same"))
    expect(page.locator("#since option[value=pinned]")).to_have_text(f"step 1: {SROA}")
    page.keyboard.press("u")
    expect(page.locator("#trace a")).to_have_count(0)
    first = page.locator("#change-list pre").first
    expect(first.locator(".added").filter(has_text="alloca").first).to_be_visible()
    expect(first.locator(".removed").filter(has_text="alloca")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_graph_shows_what_changed_and_a_box_its_text(visit: Visit, width: int) -> None:
    page = visit(SROA, width=width)
    if width == 390:
        page.get_by_role("tab", name="Changes").click()
    page.get_by_role("tab", name="Graph").click()
    box = page.locator(".box.changed").first
    expect(box).to_be_visible()
    expect(page.locator("#change-count")).to_contain_text("changed")
    box.click()
    expect(page.locator("#graph-text .removed").first).to_be_visible()
    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#graph-text")).to_be_hidden()
    page.get_by_label("Kind of graph").select_option("loops")
    expect(page.locator(".box").filter(has_text="outside of loops")).to_have_count(1)
    page.get_by_label("Function", exact=True).select_option("multiply")
    expect(page.locator(".box")).to_have_count(4)
    page.get_by_label("Kind of graph").select_option("calls")
    expect(page.locator(".box").filter(has_text="transpose")).to_have_count(1)
    expect(page.get_by_label("Function", exact=True)).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_treemap_has_areas_by_bytes_and_leads_to_the_text(visit: Visit) -> None:
    page = visit(SROA)
    page.get_by_role("tab", name="Bytes").click()
    cells = page.locator("#treemap .cell")
    expect(cells).to_have_count(4)
    shares = {}
    for cell in cells.all():
        label = str(cell.get_attribute("aria-label"))
        name, after = label.split(":")[0], int(re.findall(r"\d+", label)[-1])
        rect = cell.locator("rect")
        width, height = (float(str(rect.get_attribute(side))) + 2 for side in ("width", "height"))
        shares[name] = width * height / after
    assert max(shares.values()) == pytest.approx(min(shares.values()), rel=0.01)
    expect(page.locator("#byte-sum")).to_contain_text("in 4 functions")
    page.get_by_label("Filter functions").fill("fib")
    expect(cells).to_have_count(1)
    cells.first.click()
    expect(page.locator("#change-list summary")).to_have_count(1)
    expect(page.locator("#change-list summary")).to_contain_text("fibonacci")
