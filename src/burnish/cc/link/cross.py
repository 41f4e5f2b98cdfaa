"""Programs of bitcode for machines that clang's package has no back end for, as one module.

Compilations with --whole-program or -flto write bitcode. The linkers of clang's package work as for link-time
optimization, and write the module, before any pass, once all symbols are resolved. They have no back end for
the machine, so burnish makes the module's object, and the linker links it in place of the bitcode.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from burnish import _native
from burnish.cc import processes
from burnish.cc.isolation import LONGEST_SECONDS, Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.link.foreign import ForeignProgramTrials
from burnish.cc.link.inputs import ARCHIVES, BITCODE, input_paths, objects_in
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.merging import Merged, Words, replaced
from burnish.cc.link.units import ProgramUnit
from burnish.cc.linked import read_linked
from burnish.cc.outcomes import Build, Outcome, Sizes, level_of_passes
from burnish.cc.refusals import SIZE_LEVELS
from burnish.cc.requests import KeptReference
from burnish.cc.wasm_link import sizes_of
from burnish.core.errors import BurnishError, InputError

WASM = b"\0asm"
# Ends of the names of files that lld's --save-temps writes: the module, and the index of modules for ThinLTO.
_MERGED, _INDEX = ".0.2.internalize.bc", ".index.bc"
_NO_BACK_END = "No available targets"  # begins lld's error once it has written the module


@dataclass(frozen=True)
class BitcodeLink:
    """A link with inputs of bitcode.

    Attributes:
        words: By the position of each word of the command that names bitcode: the files that replace it.
        count: The number of modules in these inputs.
    """

    job: LinkJob
    words: Words
    count: int

    @classmethod
    def of(cls, job: ClangJob, folder: Path) -> BitcodeLink | None:
        """Return a link that has inputs of bitcode, else None; write its archives without their bitcode."""
        words: Words = {}
        count = 0
        for index, path in input_paths(job.command):
            with path.open("rb") as file:
                begin = file.read(len(ARCHIVES[0]))
                if not begin.startswith((*ARCHIVES, *BITCODE)):
                    continue
                content = begin + file.read()
            members = [member for _, _, member in objects_in(path, content)]
            left = [member for member in members if not member.startswith(BITCODE)]
            if len(left) == len(members):
                continue
            count += len(members) - len(left)
            words[index] = ()
            if left:
                rest = folder / f"rest-{index}" / path.name
                rest.parent.mkdir()
                rest.write_bytes(_native.archive_of(left))
                words[index] = (rest,)
        return cls(LinkJob(job.command), words, count) if words else None

    def run(self, build: Build, level: str, folder: Path) -> Outcome | int:
        """Link one module of the bitcode, and make it smaller; return the outcome, or the exit code.

        Raises:
            KeptReference: the linker or the back end cannot make one module.
        """
        clock = build.compiled.clock
        start = clock.now()
        merged = self.job.changed({}, folder / "merged")
        command = [*merged.command, "--save-temps"]
        code, said = processes.run_and_read(command)
        if (folder / f"merged{_INDEX}").exists():
            raise KeptReference("the bitcode cannot be one module; -flto=thin is not supported")
        try:
            bitcode = (folder / f"merged{_MERGED}").read_bytes()
        except OSError:  # an error of the program's
            sys.stderr.write(said)
            return code or 1
        sys.stderr.write("".join(line for line in said.splitlines(True) if _NO_BACK_END not in line))
        unit = ProgramUnit(bitcode, pattern(bitcode, level), 0.0, "")
        guard = Guard(folder, LONGEST_SECONDS, LONGEST_SECONDS)
        code_made = guard.step(lambda: _own(bitcode, unit.job))
        own = folder / "own.o"
        own.write_bytes(code_made)
        linked = self.job.changed(replaced(self.words, own), self.job.output, side_files=True)
        if code := processes.run(linked.command):
            return code
        if level not in SIZE_LEVELS and build.options.objective is None:
            return 0
        unit = replace(unit, seconds=clock.now() - start)
        one = Merged(build, self.job, (unit,), self.words, (), bitcode, build.guard(unit.seconds, folder))
        return self._improved(one, start)

    def _improved(self, merged: Merged, start: float) -> Outcome:
        """Make the linked program smaller."""
        clock, path = merged.build.compiled.clock, self.job.output
        outcome = Outcome(f"{self.count} units", merged.units[0].job.level, self.job.command)
        try:
            before = program_sizes(path)
            outcome = CrossProgramTrials(merged, before).run(replace(outcome, before=before))
        except (KeptReference, BurnishError, OSError) as why:
            outcome = replace(outcome, reason=str(why))
        return replace(outcome, seconds=clock.now() - start)


class CrossProgramTrials(ForeignProgramTrials):
    """Trials whose reference is the program of one module after the passes of its level."""

    def generate(self, bitcode: bytes, output: Path) -> None:
        """See ProgramTrials."""
        self.place(self.guard.step(lambda: self._emit(bitcode)), output)

    def place(self, code: bytes, output: Path) -> None:
        """See ProgramTrials; all objects are by the same back end."""
        output.write_bytes(code)

    def sizes(self, path: Path) -> Sizes:
        """See ProgramTrials."""
        return program_sizes(path)

    def check(self, path: Path) -> None:
        """See ProgramTrials; a module of WebAssembly has its interface from the linker's command."""
        if not path.read_bytes().startswith(WASM):
            super().check(path)


def program_sizes(path: Path) -> Sizes:
    """Return the sizes of a linked program.

    Raises:
        InputError: the file is not a program.
    """
    content = path.read_bytes()
    if not content.startswith(WASM):
        return Sizes.of_linked(read_linked(path))
    try:
        return sizes_of(content)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def pattern(bitcode: bytes, level: str) -> tuple[str, ...]:
    """Return the words of `clang -cc1` for a module's code; the machine is an attribute of its functions."""
    triple = _native.Module(bitcode, "module").triple
    sections = ("-ffunction-sections", "-fdata-sections")
    return (
        "clang",
        "-cc1",
        "-triple",
        triple,
        f"-{level}",
        "-emit-obj",
        *sections,
        "-o",
        "a.o",
        "-x",
        "ir",
        "a.bc",
    )


def _own(bitcode: bytes, job: ClangJob) -> bytes:
    from burnish.cc.back_end import emit
    from burnish.llvm.modules.origin import run_level

    module = _native.Module(bitcode, "module")
    run_level(module, level_of_passes(job.level))
    return emit(module.bitcode(), job)
