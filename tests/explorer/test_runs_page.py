"""The page of runs in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from burnish.explorer.runs import TrainingRun
from burnish.explorer.runs_server import OpenedProgram, make_runs_app
from tests.explorer.conftest import CHROMIUM, TOKEN, serving
from tests.explorer.test_runs_server import open_tree, written

expect.set_options(timeout=60_000)  # milliseconds; only what never comes takes that long
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium: apt-get install chromium")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Return a page that fails the test if a script fails."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert not errors


@pytest.fixture
def results(tmp_path: Path) -> Iterator[str]:
    """Return the address of results."""
    run = written(tmp_path)
    with (
        closing(OpenedProgram(open_tree)) as opened,
        serving(lambda port: make_runs_app(run, opened, TOKEN, port)) as address,
    ):
        yield address


@pytest.fixture
def training(tmp_path: Path) -> Iterator[str]:
    """Return the address of a training that runs."""
    (tmp_path / "config.json").write_text('{"algorithm": {"name": "ppo"}, "objective": "text-bytes"}')
    run = TrainingRun(tmp_path)
    with serving(lambda port: make_runs_app(run, OpenedProgram(open_tree), TOKEN, port)) as address:
        yield address


def log(folder: Path, *rows: dict[str, float]) -> None:
    with (folder / "log.jsonl").open("a") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def row(iteration: int, score: float, **others: float) -> dict[str, float]:
    return {
        "iteration": iteration,
        "steps": 100.0 * iteration,
        "return": score / 2,
        "validation/ratio": score,
        "seconds": 2.0 * iteration,
    } | others


def titles(page: Page) -> list[str]:
    return page.locator("#charts figure").evaluate_all("all => all.map((one) => one.dataset.name)")  # type: ignore[no-any-return]


def programs(page: Page) -> list[str]:
    return page.locator("#rows td.program").all_inner_texts()


def test_results_are_sorted_and_filtered(page: Page, results: str) -> None:
    page.goto(results)
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    expect(page.locator("#facts")).to_contain_text("4 results · text-bytes · ratio: -Oz / result")
    page.get_by_role("button", name="Program").click()
    assert programs(page) == ["gone.c", "matrix.c", "matrix.c", "strings.c"]
    page.get_by_role("button", name="Program").click()
    assert programs(page)[0] == "strings.c"
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Program ↓")
    page.get_by_role("button", name="Ratio").click()
    assert programs(page)[-1] == "gone.c"  # without a ratio: last
    page.keyboard.press("/")
    page.keyboard.type("STRINGS")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    expect(page.locator("#row-count")).to_have_text("1 of 4")
    page.keyboard.press("Escape")
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    page.get_by_label("only better ones").check()
    expect(page.locator("#rows tbody tr")).to_have_count(3)


def test_keys_choose_a_result_and_open_its_trace_in_the_explorer(page: Page, results: str) -> None:
    page.goto(results)
    expect(page.locator("#details li")).to_have_text(["mem2reg"])
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#details li")).to_have_text(["mem2reg", "gvn"])
    page.keyboard.press("e")
    page.wait_for_url("**/live/1/**", timeout=60_000)
    expect(page.locator("#trace a")).to_have_text(["mem2reg", "gvn"], timeout=60_000)
    page.go_back()
    expect(page.locator("#details li")).to_have_text(["mem2reg", "gvn"])
    expect(page.locator("#explore")).to_be_enabled()


def test_program_that_is_gone_is_said_with_the_command(page: Page, results: str) -> None:
    page.goto(f"{results}#0:2")
    expect(page.locator("#one-title")).to_have_text("gone.c")
    page.get_by_role("button", name="Explore").click()
    expect(page.locator("#message")).to_contain_text("gone.c: No such file or directory")
    expect(page.locator("#details code").first).to_contain_text("--program PATH/gone.c")
    expect(page.locator("#explore")).to_be_enabled()


def test_results_follow_their_file_and_text_stays_text(page: Page, results: str, tmp_path: Path) -> None:
    page.goto(results)
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    line = (tmp_path / "results.jsonl").read_text().splitlines()[0]
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(line.replace("matrix.c", "<b id=wrong>x</b>") + "\n")
    expect(page.locator("#rows tbody tr")).to_have_count(5)
    assert programs(page)[-1] == "<b id=wrong>x</b>"
    expect(page.locator("#wrong")).to_have_count(0)


def test_pictures_are_shown(page: Page, results: str) -> None:
    page.goto(results)
    expect(page.get_by_label("Picture", exact=True)).to_have_text("search.svg")
    expect(page.locator("#shown-picture img")).to_have_js_property("complete", True)


def test_narrow_results_are_tabs(browser: Browser, results: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(results)
    page.locator("#rows td", has_text="strings.c").click()
    expect(page.locator("#details li")).to_have_text(["mem2reg"])
    expect(page.locator("#rows")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_curves_follow_the_log(page: Page, training: str, tmp_path: Path) -> None:
    page.goto(training)
    expect(page.locator("#charts")).to_contain_text("The log has no line yet.")
    log(tmp_path, row(0, 0.5), row(1, 0.75))
    expect(page.locator("#charts figure")).to_have_count(2)
    assert titles(page) == ["validation/ratio", "return"]
    expect(page.locator("#facts")).to_contain_text("ppo · text-bytes · iteration 1 · 100 steps · 2 s")
    log(tmp_path, row(2, 1.25, length=3.0), row(3, 1.0, length=4.0))
    expect(page.locator("#facts")).to_contain_text("best score 1.25 at iteration 2 · running")
    expect(page.locator("#charts figure")).to_have_count(3)
    points = page.locator("figure[data-name=return] polyline").get_attribute("points")
    assert points and len(points.split()) == 4


def test_resumed_training_replaces_its_last_lines(page: Page, training: str, tmp_path: Path) -> None:
    log(tmp_path, row(0, 0.5), row(1, 0.75), row(2, 2.0))
    page.goto(training)
    expect(page.locator("#facts")).to_contain_text("best score 2 at iteration 2")
    kept = (tmp_path / "log.jsonl").read_text().splitlines(keepends=True)[:2]
    (tmp_path / "log.jsonl").write_text("".join(kept))
    log(tmp_path, row(2, 1.0))
    expect(page.locator("#facts")).to_contain_text("best score 1 at iteration 2")
    expect(page.locator("#curves-count")).to_have_text("3 lines in the log")


def test_axis_smoothing_and_metrics_are_chosen(page: Page, training: str, tmp_path: Path) -> None:
    log(tmp_path, *(row(i, i % 2 + i / 10, episodes=float(i)) for i in range(12)))
    page.goto(training)
    figure = page.locator("figure[data-name=return]")
    expect(figure.locator("polyline")).to_have_count(1)
    page.keyboard.press("s")
    expect(page.locator("#smooth")).to_have_value("5")
    expect(figure.locator("polyline")).to_have_count(2)
    expect(page.locator("figure[data-name='validation/ratio'] polyline")).to_have_count(1)
    page.locator("#axis").select_option("seconds")
    expect(figure.locator("text", has_text="20 s")).to_be_visible()
    page.get_by_role("button", name="Metrics").click()
    page.get_by_role("checkbox", name="episodes").check()
    page.get_by_role("checkbox", name="return").uncheck()
    expect(page.locator("#charts figure")).to_have_count(2)
    assert titles(page) == ["validation/ratio", "episodes"]


def test_card_appears_when_the_training_ends(page: Page, training: str, tmp_path: Path) -> None:
    log(tmp_path, row(0, 0.5), row(1, 0.75))
    page.goto(training)
    expect(page.locator("#card")).to_contain_text("The training writes the policy and its card when it ends.")
    card = {
        "file": "policy.npz",
        "results": {"iteration": 1},
        "training": {"iterations": 1, "ended": "patience"},
    }
    (tmp_path / "policy.card.json").write_text(json.dumps(card))
    expect(page.locator("#policy-file")).to_have_text("policy.npz")
    expect(page.locator("#facts")).to_contain_text("ended: patience")
