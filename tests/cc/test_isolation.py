"""The optimizer's child process, and what an object offers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from burnish.cc import processes
from burnish.cc.isolation import guarded, several
from burnish.cc.object_trials import offered_symbols
from burnish.cc.requests import KeptReference
from burnish.llvm.toolchain import find_tool
from tests.waiting import alive, wait_until


def test_a_value_comes_back(tmp_path: Path) -> None:
    value = bytes(range(256)) * 20_000  # more than a pipe holds
    assert guarded(lambda: value, 30, tmp_path) == value


def test_it_runs_elsewhere(tmp_path: Path) -> None:
    assert guarded(os.getpid, 30, tmp_path) != os.getpid()


def test_temporary_files_go_to_the_workspace(tmp_path: Path) -> None:
    import tempfile

    made = guarded(lambda: tempfile.mkstemp()[1], 30, tmp_path)
    assert Path(made).parent == tmp_path


def test_a_search_in_vain_keeps_its_count(tmp_path: Path) -> None:
    def search() -> None:
        raise KeptReference("nothing smaller was found", 40)

    with pytest.raises(KeptReference, match=r"^nothing smaller was found$") as caught:
        guarded(search, 30, tmp_path)
    assert caught.value.evaluations == 40


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: int("x"), "the optimizer failed: ValueError: invalid literal"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the optimizer died: signal SIGKILL"),
        (lambda: os._exit(3), "the optimizer died: exit code 3"),
    ],
    ids=["exception", "crash", "exit"],
)
def test_what_ends_the_child_is_a_reason_here(call: Callable[[], object], why: str, tmp_path: Path) -> None:
    with pytest.raises(KeptReference, match=why):
        guarded(call, 30, tmp_path)


def test_a_hang_ends_with_its_children(tmp_path: Path) -> None:
    def hang() -> None:
        child = subprocess.Popen(["sleep", "300"])
        (tmp_path / "child").write_text(str(child.pid))
        time.sleep(300)

    with pytest.raises(KeptReference, match="did not answer within 3 s"):
        guarded(hang, 3, tmp_path)
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not alive(child))


def test_calls_run_at_the_same_time(tmp_path: Path) -> None:
    """The first call ends only after the second one's result, and a third one begins when one has ended."""
    begun = []

    def call(number: int) -> str:
        if number == 0:
            wait_until((tmp_path / "seen").exists)
        return f"of {number}"

    def calls() -> Iterator[Callable[[], str]]:
        for number in range(3):
            begun.append(number)
            yield partial(call, number)

    results = several(calls(), 2, 60, tmp_path)
    assert not begun
    assert next(results) == "of 1" and begun == [0, 1]
    (tmp_path / "seen").touch()
    assert sorted(map(str, results)) == ["of 0", "of 2"]


def test_a_call_that_fails_leaves_the_others(tmp_path: Path) -> None:
    calls = [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 7, lambda: int("x")]
    found = list(several(calls, 1, 30, tmp_path))
    assert found[1] == 7
    assert [str(why) for why in (found[0], found[2]) if isinstance(why, KeptReference)] == [
        "the optimizer died: signal SIGKILL",
        "the optimizer failed: ValueError: invalid literal for int() with base 10: 'x'",
    ]


def test_calls_end_with_their_results(tmp_path: Path) -> None:
    def hang() -> None:
        (tmp_path / "child").write_text(str(os.getpid()))
        time.sleep(300)

    results = several([hang, lambda: wait_until((tmp_path / "child").exists)], 2, 300, tmp_path)
    assert next(results) is None
    results.close()  # type: ignore[attr-defined]  # as when the search is stopped
    assert not alive(int((tmp_path / "child").read_text()))
    (late,) = several([lambda: time.sleep(300)], 2, 1, tmp_path)
    assert "did not answer within 1 s" in str(late)


def test_idle_processors_are_those_on_which_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(*running: int) -> int:
        texts = iter(f"0.5 0.4 0.3 {count}/200 4321\n" for count in running)
        monkeypatch.setattr(Path, "read_text", lambda _: next(texts))
        return processes.idle_processors()

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    assert idle(1, 1, 1, 1, 1) == 4  # this process alone
    assert idle(9, 3, 2, 9, 4) == 3  # others ran for a moment
    assert idle(9, 9, 9, 9, 9) == 1

    def missing(_: Path) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert processes.idle_processors() == 4


@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "i386-linux-gnu"])
def test_offered_symbols_are_what_a_linker_may_need(tmp_path: Path, target: str) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(
        """
        extern int missing; static int own() { return missing; }
        int strong() { return own(); }
        __attribute__((weak)) int weak() { return 1; }
        __attribute__((visibility("hidden"))) int hidden = 3;
        inline int everywhere() { return 4; }
        int use() { return everywhere(); }
        """
    )
    made = tmp_path / "a.o"
    subprocess.run([find_tool("clang"), f"--target={target}", "-c", source, "-o", made], check=True)
    assert offered_symbols(made.read_bytes()) == {
        ("_Z6strongv", False, 0),
        ("_Z4weakv", True, 0),
        ("hidden", False, 2),
        ("_Z3usev", False, 0),
    }


@pytest.mark.parametrize(
    "content", [b"", b"!<arch>\n", b"\x7fELF\x02\x01\x01" + bytes(9), b"\x7fELF\x02\x01" + b"\xff" * 90]
)
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="ELF file"):
        offered_symbols(content)
