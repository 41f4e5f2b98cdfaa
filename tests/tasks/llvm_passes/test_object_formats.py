"""Modules for macOS, iOS and Windows: the sizes of their objects, and all that an agent does with them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from burnish import _native
from burnish.cli import main
from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.core.registry import load_task
from burnish.llvm.modules.parts import write_object
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.llvm.toolchain import compile_to_bitcode, find_tool
from burnish.tasks.llvm_codegen.outputs import write_object as write_decided

MACOS, WINDOWS = "x86_64-apple-macosx11.0", "x86_64-pc-windows-msvc"
TARGETS = (
    MACOS,
    WINDOWS,
    "x86_64-apple-ios13.0-simulator",
    "i386-apple-macosx10.4",
    "i386-apple-macosx10.8",
    "i686-pc-windows-msvc",
    "i686-w64-mingw32",
    "x86_64-w64-mingw32",
    "i386-linux-gnu",
)
NOTHING = "int _fltused; int nothing(void) { return 0; }\n"
SOURCE = """
static const int table[5] = {13, 1, 77, 6, 52};
const char *const names[] = {"one", "two", "three", "four"};
int counter = 7;
int name_of(const char *, int *);
const char *name(unsigned i) { return names[i & 3]; }
int kind(unsigned c) { return c < 5 ? table[c] : 0; }
int with_frame(int x) { int a[2] = {x, 2}; return name_of(names[0], a) * a[1]; }
double scaled(double x) { return x * 0.1; }
int name_of(const char *text, int *p) { return counter += *p + *text; }
"""
UNUSUAL = """
struct Error { int code; };
struct Guard { int *p; ~Guard(); };
Guard::~Guard() { *p += 1; }
int other(int);
template <class T> inline T twice(T x) { static int count; return x + x + count++; }
thread_local int own = 3;
extern "C" int guarded(int x) {
  int n = 0;
  Guard guard{&n};
  try { if (x > 3) throw Error{x}; return other(x) + own; } catch (const Error &e) { return e.code + n; }
}
__attribute__((visibility("hidden"))) int hidden(int x) { return twice(x) + twice(x + 1) + guarded(x); }
int hidden_twice(int x) { return hidden(hidden(x)); }
__asm__(".globl in_assembly\\nin_assembly:\\n ret\\n");
"""
IMPROVABLE = """
extern int puts(const char *);
static int table[4] = {1, 2, 3, 4};
__attribute__((noinline)) static int f(int x) {
  int s = 0;
  for (int i = 0; i < x; i++) s += table[i & 3];
  return s;
}
int g(int x) {
  switch (x) {
    case 0: return f(3); case 1: return 77; case 2: return 12;
    case 3: puts("hello"); return 9; case 4: return 18; default: return f(x);
  }
}
"""
ALIASES = """
@value = private unnamed_addr constant [4 x i8] c"abc\\00"
@same = alias i32 (i32), ptr @original
define i32 @original(i32 %x) nounwind {
  %y = mul i32 %x, 3
  ret i32 %y
}
define ptr @text() nounwind { ret ptr @value }
"""


def compiled(folder: Path, target: str, source: str, *options: str) -> Path:
    """Return the object that clang makes of C."""
    made = folder / f"{len(list(folder.iterdir()))}.o"
    command = [str(find_tool("clang")), f"--target={target}", "-Oz", "-fno-inline", "-fno-stack-protector"]
    words = [*command, *options, "-x", "c", "-", "-c", "-o", str(made)]
    subprocess.run(words, input=source.encode(), check=True)
    return made


def module(folder: Path, target: str, source: str, suffix: str = ".c") -> Program:
    (folder / f"a{suffix}").write_text(source)
    return Program("a", "llvm", compile_to_bitcode(folder / f"a{suffix}", [f"--target={target}"]))


def shown(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def linked_for_windows(folder: Path, *objects: Path) -> int:
    """Return the bytes of all sections in the library that lld makes."""
    made = folder / "library.dll"
    plain = ["/dll", "/noentry", "/nodefaultlib", "/opt:noref", "/opt:noicf", f"/out:{made}"]
    shown(str(find_tool("lld-link")), *plain, *map(str, objects))
    report = shown(str(find_tool("llvm-readobj")), "--sections", str(made))
    return sum(int(size, 16) for size in re.findall(r"VirtualSize: (\w+)", report))


def linked_for_macos(folder: Path, *objects: Path) -> int:
    """Return the bytes of code and data in the library that lld makes, and of its unwind information.

    The table of that has pages of 4 KiB; its entries of 4 bytes count here.
    """
    made = folder / "library.dylib"
    version = ["-platform_version", "macos", "11.0", "11.0"]
    shown(
        str(find_tool("ld64.lld")), "-arch", "x86_64", *version, "-dylib", *map(str, objects), "-o", str(made)
    )
    sizes = shown(str(find_tool("llvm-size")), "-A", str(made))
    rows = re.findall(r"^(__\w+) +(\d+)", sizes, re.MULTILINE)
    unwind = shown(str(find_tool("llvm-objdump")), "--unwind-info", str(made)).partition(
        "Second level indices"
    )
    entries = re.findall(r"\]: function offset=\w+, encoding", unwind[2])
    counted = ("__text", "__const", "__cstring", "__literals", "__data")
    return 4 * len(entries) + sum(int(size) for name, size in rows if name in counted)


@pytest.mark.parametrize(("target", "linked"), [(MACOS, linked_for_macos), (WINDOWS, linked_for_windows)])
def test_an_object_adds_its_loaded_bytes(tmp_path: Path, target: str, linked: Callable[..., int]) -> None:
    nothing, made = compiled(tmp_path, target, NOTHING), compiled(tmp_path, target, SOURCE, "-g")
    sizes = _native.object_sizes(made.read_bytes())
    added = linked(tmp_path, nothing, made) - linked(tmp_path, nothing)
    assert sizes.loaded_bytes > 200
    assert added == pytest.approx(sizes.loaded_bytes, abs=16)  # alignment, and the header of .reloc


def test_the_parts_of_a_mach_o_object(tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled(tmp_path, MACOS, SOURCE, "-g").read_bytes())
    strings = len("one0two0three0four0")
    assert sizes.data_bytes == 4 * 8 + 4  # names, whose addresses are relocated; counter
    assert sizes.read_only_bytes == 5 * 4 + 12 + strings + 8  # table, aligned to 16; 0.1
    assert sizes.relocation_bytes == 0
    assert sizes.unwind_bytes == 4  # an entry for all: each function has the same frame
    parts = sizes.data_bytes + sizes.read_only_bytes + sizes.unwind_bytes
    assert sizes.loaded_bytes == sizes.text_bytes + parts


def test_the_parts_of_a_coff_object(tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled(tmp_path, WINDOWS, SOURCE, "-g").read_bytes())
    assert sizes.data_bytes == 4  # counter
    strings = 4 + 4 + 8 + 8  # each in a section of its own
    assert sizes.read_only_bytes == 4 * 8 + 5 * 4 + 4 + strings + 8  # names, table, alignment, 0.1
    assert sizes.relocation_bytes == 4 * 2  # of names
    assert sizes.unwind_bytes == 12 + 8  # of with_frame: the others have no frame
    parts = sizes.data_bytes + sizes.read_only_bytes + sizes.unwind_bytes + sizes.relocation_bytes
    assert sizes.loaded_bytes == sizes.text_bytes + -sizes.text_bytes % 4 + parts


@pytest.mark.parametrize("target", [MACOS, WINDOWS, "i386-apple-macosx10.8", "i686-pc-windows-msvc"])
def test_shares_have_the_names_of_the_module(tmp_path: Path, target: str) -> None:
    session = open_baseline(module(tmp_path, target, SOURCE), "Oz")
    text, loaded = session.site_costs("text-bytes"), session.site_costs("loaded-bytes")
    assert set(text) == set(session.sites()) == {"name", "kind", "with_frame", "scaled", "name_of"}
    assert loaded["kind"] - text["kind"] >= 5 * 4  # its table
    assert sum(loaded.values()) <= session.measure("loaded-bytes")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", ["Oz", "O2"])
def test_code_is_clangs(tmp_path: Path, target: str, level: str) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    program = Program(
        "a", "llvm", compile_to_bitcode(Path("a.c"), [f"--target={target}"], level=level, directory=tmp_path)
    )
    state = open_baseline(program, level)
    command = [
        str(find_tool("clang")),
        f"--target={target}",
        f"-{level}",
        "-mno-incremental-linker-compatible",
    ]
    subprocess.run([*command, "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    clangs = (tmp_path / "a.o").read_bytes()
    assert write_object(state, (), level) == clangs  # of COFF without the time, too
    if "windows" not in target and "mingw" not in target:  # there the version of LLVM is in each object
        assert state.object_code() == clangs


def walk(program: Program, task_name: str) -> None:
    """Observe, step and measure everything."""
    task = load_task(task_name)
    session = task.open(program)
    rng = np.random.default_rng(0)
    for _ in range(20):
        sites = ("", *session.sites()[:2])
        legal = [(action, site) for site in sites for action in np.flatnonzero(session.legal(site))]
        if not legal:
            break
        action, site = legal[rng.integers(len(legal))]
        session.apply(int(action), site)
    for name in task.observations:
        session.observe(name)
    for name, objective in task.objectives.items():
        if not objective.needs_workload:
            assert session.measure(name) > 0, name
            session.site_costs(name)
    for name in task.baselines:
        assert task.baseline(name)(program).measure("loaded-bytes") > 0


@pytest.mark.parametrize("target", TARGETS)
def test_everything_works(tmp_path: Path, target: str) -> None:
    walk(module(tmp_path, target, SOURCE), "llvm_inlining_passes_and_codegen")


@pytest.mark.parametrize("target", [MACOS, WINDOWS, "x86_64-w64-mingw32"])
def test_cxx_works(tmp_path: Path, target: str) -> None:
    walk(module(tmp_path, target, UNUSUAL, ".cpp"), "llvm_passes_and_codegen")


@pytest.mark.parametrize("target", [MACOS, WINDOWS])
def test_aliases_and_private_constants_work(target: str) -> None:
    program = Program("a", "llvm", f'target triple = "{target}"\n{ALIASES}'.encode())
    walk(program, "llvm_passes")
    shares = open_session(program).site_costs("loaded-bytes")
    assert shares["text"] > shares["original"]  # which has no constant


@pytest.mark.parametrize("target", [MACOS, WINDOWS])
def test_what_was_decided_of_code_generation_is_written(tmp_path: Path, target: str) -> None:
    session = load_task("llvm_codegen").open(module(tmp_path, target, SOURCE))
    session.apply(int(np.flatnonzero(session.legal())[0]))
    assert write_decided(session, (), "Oz") == session.object_code()


@pytest.mark.parametrize("target", [MACOS, WINDOWS])
def test_a_program_for_another_system_is_not_run(tmp_path: Path, target: str) -> None:
    program = module(tmp_path, target, "int main(void) { return 0; }")
    program = replace(program, workload=Workload((Run("run"),)))
    with pytest.raises(InputError, match="made for another system and cannot be run here"):
        open_session(program).measure("seconds")


@pytest.mark.parametrize(("target", "beginning"), [(MACOS, b"\xcf\xfa\xed\xfe"), (WINDOWS, b"\x64\x86")])
def test_it_is_optimized_written_and_evaluated(
    tmp_path: Path, target: str, beginning: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file, made, result = tmp_path / "a.bc", tmp_path / "a.o", str(tmp_path / "a.jsonl")
    file.write_bytes(module(tmp_path, target, IMPROVABLE).content)
    command = ["optimize", str(file), "--task", "llvm_passes_and_codegen", "--budget", "10 evaluations"]
    assert main([*command, "--workers", "1", "--json", "-o", str(made), "--result", result]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["cost"] < row["baselines"]["Oz"]
    assert made.read_bytes().startswith(beginning)
    assert _native.object_sizes(made.read_bytes()).loaded_bytes == row["cost"]
    assert main(["compare", result, "--json"]) == 0
    assert "error" not in capsys.readouterr().err


@pytest.mark.parametrize("target", [MACOS, WINDOWS])
def test_episodes_have_every_observation(tmp_path: Path, target: str) -> None:
    program = module(tmp_path, target, SOURCE)
    observations = list(load_task("llvm_passes").observations)
    env = gymnasium.make(
        "burnish.envs:burnish/LLVMPasses-v1",
        programs=[program],
        observation=observations,
        objective="loaded-bytes",
    )
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(5):
        observed = env.step(env.action_space.sample())[0]
        assert set(observed) == set(observations)
    env.close()
