"""burnish improve searches on for what builds remember, and the next build takes it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.cc import improving, improving_step
from burnish.cc.commands import improve as improve_command
from burnish.cc.commands.launch import find_launcher
from burnish.cc.improving import improve_all
from burnish.cc.improving_step import Improved, step
from burnish.cc.kept import Compilation, Kept, ObjectMemory, Remembered
from burnish.cc.outcomes import Outcome, Sizes
from burnish.core.errors import CompilerKilled, InputError
from tests.cc.remembering import Builds
from tests.waiting import alive, wait_until

FREESTANDING = """
int steps(const int *values, int count) {
  int found = 0, last = 0;
  for (int i = 0; i < count; i++) {
    if (values[i] < 0) continue;
    if (more(values[i]) > last) found += more(values[i] - 1);
    else if (more(values[i]) < last) found -= more(values[i] + 1);
    last = values[i] % 7 ? more(last) : values[i] / 7;
  }
  return found + last;
}
int both(const int *values, int count) { return steps(values, count) + steps(values + 1, count - 1); }
"""
COMPILED = ("-Oz", "-c", "table.c", "-o", "table.o")


def improve(builds: Builds, *options: str) -> subprocess.Popen[str]:
    burnish = find_launcher("burnish-cc").replace("burnish-cc", "burnish")
    command = [burnish, "improve", "--remember", str(builds.memory), "--jobs=1", "--nice=0", *options]
    return subprocess.Popen(
        command, cwd=builds.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, to which it returns after a step in this process."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_improve_searches_on_and_the_next_build_takes_it(built: Builds) -> None:
    first, before = built.last, built.remembered
    process = improve(built, "--for=1h", "--format=markdown")
    wait_until(lambda: built.remembered.effort > before.effort)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "stopped; what was found is kept" in errors
    after = built.remembered
    assert after.cost <= before.cost
    total = next(line for line in said.splitlines() if "1 file" in line)
    sizes = first.loaded_bytes_before, before.cost, after.cost
    assert [cell.strip() for cell in total.split("|")[2:5]] == [f"{size:,}" for size in sizes]
    again = built.build("--budget=0.3s")
    assert again.recalled and again.loaded_bytes == after.cost


def test_each_step_adds_its_effort(built: Builds, here: Path) -> None:
    first = step(built.remembered, built.memory, 0.2, 1)
    assert first.after == built.remembered and not first.reason
    second = step(first.after, built.memory, 0.1, 2)
    assert second.after == built.remembered
    assert second.after.effort == pytest.approx(first.before.effort + 0.2 + 0.1)
    assert second.after.cost <= first.after.cost <= first.before.cost


@pytest.mark.parametrize(
    "words",
    [
        ("--target=wasm32-unknown-unknown", "-ffreestanding", "-MMD", "-MF", "table.d", "-Oz"),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-ffreestanding", "-Os"),
    ],
    ids=["WebAssembly", "a GNU compiler"],
)
def test_objects_for_other_machines_are_improved(here: Path, words: tuple[str, ...]) -> None:
    if words[0].endswith("gcc") and not shutil.which(words[0]):
        pytest.skip("no compiler for this machine")
    builds = Builds(here)
    builds.source.write_text((builds.folder / "more.h").read_text() + FREESTANDING)
    line = [*builds.command("--budget=0.1s")[: -len(COMPILED)], *words, *COMPILED[1:]]
    subprocess.run(line, cwd=builds.folder, check=True, timeout=300)
    before = builds.remembered
    assert step(before, builds.memory, 0.3, 1).after == (after := builds.remembered)
    assert after.effort > before.effort and after.cost <= before.cost
    subprocess.run(line, cwd=builds.folder, check=True, timeout=300)
    assert builds.last.recalled and builds.last.loaded_bytes == after.cost


def test_improve_leaves_changed_files_to_the_next_build(built: Builds) -> None:
    built.source.write_text(built.source.read_text() + "\n")
    said, _ = improve(built, "--for=1h").communicate(timeout=300)
    assert "1 a file that it reads was changed: the next build compiles it" in said


def test_a_killed_improve_loses_nothing_and_leaves_nothing(built: Builds) -> None:
    process = improve(built, "--for=5m")
    wait_until(lambda: len(children(process.pid)) >= 2)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(alive, workers)))
    assert built.build("--budget=0.3s").recalled


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    found: list[int] = []
    for task in Path("/proc", str(pid), "task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(int(child))]
    return found


def size(loaded: int, text: int) -> Sizes:
    return Sizes(loaded, text, 0, 0)


def item(name: str, cost: int = 100, effort: float = 8.0, *options: str, files: Any = ()) -> Remembered:
    """Return a compilation that took the compiler a second."""
    made = Compilation(name, "Oz", (), size(300, 200), "", False, 1.0, "/", (), options, False)
    return Remembered(made, name, "", files, effort, cost)


class Scripted:
    """Stand-ins for the processes of improve: a step saves so many bytes, or its process ends.

    Attributes:
        saved: For each file, the bytes of its steps; None: the process ends. After that, there is no search.
        begun: The file, cost and effort before each step, and its seconds.
    """

    def __init__(self, saved: dict[str, list[int | None]]) -> None:
        self.saved = {name: iter(steps) for name, steps in saved.items()}
        self.begun: list[tuple[str, int, float, float]] = []

    def started(self, memory: Path, nice: int) -> improving._Worker:
        ours, theirs = Pipe()
        threading.Thread(target=self.work, args=(theirs,), daemon=True).start()
        process: Any = SimpleNamespace(kill=ours.close, join=lambda: None, exitcode=-signal.SIGKILL)
        return improving._Worker(process, ours)

    def work(self, requests: Any) -> None:
        with contextlib.suppress(EOFError, OSError), requests:
            while True:
                one, seconds, _ = requests.recv()
                name = one.compilation.source
                try:
                    saved = next(self.saved[name])
                except StopIteration:
                    requests.send(Improved(one, one, "enough"))
                    continue
                self.begun.append((name, one.cost, one.effort, seconds))
                if saved is None:
                    return
                after = replace(one, cost=one.cost - saved, effort=one.effort + seconds)
                requests.send(Improved(one, after))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Scripted, list[Improved], list[str]]]:
    """Run improve_all with one stand-in; return it, the steps, and the lines that were said."""

    def run(**saved: list[int | None]) -> tuple[Scripted, list[Improved], list[str]]:
        script, steps, said = Scripted(saved), list[Improved](), list[str]()
        monkeypatch.setattr(improving._Worker, "started", script.started)
        improve_all(map(item, saved), Path("none"), 100.0, 1, 0, steps.append, said.append)
        return script, steps, said

    return run


def test_steps_go_on_from_the_one_before(run: Any) -> None:
    """A file's step is as long as all before it; a file without a gain comes later."""
    script, steps, _ = run(a=[0, 5], b=[10, 0, 1])
    assert script.begun == [
        ("a", 100, 8.0, 32.0),
        ("b", 100, 8.0, 32.0),
        ("b", 90, 40.0, 40.0),
        ("a", 100, 40.0, 40.0),
        ("b", 90, 80.0, 80.0),
    ]
    assert sum(step.saved_bytes for step in steps) == 16


def test_a_process_that_ends_is_replaced_and_its_file_left_out_at_last(run: Any) -> None:
    _, steps, said = run(a=[None, None, 1], b=[2])
    line = "burnish improve: a process has ended (signal SIGKILL) at a; another one takes its place"
    assert said == [line, line]
    reasons = {step.before.key: step.reason for step in steps if step.reason}
    assert reasons == {"a": "2 processes have ended at it", "b": "enough"}
    assert sum(step.saved_bytes for step in steps) == 2


def test_improve_ends_if_all_processes_end(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improving, "REPLACED", 1)
    with pytest.raises(CompilerKilled, match="all processes have ended, and 1 others in their place"):
        run(a=[None], b=[None])


def test_a_killed_process_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is a pipe, from which a process reads until it is killed."""
    os.mkfifo(tmp_path / "pipe")
    steps, said, pids, started = list[Improved](), list[str](), list[int](), improving._Worker.started

    def noted(memory: Path, nice: int) -> improving._Worker:
        worker = started(memory, nice)
        pids.append(worker.process.pid or 0)
        return worker

    def kill() -> None:
        for number in range(improving.MOST_ENDED):
            with (tmp_path / "pipe").open("wb"):  # a process has opened it, too: perhaps one that ends
                wait_until(lambda number=number: len(pids) > number)  # type: ignore[misc]
                os.kill(pids[number], signal.SIGKILL)
                wait_until(lambda number=number: not alive(pids[number]))  # type: ignore[misc]

    monkeypatch.setattr(improving._Worker, "started", noted)

    killing = threading.Thread(target=kill)
    killing.start()
    reading = item("a", files=(str(tmp_path / "pipe"),))
    improve_all([reading], tmp_path / "memory", 60.0, 1, 0, steps.append, said.append)
    killing.join()
    assert len(said) == improving.MOST_ENDED and "signal SIGKILL" in said[0]
    assert [step.reason for step in steps] == ["2 processes have ended at it"]


def test_bytes_are_those_of_the_objective(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Outcome("a", "Oz", (), after=size(150, 90))
    monkeypatch.setattr(improving_step, "_searched", lambda *_: outcome)
    for options, cost in (((), 150), (("--objective=text-bytes",), 90)):
        monkeypatch.setattr(improving_step, "contents_of", lambda _: "")
        assert step(item("a", 180, 8.0, *options), here, 1.0, 1).after.cost == cost


def test_sums_are_of_one_objective(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = ObjectMemory(here / "memory")
    for name, words in (("a", ()), ("b", ("--objective=text-bytes",)), ("c", ("--objective=text-bytes",))):
        made = replace(item(name, 100, 8.0, *words).compilation, directory=str(here))
        memory.keep(Kept(name, 8.0, {}, None), 250 if name == "a" else 190)
        memory.keep_source(name, name, name, [], made, b"")

    def searched(items: list[Remembered], *_: Any) -> None:
        for one in items:
            memory.keep(Kept(one.key, 9.0, {}, b"object"), one.cost - 10)

    monkeypatch.setattr(improve_command, "improve_all", searched)
    assert improve_command.main([f"--remember={memory.path}", "--format=csv"]) == 0
    assert improve_command.main([f"--remember={memory.path}", "--format=markdown"]) == 0
    said = capsys.readouterr().out
    lines = [[cell.strip(" *") for cell in line.split("|")[1:5]] for line in said.splitlines()]
    assert ["1 file", "300", "240", "230"] in lines
    assert ["2 files", "400", "360", "340"] in lines
    assert "loaded bytes" in said and "text bytes" in said


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--for=10", "--for 10: expected 30s, 10m or 1h"),
        ("--for=0s", "--for 0s: expected 30s, 10m or 1h"),
        ("--jobs=0", "--jobs 0: expected 1 or more processes"),
        ("--nice=20", "--nice 20: expected 0 to 19"),
        ("--remember=/no/memory", "/no/memory: no such memory; build something first"),
        ("--directory=/usr", "no object that was built at or below /usr"),
    ],
)
def test_a_wrong_option_of_improve_is_an_error(tmp_path: Path, option: str, why: str) -> None:
    memory = ObjectMemory(tmp_path / "memory")
    assert memory.same_module("key") is None  # makes the file
    with pytest.raises(InputError, match=why):
        improve_command.main([f"--remember={memory.path}", option])
