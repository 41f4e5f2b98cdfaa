"""Code for other machines: objects for the machine that clang was told, sizes as in a linked program."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from burnish import _native
from burnish.cli import main
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.llvm.programs import load_program
from burnish.llvm.targets import MACHINES, TARGETS, Need, command, file, machine_of, module
from burnish.llvm.toolchain import find_tool
from tests.sources import DATA

ELF_MACHINES = {"thumb": 40, "armv7": 40, "aarch64": 183, "riscv": 243}
FLAGS_OF: dict[str, tuple[str, ...]] = {
    "cortex-m4": ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
    "cortex-m4f": ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4", "-mfloat-abi=hard"),
    "cortex-m0plus": ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0plus"),
    "cortex-a9": ("--target=armv7a-linux-gnueabihf", "-mcpu=cortex-a9"),
    "aarch64": ("--target=aarch64-linux-gnu",),
    "rv32imc": ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32"),
    "rv32i": ("--target=riscv32-unknown-elf", "-march=rv32i", "-mabi=ilp32"),
    "rv64gc": ("--target=riscv64-unknown-elf", "-march=rv64gc", "-mabi=lp64d"),
    "wasm32": ("--target=wasm32-unknown-unknown",),
}


@functools.cache
def freestanding(machine: str) -> Program:
    return load_program(DATA / "freestanding.c", arguments=FLAGS_OF[machine])


@functools.cache
def compiled(machine: str) -> ModuleSession:
    return open_baseline(freestanding(machine), "Oz")


def object_of(machine: str, folder: Path) -> Path:
    path = folder / f"{machine}.o"
    path.write_bytes(compiled(machine).object_code())
    return path


def printed(tool: str, *words: str | Path) -> str:
    return subprocess.run([find_tool(tool), *words], check=True, capture_output=True, text=True).stdout


def linked_sections(object_: Path, *words: str) -> dict[str, int]:
    """Return the sizes of the sections of a program that is linked from one object."""
    made = object_.with_suffix(".elf")
    linker = "wasm-ld" if "wasm" in object_.name else "ld.lld"
    subprocess.run([find_tool(linker), object_, "-o", made, *words], check=True)
    return {
        found[1]: int(found[2])
        for line in printed("llvm-size", "-A", made).splitlines()
        if (found := re.match(r"(\S+)\s+(\d+)\s", line))
    }


@pytest.mark.parametrize("machine", FLAGS_OF)
def test_the_object_is_for_the_machine_that_clang_was_told(machine: str, tmp_path: Path) -> None:
    flags = FLAGS_OF[machine]
    content = compiled(machine).object_code()
    if machine == "wasm32":
        assert content.startswith(b"\0asm")
        return
    assert content.startswith(b"\x7fELF")
    (number,) = (number for part, number in ELF_MACHINES.items() if part in flags[0])
    assert int.from_bytes(content[18:20], "little") == number
    said = printed("llvm-readobj", "--file-headers", "--arch-specific", object_of(machine, tmp_path))
    expected = {
        "cortex-m4": ("Value: cortex-m4", "ARM v7E-M", "Thumb-2"),
        "cortex-m4f": ("Value: cortex-m4", "AAPCS VFP", "VFPv4-D16"),
        "cortex-m0plus": ("Value: cortex-m0plus", "ARM v6S-M", "Thumb-1"),
        "cortex-a9": ("Value: cortex-a9", "ARM v7", "NEONv1"),
        "aarch64": (),
        "rv32imc": ("EF_RISCV_RVC", "rv32i2p1_m2p0_c2p0"),
        "rv32i": ("rv32i2p1",),
        "rv64gc": ("EF_RISCV_RVC", "EF_RISCV_FLOAT_ABI_DOUBLE"),
    }[machine]
    for text in expected:
        assert text in said
    assert ("EF_RISCV_RVC" in said) == (machine in ("rv32imc", "rv64gc"))


def test_back_ends_do_not_change_each_other() -> None:
    """LLVM keeps in the process from how many cases on a switch becomes a table; some back ends set it."""
    programs = [load_program(DATA / "machine.c"), *map(freestanding, FLAGS_OF)]
    contents = [program.content for program in [*programs, *reversed(programs)]]
    write = "import sys; from burnish import _native; m = _native.Module(sys.stdin.buffer.read())"
    command = [sys.executable, "-c", f"{write}; sys.stdout.buffer.write(m.emit_object('Oz'))"]
    alone = [
        subprocess.run(command, input=p.content, check=True, capture_output=True).stdout for p in programs
    ]
    assert [_native.Module(content).emit_object("Oz") for content in contents] == [*alone, *reversed(alone)]


CORES = [
    ("thumbv7em-none-eabi", f"-mcpu={cpu}", f"-mfloat-abi={abi}")
    for cpu in ("cortex-m0plus", "cortex-m4", "cortex-m33", "cortex-m7", "cortex-m55")
    for abi in ("soft", "softfp", "hard")
] + [
    ("riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32"),
    ("riscv32-unknown-elf", "-march=rv32e", "-mabi=ilp32e"),
    ("riscv32-unknown-elf", "-march=rv32imafc_zba_zbb_zcb", "-mabi=ilp32f"),
    ("riscv64-unknown-elf", "-mcpu=sifive-u74", "-mabi=lp64d"),
    ("riscv64-unknown-elf", "-mcpu=sifive-u74", "-march=rv64imac", "-mabi=lp64"),
]


@pytest.mark.parametrize("core", CORES, ids=" ".join)
def test_features_that_change_nothing_are_left_out(core: tuple[str, ...]) -> None:
    """native/target.cpp shortens the list unless the function names a CPU for which code is tuned."""
    target, *flags = core
    words = (f"--target={target}", *flags, "-Oz", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes")
    text = printed("clang", *words, DATA / "freestanding.c", "-o", "-")
    tuned = re.sub(r'"target-cpu"="(\S+)"', r'"target-cpu"="\1" "tune-cpu"="\1"', text)
    assert tuned != text
    objects, unset = set(), []
    for one in (text, tuned):
        module = _native.Module(one.encode())
        module.run("clang<Oz>", "Oz")
        objects.add(module.emit_object("Oz"))
        unset.append(module.print().count(",-"))
    assert len(objects) == 1 and unset[0] < unset[1] / 4


@pytest.mark.parametrize("machine", ["rv32imc", "rv64gc"])
def test_calls_between_sections_are_shortened_as_by_lld(machine: str, tmp_path: Path) -> None:
    """Near functions are called by 2 bytes, the others by 4; there are 8 in the object."""
    names = [f"f{i}" for i in range(200)]
    source = "extern volatile int v;\n" + "".join(f"void {name}(void);\n" for name in names)
    for i, name in enumerate(names):
        calls = "".join(f" {names[(i * 7 + j * 31) % len(names)]}(); v = {i * j};" for j in range(1, 5))
        source += f"void {name}(void) {{{calls} }}\n"
    file = tmp_path / "calls.c"
    file.write_text(
        f"{source}int v_;\nint main(void) {{ f0(); return 0; }}\n".replace("extern volatile", "volatile")
    )
    program = load_program(file, arguments=FLAGS_OF[machine])
    object_ = tmp_path / f"{machine}.o"
    object_.write_bytes(open_baseline(program, "Oz").object_code())
    sizes = _native.object_sizes(object_.read_bytes(), False)
    sections = linked_sections(object_, "-e", "main", "--image-base=0x10000", "--no-gc-sections")
    assert sizes.text_bytes == sections[".text"]
    assert sum(size for _, size in sizes.functions) == pytest.approx(sizes.text_bytes, rel=0.01)


def test_functions_that_cannot_be_unwound_have_one_entry_together() -> None:
    """Linkers merge neighbours in .ARM.exidx; a function that can be unwound has 8 bytes of its own."""
    program = load_program(DATA / "freestanding.c", arguments=FLAGS_OF["cortex-m4"])
    assert _native.object_sizes(open_baseline(program, "Oz").object_code(), False).unwind_bytes == 8
    flags = (*FLAGS_OF["cortex-m4"], "-funwind-tables")
    unwound = open_baseline(load_program(DATA / "freestanding.c", arguments=flags), "Oz").object_code()
    assert _native.object_sizes(unwound, False).unwind_bytes > 8


@pytest.mark.parametrize("level", ["Oz", "O2"])  # addresses in literals, and in pieces in instructions
@pytest.mark.parametrize("machine", ["cortex-m4", "cortex-a9"])
def test_constants_count_for_the_function_that_alone_uses_them(
    level: str, machine: str, tmp_path: Path
) -> None:
    source = tmp_path / "two.c"
    texts = {"a": "a" * 69, "b": "b" * 499}
    lines = [f'char {name}_at(int i) {{ return "{text}"[i]; }}' for name, text in texts.items()]
    source.write_text("\n".join(lines))
    session = open_baseline(load_program(source, arguments=(*FLAGS_OF[machine], "-fno-pic")), level)
    sizes = session.sizes()
    own = {
        name: loaded - dict(sizes.functions)[name]
        for name, loaded in sizes.functions_loaded
        if name in ("a_at", "b_at")
    }
    assert 70 <= own["a_at"] < 80  # with its entry for unwinding
    assert 500 <= own["b_at"] < 510


def test_expected_run_times_are_of_functions_of_the_module() -> None:
    """LLVM's outliner, on at -Oz for ARM and RISC-V, gives other code the same names."""
    for machine in ("cortex-m4", "rv32imc"):
        session = compiled(machine)
        times = session.call_costs().of_call
        assert times.keys() <= set(session.module.functions)
        assert max(times.values()) < 10_000  # a model without an instruction said 4,096 for each


CALLS = """
static __attribute__((noinline)) int work(int x) { return x * x + (x >> 3); }
int repeats(int x) { REPEATED return x; }
int asks(int (*ask)(int), int x) { REPEATED x = ask(x) ^ ask(x + 1); return x; }
"""


@pytest.mark.parametrize("machine", ["cortex-m4", "cortex-m0plus", "rv32imc", "aarch64"])
def test_a_function_that_is_called_by_a_register_is_known(machine: str, tmp_path: Path) -> None:
    """For size, ARM keeps the address of a function with several calls in a register."""
    (tmp_path / "calls.c").write_text(CALLS.replace("REPEATED", "x = work(x + 5) * 3;" * 9))
    program = load_program(tmp_path / "calls.c", arguments=(*FLAGS_OF[machine], "-mno-outline"))
    bodies = open_baseline(program, "Oz").call_costs().bodies
    assert bodies["repeats"].calls == {"work": 9}
    assert bodies["asks"].calls == {"work": 9, "": 2}


@pytest.mark.parametrize("machine", [name for name in FLAGS_OF if name != "wasm32"])
def test_sizes_are_those_of_a_linked_program(machine: str, tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled(machine).object_code(), False)
    words = ("-e", "main", "--unresolved-symbols=ignore-all", "--image-base=0x10000", "--no-gc-sections")
    sections = linked_sections(object_of(machine, tmp_path), *words)
    assert sizes.text_bytes == pytest.approx(sections[".text"], rel=0.01)
    read_only = sum(size for name, size in sections.items() if name.startswith(".rodata"))
    assert sizes.read_only_bytes == pytest.approx(read_only, abs=4)


def test_sizes_are_those_of_a_linked_module_of_webassembly(tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled("wasm32").object_code(), False)
    words = ("--no-entry", "--export-all", "-O2", "--compress-relocations", "--strip-all")
    sections = linked_sections(object_of("wasm32", tmp_path), *words)
    code = sections["CODE"] + sections["FUNCTION"]
    assert sizes.text_bytes == pytest.approx(code, rel=0.04)
    assert sizes.data_bytes == pytest.approx(sections["DATA"], abs=24)  # and the segments' headers


@pytest.mark.parametrize("machine", FLAGS_OF)
def test_passes_make_it_smaller_and_replay(machine: str) -> None:
    task = load_task("llvm_passes")
    session = task.open(freestanding(machine))
    session.replay(("clang<Oz>",))
    before = session.measure("loaded-bytes")
    assert before == compiled(machine).measure("loaded-bytes")
    sizes = dict(_native.object_sizes(session.object_code(), False).functions)
    assert {"checksum", "step", "run", "mean", "deepest", "insert", "main"} <= sizes.keys()
    again = task.open(freestanding(machine))
    again.replay(session.trace)
    assert again.object_code() == session.object_code()


@pytest.mark.parametrize("machine", ["cortex-m4", "wasm32"])
def test_optimize_writes_the_object(machine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """clang of the package index reads the source, but has no back end for it."""
    file, made = str(DATA / "freestanding.c"), tmp_path / f"{machine}.o"
    words = ["optimize", file, "--budget", "8 evaluations", "--workers", "1", "--quiet", "--json"]
    assert main([*words, "-o", str(made), "--", *FLAGS_OF[machine], "-ffunction-sections"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["valid"] and row["cost"] <= row["baselines"]["Oz"]
    sizes = _native.object_sizes(made.read_bytes(), False)
    assert sizes.text_bytes == pytest.approx(compiled(machine).measure("text-bytes"), rel=0.3)
    if machine == "cortex-m4":
        assert ".text.checksum" in printed("llvm-size", "-A", made)


def test_what_each_machine_needs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    shown = capsys.readouterr().out
    assert main(["targets", "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert list(rows) == [target.name for target in TARGETS]
    for target in TARGETS:
        assert f"{target.name}: {target.description}" in shown
        assert load_program(DATA / "freestanding.c", arguments=target.flags).content
        for need, said in zip(target.needs, rows[target.name]["needs"], strict=True):
            assert said == {"what": need.what, "found": need.found(), "install": need.install}
            assert said["found"] or need.install in shown


def test_a_need_is_looked_for(tmp_path: Path) -> None:
    assert command("clang")() and not command("no-such-tool")()
    assert file(str(tmp_path))() and not file(str(tmp_path / "stdio.h"))()
    assert module("json")() and not module("no_such_module")()
    assert Need("runtime", module("wasmtime"), "pip:wasmtime").install == "pip install wasmtime"
    assert Need("C library", file("/"), "wasi-libc").install == "apt-get install wasi-libc"


@pytest.mark.parametrize(
    ("triple", "machine"),
    [
        ("x86_64-unknown-linux-gnu", "X86"),
        ("i686-pc-windows-msvc", "X86"),
        ("thumbv7em-unknown-none-eabi", "ARM"),
        ("armv7-unknown-linux-gnueabihf", "ARM"),
        ("arm64-apple-macosx", "AArch64"),
        ("aarch64-unknown-linux-gnu", "AArch64"),
        ("riscv32-unknown-unknown-elf", "RISCV"),
        ("wasm32-unknown-wasip1", "WebAssembly"),
        ("mips-unknown-linux-gnu", ""),
    ],
)
def test_a_triple_is_of_a_machine(triple: str, machine: str) -> None:
    assert machine_of(triple) == machine and machine in ("", *MACHINES)
    row = open_session(Program("a", "llvm", f'target triple = "{triple}"\n'.encode())).observe("machine")
    assert [name for name, one in zip(MACHINES, row, strict=True) if one] == ([machine] if machine else [])
