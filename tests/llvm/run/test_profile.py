"""A profile holds the counts of a program's runs, on every edge, as LLVM reads them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.core.registry import load_task
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.session import open_session
from burnish.llvm.run import profile as profiles
from burnish.llvm.run.block_counts import block_counts
from burnish.llvm.run.profile import SPLIT, kept_counts, profile

TEXT = """
target triple = "x86_64-unknown-linux-gnu"
declare i32 @atoi(ptr)

define i32 @kind(i32 %n) noinline {
entry:
  switch i32 %n, label %other [ i32 0, label %same
                                i32 1, label %same
                                i32 2, label %other ]
same:
  ret i32 1
other:
  ret i32 2
}

define i32 @never(i32 %n) noinline {
entry:
  %odd = trunc i32 %n to i1
  br i1 %odd, label %yes, label %no
yes:
  ret i32 1
no:
  ret i32 2
}

define i32 @main(i32 %argc, ptr %argv) {
entry:
  %first = getelementptr ptr, ptr %argv, i64 1
  %text = load ptr, ptr %first
  %count = call i32 @atoi(ptr %text)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %k = call i32 @kind(i32 %i)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %count
  br i1 %more, label %loop, label %done
done:
  %never = icmp eq i32 %next, 1000
  br i1 %never, label %bad, label %good
bad:
  %x = call i32 @never(i32 3)
  ret i32 %x
good:
  ret i32 0
}
"""
PROGRAM = Program("walk.ll", "llvm", TEXT.encode(), Workload((Run("ten", ("10",)), Run("two", ("2",)))))


def weights(module: _native.Module) -> dict[str, list[list[int]]]:
    """Return the branch weights in each function, in their order."""
    text = module.print()
    nodes = dict(re.findall(r'^!(\d+) = !\{!"branch_weights", (.*)\}$', text, re.MULTILINE))
    found: dict[str, list[list[int]]] = {}
    for name, body in re.findall(r"^define .*?@(\w+)\((.*?)^\}", text, re.MULTILINE | re.DOTALL):
        uses = (nodes[number] for number in re.findall(r"!prof !(\d+)", body) if number in nodes)
        found[name] = [[int(word) for word in re.findall(r"i32 (\d+)", node)] for node in uses]
    return found


def entry_counts(module: _native.Module) -> dict[str, int]:
    text = module.print()
    nodes = dict(re.findall(r'^!(\d+) = !\{!"function_entry_count", i64 (\d+)', text, re.MULTILINE))
    uses = re.findall(r"^define .*?@(\w+)\(.*!prof !(\d+)", text, re.MULTILINE)
    return {name: int(nodes[number]) for name, number in uses}


@pytest.fixture(scope="module")
def profiled() -> _native.Module:
    module = _native.Module(TEXT.encode())
    assert PROGRAM.workload
    profile(module, PROGRAM.workload)
    module.verify()
    return module


def test_each_edge_has_its_own_count(profiled: _native.Module) -> None:
    """Two runs, of ten and of two rounds. The switch: default, 0, 1, 2; two edges have the same end."""
    found = weights(profiled)
    assert found["kind"] == [[7, 2, 2, 1]]
    assert found["main"] == [[10, 2], [0, 2]]  # of the loop, and of the branch to `bad`


def test_functions_have_their_calls(profiled: _native.Module) -> None:
    assert entry_counts(profiled) == {"kind": 12, "never": 0, "main": 2}
    assert weights(profiled)["never"] == []


def test_only_metadata_and_attributes_are_new(profiled: _native.Module) -> None:
    assert profiled.opcode_counts().tolist() == _native.Module(TEXT.encode()).opcode_counts().tolist()
    assert re.search(r"define i32 @never\(.*#(\d+)", profiled.print())
    cold = re.findall(r"^attributes #\d+ = \{(.*cold.*)\}$", profiled.print(), re.MULTILINE)
    assert len(cold) == 1  # of `never`
    assert '"ProfileFormat", !"InstrProf"' in profiled.print()


def test_a_profile_may_be_taken_again_of_optimized_code(profiled: _native.Module) -> None:
    module = profiled.clone()
    module.run("clang<O2>", "O2")
    assert PROGRAM.workload
    profile(module, PROGRAM.workload)
    module.verify()
    assert module.print().count('!"ProfileFormat"') == 1


def test_counts_of_another_module_are_refused() -> None:
    module = _native.Module(TEXT.encode())
    split = module.clone()
    split.run(SPLIT)
    assert PROGRAM.workload
    counts = block_counts(split, PROGRAM.workload).tolist()
    with pytest.raises(_native.InputError, match=f"{len(counts) - 1} counts, and {len(counts)} blocks"):
        _native.set_profile(module, split, counts[:-1])
    kernel = _native.Module(load_kernel("fft").content)
    with pytest.raises(_native.InputError, match="of another module"):
        _native.set_profile(kernel, split, counts)


def test_a_program_without_runs_has_no_profile() -> None:
    with pytest.raises(InputError, match=r"walk\.ll: .*no workload, so it cannot be profiled.*--run"):
        open_session(replace(PROGRAM, workload=None), Options(profile=True))


def test_a_setting_of_the_task_profiles_its_programs() -> None:
    task = load_task("llvm_passes").configured({"profile": "True"}, "seconds")
    assert task.options == {"level": "O3", "profile": "True"}
    session = task.open(PROGRAM)
    assert "branch_weights" in str(session.observe("ir"))
    baseline = task.baselines["O3"](PROGRAM)
    assert "branch_weights" not in str(baseline.observe("ir"))
    with pytest.raises(InputError, match="profile is 'yes'; expected True or False"):
        load_task("llvm_passes").configured({"profile": "yes"})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("stack_vm", "words") else pytest.mark.slow)
        for name in kernel_names()
    ],
)
def test_profiled_kernels_print_what_is_expected(name: str) -> None:
    """The measurement compares the output with that of the unoptimized program."""
    task = load_task("llvm_passes").configured({"profile": "True"}, "seconds")
    session = task.open(load_kernel(name, level="O3"))
    session.apply(task.actions.index("clang<O3>"))
    session.verify()
    assert session.cost("seconds") > 0


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let counts differ from run to run, and return those of each run; what is kept is in tmp_path."""
    runs: list[int] = []

    def counted(*_: object) -> NDArray[np.uint64]:
        runs.append(len(runs))
        return np.array([runs[-1]], dtype=np.uint64)

    monkeypatch.setattr(profiles, "default_cache", lambda: tmp_path)
    monkeypatch.setattr(profiles, "block_counts", counted)
    return runs


def test_a_program_runs_once_for_all_processes(kept: list[int], tmp_path: Path) -> None:
    module = _native.Module(TEXT.encode())
    workload = Workload((Run("only", ("3",)),))
    assert [kept_counts(module, workload).tolist() for _ in range(3)] == [[0]] * 3
    assert kept_counts(module, Workload((Run("only", ("4",)),))).tolist() == [1]
    assert len(list((tmp_path / "profiles").iterdir())) == 2
    for path in (tmp_path / "profiles").iterdir():
        path.write_bytes(path.read_bytes()[:-3])  # cut off
    assert [kept_counts(module, workload).tolist() for _ in range(2)] == [[2]] * 2
    assert kept == [0, 1, 2]


def test_of_two_processes_the_first_one_counts(
    kept: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, workload = _native.Module(TEXT.encode()), Workload((Run("only", ("3",)),))

    def late(*_: object) -> NDArray[np.uint64]:
        monkeypatch.undo()
        monkeypatch.setattr(profiles, "default_cache", lambda: tmp_path)
        monkeypatch.setattr(profiles, "block_counts", lambda *_: np.array([7], dtype=np.uint64))
        kept_counts(module, workload)  # of the other process
        return np.array([8], dtype=np.uint64)

    monkeypatch.setattr(profiles, "block_counts", late)
    assert kept_counts(module, workload).tolist() == [7]
    assert len(list((tmp_path / "profiles").iterdir())) == 1 and not kept


def test_the_newest_profiles_are_kept(
    kept: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "KEPT", 2)
    module = _native.Module(TEXT.encode())
    for number in range(4):
        kept_counts(module, Workload((Run("only", (str(number),)),)))
        for age, path in enumerate(
            sorted((tmp_path / "profiles").iterdir(), key=lambda one: np.load(one)[0])
        ):
            os.utime(path, (age, age))
    left = [int(np.load(path)[0]) for path in (tmp_path / "profiles").iterdir()]
    assert sorted(left) == [2, 3]


def test_without_a_cache_the_program_runs_each_time(
    kept: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(profiles, "default_cache", lambda: tmp_path / "file")
    module, workload = _native.Module(TEXT.encode()), Workload((Run("only", ("3",)),))
    assert [kept_counts(module, workload).tolist() for _ in range(2)] == [[0], [1]]
