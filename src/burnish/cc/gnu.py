"""Builds for another machine by its GNU compiler: what clang would be told for the same objects.

The user's compiler, such as arm-none-eabi-gcc, runs first and unchanged, and links. It also says where its
headers are and which machine it makes code for: `gcc -E -v` prints the search list and the words of its own
cc1. clang's front end then reads the same source for the same machine.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cc.jobs import NO_WARNINGS, ClangJob, ClangJobs, parse_plan
from burnish.cc.outcomes import Outcome
from burnish.cc.requests import KeptReference

CXX_SUFFIXES = (".cc", ".cpp", ".cxx", ".c++", ".C", ".CC", ".cp", ".CPP", ".ii")
SOURCES = (".c", ".i", *CXX_SUFFIXES)

# GCC's options whose value is the next word; those of cc1 alone are in the last line.
_SEPARATE = frozenset(
    """
    -o -x -I -D -U -MF -MT -MQ -include -imacros -isystem -iquote -idirafter -isysroot -iprefix -iwithprefix
    -iwithprefixbefore -T -u -L -l -Xlinker -Xassembler -Xpreprocessor --param -B -wrapper
    -imultilib -imultiarch -dumpbase -dumpbase-ext -dumpdir -auxbase -auxbase-strip
    """.split()
)

# Options that say how GCC optimizes, reports or finds its own parts. They mean nothing to clang, or nothing
# for the code: the words of cc1 and the search list have their effect. A final * matches any ending.
DROPPED = """
    -quiet -v -dumpbase* -dumpdir -auxbase* -imultilib -imultiarch -iprefix -isysroot -isystem -iquote -I*
    -idirafter -nostdinc* -E -M -MM -MD -MMD -MP -MG -MF -MT -MQ -o -c -W* -w -pedantic* -pipe
    -fpreprocessed -fworking-directory -specs* --specs* --param* --sysroot* -B* -wrapper -L* -l* -T*
    -Xlinker -Wl,* -Wa,-a* -Wa,-mimplicit-it*
    -nostdlib -nodefaultlibs -nostartfiles -static -s -O* -mlibarch* -misa-spec* -mtune* -mthumb-interwork
    -mno-thumb-interwork -mtp* -mabi=lp64 -mtls-dialect* -mprint-tune-info -mlibc* -fdiagnostics*
    -fno-diagnostics* -fanalyzer -fmessage-length* -fverbose-asm -fipa-* -fno-ipa-* -fconserve-stack
    -fno-conserve-stack -ftree-* -fno-tree-* -fgcse* -fno-gcse* -fsched* -fno-sched* -freorder-*
    -fno-reorder-* -fno-section-anchors -fsection-anchors -finline-limit* -fira-*
    -fno-guess-branch-probability -fno-if-conversion* -fif-conversion* -fno-cse-* -fcse-* -frename-registers
    -fno-move-loop-* -fmove-loop-* -fpeel-loops -fcaller-saves -fno-caller-saves -fno-peephole*
    -fmax-errors* -fno-inline-small-functions -fno-inline-functions-called-once -findirect-inlining
    -fpartial-inlining -fno-partial-inlining -fno-shrink-wrap* -fshrink-wrap* -fno-split-wide-types*
    -fno-forward-propagate -fno-printf-return-value -fno-code-hoisting -fcode-hoisting -fno-web -fweb
    -funit-at-a-time -fno-store-merging -fstore-merging -fno-branch-count-reg -fvar-tracking*
    -fno-var-tracking* -fno-allow-store-data-races -fno-thread-jumps -fno-crossjumping -fno-dce -fno-dse
    -fno-optimize-strlen -fisolate-erroneous-* -fno-isolate-erroneous-* -fvect-cost-model*
    -fsimd-cost-model* -fno-enforce-eh-specs -fnothrow-opt -fno-gnu-unique -fconcepts -mfp16-format=ieee
    -masm-syntax-unified -mfpu=auto -fcyclomatic-complexity -fdump-* -fno-early-inlining
    -fearly-inlining -fno-aggressive-loop-optimizations -faggressive-loop-optimizations -fno-cprop-registers
    -fcprop-registers -femit-struct-debug-* -fno-loop-optimize -floop-optimize -fno-unswitch-loops
    -funswitch-loops -mno-apcs-frame -mno-sched-prolog -mno-fdpic -mvectorize-with-neon-* -mrestrict-it
    -mno-restrict-it -malign-data=* -maccumulate-outgoing-args -mno-accumulate-outgoing-args -mpush-args
    -mno-push-args -minline-all-stringops -minline-stringops-dynamically -mno-align-stringops
    -mstringop-strategy=* -mmemcpy-strategy=* -mmemset-strategy=* -mbranch-cost=* -mmove-max=* -mstore-max=*
    -mprefer-avx128 -mno-fancy-math-387 -mdispatch-scheduler
""".split()
_DROPPED = frozenset(word for word in DROPPED if not word.endswith("*"))
_DROPPED_BEGINNINGS = tuple(word[:-1] for word in DROPPED if word.endswith("*"))

# The registers of RISC-V by their numbers; clang knows them as x0 to x31.
_RISCV_REGISTERS = """
    zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6
""".split()

_STACK_BOUNDARY = re.compile(r"-mpreferred-stack-boundary=(\d)")  # of x86, as a power of two

# What clang calls otherwise, on ARM.
_OF_ARM = {
    "-mword-relocations": "-mno-movt",  # no address in the immediates of movw and movt
    "-mgeneral-regs-only": "-mfpu=none",
    "-fstrict-volatile-bitfields": "-faapcs-bitfield-width",
}

# Options that GCC and clang share word for word; GCC prints those of its cc1 without their quotes.
_AS_GIVEN = ("-D", "-U", "-x", "-include", "-imacros")
_OF_OUTPUTS = ("-c", "-o", "-M", "-Wp,-M", "-save-temps", "--save-temps")

# What GCC before 14 only warns of, and clang rejects.
_OLD_C = (
    "implicit-function-declaration",
    "implicit-int",
    "int-conversion",
    "incompatible-pointer-types",
    "incompatible-function-pointer-types",
    "return-mismatch",
)
# The two compilers differ in a local variable in a named register that has no value. For GCC it is that
# register, which boot loaders use for their global data. For clang it is nothing. Such code may be in a
# header, and the folders of all headers are given as those of the system.
_REFUSED_CODE = ("-Werror=uninitialized", "-Wno-sometimes-uninitialized", "-Wsystem-headers")
_OWN_HEADERS = re.compile(r"/gcc(?:-cross)?/[^/]+/[^/]+/include(-fixed)?$")


@dataclass(frozen=True)
class GnuCompiler:
    """The answer of a GNU compiler about one of its commands."""

    version: str  # of GCC
    machine: str  # the triple, as GCC was built for it
    compiler_proper: str  # "cc1" for C, "cc1plus" for C++
    words: tuple[str, ...]  # of it
    quoted: tuple[str, ...]  # folders of headers in quotes alone
    folders: tuple[str, ...]  # folders of all headers, in order

    @classmethod
    def parse(cls, said: str) -> GnuCompiler:
        """Parse the output of `gcc -E -v`.

        Raises:
            KeptReference: it is not the text of a GNU compiler.
        """
        version = re.search(r"^gcc version (\S+)", said, re.MULTILINE)
        machine = re.search(r"^Target: (\S+)", said, re.MULTILINE)
        command = re.search(r"^ \S*/(cc1(?:plus)?) (.*)", said, re.MULTILINE)
        quoted = re.search(r'#include "\.\.\." search starts here:\n((?: .*\n)*)', said)
        folders = re.search(r"#include <\.\.\.> search starts here:\n((?: .*\n)*)End of search list", said)
        if not (version and machine and command and quoted and folders):
            raise KeptReference("the compiler does not say what a GNU compiler says with -E -v")
        lines = (tuple(line[1:] for line in found[1].splitlines()) for found in (quoted, folders))
        return cls(version[1], machine[1], command[1], tuple(command[2].split()), *lines)

    @property
    def is_cxx(self) -> bool:
        """Return whether the command compiles C++."""
        return self.compiler_proper == "cc1plus"

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.version.partition(".")[0])

    @property
    def triple(self) -> str:
        """The machine of this command as clang names it: GCC for RISC-V makes code for 32 bits, too."""
        marches = [word for word in self.words if word.startswith("-march=rv32")]
        return self.machine.replace("riscv64", "riscv32") if marches else self.machine


def make_plan(
    compiler: Path,
    clang: Path,
    arguments: Sequence[str],
    directory: Path | None = None,
    *,
    whole_program: bool = False,
) -> ClangJobs | None:
    """Return the jobs of clang for the objects of a GNU compiler's command; None if it makes none.

    A link is a job, too, the compiler's own, if the command also compiles or with `whole_program`. The
    command runs in `directory`, by default in this process's.

    Raises:
        KeptReference: clang cannot be told what the compiler was told.
    """
    words = list(_pairs(arguments))
    sources, links = sources_of(arguments), _links(words)
    given = [word for word, _ in words]
    from_files = any(word.startswith("@") for word in given)
    if links and whole_program and not sources and ("-o" in given or not from_files):
        return ClangJobs((_link(compiler, words, {}),), "", _machine_of(compiler), compiler.name)
    if not sources or not (links or "-c" in given) or from_files:
        return None
    if links and (
        any(word.startswith("-x") for word in given)
        or len({_is_cxx(source, words) for source in sources}) > 1
    ):
        raise KeptReference("the command compiles several languages and links; let it be several commands")
    asked = ask(compiler, words, "c++" if _is_cxx(sources[0], words) else "c", directory)
    outputs = [value for word, value in words if word == "-o"] if not links else []
    command = [str(clang), "-###", *told(asked, clang)]
    command += _joined(pair for pair in words if pair[0].startswith(_AS_GIVEN))
    command += ["-c", *sources, *(text for value in outputs[-1:] for text in ("-o", value))]
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = os.fsdecode(done.stderr)
    if done.returncode or (plan := parse_plan(said)) is None:
        errors = re.findall(r"error: (.*)", said) or ["it prints no jobs"]
        raise KeptReference(f"clang cannot be told what the compiler was told: {'; '.join(errors)}")
    plan = replace(plan, gnu=f"{compiler.name} {asked.version}")
    return _with_link(plan, compiler, words, sources) if links else plan


def _with_link(
    plan: ClangJobs, compiler: Path, words: Sequence[tuple[str, str]], sources: Sequence[str]
) -> ClangJobs:
    """Return a plan with the link of its objects, which get names that no file has."""
    objects = {source: f"{os.devnull}/{number}.o" for number, source in enumerate(sources)}
    jobs = [job.with_output(Path(name)) for job, name in zip(plan.jobs, objects.values(), strict=True)]
    kept = (pair for pair in words if pair[0].startswith("-") and not pair[0].startswith(_OF_OUTPUTS))
    options = _joined(kept)
    first = tuple(ClangJob((str(compiler), *options, "-w", "-c", name, "-o", "")) for name in sources)
    return replace(plan, jobs=(*jobs, _link(compiler, words, objects)), gnu_jobs=first)


def _link(compiler: Path, words: Sequence[tuple[str, str]], objects: Mapping[str, str]) -> ClangJob:
    """Return the command that links objects instead of sources, without its other outputs."""
    outputs = [value for word, value in words if word == "-o"]
    pairs = (pair for pair in words if not objects or not pair[0].startswith(_OF_OUTPUTS))
    left = _joined((objects.get(word, word), value) for word, value in pairs if word != "-o")
    return ClangJob((str(compiler), *left, "-o", outputs[-1] if outputs else "a.out"))


def sources_of(arguments: Sequence[str]) -> list[str]:
    """Return the C and C++ files of a GNU compiler's command."""
    return [word for word, _ in _pairs(arguments) if word.endswith(SOURCES) and not word.startswith("-")]


def passed_through(arguments: Sequence[str], why: str) -> Iterator[tuple[Outcome, Path]]:
    """Yield the outcome and the object for each source that a GNU compiler compiles without burnish."""
    words = list(_pairs(arguments))
    levels = [word.removeprefix("-") for word, _ in words if word.startswith("-O")]
    outputs = [value for word, value in words if word == "-o"]
    for source in sources_of(arguments):
        outcome = Outcome(source, levels[-1] if levels else "O0", tuple(arguments), "passed through", why)
        yield outcome, Path(outputs[-1] if outputs else f"{Path(source).stem}.o")


def ask(
    compiler: Path, words: Sequence[tuple[str, str]], language: str, directory: Path | None
) -> GnuCompiler:
    """Return a GNU compiler's answer about a command; `words` are its options, with their values.

    Raises:
        KeptReference: see GnuCompiler.parse.
    """
    left_out = (*_AS_GIVEN, *_OF_OUTPUTS)
    options = _joined(pair for pair in words if pair[0].startswith("-") and not pair[0].startswith(left_out))
    command = [str(compiler), *options, "-E", "-v", "-x", language, os.devnull]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return GnuCompiler.parse(os.fsdecode(done.stderr))


def _machine_of(compiler: Path) -> str:
    """Return the machine for which a GNU compiler was built; "" if it does not say."""
    command = [str(compiler), "-dumpmachine"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def told(asked: GnuCompiler, clang: Path) -> list[str]:
    """Return the options of clang for what a GNU compiler would do, without sources and outputs."""
    return [*_options(asked), *_headers(asked, clang)]


def _options(asked: GnuCompiler) -> list[str]:
    own = [word for word, _ in _pairs(asked.words)]

    def has(*beginnings: str) -> bool:
        return any(word.startswith(beginnings) for word in own)

    level = next((word for word in reversed(own) if re.fullmatch(r"-O.*", word)), "-O0")
    # As in GCC, -Os is what makes code smallest.
    options = [f"--target={asked.triple}", {"-Os": "-Oz"}.get(level, level), NO_WARNINGS, *_REFUSED_CODE]
    options += ["-fomit-frame-pointer", "-fno-addrsig"]  # as GCC; a later option wins
    if not has("-funwind-tables", "-fasynchronous-unwind-tables", "-fexceptions"):
        options += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    if asked.machine.startswith("arm") and asked.machine.endswith("-eabi") and not has("-mabi=aapcs-linux"):
        options.append("-fshort-enums")
    if asked.major < 14:
        options += [f"-Wno-{name}" for name in _OLD_C]
    if asked.major >= 15 and not asked.is_cxx and not has("-std=", "-ansi"):
        options.append("-std=gnu23")
    if has("-fno-tree-loop-distribute-patterns"):  # for the functions that such a loop would call
        options += [f"-fno-builtin-{name}" for name in ("memcpy", "memmove", "memset")]
    for word, value in _pairs(asked.words):
        if not word.startswith("-") or word == os.devnull or is_dropped(word):
            continue
        if word.startswith("-march=") and has("-mcpu="):  # GCC adds it
            continue
        if word == "-mfix-cortex-m3-ldrd" and has("-mcpu=cortex-m3"):  # LLVM's back end always does
            continue
        word = _as_clang_names_it(word, asked.machine)
        options += _joined([(word, value)])
    return options


def _as_clang_names_it(word: str, machine: str) -> str:
    """Return an option of a machine under clang's name."""
    if machine.startswith("arm"):
        return _OF_ARM.get(word, word)
    if machine.startswith("aarch64"):  # GCC knows x9 as r9, too
        return re.sub("^-ffixed-r", "-ffixed-x", word)
    if machine.startswith("riscv") and (register := word.removeprefix("-ffixed-")) in _RISCV_REGISTERS:
        return f"-ffixed-x{_RISCV_REGISTERS.index(register)}"
    if boundary := _STACK_BOUNDARY.fullmatch(word):
        return f"-mstack-alignment={1 << int(boundary[1])}"
    return word


def _headers(asked: GnuCompiler, clang: Path) -> list[str]:
    """Return the options for the folders of headers: GCC's own headers are replaced by clang's."""
    own = clang.resolve().parent.parent / "lib" / "clang"
    options = [text for folder in asked.quoted for text in ("-iquote", folder)]
    options.append("-nostdinc")
    for folder in asked.folders:
        found = _OWN_HEADERS.search(os.path.normpath(folder))
        if not found:
            options += ["-isystem", folder]
        elif not found[1]:
            options += [text for path in sorted(own.glob("*/include")) for text in ("-isystem", str(path))]
    return options


def is_dropped(word: str) -> bool:
    """Return whether an option of GCC is not for clang."""
    return word in _DROPPED or word.startswith(_DROPPED_BEGINNINGS)


def _links(words: Sequence[tuple[str, str]]) -> bool:
    """Return whether a command links, and does not stop at an earlier step."""
    stops = {"-c", "-S", "-E", "-M", "-MM", "-v", "-###", "--version", "-fsyntax-only"}
    return not any(word in stops for word, _ in words)


def _is_cxx(source: str, words: Sequence[tuple[str, str]]) -> bool:
    languages = [value for word, value in words if word == "-x"]
    return languages[-1].startswith("c++") if languages else source.endswith(CXX_SUFFIXES)


def _joined(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [text for word, value in pairs for text in ((word, value) if word in _SEPARATE else (word,))]


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word with its value, which is "" unless the value is the next word."""
    left = iter(words)
    for word in left:
        if word.startswith("-o") and len(word) > 2:
            yield "-o", word[2:]
        else:
            yield word, next(left, "") if word in _SEPARATE else ""
