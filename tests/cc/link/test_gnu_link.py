"""Whole programs by a GNU compiler: its linker's answers, and the program that replaces its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from burnish import _native
from burnish.cc.commands.launch import find_launcher
from burnish.cc.link.foreign import ForeignProgramTrials
from burnish.cc.link.gnu_link import GnuLink
from burnish.cc.linked import read_linked
from burnish.cc.outcomes import Build, Sizes
from burnish.cc.requests import DriverOptions, KeptReference
from tests.cc.conftest import write_script

SOURCES = Path(__file__).parent / "gnu"
HOST = "x86_64-linux-gnu-gcc"  # a GNU compiler whose programs run here
FLAGS = ("-Os", "-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables")
MCU = ("-mcpu=cortex-m4", "-mthumb", "--specs=picolibc.specs")
DEF, WEAKDEF, UNDEF, COMMON = 0, 1, 2, 4  # ld_plugin_symbol_kind
PREVAILING, IRONLY, PREEMPTED, RESOLVED = 2, 3, 4, 6  # ld_plugin_symbol_resolution


@dataclass
class Project:
    """A folder with the sources, built by `burnish cc --whole-program` before a GNU compiler."""

    folder: Path
    compiler: str
    flags: tuple[str, ...]
    compiled: Path | None = None  # a folder with the objects of these sources

    def cc(self, *words: str) -> None:
        own = ("--whole-program", "--budget", "4 evaluations", "--report", f"{self.folder}/log")
        self.run(find_launcher("burnish-cc"), *own, self.compiler, *self.flags, *words)

    def gcc(self, *words: str) -> None:
        self.run(self.compiler, *self.flags, *words)

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return done.stdout

    def objects(self, *names: str) -> list[str]:
        """Compile the sources, those that a test did not change once for all tests; return the objects."""
        for name in names:
            if not self._copied(name):
                self.cc("-c", f"{name}.c", "-o", f"{name}.o")
        return [f"{name}.o" for name in names]

    def _copied(self, name: str) -> bool:
        source = self.folder / f"{name}.c"
        if not self.compiled or not (self.compiled / source.name).is_file():
            return False
        if source.read_bytes() != (self.compiled / source.name).read_bytes():
            return False
        shutil.copy((self.compiled / name).with_suffix(".o"), self.folder)
        return True

    def link(self, *words: str) -> dict[str, Any]:
        """Link once by each; return the line of the log."""
        self.gcc(*words, "-o", "theirs")
        self.cc(*words, "-o", "ours")
        (row,) = [row for row in self.records() if row["output"] == "ours"]
        assert row["loaded_bytes_before"] == read_linked(self.folder / "theirs").loaded_bytes
        assert row["loaded_bytes"] == read_linked(self.folder / "ours").loaded_bytes
        return row

    def records(self) -> list[dict[str, Any]]:
        log = self.folder / "log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []

    def symbols(self, file: str) -> dict[str, int]:
        """Return the binding of each symbol that a file defines."""
        found = _native.elf_symbols((self.folder / file).read_bytes())
        return {symbol.name: symbol.binding for symbol in found if symbol.is_defined}


def project_of(folder: Path, compiler: str, flags: Sequence[str]) -> Project:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed: burnish targets names its package")
    for source in SOURCES.iterdir():
        shutil.copy(source, folder)
    return Project(folder, compiler, (*FLAGS, *flags))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the sources once for all tests, and return the folder."""
    project = project_of(tmp_path_factory.mktemp("compiled"), HOST, ())
    project.objects("main", "part", "asked", "library")
    assert not project.records()  # all have units
    return project.folder


@pytest.fixture
def project(tmp_path: Path, compiled: Path) -> Project:
    return replace(project_of(tmp_path, HOST, ()), compiled=compiled)


@pytest.mark.parametrize("kind", ["", "T"], ids=["archive", "thin archive"])
def test_a_program_of_units_and_an_archive(project: Project, kind: str) -> None:
    objects = project.objects("main", "part", "asked", "library")
    project.run("ar", f"rcs{kind}", "libpart.a", objects[1], objects[3])
    row = project.link("main.o", "asked.o", "-L.", "-lpart", "-Wl,--gc-sections,-Map=program.map")
    assert row["action"] == "optimized", row["reason"]
    assert row["source"] == "4 units" and row["compiler"] == HOST
    assert row["loaded_bytes"] < row["loaded_bytes_before"]
    assert project.run("./ours", "10") == project.run("./theirs", "10") == "392 42 7 299 absent\n"
    assert "program" in (project.folder / "program.map").read_text()
    ours = project.symbols("ours")
    assert ours["memset"] == 1  # global, for the code generator
    assert "unused_part" not in ours and ours.get("part", 0) == 0  # local, or inlined
    assert not any(row["source"].endswith(".c") for row in project.records())


def test_definitions_that_something_else_than_a_unit_needs(project: Project) -> None:
    project.objects("main", "part", "asked")
    project.gcc("-c", "library.c", "-o", "library.o")
    (project.folder / "caller.c").write_text("int part(int);\nint called(void) { return part(3); }\n")
    project.gcc("-c", "caller.c", "-o", "caller.o")
    row = project.link("main.o", "part.o", "asked.o", "library.o", "caller.o")
    assert row["action"] == "optimized", row["reason"]
    assert row["source"] == "3 units"
    ours = project.symbols("ours")
    assert ours["part"] == ours["vectors"] == ours["chosen"] == 1  # a section of its own, too
    assert project.run("./ours", "5") == project.run("./theirs", "5")


def test_only_what_is_linked_is_a_part(project: Project) -> None:
    objects = project.objects("main", "part", "library")
    project.run("ar", "rcs", "libunused.a", *project.objects("asked"))
    row = project.link(*objects, "-L.", "-lunused")  # a weak definition is there
    assert row["source"] == "3 units"
    assert project.run("./ours", "3") == project.run("./theirs", "3")


def test_a_link_without_units(project: Project) -> None:
    for name in ("main", "part", "library"):
        project.gcc("-c", f"{name}.c", "-o", f"{name}.o")
    row = project.link("main.o", "part.o", "library.o")
    assert row["action"] == "kept" and row["reason"].startswith("no object has a unit")
    assert (project.folder / "ours").read_bytes() == (project.folder / "theirs").read_bytes()


def test_a_command_that_compiles_and_links(project: Project) -> None:
    """Its objects are made again, each with a unit; the files that stay are the compiler's."""
    words = ("main.c", "part.c", "asked.c", "library.c", "-Wl,--gc-sections", "-MMD", "-save-temps=obj")
    row = project.link(*words)
    assert row["action"] == "optimized", row["reason"]
    assert row["source"] == "4 units" and row["compiler"].startswith(HOST)
    assert project.run("./ours", "10") == project.run("./theirs", "10")
    kept = {path.name.replace("theirs", "ours"): path for path in project.folder.glob("theirs*")}
    assert kept.keys() == {path.name for path in project.folder.glob("ours*")} > {"ours-main.o"}
    assert (project.folder / "ours-main.s").read_text() == kept["ours-main.s"].read_text()


def test_objects_of_a_command_that_compiles_and_links(project: Project) -> None:
    """Options that hold GCC back, and that mean nothing to clang; assembly stays as it is."""
    held_back = [f"-fno-tree-{name}" for name in ("fre", "dce", "ccp", "vrp", "ter", "sra", "forwprop")]
    (project.folder / "absent.s").write_text(".globl absent\nabsent: ret\n")
    words = ("main.c", "asked.c", "part.c", "library.c", "absent.s", *held_back)
    project.gcc(*words, "-o", "theirs")
    log = ("--report", f"{project.folder}/log", "--budget", "4 evaluations")
    project.run(find_launcher("burnish-cc"), *log, HOST, *FLAGS, *words, "-oours")
    rows = {row["source"]: row for row in project.records()}
    assert rows.keys() == {"main.c", "asked.c", "part.c", "library.c"}
    assert rows["main.c"]["action"] == "optimized", rows["main.c"]["reason"]
    assert {row["output"] for row in rows.values()} == {"ours"}
    sizes = [read_linked(project.folder / name).loaded_bytes for name in ("ours", "theirs")]
    assert sizes[0] < sizes[1]
    assert project.run("./ours", "10") == project.run("./theirs", "10")
    assert project.run("./ours", "10").endswith(" there\n")


def test_several_languages_are_left_to_the_compiler(project: Project) -> None:
    (project.folder / "more.cc").write_text("int more() { return 0; }\n")
    project.cc("main.c", "part.c", "library.c", "more.cc", "-o", "ours")
    assert {row["reason"] for row in project.records()} == {
        "the command compiles several languages and links; let it be several commands"
    }
    assert project.run("./ours", "2").endswith(" absent\n")


def test_a_command_with_an_error_is_the_compilers(project: Project) -> None:
    (project.folder / "broken.c").write_text("int main(void) { return missing(; }\n")
    own = ("--report", f"{project.folder}/log", HOST)
    commands = [("part.c", "broken.c", "-o", "ours"), ("part.c", "library.c", "-o", "ours")]
    for words in commands:
        done = [
            subprocess.run([*way, "-Os", *words], cwd=project.folder, capture_output=True, check=False)
            for way in ((HOST,), (find_launcher("burnish-cc"), *own))
        ]
        assert done[0].returncode == done[1].returncode != 0
        assert done[1].stderr.count(b"error") == done[0].stderr.count(b"error") > 0
    assert not (project.folder / "ours").exists() and not project.records()


def test_a_linker_without_plugins(project: Project) -> None:
    objects = project.objects("main", "part", "library")
    tools = project.folder / "tools"
    tools.mkdir()
    real = shutil.which(HOST)
    write_script(tools / HOST, f'case "$*" in *-plugin*) echo "no plugins" >&2; exit 1 ;; esac\n{real} "$@"')
    project.compiler = str(tools / HOST)
    row = project.link(*objects)
    assert row["action"] == "kept"
    assert row["reason"].startswith("the linker does not say which units it takes: ")
    assert "no plugins" in row["reason"]


WRAPPED = """
int __real_part(int number);
int __real_atoi(const char *text);
int part(int number);
int __wrap_part(int number) { return 1000 + __real_part(number) + (number > 90 ? part(3) : 0); }
int __wrap_atoi(const char *text) { return __real_atoi(text) + 2; }
"""


@pytest.mark.parametrize("without_unit", ["", "part", "wrapper"])
def test_wrapped_functions(project: Project, without_unit: str) -> None:
    """References to `part` go to its wrapper, but for those in its own unit, and `__real_part` is `part`."""
    (project.folder / "wrapper.c").write_text(WRAPPED)
    part = project.folder / "part.c"
    part.write_text(
        f"{part.read_text()}\nint asked(void) {{ return part(8); }}\n".replace(
            "__attribute__((weak)) int asked(void) { return 1; }", ""
        )
    )
    names = [name for name in ("main", "part", "library", "wrapper") if name != without_unit]
    objects = project.objects(*names)
    if without_unit:
        project.gcc("-c", f"{without_unit}.c", "-o", f"{without_unit}.o")
        objects.append(f"{without_unit}.o")
    row = project.link(*objects, "-Wl,--wrap=part", "-Wl,--wrap,atoi")
    assert row["action"] == "optimized", row["reason"]
    assert row["source"] == f"{len(names)} units"
    said = project.run("./theirs", "5")
    assert project.run("./ours", "5") == said and int(said.split()[0]) > 7000


def test_a_wrapped_function_that_a_compiler_may_call_is_left_to_the_linker(project: Project) -> None:
    """main.c defines memset."""
    (project.folder / "wrapper.c").write_text(
        "void *__real_memset(void *, int, unsigned long);\n"
        "void *__wrap_memset(void *to, int byte, unsigned long count) {\n"
        "  return __real_memset(to, byte, count);\n}\n"
    )
    row = project.link(*project.objects("main", "part", "library", "wrapper"), "-Wl,--wrap=memset")
    assert row["action"] == "kept" and "--wrap=memset: a unit defines this function" in row["reason"]


def test_symbols_of_the_command(project: Project) -> None:
    """An alias of a unit's function, a definition in place of a unit's, and a number."""
    (project.folder / "more.c").write_text(
        "int alias(int);\nextern char number[];\nint other(int value) { return value * 11; }\n"
        "int absent(void) { return alias(4) + (int)(long)number; }\n"
    )
    main = project.folder / "main.c"
    main.write_text(
        main.read_text().replace('absent ? "there" : "absent"', 'absent() > 90 ? "more" : "less"')
    )
    objects = project.objects("main", "part", "library", "more")
    options = ("-no-pie", "-Wl,--defsym=alias=unused_part", "-Wl,--defsym=number=64")
    row = project.link(*objects, *options)
    assert project.run("./ours", "5") == project.run("./theirs", "5")
    assert row["action"] == "optimized", row["reason"]


def test_a_response_file_that_cannot_be_read(project: Project) -> None:
    """The compiler reads quotes without an end; the program is then its own."""
    objects = project.objects("main", "part", "library")
    (project.folder / "words").write_text(f"{' '.join(objects)} '-lm")
    project.cc("@words", "-o", "ours")
    (row,) = [row for row in project.records() if row["output"] == "ours"]
    assert row["action"] == "kept" and "No closing quotation" in row["reason"]
    assert project.run("./ours", "2").endswith(" absent\n")


def test_the_words_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "words").write_text('-Wl,-T,a.ld "b c.o"')
    link = GnuLink.of(
        ["gcc", f"@{tmp_path}/words", "-Wl,-Map=a.map,--gc-sections", "-Xlinker", "-s", "-o", "a"]
    )
    expected = (
        "gcc",
        "-Wl,-T",
        "-Wl,a.ld",
        "b c.o",
        "-Wl,-Map=a.map",
        "-Wl,--gc-sections",
        "-Wl,-s",
        "-o",
        "a",
    )
    assert link.command == expected
    assert link.has_side_files and not link.why_not
    assert "-Wl,-Map=a.map" not in link.changed({}, tmp_path / "other").command
    assert GnuLink.of(["gcc", "-Wl,--wrap=f,-wrap,g", "-Wl,--wrap,h", "-o", "a"]).wrapped == ["f", "g", "h"]
    for word in ("-r", "-Wl,-r", "-flto", "-flto=auto", "-shared"):
        assert GnuLink.of(["gcc", word, "-o", "a"]).why_not.startswith(word.partition(",")[0])
    with pytest.raises(KeptReference, match="No such file"):
        GnuLink.of(["gcc", f"@{tmp_path}/none"])


def bitcode(text: str) -> bytes:
    return _native.Module(text.encode(), "unit").bitcode()


ONE = """
target triple = "thumbv7em-none-unknown-eabi"
@common = common global i64 0
@placed = constant i32 1, section ".vectors"
$group = comdat any
define weak i32 @weak() { ret i32 1 }
define linkonce_odr i32 @group() comdat { ret i32 2 }
define ptr @memcpy(ptr %to, ptr %from, i32 %count) { ret ptr %to }
define hidden i32 @one() {
  %found = call i32 @two()
  %more = call i32 @weak()
  %all = add i32 %found, %more
  ret i32 %all
}
define internal i32 @local() { ret i32 3 }
declare i32 @two()
"""
TWO = """
target triple = "thumbv7em-none-unknown-eabi"
define i32 @two() { ret i32 2 }
define i32 @weak() { ret i32 9 }
"""


def test_the_symbols_of_a_unit() -> None:
    symbols = {symbol.name: symbol for symbol in _native.unit_symbols(bitcode(ONE))}
    kinds = {name: symbol.kind for name, symbol in symbols.items()}
    defined = dict.fromkeys(("placed", "memcpy", "one"), DEF)
    assert kinds == {"common": COMMON, "weak": WEAKDEF, "group": WEAKDEF, "two": UNDEF, **defined}
    assert symbols["common"].size == 8 and symbols["group"].group == "group"
    assert symbols["one"].visibility == 3 and symbols["two"].visibility == 0  # LDPV_HIDDEN, LDPV_DEFAULT
    with pytest.raises(ValueError, match="cannot be one module"):
        _native.unit_symbols(b"BC no bitcode")


def test_units_as_one_module() -> None:
    one, two = bitcode(ONE), bitcode(TWO)
    first = {"weak": PREEMPTED, "two": RESOLVED, "one": PREVAILING}
    told = [[first.get(symbol.name, IRONLY) for symbol in _native.unit_symbols(one)]]
    told.append([IRONLY for _ in _native.unit_symbols(two)])
    text = _native.Module(_native.merge_units([one, two], told), "merged").print()
    assert "define hidden i32 @one()" in text  # something else refers to it
    assert "define internal i32 @two()" in text and "define internal i32 @weak()" in text
    assert "ret i32 9" in text and "ret i32 1\n" not in text  # the definition that the linker takes
    assert "@placed = dso_local constant i32 1, section" in text  # a linker script may keep it
    assert "define dso_local ptr @memcpy(" in text  # the code generator may call it
    with pytest.raises(ValueError, match="other symbols"):
        _native.merge_units([one, two], [told[0], []])


def test_data_that_nothing_changes_may_become_read_only() -> None:
    """A table of CRCs that C does not call const, for example: LLVM sees it in the whole program."""
    trials = object.__new__(ForeignProgramTrials)
    trials.build = cast(Build, SimpleNamespace(options=DriverOptions()))
    trials.before, trials.after = Sizes(1000, 700, 750, 250), None
    assert trials.is_better(Sizes(990, 700, 950, 40))
    assert not trials.is_better(Sizes(990, 700, 965, 40))  # more code than became read-only
    assert not trials.is_better(Sizes(990, 700, 735, 255))  # more in the memory of the machine
    assert not trials.is_better(Sizes(1000, 700, 750, 250))
    trials.after = Sizes(900, 700, 750, 150)
    assert not trials.is_better(Sizes(910, 700, 750, 150))


@pytest.mark.parametrize("tool", ["qemu-system-arm"])
def test_a_program_for_a_microcontroller(tmp_path: Path, tool: str) -> None:
    """The same program for a Cortex-M4, by its own linker script, prints the same in an emulator."""
    project = project_of(tmp_path, "arm-none-eabi-gcc", MCU)
    if not shutil.which(tool) or not Path("/usr/lib/picolibc/arm-none-eabi").is_dir():
        pytest.skip("needs qemu-system-arm and picolibc-arm-none-eabi")
    script = "__flash = 0; __flash_size = 0x400000; __ram = 0x20000000; __ram_size = 0x400000;\n"
    (tmp_path / "board.ld").write_text(f"{script}__stack_size = 8k;\nINCLUDE picolibc.ld\n")
    source = (tmp_path / "main.c").read_text()
    (tmp_path / "main.c").write_text(source.replace("atoi(words[1])", "10"))
    objects = project.objects("main", "part", "library")
    libc = ("--crt0=semihost", "--oslib=semihost", "-T", "board.ld", "-Wl,--gc-sections")
    row = project.link(*objects, *libc)
    assert row["action"] == "optimized", row["reason"]
    printed = []
    for name in ("theirs", "ours"):
        command = [tool, "-M", "mps2-an386", "-semihosting", "-nographic", "-kernel", name]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, check=True, timeout=60, env=os.environ
        )
        printed.append(done.stdout + done.stderr)
    assert printed[0] == printed[1] and b"392 1 7 299 absent" in printed[1]
