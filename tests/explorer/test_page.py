"""The page in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.explorer.exploration import Exploration
from burnish.explorer.server import make_app
from burnish.explorer.state_tree import StateTree
from burnish.search import Budget
from tests.console.test_numbers import TIMES
from tests.explorer.conftest import CHROMIUM, MATRIX, TOKEN, serving
from tests.explorer.test_exploration import open_fragile
from tests.sources import program

SROA = "sroa<modify-cfg>"

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium: apt-get install chromium")


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


def test_times_are_written_as_the_console_writes_them(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    shown = page.evaluate(
        "async (times) => { const { duration } = await import('./values.js'); return times.map(duration); }",
        list(TIMES),
    )
    assert shown == list(TIMES.values())
    page.close()


CALL = "_Z7area_ofPK5Shape > _ZN5GuardC2Ev #1: inline"


def test_calls_have_demangled_names_and_their_own_as_a_tool_tip(browser: Browser) -> None:
    exploration = Exploration(load_task("llvm_inlining"), program("classes.cpp"))
    with (
        closing(StateTree(exploration)) as tree,
        serving(lambda port: make_app(tree, TOKEN, port)) as address,
    ):
        page = browser.new_page()
        page.goto(f"{address}#{quote(json.dumps([CALL]))}")
        step = page.locator("#trace a")
        expect(step).to_have_text("area_of(Shape const*) > Guard::Guard() #1: inline", timeout=20_000)
        expect(step).to_have_attribute("title", CALL)
        expect(page.locator("#bytes-tab")).to_be_hidden()  # the task does not divide bytes among functions
        expect(page.locator("#site option").last).to_have_text("area_of(Shape const*) > Guard::~Guard() #1")
        page.locator("#site").select_option("*")
        first = page.locator("#action-list li").first
        expect(first.locator(".name")).to_have_text("area_of(Shape const*) > Guard::~Guard() #1: leave")
        expect(first).to_have_attribute("title", "_Z7area_ofPK5Shape > _ZN5GuardD2Ev #1: leave")
        page.close()


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


def named(page: Page, name: str) -> Locator:
    """Return the row of an action."""
    return page.locator("#action-list li").filter(has=page.get_by_text(name, exact=True))


def go(page: Page, address: str, *trace: str) -> None:
    """Open the state after a trace."""
    page.goto(f"{address}#{quote(json.dumps(trace))}")
    expect(page.locator("#trace a")).to_have_text(list(trace), timeout=20_000)


def test_actions_show_the_policys_probabilities_and_are_sorted_by_them(
    browser: Browser, address: str
) -> None:
    page = opened(browser, address)
    expect(named(page, "mem2reg").locator(".chance")).to_have_text("9.7 %")
    expect(page.locator("#action-order .predicted")).to_be_hidden()  # this policy has no cost model
    page.get_by_role("button", name="policy").click()
    expect(page.locator("#action-list .name").first).to_have_text("clang<O1>")
    page.get_by_role("button", name="action").click()
    expect(page.locator("#action-list .name").first).not_to_have_text("clang<O1>")
    page.close()


def test_policy_that_cannot_predict_leaves_a_note_and_the_actions(browser: Browser, address: str) -> None:
    page = browser.new_page()
    said = "no sketch has mem2reg"
    page.route("**/api/predictions", lambda route: route.fulfill(status=500, json={"error": said}))
    page.goto(address)
    expect(page.locator("#unpredicted")).to_have_attribute("title", re.compile(said), timeout=20_000)
    expect(page.locator("#message")).to_be_hidden()
    page.unroute("**/api/predictions")
    action(page, SROA).click()
    expect(page.locator("#unpredicted")).to_be_hidden()
    expect(action(page, "simplifycfg")).to_be_attached()
    page.close()


def test_all_shown_actions_are_tried_and_sorted_by_their_effect(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    page.locator("#filter").fill("sro")
    page.keyboard.press("Escape")  # leaves the filter, and shows all actions again
    page.locator("#filter").fill("sro")
    rows = page.locator("#action-list li")
    count = rows.count()
    page.locator("#try").click()
    expect(rows.locator(".measured:not(:empty)")).to_have_count(count)
    expect(page.locator("#try")).to_have_text("Try all")
    expect(page.locator("#trace a")).to_have_count(0)  # the page stays in its state
    page.get_by_role("button", name="measured").click()
    effects = [
        float(text.rstrip(" %").replace("\N{MINUS SIGN}", "-").lstrip("±+"))
        for text in rows.locator(".measured").all_inner_texts()
    ]
    assert effects == sorted(effects)
    assert effects[0] < 0
    page.close()


def test_actions_that_change_nothing_are_grey(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    go(page, address, SROA)
    page.locator("#filter").fill(SROA)
    page.locator("#filter").blur()
    page.keyboard.press("t")
    expect(named(page, SROA)).to_have_class("idle")
    expect(named(page, SROA)).to_have_attribute("title", "This action changes nothing here.")
    page.close()


def test_too_many_actions_are_not_tried(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    page.locator("#site").select_option("*")
    page.locator("#try").click()
    expect(page.locator("#message")).to_contain_text("filter them to 200 at most")
    page.close()


def test_nothing_is_tried_before_the_actions_of_the_chosen_site_are_there(
    browser: Browser, address: str
) -> None:
    page = opened(browser, address)
    waiting = list[Route]()
    page.route("**/api/actions", lambda route: waiting.append(route))
    page.locator("#site").select_option("*")
    expect(page.locator("#try")).to_be_disabled()
    while not waiting:
        page.wait_for_timeout(10)
    waiting.pop().continue_()
    expect(page.locator("#try")).to_be_enabled()
    expect(page.locator("#action-count")).to_contain_text("shown")
    page.close()


def test_figures_have_a_bar_for_each_step_and_the_changed_numbers(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    go(page, address, SROA, "early-cse", "simplifycfg")
    expect(page.locator("#figure-cost .point")).to_have_count(4)
    page.get_by_role("tab", name="Time").click()
    expect(page.locator("#figure-seconds .bar")).to_have_count(3)
    page.get_by_role("tab", name="Features").click()
    page.locator("#feature-since").select_option("start")
    alloca = page.locator("#feature-list li").filter(has_text=re.compile("^Alloca"))
    expect(alloca.locator(".value")).to_have_text(re.compile(r"^\d+ → \d$"))
    line = alloca.locator("svg .line").get_attribute("points") or ""
    assert len(line.split()) == 4
    page.locator("#observation").select_option("autophase")
    expect(page.locator("#feature-list li").first).to_be_visible()
    expect(alloca).to_have_count(0)
    page.close()


def test_minimised_trace_says_what_was_left_out(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    go(page, address, SROA, "mem2reg")
    page.get_by_role("button", name="Minimise").click()
    expect(page.locator("#message")).to_have_text(
        re.compile("Left out 1 of 2 steps: (mem2reg|sroa<modify-cfg>).")
    )
    expect(page.locator("#trace a")).to_have_count(1)
    page.keyboard.press("m")
    expect(page.locator("#message")).to_have_text("No step can be left out.")
    page.close()


def test_exports_are_copied_and_saved(browser: Browser, address: str, tmp_path: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    go(page, address, SROA, "early-cse")
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Copy: Trace").click()
    expect(dialog.get_by_role("button", name="Copy: Trace")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{SROA}\nearly-cse\n"
    for suffix in (".trace.txt", ".jsonl", ".ll"):
        with page.expect_download() as waiting:
            dialog.get_by_role("button", name=suffix, exact=True).click()
        assert waiting.value.suggested_filename == f"matrix{suffix}"
        waiting.value.save_as(tmp_path / suffix)
    assert (tmp_path / ".trace.txt").read_text() == f"{SROA}\nearly-cse\n"
    assert Result.from_json((tmp_path / ".jsonl").read_text()).trace == (SROA, "early-cse")
    assert "define" in (tmp_path / ".ll").read_text()
    context.close()


def test_searched_costs_are_drawn_in_their_order(browser: Browser, address: str, tree: StateTree) -> None:
    page = opened(browser, address)
    page.get_by_role("tab", name="Search").click()
    tree.start_search((), Budget(evaluations=10, workers=1))
    tree.search.wait()
    expect(page.locator("#figure-search .evaluated")).to_have_count(len(tree.evaluated))
    expect(page.locator("#search")).to_have_text("Search")
    page.close()


def test_second_way_to_a_state_is_dashed(browser: Browser, address: str, tree: StateTree) -> None:
    page = opened(browser, address)
    go(page, address, "globalopt", SROA)
    go(page, address, SROA)
    tree.start_trials((SROA,), ["globalopt"])  # leads to a state that is known
    tree.trials.wait()
    expect(page.locator("#tree-view .merge").first).to_be_attached()
    page.close()


EVENTS = "window.EventSource = class { constructor() { window.events = this; } };"
MANY = """async (count) => {
    const { seen } = await import('./state.js');
    const root = seen.root, states = [], edges = [];
    for (let i = 0; i < count; i++) {
        const parent = i % 40 ? `state${i - (i % 7 ? 1 : i % 40)}` : root.key;
        const trace = ['x', String(i)], cost = 100 + (i % 50);
        states.push({ key: `state${i}`, parent, trace, cost, error: '', searched: true });
        edges.push({ from: root.key, to: `state${i}`, entry: `x${i}`, seconds: 0.1 });
    }
    const idle = { evaluated: [], searching: false, trying: false, errors: [], left_out: 7, titles: {} };
    const news = { states, edges, ...idle };
    window.events.onmessage({ data: JSON.stringify(news) });
}"""


def test_tree_of_many_states_draws_those_in_view(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(EVENTS)
    page.goto(address)
    expect(action(page, "simplifycfg")).to_be_attached(timeout=20_000)
    page.evaluate(MANY, 1500)
    expect(page.locator("#state-count")).to_contain_text("1501, 7 more were found")
    assert page.locator("#tree-view circle").count() < 400
    page.evaluate("document.getElementById('tree-view').scrollTop = 1e6")
    expect(page.locator("#tree-view [data-key=state1499]")).to_be_visible()
    page.close()


def test_two_tabs_act_and_search_at_the_same_time(browser: Browser, address: str, tree: StateTree) -> None:
    first, second = opened(browser, address), opened(browser, address)
    first.keyboard.press("s")
    expect(second.locator("#search")).to_have_text("Stop")
    for page, name in ((first, SROA), (second, "mem2reg"), (first, "early-cse"), (second, "gvn")):
        action(page, name).click()
        expect(page.locator("#trace a").last).to_have_text(name, timeout=20_000)
    second.keyboard.press("s")  # stops the search that the other page began
    expect(first.locator("#search")).to_have_text("Search", timeout=20_000)
    assert not tree.search.error
    assert steps(first) == [SROA, "early-cse"]
    assert steps(second) == ["mem2reg", "gvn"]
    first.close()
    second.close()


def test_dead_compiler_is_a_state_and_the_page_goes_on(browser: Browser) -> None:
    task = replace(load_task("llvm_passes"), open=open_fragile)
    with (
        Exploration(task, program("matrix.c")) as exploration,
        closing(StateTree(exploration)) as tree,
        serving(lambda port: make_app(tree, TOKEN, port)) as address,
    ):
        page = opened(browser, address)
        action(page, "gvn").click()
        expect(page.locator("#message")).to_contain_text("SIGABRT", timeout=20_000)
        expect(named(page, "gvn").locator(".measured")).to_have_text("crash")
        expect(page.locator("#tree-view .node.failed")).to_have_count(1)
        page.get_by_role("tab", name="Time").click()
        expect(page.locator("#figure-seconds .cross")).to_have_count(1)
        action(page, SROA).click()
        expect(page.locator("#trace a")).to_have_text([SROA], timeout=20_000)
        expect(page.locator("#message")).to_be_hidden()
        pid = exploration._sandboxes._root.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        action(page, "early-cse").click()
        expect(page.locator("#trace a")).to_have_text([SROA, "early-cse"], timeout=20_000)
        page.close()


@contextmanager
def command(port: int, folder: Path) -> Iterator[str]:
    """Run burnish explore on a port, yield the address that it prints, and end it as Ctrl-C does."""
    words = [str(Path(sys.executable).parent / "burnish"), "explore", MATRIX.name, "--no-browser"]
    words += ["--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def test_page_of_an_ended_server_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    page, said = browser.new_page(), "If it has ended, start it again and open its new address."
    with command(port, tmp_path) as first:
        page.goto(first)
        expect(action(page, "simplifycfg")).to_be_attached(timeout=20_000)
    expect(page.locator("#message")).to_contain_text(said)
    with command(port, tmp_path) as second:
        assert second != first
        expect(page.locator("#message")).to_contain_text(said)
        page.goto(first)
        expect(page.locator("body")).to_contain_text("open the address that burnish explore printed")
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


TEXTS = ("ink", "soft", "accent", "better", "even", "worse", "failed")
MARKS = ("edge", "accent", "better", "even", "worse", "failed")
GROUNDS = {
    "panel": TEXTS,
    "ground": ("ink", "soft"),
    "chosen": ("ink", "soft"),
    "removed": ("ink",),
    "removed-word": ("ink",),
    "added": ("ink",),
    "added-word": ("ink",),
    "accent": ("on-accent",),
}
COLOR = "name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()"


def luminance(color: str) -> float:
    """Compute WCAG's relative luminance of #rrggbb."""
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_the_contrast_of_wcag(
    browser: Browser, address: str, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(address)
    texts = {(name, ground): 4.5 for ground, names in GROUNDS.items() for name in names}
    marks = {(name, "panel"): 3.0 for name in MARKS}
    measured = {pair: contrast(*(page.evaluate(COLOR, name) for name in pair)) for pair in (*texts, *marks)}
    low = {pair: ratio for pair, ratio in measured.items() if ratio < (marks | texts)[pair]}
    assert not low, f"{scheme}: {low}"
    border = page.locator("#filter").evaluate("one => getComputedStyle(one).borderTopColor")
    assert re.findall(r"\d+", border) == [
        str(int(page.evaluate(COLOR, "edge")[start : start + 2], 16)) for start in (1, 3, 5)
    ]
    page.close()


def test_long_name_of_a_program_does_not_fill_a_narrow_page(browser: Browser, address: str) -> None:
    page = opened(browser, address, width=390)
    assert page.locator("header").evaluate("one => one.offsetHeight") < 200
    assert page.locator("#program").evaluate("one => one.offsetWidth") > 300
    page.close()
