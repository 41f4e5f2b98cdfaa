"""Draw the pictures of docs/explorer.md: the page of each task in Debian's Chromium, without a screen.

    python benchmarks/explorer_pictures.py [docs] [--only explorer_loop_nests ...]

For each picture, `burnish explore` opens a program, a search runs for SECONDS from it, and the page shows the
best state that the search has found. How many states a search reaches depends on the machine's speed.
Pictures are reduced to COLORS colors, so that each is below 150 KB.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
BURNISH = Path(sys.executable).parent / "burnish"
CHROMIUM = "/usr/bin/chromium"
SECONDS = 12  # of a search; a third of the page's own limit
COLORS = 256  # of a picture; the method keeps rare colors, such as those of a few states
PATIENCE_MS = 120_000
OPEN_BEST = """async () => {
    const { go, seen } = await import('./state.js');
    go(seen.best.trace);
    return seen.best.trace.length;
}"""


@dataclass(frozen=True)
class Picture:
    """A page to draw: words of `burnish explore`, tabs to open, the browser's width in pixels."""

    name: str
    words: tuple[str, ...]
    tabs: tuple[str, ...] = ()
    width: int = 1280
    scheme: str = "light"


PASSES = ("tests/data/matrix.c", "--task", "llvm_passes")
PICTURES = (
    Picture("explorer", PASSES),
    Picture("explorer_narrow", PASSES, ("Changes",), 390, "dark"),
    Picture("explorer_graph", PASSES, ("Graph", "Features")),
    Picture(
        "explorer_llvm_inlining", ("tests/data/classes.cpp", "--task", "llvm_inlining"), ("Text", "Search")
    ),
    Picture("explorer_llvm_codegen", ("tests/data/matrix.c", "--task", "llvm_codegen"), ("Bytes", "Search")),
    Picture("explorer_loop_nests", ("matmul:64x64x64", "--task", "loop_nests"), ("Graph", "Search")),
    Picture(
        "explorer_mlir_schedules",
        ("matmul-bias-relu:128x64x64", "--task", "mlir_schedules"),
        ("Text", "Search"),
    ),
)
TRAINING = (
    "run.iterations=100",
    "algorithm.steps=48",
    "validation=[{use = 'random:1000..1011:300'}]",
    (
        "environment.actions=['sroa<modify-cfg>', 'instcombine<no-verify-fixpoint>', 'simplifycfg', 'gvn', "
        "'globaldce', 'early-cse<memssa>', 'adce', 'loop-rotate<no-header-duplication>', 'mergefunc']"
    ),
)


@contextmanager
def served(words: Sequence[str], folder: Path = ROOT) -> Iterator[str]:
    """Run `burnish explore` with the words in the folder; yield the page's address."""
    command = [str(BURNISH), "explore", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def search(page: Page) -> None:
    """Search from the program for SECONDS, or until the search ends, and open the best state."""
    button = page.locator("#search")
    page.keyboard.press("s")
    expect(button).to_have_text("Stop")
    page.wait_for_timeout(1000 * SECONDS)
    if button.inner_text() == "Stop":
        page.keyboard.press("s")
    expect(button).to_have_text("Search")
    steps = page.evaluate(OPEN_BEST)
    expect(page.locator("#trace a")).to_have_count(steps)
    settle(page)


def settle(page: Page) -> None:
    """Return when the page has all answers."""
    page.wait_for_load_state("load")
    expect(page.locator("body[aria-busy]")).to_have_count(0)
    page.wait_for_timeout(1500)  # milliseconds: predictions and pictures of graphs come after the state


def draw(browser: Browser, picture: Picture, out: Path) -> None:
    """Write one picture."""
    scheme: Literal["dark", "light"] = "dark" if picture.scheme == "dark" else "light"
    page = browser.new_page(viewport={"width": picture.width, "height": 800}, color_scheme=scheme)
    with served(picture.words) as address:
        page.goto(address)
        expect(page.locator("#action-list li").first).to_be_attached()
        search(page)
        for tab in picture.tabs:
            page.get_by_role("tab", name=tab, exact=True).click()
        settle(page)
        save(page, out / f"{picture.name}.png")
        page.close()


def draw_results(browser: Browser, out: Path) -> None:
    """Write the picture of finished runs: results of the programs of tests/data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # gets the programs' objects, too
        for source in sorted((ROOT / "tests" / "data").glob("*.c")):
            shutil.copy(source, folder)
        programs = sorted(path.name for path in folder.glob("*.c"))
        options = ["--budget", "40 evaluations", "--result", "results.jsonl"]
        command = [str(BURNISH), "optimize", *programs, *options]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with served(["results.jsonl"], folder) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            page.locator("#rows tbody tr").first.click()
            settle(page)
            save(page, out / "explorer_results.png")
            page.close()


def draw_training(browser: Browser, out: Path) -> None:
    """Write the picture of a training on random programs, which takes a few minutes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "ppo"
        command = [str(BURNISH), "train", "smoke", "--out", str(folder), "-q"]
        command += [word for setting in TRAINING for word in ("--set", setting)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with served([str(folder)]) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            expect(page.locator("#episode-rows tbody tr").first).to_be_visible()
            settle(page)
            save(page, out / "explorer_training.png")
            page.close()


def save(page: Page, path: Path) -> None:
    """Save a screenshot with COLORS colors."""
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    image.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} KB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "docs")
    names = [*(picture.name for picture in PICTURES), "explorer_results", "explorer_training"]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    options = parser.parse_args()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for picture in PICTURES:
            if picture.name in options.only:
                draw(browser, picture, options.out)
        if "explorer_results" in options.only:
            draw_results(browser, options.out)
        if "explorer_training" in options.only:
            draw_training(browser, options.out)
        browser.close()


if __name__ == "__main__":
    main()
