"""The jobs that clang would run: `clang -###` prints them, one quoted line each."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.llvm.toolchain import is_native, target_of

# clang quotes every argument and escapes ", \ and $ (llvm/lib/Support/Program.cpp, printArg). An argument may
# contain a line break, so the text cannot be read line by line.
_ARGUMENT = r'"(?:[^"\\]|\\.)*"'
_JOB = re.compile(rf"^ {_ARGUMENT}(?: {_ARGUMENT})*$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(_ARGUMENT, re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_VERSION = re.compile(r"clang version (\S+)")
# Clang before 18 gives it to LLVM in each job; it is about a message for SVE code.
_SCALABLE = "-treat-scalable-fixed-error-as-warning"
_WARNING = re.compile(r"^\S+: warning: .*\n", re.MULTILINE)

_LEVEL = re.compile(r"-O(?:[0-9]|s|z|g|fast)")

NO_WARNINGS = "-Wno-everything"  # unlike -w, it leaves those that another option makes errors

# Options for work that the driver does itself, beside its jobs or instead of them; a plan does not show it.
_DRIVER_ACTIONS = ("-###", "-MJ", "-fdriver-only", "-fproc-stat-report", "-gen-cdb-fragment-path")

# Options for files that a job writes beside its output, or for diagnostics; the next argument is the value.
_SIDE_FILES = (
    "-dependency-file",
    "-dependency-dot",
    "-module-dependency-dir",
    "-header-include-file",
    "-serialize-diagnostic-file",
    "-diagnostic-log-file",
)
_MODULE = "-fmodule-output="  # before the name of a compiled C++ module


@dataclass(frozen=True)
class ClangJob:
    """One command of the plan."""

    command: tuple[str, ...]

    @property
    def compiles(self) -> bool:
        """Return whether the job makes an object of a source file."""
        return self.command[1:2] == ("-cc1",) and "-emit-obj" in self.command and self.output is not None

    @property
    def makes_code(self) -> bool:
        """Return whether the job makes an object or assembly of a source file."""
        makes = {"-emit-obj", "-S"}.intersection(self.command)
        return self.command[1:2] == ("-cc1",) and bool(makes) and self.output is not None

    @property
    def is_assembler(self) -> bool:
        """Return whether the job makes an object of assembly."""
        return self.command[1:2] == ("-cc1as",)

    @property
    def makes_header(self) -> bool:
        """Return whether the job makes a precompiled header."""
        return "-emit-pch" in self.command

    @property
    def is_left_alone(self) -> bool:
        """Return whether the job makes an output of a kind that burnish never changes."""
        of_lto = "-emit-llvm-bc" in self.command and any(word.startswith("-flto") for word in self.command)
        return self.output is not None and (self.is_assembler or self.makes_header or of_lto)

    @property
    def belongs_to_clang(self) -> bool:
        """Return whether the job is clang's compiler or assembler, not a linker or another tool."""
        return self.command[1:2] in (("-cc1",), ("-cc1as",))

    @property
    def output(self) -> str | None:
        """The file after -o."""
        return self.value("-o")

    @property
    def output_path(self) -> Path:
        """The file after -o, relative to the directory in which burnish runs."""
        return Path(self.value("-working-directory") or "", self.output or "")

    @property
    def source(self) -> str:
        """The input of a compilation."""
        return self.command[-1]

    @property
    def language(self) -> str:
        """The input's language as cc1 names it: c, c++, ir, cpp-output, ..."""
        return self.value("-x") or ""

    @property
    def level(self) -> str:
        """The optimization level, "O0" ... "O3", "Os", "Oz", "Og", "Ofast"; "" for an assembler."""
        if self.is_assembler:
            return ""
        # the last one counts
        found = [argument for argument in self.command if _LEVEL.fullmatch(argument)]
        return found[-1].removeprefix("-") if found else "O0"

    @property
    def position_independent(self) -> bool:
        """Return whether the object can be part of a program or library that is loaded at any address."""
        return self.value("-mrelocation-model") == "pic"

    def value(self, option: str) -> str | None:
        """Return the argument after the option's last appearance; None if there is no such option."""
        for index in range(len(self.command) - 2, -1, -1):
            if self.command[index] == option:
                return self.command[index + 1]
        return None

    def with_paths(self, paths: Mapping[str, Path]) -> ClangJob:
        """Return the job with some of its files replaced."""
        return ClangJob(tuple(str(paths.get(argument, argument)) for argument in self.command))

    def with_output(self, output: Path) -> ClangJob:
        """Return the job with another file after -o."""
        at = len(self.command) - 1 - self.command[::-1].index("-o")
        return ClangJob((*self.command[: at + 1], str(output), *self.command[at + 2 :]))

    def instead(self, words: Sequence[str], output: Path, bitcode: Path | None = None) -> ClangJob:
        """Return the job with other words for -emit-obj or -S, another output, perhaps of bitcode."""
        at = next(i for i, word in enumerate(self.command) if word in ("-emit-obj", "-S"))
        job = ClangJob((*self.command[:at], *words, *self.command[at + 1 :])).with_output(output)
        if not bitcode:
            return job
        language = len(job.command) - 1 - job.command[::-1].index("-x")
        return ClangJob((*job.command[:language], "-x", "ir", str(bitcode)))

    def front_end(self, output: Path) -> ClangJob:
        """Return the job that stops before the passes: source to bitcode.

        At -O0 clang marks each function optnone, so that later passes skip it; an option prevents this.
        """
        no_passes = ["-disable-llvm-passes", *(["-disable-O0-optnone"] if self.level == "O0" else [])]
        return self.instead(["-emit-llvm-bc", "-emit-llvm-uselists", *no_passes], output)

    def with_dependencies(self, output: Path) -> ClangJob:
        """Return the job that also writes a rule for make with all files that it reads."""
        words = ("-dependency-file", str(output), "-MT", "read", "-sys-header-deps")
        return ClangJob((*self.command[:2], *words, *self.command[2:]))

    def clang_bitcode(self, output: Path) -> ClangJob:
        """Return the job that stops after clang's own passes: source to bitcode."""
        return self.instead(["-emit-llvm-bc", "-emit-llvm-uselists"], output)

    def code_generation(self, bitcode: Path, output: Path) -> ClangJob:
        """Return the job that starts after the passes: bitcode to object, with the source's options."""
        made = self.instead(["-emit-obj", "-disable-llvm-passes"], output, bitcode)
        # clang may skip the verifier for its own IR; burnish's IR is always verified.
        return ClangJob(tuple(argument for argument in made.command if argument != "-disable-llvm-verifier"))

    def silenced(self) -> ClangJob:
        """Return the job without warnings and without files beside its output, to run it once more."""
        if self.command[1] != "-cc1":
            return self
        kept: list[str] = list(self.command[:2])
        arguments = iter(self.command[2:])
        for argument in arguments:
            if argument in _SIDE_FILES:
                next(arguments, None)
            elif argument.startswith(_MODULE):
                continue
            elif argument == "-o":
                kept += [*([] if NO_WARNINGS in self.command else ["-w"]), argument]
            elif argument in ("-record-command-line", "-dwarf-debug-flags"):
                # The plan's own -### is part of the command line that it records.
                kept += [argument, next(arguments, "").replace(" -### ", " ", 1)]
            else:
                kept.append(argument)
        return ClangJob(tuple(kept))


@dataclass(frozen=True)
class ClangJobs:
    """The jobs of one clang command, in order."""

    jobs: tuple[ClangJob, ...]
    version: str  # of clang
    target: str = ""  # that the command names, or the machine of a GNU linker; "" without one
    gnu: str = ""  # the GNU compiler that makes the objects in clang's place, with its version
    gnu_jobs: tuple[ClangJob, ...] = ()  # its command for each object of a command that links, too
    warnings: str = ""  # of the driver, about the command's words; clang prints them before it runs the jobs

    @property
    def compiler(self) -> str:
        """The compiler that made the objects, with its version."""
        return self.gnu or f"clang {self.version}"

    @property
    def compilations(self) -> tuple[ClangJob, ...]:
        """The jobs that make objects."""
        return tuple(job for job in self.jobs if job.compiles)

    @property
    def left_alone(self) -> tuple[ClangJob, ...]:
        """The jobs with outputs that burnish never changes: assembled objects, LTO bitcode, headers."""
        return tuple(self._named(job) for job in self.jobs if job.is_left_alone)

    def _named(self, job: ClangJob) -> ClangJob:
        """Return a job whose source is the one that the command named, not an output of an earlier job."""
        made = {other.output: other.source for other in self.jobs}
        source = job.source
        while source in made and made[source] != source:
            source = made[source]
        return ClangJob((*job.command[:-1], source))

    @property
    def makes_module(self) -> bool:
        """Return whether the jobs link a module of WebAssembly."""
        return any(Path(job.command[0]).name == "wasm-ld" for job in self.jobs)

    @property
    def is_for_another_machine(self) -> bool:
        """Return whether the jobs make code for another machine than this one, such as WebAssembly."""
        triples = [job.value("-triple") for job in self.jobs if job.belongs_to_clang]
        named = filter(None, (*triples, self.target))
        return self.makes_module or not all(map(is_native, named))

    @property
    def is_cross(self) -> bool:
        """Return whether clang's package alone cannot run the jobs, and no GNU compiler runs them."""
        return self.is_for_another_machine and not self.gnu

    @property
    def outputs(self) -> frozenset[Path]:
        """The files that exist when the command has ended: objects, or the program."""
        return frozenset(job.output_path for job in self.jobs if job.output and self.reader(job) is None)

    @property
    def links(self) -> bool:
        """Return whether the last job is a linker's."""
        return bool(self.jobs) and not self.jobs[-1].belongs_to_clang

    def again(self, job: ClangJob) -> ClangJob:
        """Return the command that makes the object of a job once more, by the compiler that made it."""
        return self.gnu_jobs[self.jobs.index(job)] if self.gnu_jobs else job

    def reader(self, job: ClangJob) -> ClangJob | None:
        """Return the later job that reads the job's output, which is a temporary file then; else None."""
        later = self.jobs[self.jobs.index(job) + 1 :]
        return next((other for other in later if job.output in other.command), None)

    def output_with(self, job: ClangJob) -> Path:
        """Return the file that has the job's object at the end: its own output, or the program."""
        return job.output_path if self.reader(job) is None else self.jobs[-1].output_path


def make_plan(clang: Path, arguments: Sequence[str], directory: Path | None = None) -> ClangJobs | None:
    """Ask clang for its jobs in a directory; None if a plan would not show all that clang does."""
    try:
        words = list(_expanded(arguments))
        if any(word == "-v" or word.startswith(_DRIVER_ACTIONS) for word in words):
            return None
        command = [str(clang), "-###", *arguments]
        asked = subprocess.run(
            command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError:  # an unreadable response file, or one argument too many for the system
        return None
    plan = None if asked.returncode else parse_plan(os.fsdecode(asked.stderr))
    return replace(plan, target=target_of(words)) if plan else None


def parse_plan(text: str) -> ClangJobs | None:
    """Parse the text of `clang -###`; None if the jobs cannot be repeated (arguments in a deleted file)."""
    version = _VERSION.search(text)
    jobs = tuple(ClangJob(tuple(_words(line))) for line in _JOB.findall(text))
    if not jobs or any(argument.startswith("@") for job in jobs for argument in job.command):
        return None
    warnings = "".join(_WARNING.findall(text))
    return ClangJobs(jobs, version.group(1) if version else "unknown", warnings=warnings)


def _words(line: str) -> list[str]:
    words = [_ESCAPED.sub(r"\1", quoted[1:-1]) for quoted in _QUOTED.findall(line)]
    if _SCALABLE in words:  # after -mllvm
        at = words.index(_SCALABLE)
        del words[at - 1 : at + 1]
    return words


def _expanded(arguments: Sequence[str]) -> Iterator[str]:
    """Yield every argument, and the words of response files.

    Raises:
        OSError: there is no such file, or it is a pipe, which would be empty for clang after being read here.
    """
    for argument in arguments:
        yield argument
        if argument.startswith("@"):
            file = Path(argument[1:])
            if not file.is_file():
                raise FileNotFoundError(file)
            yield from os.fsdecode(file.read_bytes()).split()
