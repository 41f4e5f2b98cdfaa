"""The page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
    page.get_by_role("tab", name="Figures").click()
    expect(page.locator("#figure-cost svg")).to_be_visible()
    expect(page.locator("#action-list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_illegal_address_is_said_and_the_page_works(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#%5B%22no-such-pass%22%5D")
    expect(page.locator("#action-list li").first).to_be_visible(timeout=20_000)
    page.close()
