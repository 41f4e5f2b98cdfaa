"""Commands for machines that clang's package has no back end for: burnish's own makes their objects.

clang's front end reads the source and reports its errors. LLVM's passes at the command's level and burnish's
back end make the object that the search has to beat. The linkers of clang's package link for all machines.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cc import processes, stack_usage
from burnish.cc.command_key import Key
from burnish.cc.improve import improve_own
from burnish.cc.isolation import LONGEST_SECONDS, Guard
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.outcomes import Build, Outcome, passed_through
from burnish.cc.own_trials import Own
from burnish.cc.recalling import DEPENDENCIES
from burnish.cc.refusals import refused_option
from burnish.cc.requests import Attempt, Compiled, DriverOptions, KeptReference, Optimizer
from burnish.core.clock import PROCESSORS
from burnish.core.errors import InputError
from burnish.files import write_atomically

ROOT = Path("/")
BUILTINS = re.compile(r"libclang_rt\.builtins(-\w+)?\.a$")
TEMPORARY = re.compile(r"-[0-9a-f]{6,}\.\w+$")  # the end of clang's names for its temporary files
# The back end writes this section of WebAssembly itself, by the CPU that the command names.
FEATURES = re.compile(
    rb"^\s*\.section\s+\.custom_section\.target_features\b.*?(?=^\s*\.section\b|\Z)", re.M | re.S
)
OF_SYSTEM = ("usr/lib/llvm-*/lib/clang/*/lib/wasi", "usr/lib/clang/*/lib/wasi")  # Debian's, Fedora's


@dataclass(frozen=True)
class CrossCommand:
    """A command, and burnish's options for it.

    Attributes:
        level: The command's level of optimization; "" if it names none.
        workspace: The folder for temporary files.
    """

    plan: ClangJobs
    level: str
    options: DriverOptions
    optimizer: Optimizer
    workspace: Path
    key: Key

    def run(self) -> Iterator[tuple[Outcome, Path] | int]:
        """Run the jobs in order; yield outcomes with their output files, and exit codes that are not 0.

        As clang, go on after a failure with the jobs that do not read its output.
        """
        sys.stderr.write(self.plan.warnings)
        failed: set[str | None] = set()
        try:
            for number, job in enumerate(self.plan.jobs):
                if failed.intersection(job.command):
                    failed.add(job.output)
                    continue
                folder = self.workspace / str(number)
                folder.mkdir()
                last = job if self.plan.reader(job) is None else self.plan.jobs[-1]
                code = 0
                for found in self._run(job, folder):
                    if isinstance(found, Outcome):
                        yield found, last.output_path
                    else:
                        code = found
                if code:
                    failed.add(job.output)
                    yield code
        finally:
            for job in self.plan.jobs:
                # -save-temps keeps outputs that a later job reads, under other names
                if self.plan.reader(job) is not None and TEMPORARY.search(job.output or ""):
                    job.output_path.unlink(missing_ok=True)

    def _run(self, job: ClangJob, folder: Path) -> Iterator[Outcome | int]:
        """Run a job; yield the outcome of each object or program, and exit codes."""
        try:
            if job.makes_code:
                yield self._compile(job, folder)
            elif job.is_assembler:
                _write(job, _guard(folder).step(lambda: _assembled(job)))
            elif job.belongs_to_clang:
                yield processes.run(job.command)
            else:
                yield from self._link(with_builtins(job), folder)
        except (KeptReference, InputError, OSError) as why:
            name = job.source if job.belongs_to_clang else job.output
            sys.stderr.write(f"burnish cc: {name}: {why}\n")
            yield 1

    def _link(self, job: ClangJob, folder: Path) -> Iterator[Outcome | int]:
        """Run a linker, then make the program smaller."""
        from burnish.cc.link.cross import BitcodeLink  # most commands do not link

        start = PROCESSORS.now()
        if link := BitcodeLink.of(job, folder):
            level = self.level or ("Oz" if self.options.whole_program else "O2")
            found = link.run(self._build(job, 0.0, start, folder), level, folder)
        else:
            found = processes.run(job.command)
        yield found
        if not self.plan.makes_module or (isinstance(found, int) and found):
            return
        from burnish.cc.wasm_link import improve_module  # imports a search

        ended = PROCESSORS.now()
        build = self._build(job, ended - start, ended, folder)
        if outcome := improve_module(build, job, self.level, folder):
            yield outcome

    def _compile(self, job: ClangJob, folder: Path) -> Outcome | int:
        """Make the object of a compilation, then a smaller one; return the outcome, or clang's exit code.

        For a whole program, the object is the front end's bitcode.
        """
        start = PROCESSORS.now()
        front = folder / "front.bc"
        options = stack_usage.without_option(job)
        as_is = refused_option(options) or ("-O0: passes are not run" if job.level == "O0" else None)
        first = job.clang_bitcode(front) if as_is else job.front_end(front)
        own_rule = job.value("-dependency-file")
        if not own_rule:
            first = first.with_dependencies(folder / DEPENDENCIES)
        if failed := processes.run(first.command):
            return failed
        if own_rule:
            shutil.copyfile(own_rule, folder / DEPENDENCIES)
        before = front.read_bytes()
        build = self._build(job, 0.0, start, folder)
        why = as_is or build.refusal(job)
        if self.options.whole_program and job.compiles and not why:
            _write(job, before)
            return 0
        if why or not job.compiles:
            code = _guard(folder).step(lambda: _emitted(before, job, passes=not as_is))
            _write(job, code)
            if not job.compiles:
                return 0
            stack_usage.write(job, code)
            return passed_through(job, why or "", job.output_path)
        own = Own(before, _guard(folder).step(lambda: _level(before, job)))
        _write(job, own.code)
        ended = PROCESSORS.now()
        stack_usage.write(job, own.code)
        build = self._build(job, ended - start, ended, folder)
        outcome = improve_own(build, job, own, folder)
        if outcome.better:
            better = outcome.better.read_bytes()
            stack_usage.write(job, better)
            _write(job, better)
        return outcome

    def _build(self, job: ClangJob, seconds: float, ended: float, folder: Path) -> Build:
        """Return the build of one job, which took so many seconds of processor time."""
        compiled = Compiled(seconds, ended, frozenset())
        return Build(
            replace(self.plan, jobs=(job,)), compiled, self.options, self.optimizer, folder, self.key
        )


def run(
    plan: ClangJobs, key: Key, options: DriverOptions, optimizer: Optimizer
) -> Iterator[tuple[Outcome, Path] | int]:
    """Run a command for another machine; see CrossCommand.run."""
    with tempfile.TemporaryDirectory(prefix="burnish-") as workspace:
        levels = [word.removeprefix("-") for word in key.arguments if word.startswith("-O")]
        level = levels[-1] if levels else ""
        yield from CrossCommand(plan, level, options, optimizer, Path(workspace), key).run()


def with_builtins(link: ClangJob) -> ClangJob:
    """Return a link with the system's library of compiler functions for WebAssembly.

    clang names it in its own folder, where its package has none. The newest of the system's clangs counts;
    without one, the linker names the functions that the program lacks.
    """
    words: list[str] = []
    for word in link.command:
        if BUILTINS.search(word) and not Path(word).exists():
            found = [path for folder in OF_SYSTEM for path in ROOT.glob(f"{folder}/*builtins-wasm32.a")]
            words += [str(path) for path in sorted(found, key=_version)[-1:]]
        else:
            words.append(word)
    return ClangJob(tuple(words))


def _version(path: Path) -> list[int]:
    """Return the version of the clang in whose folder a library is: lib/clang/14.0.6/lib/wasi/NAME."""
    return [int(number) for number in re.findall(r"\d+", path.parents[2].name)]


def _guard(folder: Path) -> Guard:
    return Guard(folder, LONGEST_SECONDS, LONGEST_SECONDS)


def own_of(job: ClangJob, folder: Path) -> Own:
    """Return the module and the object of a compilation without a search.

    Raises:
        KeptReference: the source does not compile any more, or a step fails.
    """
    front, guard = folder / "own.bc", _guard(folder)
    guard.run(job.silenced().front_end(front).command)
    before = front.read_bytes()
    return Own(before, guard.step(lambda: _level(before, job)))


def _level(front: bytes, job: ClangJob) -> Attempt:
    from burnish.cc.back_end import level_of  # loads LLVM, so only in this process

    return level_of(front, job)


def _emitted(front: bytes, job: ClangJob, *, passes: bool) -> bytes:
    """Return the object, or the assembly, without a search."""
    from burnish.cc.back_end import after_level, emit

    return emit(after_level(front, job) if passes else front, job)


def _assembled(job: ClangJob) -> bytes:
    """Return the object of a file of assembly: a module that has nothing else.

    What the machine is, is an attribute of functions; this module's only one has no code.
    """
    from burnish import _native

    triple, cpu = job.value("-triple"), job.value("-target-cpu") or ""
    pairs = itertools.pairwise(job.command)
    features = ",".join(value for word, value in pairs if word == "-target-feature")
    text = FEATURES.sub(b"", Path(job.source).read_bytes())
    lines = "".join(f'module asm "{_escaped(line)}"\n' for line in text.splitlines())
    attributes = f'"target-cpu"="{cpu}" "target-features"="{features}"'
    abi = job.value("-target-abi")
    flag = f'!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !"target-abi", !"{abi}"}}\n' if abi else ""
    machine = f"define available_externally void @machine() {attributes} {{ ret void }}\n"
    module = _native.Module(f'target triple = "{triple}"\n{lines}{machine}{flag}'.encode(), job.source)
    try:
        return module.emit_object("O0")
    except _native.FatalError as error:
        raise KeptReference(str(error)) from None


def _escaped(line: bytes) -> str:
    """Return a line of assembly as it is written in LLVM's text."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in line)


def _write(job: ClangJob, content: bytes) -> None:
    """Write a job's output, which may be /dev/null or the standard output."""
    path = job.output_path
    if job.output == "-":
        sys.stdout.buffer.write(content)
    elif path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        write_atomically(path, content)
