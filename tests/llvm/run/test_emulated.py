"""Programs for other machines: how they are linked, and what runs them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import InputError, MissingTool, NotMeasurable
from burnish.core.program import Run, Workload
from burnish.llvm.corpora.references import ModuleSource
from burnish.llvm.modules.session import open_session
from burnish.llvm.run import execute, link
from burnish.llvm.run.check import differences, object_behaviour
from burnish.llvm.run.emulated import BOARDS, OWN, counting, emulated, plugin_words
from burnish.llvm.run.running import INSTRUCTIONS, RunLimits
from burnish.llvm.toolchain import find_tool

HOST = Path(__file__).with_name("plugin_host.c")
SOURCE = """
int printf(const char *, ...);
int main(int count, char **words) {
  unsigned sum = 0;
  for (int i = 1; i < count; i++)
    for (const char *letter = words[i]; *letter; letter++) sum = sum * 31 + (unsigned char)*letter;
  printf("%d words, %u\\n", count, sum);
  return count;
}
"""
REAL = {
    "aarch64": (("--target=aarch64-linux-gnu",), ("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    "cortex-m4": (
        ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
        ("arm-none-eabi-gcc", "qemu-system-arm"),
    ),
    "riscv": (
        ("--target=riscv32-unknown-elf", "-march=rv32imc"),
        ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
    ),
    "wasm": (("--target=wasm32-wasi", "--sysroot=/usr"), ("burnish-cc",)),
}
FILES = {
    "cortex-m4": "/usr/lib/picolibc/arm-none-eabi",
    "riscv": "/usr/lib/picolibc/riscv64-unknown-elf",
    "wasm": "/usr/lib/wasm32-wasi/libc.a",
}


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every tool be installed."""
    monkeypatch.setattr("burnish.llvm.run.emulated.shutil.which", lambda name: f"/bin/{name}")


@pytest.mark.usefixtures("everything")
def test_linux_has_a_static_program_in_user_mode() -> None:
    found = emulated(["-O2", "-target", "aarch64-linux-gnu", "-mcpu=cortex-a53"])
    assert found
    assert found.linker == ("/bin/aarch64-linux-gnu-gcc", "-mcpu=cortex-a53", "-static")
    assert found.emulator == ("/bin/qemu-aarch64",)


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    ("words", "own"),
    [
        (("thumbv7em-none-eabi", "-mcpu=cortex-m4"), ("-mcpu=cortex-m4", "-mthumb")),
        (("riscv32-unknown-elf", "-march=rv32imc"), ("-march=rv32imc", "-mabi=ilp32")),
        (("riscv32-unknown-elf", "-march=rv32gc"), ("-march=rv32gc", "-mabi=ilp32d")),
        (("riscv64-unknown-elf", "-march=rv64imac_zba"), ("-march=rv64imac_zba", "-mabi=lp64")),
    ],
)
def test_a_board_has_picolibc_and_semihosting(words: tuple[str, ...], own: tuple[str, ...]) -> None:
    triple, *flags = words
    found = emulated([f"--target={triple}", *flags])
    assert found and found.linker[1 : 1 + len(own)] == own
    board = BOARDS[found.emulator[-1]]
    assert f"__flash={board.flash:#x}" in found.linker[-1] and f"__ram={board.ram:#x}" in found.linker[-1]


def test_this_machine_needs_none() -> None:
    assert emulated([]) is None
    assert emulated(["--target=x86_64-linux-gnu"]) is None


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.llvm.run.emulated.shutil.which", lambda name: None)
    with pytest.raises(MissingTool, match="need qemu-system-arm; install it with: apt-get install qemu-sys"):
        emulated(["--target=thumbv7em-none-eabi"])
    with pytest.raises(MissingTool, match=r"need aarch64-linux-gnu-gcc; .* gcc-aarch64-linux-gnu"):
        emulated(["--target=aarch64-linux-gnu"])
    with pytest.raises(InputError, match="burnish knows no emulator for mips-linux-gnu"):
        emulated(["--target=mips-linux-gnu"])
    monkeypatch.setattr("burnish.llvm.run.emulated.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingTool, match="pip install wasmtime"):
        emulated(["--target=wasm32-wasi"])


def test_an_emulator_gets_the_program_and_its_words(tmp_path: Path) -> None:
    """It has no limit on memory: QEMU reserves the address space of its guest."""
    limits = RunLimits(memory_bytes=1 << 20)
    seen = execute(
        tmp_path / "program", Run("a", ("one", "two")), limits=limits, emulator=["/bin/echo", "-n"]
    )
    assert seen.output == f"{tmp_path / 'program'} one two".encode()


@pytest.mark.parametrize("version", [1, 2])
def test_a_plugin_counts_by_both_versions_of_its_interface(version: int, tmp_path: Path) -> None:
    host, count = tmp_path / "host", tmp_path / "count, of instructions"
    options = f"-DVERSION={version} -rdynamic {HOST} -ldl -o".split()
    subprocess.run([find_tool("clang"), *options, host], check=True)
    plugin, file = plugin_words(str(count))[1].split(",count=")
    subprocess.run([host, plugin, file.replace(",,", ",")], check=True)
    assert count.read_text() == "15\n"


def test_a_file_for_the_count_is_the_emulators_first_word() -> None:
    file = Path("/tmp/count")
    assert counting((*OWN, "arm"), file) == (*OWN, "--count=/tmp/count", "arm")
    qemu, option, plugin = counting(["qemu-aarch64"], file)
    assert (qemu, option) == ("qemu-aarch64", "-plugin")
    assert plugin.endswith("_count_plugin.so,count=/tmp/count")


def test_an_emulator_that_counts_nothing_is_told(tmp_path: Path) -> None:
    emulator = ["/bin/sh", "-c", "echo -plugin: invalid option >&2; exit 1"]
    with pytest.raises(MissingTool, match="counts no instructions: /bin/sh: -plugin: invalid option"):
        execute(tmp_path / "program", Run("a"), counters=[INSTRUCTIONS], emulator=emulator)


def test_a_linker_has_the_objects_the_output_and_the_words(tmp_path: Path) -> None:
    linker = ("/bin/sh", "-c", 'cat "$1" "$2" > "$4"; echo "$5" >> "$4"', "linker")
    workload = Workload((Run("a"),), (b"second ",), ("-lm",), linker=linker, emulator=("qemu",))
    link(b"first ", workload, tmp_path / "program")
    assert (tmp_path / "program").read_bytes() == b"first second -lm\n"
    with pytest.raises(InputError, match="sanitizers are for programs of this machine"):
        link(b"first ", workload, tmp_path / "program", sanitizers=["address"])


def test_another_machines_run_is_another_workload() -> None:
    own = Workload((Run("a"),))
    assert own.digest != replace(own, linker=("gcc",), emulator=("qemu",)).digest


@pytest.mark.parametrize("name", REAL)
def test_a_program_runs(name: str, tmp_path: Path) -> None:
    """Its output is known, whatever the machine; its instructions are counted, its time is not measured."""
    flags, tools = REAL[name]
    there = all(shutil.which(tool) for tool in tools) and Path(FILES.get(name, "/")).exists()
    if not there or (name == "wasm" and not pytest.importorskip("wasmtime")):
        pytest.skip("needs packages that burnish targets names")
    (tmp_path / "words.c").write_text(SOURCE)
    source = ModuleSource("Oz")
    program = source.load(str(tmp_path / "words.c"), flags).program
    program = source.with_runs(program, ["a,b", ""], ["words.c"], flags)
    behaviour, session = object_behaviour(program), open_session(program)
    assert behaviour and program.workload
    seen = behaviour.run(session)
    sums = [ord("a") * 31**2 + ord(",") * 31 + ord("b"), 0]
    assert [one.output.decode() for one in seen] == [f"{2 - i} words, {sums[i]}\n" for i in range(2)]
    assert not differences(program.workload, seen, seen)
    session.replay(["clang<Oz>"])
    assert not behaviour.differences(behaviour.run(session, seen), seen)
    with pytest.raises(NotMeasurable, match="runs in an emulator, where its time means nothing"):
        session.measure("seconds")
    once = session.measure("instructions")
    assert open_session(program).measure("instructions") > once, "no pass has run"
    program = source.with_runs(program, ["a,b" * 100, ""], ["words.c"], flags)
    more = open_session(program)
    more.replay(["clang<Oz>"])
    assert 297 < more.measure("instructions") - once < 297 * 20, "297 more letters"
