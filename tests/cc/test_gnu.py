"""burnish cc with a GNU compiler for another machine: its command, its object, and clang's in its place."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.cc.commands import cc
from burnish.cc.commands.launch import find_launcher
from burnish.cc.gnu import GnuCompiler, told
from burnish.cc.jobs import ClangJobs
from burnish.cc.requests import STACK_LIMIT, Compiled, DriverOptions, KeptReference
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import write_script

SAID = Path(__file__).parent / "gnu"  # what compilers print with -E -v
MACHINE = ("-mcpu=cortex-m4", "-mthumb")
FRONT_END = ("--target=arm-none-eabi", *MACHINE, "-fno-unwind-tables", "-fshort-enums")
SOURCE = """
struct item { enum { ADD, SUBTRACT, MIX } kind; int value; };
static int apply(const struct item *items, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    switch (items[i].kind) {
    case ADD: total += items[i].value; break;
    case SUBTRACT: total -= items[i].value; break;
    case MIX: total ^= items[i].value * 3; break;
    }
  return total;
}
int once(const struct item *items, int count) { return apply(items, count) * STEP; }
int twice(const struct item *items, int count) { return apply(items, count) - apply(items + 1, count - 1); }
unsigned crc(const unsigned char *bytes, unsigned count) {
  unsigned rest = ~0u;
  while (count--) {
    rest ^= *bytes++;
    for (int i = 0; i < 8; i++) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest;
}
"""
REAL = {
    "arm-none-eabi-gcc": ("-mcpu=cortex-m0plus", "-mthumb"),
    "riscv64-unknown-elf-gcc": ("-march=rv32imc", "-mabi=ilp32"),
    "aarch64-linux-gnu-gcc": (),
}


@dataclass
class Project:
    """A folder with a source, and a stand-in for a GNU compiler: it copies an object that is there."""

    folder: Path
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "log.jsonl"
        (self.folder / "item.c").write_text(SOURCE)
        tools = self.folder / "tools"
        tools.mkdir()
        write_script(
            tools / "arm-none-eabi-gcc",
            f"""echo "$@" >> {self.folder}/commands
            case "$*" in
            -dumpmachine) echo arm-none-eabi ;;
            *"-E -v"*) cat {SAID}/arm-none-eabi-gcc.txt >&2; exit ;;
            *broken*) echo "broken.c:1: error: broken" >&2; exit 4 ;;
            *" -o "*) for last; do :; done; cp {self.folder}/theirs.o "$last" ;;
            *) echo "linked: $*" ;;
            esac""",
        )

    def theirs(self, level: str, *flags: str, source: str = SOURCE) -> bytes:
        """Make the object of the stand-in: clang's, at a level."""
        file = self.folder / "theirs.c"
        file.write_text(source)
        program = load_program(file, arguments=(*FRONT_END, "-DSTEP=5", *flags), level=level)
        made = open_baseline(program, level).object_code()
        (self.folder / "theirs.o").write_bytes(made)
        return made

    def run(self, *words: str, name: str = "burnish-cc") -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}"}
        command = [name, "--report", str(self.log), "--budget", "30 evaluations", *words]
        command[0] = find_launcher("burnish-cc") if name == "burnish-cc" else str(self.folder / name)
        return subprocess.run(
            command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False
        )

    def compile(self, *words: str) -> dict[str, Any]:
        """Compile the source, and return its line of the log."""
        source = ("-Os", "-DSTEP=5", "-c", "item.c", "-o", "item.o")
        done = self.run("arm-none-eabi-gcc", *MACHINE, *words, *source)
        assert (done.returncode, done.stderr) == (0, "")
        return self.records()[-1]

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def said(name: str) -> GnuCompiler:
    return GnuCompiler.parse((SAID / f"{name}.txt").read_text())


def pairs(words: Sequence[str], option: str) -> list[str]:
    return [value for word, value in itertools.pairwise(words) if word == option]


def test_what_the_compiler_says_is_what_clang_is_told() -> None:
    clang = find_tool("clang")
    words = told(said("arm-none-eabi-gcc"), clang)
    assert words[:2] == ["--target=arm-none-eabi", "-Oz"]
    expected = {
        "-mcpu=cortex-m4",
        "-mthumb",
        "-mfloat-abi=soft",
        "-ffunction-sections",
        "-D__USES_INITFINI__",
    }
    assert expected <= set(words)
    assert {"-fshort-enums", "-fno-unwind-tables", "-fno-addrsig", "-Wno-int-conversion"} <= set(words)
    assert not {"-march=armv7e-m", "-fno-ipa-sra", "-quiet", "-Os", "-I", "include", "null"} & set(words)
    libc, own, newlib = pairs(words, "-isystem")
    assert libc == "/usr/lib/picolibc/arm-none-eabi/include"
    assert Path(own, "stddef.h").is_file() and "clang" in own  # clang's, instead of GCC's
    assert newlib.endswith("/arm-none-eabi/include")


def test_clang_is_told_what_newer_compilers_do_by_default() -> None:
    text = (SAID / "arm-none-eabi-gcc.txt").read_text()
    newer = text.replace("gcc version 12.2.1", "gcc version 15.1.0")
    assert newer != text
    words = told(GnuCompiler.parse(newer), find_tool("clang"))
    assert "-std=gnu23" in words and "-Wno-int-conversion" not in words
    given = newer.replace(" -fno-ipa-sra", " -std=c99")
    assert "-std=gnu23" not in told(GnuCompiler.parse(given), find_tool("clang"))


def test_what_builds_with_debug_information_say_is_no_obstacle() -> None:
    """GCC adds -fworking-directory to -g; Zephyr gives most of the others."""
    text = (SAID / "arm-none-eabi-gcc.txt").read_text()
    more = "-g -fworking-directory -fno-defer-pop -fno-printf-return-value -mfp16-format=ieee -mtp=soft"
    words = told(GnuCompiler.parse(text.replace("-fno-ipa-sra", more)), find_tool("clang"))
    assert {"-g", "-fno-defer-pop"} <= set(words)
    assert not {"-fworking-directory", "-fno-printf-return-value", "-mfp16-format=ieee"} & set(words)


def test_what_microcontrollers_vendors_say_is_no_obstacle() -> None:
    """STM32CubeIDE gives the first two options for every file, libopencm3 the last one."""
    text = (SAID / "arm-none-eabi-gcc.txt").read_text().replace("-mcpu=cortex-m4", "-mcpu=cortex-m3")
    more = "-fcyclomatic-complexity -fstack-usage -fstrict-volatile-bitfields -mfix-cortex-m3-ldrd"
    words = told(GnuCompiler.parse(text.replace("-fno-ipa-sra", more)), find_tool("clang"))
    assert {"-fstack-usage", "-faapcs-bitfield-width"} <= set(words)
    assert not {"-fcyclomatic-complexity", "-fstrict-volatile-bitfields", "-mfix-cortex-m3-ldrd"} & set(words)


def test_loops_of_a_memory_function_do_not_call_it() -> None:
    """A library builds its own memset with -fno-tree-loop-distribute-patterns."""
    text = (SAID / "arm-none-eabi-gcc.txt").read_text()
    given = text.replace(" -fno-ipa-sra", " -fno-tree-loop-distribute-patterns")
    words = told(GnuCompiler.parse(given), find_tool("clang"))
    assert {"-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"} <= set(words)


def test_what_boot_loaders_say_on_arm_has_another_name_in_clang() -> None:
    """U-Boot gives these options for every file."""
    text = (SAID / "arm-none-eabi-gcc.txt").read_text()
    more = "-mword-relocations -mgeneral-regs-only -mabi=aapcs-linux -Wa,-mimplicit-it=always"
    words = told(GnuCompiler.parse(text.replace("-fno-ipa-sra", more)), find_tool("clang"))
    assert {"-mno-movt", "-mfpu=none", "-mabi=aapcs-linux"} <= set(words)
    assert "-fshort-enums" not in words  # of this ABI
    assert not {"-mword-relocations", "-mgeneral-regs-only", "-Wa,-mimplicit-it=always"} & set(words)


@pytest.mark.parametrize(
    ("compiler", "given", "expected"),
    [
        ("riscv64-unknown-elf-gcc", "-ffixed-gp -ffixed-s3", {"-ffixed-x3", "-ffixed-x19"}),
        ("arm-none-eabi-gcc", "-ffixed-r9", {"-ffixed-r9"}),
    ],
)
def test_registers_that_are_not_used_have_their_names_in_clang(
    compiler: str, given: str, expected: set[str]
) -> None:
    text = (SAID / f"{compiler}.txt").read_text().replace(" -quiet", f" -quiet {given}")
    words = told(GnuCompiler.parse(text), find_tool("clang"))
    assert {word for word in words if word.startswith("-ffixed-")} == expected


def test_what_kernels_and_busybox_say_on_x86_is_no_obstacle() -> None:
    """BusyBox gives the first option for every file, Linux the last one."""
    more = (
        "-malign-data=abi -maccumulate-outgoing-args -mstringop-strategy=libcall -mpreferred-stack-boundary=3"
    )
    text = (SAID / "gcc.txt").read_text().replace(" -quiet", f" -quiet {more}")
    words = told(GnuCompiler.parse(text), find_tool("clang"))
    assert "-mstack-alignment=8" in words
    assert not set(more.split()) & set(words)


def test_a_compiler_for_64_bits_is_asked_for_32() -> None:
    words = told(said("riscv64-unknown-elf-gcc"), find_tool("clang"))
    assert words[0] == "--target=riscv32-unknown-elf"
    assert {"-march=rv32imc", "-mabi=ilp32"} <= set(words)
    assert not any(word.startswith("-misa-spec") for word in words)


def test_another_compiler_says_something_else() -> None:
    with pytest.raises(KeptReference, match="does not say what a GNU compiler says"):
        GnuCompiler.parse("clang version 23.1.4\nTarget: arm-none-eabi\n")


def test_a_smaller_object_takes_the_compilers_place(project: Project) -> None:
    theirs = project.theirs("O0")
    row = project.compile()
    ours = (project.folder / "item.o").read_bytes()
    before, after = (_native.object_sizes(content, False) for content in (theirs, ours))
    assert row["action"] == "optimized", row["reason"]
    assert row["compiler"] == "arm-none-eabi-gcc 12.2.1"
    assert (row["loaded_bytes_before"], row["loaded_bytes"]) == (before.loaded_bytes, after.loaded_bytes)
    assert after.loaded_bytes < before.loaded_bytes
    assert _native.elf_abi(ours) == _native.elf_abi(theirs)
    sections = {section.name: section.type for section in _native.elf_sections(ours)}
    assert sections[".note.GNU-stack"] == 1 and not any(".ARM.exidx" in name for name in sections)
    first, *_ = (project.folder / "commands").read_text().splitlines()
    assert first == "-mcpu=cortex-m4 -mthumb -Os -DSTEP=5 -c item.c -o item.o"  # as the user gave it


def test_conditional_inline_assembly_needs_no_it(project: Project) -> None:
    """GNU as with -mimplicit-it=always writes the instruction IT before; so does LLVM."""
    source = (
        SOURCE
        + 'int least(int a, int b) { __asm__("cmp %0, %1\\n movgt %0, %1" : "+r"(a) : "r"(b)); return a; }\n'
    )
    project.theirs("O0", source=source)
    (project.folder / "item.c").write_text(source)
    row = project.compile("-Wa,-mimplicit-it=always")
    assert row["action"] == "optimized", row["reason"]
    sections = _native.elf_sections((project.folder / "item.o").read_bytes())
    least = next(section.content for section in sections if section.name == ".text.least")
    assert b"\xc8\xbf" in least  # it gt


def test_no_unwind_tables_beside_functions_that_may_throw(project: Project) -> None:
    """A declaration without `nounwind`, as those of built-in functions are, throws nothing by itself."""
    copy = "void *memcpy(void *, const void *, unsigned);\nvoid copy(char *to) { memcpy(to, to + 90, 80); }\n"
    source = copy + SOURCE
    project.theirs("O0", "-ffreestanding", source=source)
    (project.folder / "item.c").write_text(source)
    row = project.compile("-ffreestanding")
    assert row["action"] == "optimized", row["reason"]
    sections = _native.elf_sections((project.folder / "item.o").read_bytes())
    assert not any(".ARM.exidx" in section.name for section in sections)


def test_a_program_with_its_own_library_for_compilers_needs_no_more_of_it(project: Project) -> None:
    """A boot loader lacks __aeabi_uread4, which LLVM calls with minsize, and perhaps __aeabi_uidiv."""
    packed = "struct packed { char a; unsigned b; long long c; } __attribute__((packed));\n"
    read = "long long read(struct packed *p) { p->b += 3; p->c = p->b; return p[1].c + p[2].b; }\n"
    divide = "unsigned tenth(unsigned x) { return x / 10; }\n"
    shift = "long long shift(long long x, int by) { return x << by; }\n"
    flags = ("-ffreestanding", "-mno-unaligned-access")
    for source, chip, expected in (
        (packed + read + SOURCE, "cortex-m0plus", "optimized"),
        (divide + SOURCE, "cortex-m0plus", "kept"),  # without a long product
        (divide + shift + SOURCE, "cortex-a8", "optimized"),
    ):
        project.theirs(
            "O0",
            f"-mcpu={chip}",
            *flags,
            source=source.replace("x / 10", "x").replace("x << by", "x"),
        )
        (project.folder / "item.c").write_text(source)
        text = (SAID / "arm-none-eabi-gcc.txt").read_text().replace("-mcpu=cortex-m4", f"-mcpu={chip}")
        (project.folder / "said.txt").write_text(text.replace(" -fno-ipa-sra", f" {' '.join(flags)}"))
        script = project.folder / "tools" / "arm-none-eabi-gcc"
        script.write_text(
            script.read_text().replace(f"{SAID}/arm-none-eabi-gcc.txt", f"{project.folder}/said.txt")
        )
        row = project.compile(*flags)
        assert row["action"] == expected, row["reason"]
        if expected == "kept":
            assert row["reason"] == "clang's code calls '__aeabi_uidiv', which the compiler's does not"
        symbols = _native.elf_symbols((project.folder / "item.o").read_bytes())
        assert not [symbol.name for symbol in symbols if symbol.name and not symbol.is_defined]


@pytest.mark.parametrize("in_header", [False, True], ids=["in the source", "in a header"])
def test_a_local_variable_in_a_named_register_is_left_to_the_compiler(
    project: Project, in_header: bool
) -> None:
    """For GCC it is the register; for clang it has no value. U-Boot's global data are one on RISC-V."""
    base = 'static inline int base(void) { register int *data __asm__("r9"); return data[3]; }\n'
    use = "int used(void) { return base(); }\n"
    theirs = project.theirs("O0", source=base + SOURCE + use)
    (project.folder / "item.c").write_text(("#include <base.h>\n" if in_header else base) + SOURCE + use)
    folder = project.folder / "headers"
    folder.mkdir()
    (folder / "base.h").write_text(base)
    text = (SAID / "arm-none-eabi-gcc.txt").read_text()
    start = "#include <...> search starts here:\n"
    (project.folder / "said.txt").write_text(text.replace(start, f"{start} {folder}\n"))
    script = project.folder / "tools" / "arm-none-eabi-gcc"
    script.write_text(
        script.read_text().replace(f"{SAID}/arm-none-eabi-gcc.txt", f"{project.folder}/said.txt")
    )
    row = project.compile()
    assert row["action"] == "kept" and "variable 'data' is uninitialized" in row["reason"]
    assert (project.folder / "item.o").read_bytes() == theirs


def test_the_file_of_stack_usage_describes_the_smaller_object(project: Project) -> None:
    project.theirs("O0")
    script = project.folder / "tools" / "arm-none-eabi-gcc"
    theirs = (
        "item.c:3:12:apply\t4000\tstatic\nitem.c:13:5:once\t4008\tstatic\nitem.c:14:5:twice\t4016\tstatic\n"
    )
    (project.folder / "theirs.su").write_text(theirs)
    text = script.read_text().replace(
        'theirs.o "$last" ;;', f'theirs.o "$last"; cp {project.folder}/theirs.su item.su ;;'
    )
    script.write_text(text)
    said = SAID / "arm-none-eabi-gcc.txt"
    (project.folder / "said.txt").write_text(said.read_text().replace("-fno-ipa-sra", "-fstack-usage"))
    script.write_text(text.replace(str(said), f"{project.folder}/said.txt"))
    command = ("arm-none-eabi-gcc", *MACHINE, "-Os", "-DSTEP=5", "-c", "item.c", "-o", "item.o")
    found = []
    for recalled in (False, True):  # the second build takes the object of the first one
        done = project.run("--budget", "8x", "--remember", str(project.folder / "memory"), *command)
        row = project.records()[-1]
        assert (done.returncode, row["action"], row["recalled"]) == (0, "optimized", recalled), row["reason"]
        found.append((project.folder / "item.su").read_text())
    assert found[0] == found[1]
    lines = [line.split("\t") for line in found[0].splitlines()]
    usage = {function: (int(size), kind) for function, size, kind in lines}
    assert {"item.c:13:5:once", "item.c:14:5:twice", "item.c:15:crc"} <= set(usage)
    assert all(size < 100 and kind == "static" for size, kind in usage.values())


def test_a_stack_note_is_written_only_where_the_compiler_writes_one(project: Project) -> None:
    theirs = project.theirs("O0")
    (project.folder / "theirs.o").write_bytes(theirs.replace(b".note.GNU-stack", b".note.otherwise"))
    assert project.compile()["action"] == "optimized"
    sections = _native.elf_sections((project.folder / "item.o").read_bytes())
    assert next(section.type for section in sections if section.name == ".note.GNU-stack") == 0  # SHT_NULL


def test_a_larger_object_does_not(project: Project) -> None:
    theirs = project.theirs("Oz", source="int once(void) { return STEP; }\nint twice(void) { return 0; }\n")
    done = project.run("arm-none-eabi-gcc", *MACHINE, "-Os", "-DSTEP=5", "-c", "item.c", "-o", "item.o")
    assert done.returncode == 0
    assert (project.folder / "item.o").read_bytes() == theirs


@pytest.mark.parametrize(
    ("flags", "source", "why"),
    [
        (("-fno-short-enums",), SOURCE, "the objects differ in Tag_ABI_enum_size"),
        (("-fshort-wchar",), SOURCE, "the objects differ in Tag_ABI_PCS_wchar_t"),
        (
            (),
            f"{SOURCE}\nint third(void) {{ return 3; }}",
            "the symbol 'third' would not be as clang defines it",
        ),
    ],
    ids=["size of enumerations", "size of wchar_t", "another function"],
)
def test_an_object_that_does_not_fit_is_not_used(
    project: Project, flags: tuple[str, ...], source: str, why: str
) -> None:
    theirs = project.theirs("O0", *flags, source=source)
    row = project.compile()
    assert row["action"] == "kept" and why in row["reason"]
    assert (project.folder / "item.o").read_bytes() == theirs


def test_no_new_function_is_called(project: Project) -> None:
    """The library of a firmware may lack what clang would call: puts instead of printf."""
    source = 'int printf(const char *, ...);\nvoid say(void) { printf("ready\\n"); }\n' + SOURCE
    project.theirs("O0", "-fno-builtin", source=source)
    (project.folder / "item.c").write_text(source)
    row = project.compile()
    assert row["action"] == "optimized", row["reason"]
    symbols = _native.elf_symbols((project.folder / "item.o").read_bytes())
    assert {symbol.name for symbol in symbols if not symbol.is_defined} == {"", "printf"}


def test_strings_can_be_dropped_with_their_function(project: Project) -> None:
    """GNU ld drops sections; with -fdata-sections GCC gives the strings of each function one."""
    source = (
        "int print(const char *);\nint both(void) { return print(NAME) + print(NAME); }\n"
        + "".join(f'int say{i}(void) {{ return print("text {i}") + print("shared"); }}\n' for i in range(9))
    ).replace("NAME", '"both"')
    project.theirs("O0", source=source)
    (project.folder / "item.c").write_text(source)
    said = SAID / "arm-none-eabi-gcc.txt"
    script = project.folder / "tools" / "arm-none-eabi-gcc"
    for option, expected in (("", {".rodata.str1.1"}), ("-fdata-sections ", set())):
        text = said.read_text().replace(" -ffunction-sections", f" {option}-ffunction-sections")
        (project.folder / "said.txt").write_text(text)
        script.write_text(script.read_text().replace(str(said), f"{project.folder}/said.txt"))
        assert project.compile()["action"] == "optimized"
        sections = _native.elf_sections((project.folder / "item.o").read_bytes())
        names = {section.name for section in sections if section.name.startswith(".rodata")}
        assert names & {".rodata.str1.1"} == expected
    assert {".rodata.say3.str1", ".rodata.both.str1"} <= names
    merged = {section.flags for section in sections if section.name in names}
    assert merged == {0x32}  # SHF_ALLOC, SHF_MERGE, SHF_STRINGS


def test_an_option_that_clang_does_not_know(project: Project) -> None:
    theirs = project.theirs("O0")
    text = (SAID / "arm-none-eabi-gcc.txt").read_text().replace("-fno-ipa-sra", "-fno-such-thing")
    (project.folder / "said.txt").write_text(text)
    script = project.folder / "tools" / "arm-none-eabi-gcc"
    script.write_text(
        script.read_text().replace(f"{SAID}/arm-none-eabi-gcc.txt", f"{project.folder}/said.txt")
    )
    row = project.compile()
    assert row["action"] == "passed through"
    assert (
        "clang cannot be told what the compiler was told: unknown argument: '-fno-such-thing'"
        in row["reason"]
    )
    assert (project.folder / "item.o").read_bytes() == theirs


def test_everything_else_is_the_compilers(project: Project) -> None:
    done = project.run("arm-none-eabi-gcc", "item.o", "-Os", "-lc")
    assert done.stdout == "linked: item.o -Os -lc\n"
    project.theirs("O0")
    assert project.run("arm-none-eabi-gcc", "-O2", "-c", "item.c", "-o", "fast.o").returncode == 0
    assert project.records()[-1]["reason"].startswith("-O2: no objective for speed yet")
    failed = project.run("arm-none-eabi-gcc", "-Os", "-c", "broken.c", "-o", "broken.o")
    assert (failed.returncode, failed.stderr) == (4, "broken.c:1: error: broken\n")
    missing = project.run("avr-gcc", "-Os", "-c", "item.c")
    assert missing.returncode == 2 and "avr-gcc: no such compiler in PATH" in missing.stderr


def test_a_link_to_the_launcher_names_the_compiler(project: Project) -> None:
    (project.folder / "burnish-arm-none-eabi-gcc").symlink_to(find_launcher("burnish-cc"))
    theirs = project.theirs("O0")
    words = (*MACHINE, "-Os", "-DSTEP=5", "-c", "item.c", "-o", "item.o")
    assert project.run(*words, name="burnish-arm-none-eabi-gcc").returncode == 0
    assert project.records()[-1]["action"] == "optimized"
    assert len((project.folder / "item.o").read_bytes()) != len(theirs)


def test_help_for_a_link_to_the_launcher_is_the_compilers(project: Project) -> None:
    name = "burnish-arm-none-eabi-gcc"
    (project.folder / name).symlink_to(find_launcher("burnish-cc"))
    assert project.run("--help", name=name).stdout == "linked: --help\n"
    assert project.run("--help").stdout.startswith("usage: burnish cc [OPTION]")


def test_soft_floats_are_an_abi_of_their_own(project: Project) -> None:
    """An object that says nothing about arguments in registers for floats passes none there."""
    soft = _native.elf_abi(project.theirs("O0"))
    hard = _native.elf_abi(project.theirs("O0", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"))
    assert dict(soft)["Tag_ABI_VFP_args"] == 0 and dict(hard)["Tag_ABI_VFP_args"] == 1


@pytest.mark.parametrize("compiler", REAL)
def test_a_real_compiler(project: Project, compiler: str) -> None:
    shutil.rmtree(project.folder / "tools")
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed: burnish targets names its package")
    words = (*REAL[compiler], "-Os", "-DSTEP=5", "-ffunction-sections", "-c", "item.c", "-o")
    subprocess.run([compiler, *words, "gcc.o"], cwd=project.folder, check=True)
    assert project.run(compiler, *words, "item.o").returncode == 0
    sizes = [
        _native.object_sizes((project.folder / name).read_bytes(), False) for name in ("gcc.o", "item.o")
    ]
    (row,) = project.records()
    assert row["loaded_bytes_before"] and row["compiler"].startswith(compiler)
    assert "failed" not in row["reason"]
    assert sizes[1].loaded_bytes <= sizes[0].loaded_bytes
    link = [compiler, *REAL[compiler], "-nostdlib", "-r", "item.o", "-o", "all.o"]
    subprocess.run(link, cwd=project.folder, check=True)


@pytest.mark.parametrize(
    ("compiler", "expected"), [("gcc", None), ("arm-none-eabi-gcc", STACK_LIMIT)], ids=["this", "another"]
)
@pytest.mark.parametrize("words", ["-Os -c item.c", "item.o -o item"], ids=["compile", "link"])
def test_only_calls_on_another_machine_have_a_limit_of_stack(
    project: Project, monkeypatch: pytest.MonkeyPatch, compiler: str, expected: float | None, words: str
) -> None:
    """The machine is that of the plan, not that of the compiler's name."""
    found = shutil.which(compiler, path=f"{project.folder / 'tools'}:{os.environ['PATH']}")
    if not found:
        pytest.skip(f"{compiler} is not installed")
    limits = []

    def improve(plan: ClangJobs, _compiled: Compiled, options: DriverOptions, *_: object) -> None:
        assert plan.is_for_another_machine == (expected is not None) and not plan.is_cross
        limits.append(options.stack_limit)

    monkeypatch.setattr(cc, "_improve", improve)
    monkeypatch.chdir(project.folder)
    given = DriverOptions(gnu=Path(found), compiled=Compiled(1.0, 0.0, frozenset()), whole_program=True)
    for options in (given, replace(given, stack_limit=1.1)):
        assert cc.compile_and_improve(words.split(), options, cxx=False, optimizer=cc.default_optimizer) == 0
    assert limits == [expected, 1.1]
