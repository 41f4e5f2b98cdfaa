"""The optimizer's child process, and what an object offers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.cc.isolation import guarded
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
