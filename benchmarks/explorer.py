"""Speed of the page of burnish explore, in a real browser: Debian's Chromium, 1280x800, without a screen.

    python benchmarks/explorer.py [--program random:7:5000] [--states 1000] [--check]

- first screen: from opening the address to the list of actions, the tree and the changes, of a server that
  has answered nothing before;
- round trip: from the key that applies an action to the changes that it made, less the seconds of the action
  itself; the median and the worst of ACTIONS actions;
- frames: the work of a frame (scripts, layout, paint) while NODES_A_SECOND states a second arrive in a tree
  of --states states, for FRAME_SECONDS. The states are made up, so no compiler runs meanwhile. The interval
  between frames is in the row, too: it is 16.7 ms or more, since the browser draws 60 frames a second;
- memory: resident bytes of the server's process, without the compiler's, after trials of all actions have
  made --states states or more.

Other load on the machine slows all of these. --check fails if a goal is missed. --out gets rows.jsonl and
table.txt.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.floors import verdict
from kit.kept import keep, show
from playwright.sync_api import Browser, Page, sync_playwright

RESULTS = Path(__file__).parent / "results" / "explorer"
CHROMIUM = "/usr/bin/chromium"
GOALS: Mapping[str, float] = {  # milliseconds
    "first screen": 1000,
    "round trip, median": 200,
    "round trip, worst": 200,
    "frame, median": 16,
    "frame, 95th percentile": 33,
}
ACTIONS = 12  # in a row, each in the state after the one before
NODES_A_SECOND = 20
FRAME_SECONDS = 10.0
WIDE = 60  # children of a made-up state, before the next one gets children
PATIENCE_MS = 120_000

FAKE_EVENTS = "window.EventSource = class { constructor() { window.events = this; } };"
SHOWN = "() => document.querySelector('#action-list .name') && !document.body.hasAttribute('aria-busy')"
TIMED_ACTION = """async (turn) => {
    const { edges } = await import('./state.js');
    const steps = () => document.querySelectorAll('#trace a').length, before = steps();
    const items = document.querySelectorAll('#action-list li:not(.idle)');
    const item = items[(turn * 7) % items.length];
    const frame = () => new Promise(requestAnimationFrame);
    const begin = performance.now();
    item.click();
    await frame();
    while (document.body.hasAttribute('aria-busy') || steps() === before) await frame();
    const milliseconds = performance.now() - begin;
    const entry = document.querySelector('#trace li:last-child a').textContent;
    let found = null;
    while (!found) {
        found = [...edges.values()].map((byEntry) => byEntry.get(entry)).filter(Boolean).at(-1);
        await frame();
    }
    return milliseconds - 1000 * found.seconds;
}"""
TIMED_FRAMES = """async ([count, aSecond, seconds, wide]) => {
    const { seen } = await import('./state.js');
    const root = seen.root, keys = [root.key], traces = new Map([[root.key, []]]);
    let made = 0;
    const node = () => {
        const parent = keys[Math.floor(made / wide)], key = `state${++made}`, entry = `action${made}`;
        keys.push(key);
        traces.set(key, [...traces.get(parent), entry]);
        const cost = root.cost * (0.5 + ((made * 7919) % 1000) / 1000);
        const state = { key, parent, trace: traces.get(key), cost, error: '', searched: false };
        return [state, { from: parent, to: key, entry, seconds: 0.01 }];
    };
    const costs = [];
    const send = (number) => {
        const news = Array.from({ length: number }, node);
        costs.push(...news.map(([state]) => state.cost));
        window.events.onmessage({ data: JSON.stringify({
            states: news.map(([state]) => state), edges: news.map(([, edge]) => edge),
            evaluated: costs.slice(-200), searching: true, trying: false,
            errors: [], left_out: 0, titles: {} }) });
    };
    send(count);
    const work = [], intervals = [], end = performance.now() + 1000 * seconds;
    let last = 0, sent = performance.now();
    const channel = new MessageChannel();
    let begun = 0;
    channel.port1.onmessage = () => work.push(performance.now() - begun);
    while (performance.now() < end) {
        const now = await new Promise(requestAnimationFrame);
        begun = performance.now();
        if (last) intervals.push(now - last);
        last = now;
        if (now - sent > 1000 / aSecond) { sent = now; send(1); }
        channel.port2.postMessage(0); // is answered after the frame was drawn
    }
    return { work: work.slice(5), intervals: intervals.slice(5) };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="random:7:5000")
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rows", type=Path, help="print the table of these rows instead")
    options = parser.parse_args()
    if options.rows:
        show(options.rows, table)
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        rows = keep(measure(browser, options.program, options.states), options.out, table)
        browser.close()
    if options.check and (missed := [row for row in rows if not holds(row)]):
        raise SystemExit("\n".join(f"{row['what']}: {row['value']:.0f} {row['unit']}" for row in missed))


def measure(browser: Browser, program: str, states: int) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    with server(program) as (process, address):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begin = time.perf_counter()
        opened(page, address)
        yield row("first screen", 1e3 * (time.perf_counter() - begin))
        trips = [page.evaluate(TIMED_ACTION, turn) for turn in range(ACTIONS)]
        yield row("round trip, median", statistics.median(trips))
        yield row("round trip, worst", max(trips))
        page.add_init_script(FAKE_EVENTS)
        page.goto("about:blank")
        opened(page, address)
        found = page.evaluate(TIMED_FRAMES, [states, NODES_A_SECOND, FRAME_SECONDS, WIDE])
        intervals = {"intervals_ms": [percentile(found["intervals"], share) for share in (0.5, 0.95)]}
        yield row("frame, median", percentile(found["work"], 0.5)) | intervals
        yield row("frame, 95th percentile", percentile(found["work"], 0.95))
        page.close()
        reached = try_all(browser, address, states)
        yield row("memory of the server", resident_mib(process.pid), "MiB") | {"states": reached}


def row(what: str, value: float, unit: str = "ms") -> dict[str, Any]:
    """Return a row, with the load of the machine beside it."""
    return {"what": what, "value": value, "unit": unit, "goal": GOALS.get(what), "load": os.getloadavg()[0]}


@contextmanager
def server(program: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the process of burnish explore, and its address."""
    words = [str(Path(sys.executable).parent / "burnish"), "explore", program, "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


def opened(page: Page, address: str) -> None:
    """Open an address, and wait until all panels are filled."""
    page.goto(address)
    page.wait_for_function(SHOWN, timeout=PATIENCE_MS)


def try_all(browser: Browser, address: str, states: int) -> int:
    """Try all actions in one state after the other, until there are so many states; return their number."""
    page = browser.new_page()
    opened(page, address)
    for _ in range(states):
        if (known := page.evaluate("async () => (await import('./state.js')).nodes.size")) >= states:
            break
        page.click("#try")
        page.wait_for_function("() => document.querySelector('#try.running')", timeout=PATIENCE_MS)
        page.wait_for_function("() => !document.querySelector('#try.running')", timeout=PATIENCE_MS)
        page.click("#action-list li:not(.idle):has(.measured.better), #action-list li:not(.idle)")
        page.wait_for_function(SHOWN, timeout=PATIENCE_MS)
    page.close()
    return int(known)


def resident_mib(process: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at a share of the sorted values."""
    return sorted(values)[round(share * (len(values) - 1))]


def holds(one: Mapping[str, Any]) -> bool:
    """Return whether a row reaches its goal; rows without a goal do."""
    return one["goal"] is None or one["value"] < one["goal"]


def table(rows: list[Any]) -> str:
    """Return a Markdown table of the rows."""
    lines = ["| what | measured | goal | load | |", "|---|---|---|---|---|"]
    for one in rows:
        goal = f"< {one['goal']:.0f} {one['unit']}" if one["goal"] else ""
        beside = f", {one['states']:,} states" if "states" in one else ""
        said = verdict(holds(one)) if one["goal"] else ""
        measured = f"{one['value']:.1f} {one['unit']}"
        lines.append(f"| {one['what']}{beside} | {measured} | {goal} | {one['load']:.1f} | {said} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
