"""Smaller objects for a crate: rustc compiles once more, beside its outputs, and keeps its bitcode.

A smaller object takes the place of rustc's in its archive, or in a second link by the command that rustc
prints. The metadata of both compilations must be the same, and so must be the names of their objects.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from burnish.cc.command_key import Key
from burnish.cc.improve import improve_rust
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.linked import ELF, read_linked
from burnish.cc.outcomes import Build, Outcome, kept, passed_through
from burnish.cc.recalling import DEPENDENCIES
from burnish.cc.requests import STACK_LIMIT, Compiled, DriverOptions, KeptReference, Optimizer
from burnish.cc.rust_trials import Bitcode
from burnish.cc.rustc import RUSTC, RustCommand
from burnish.core.errors import BurnishError
from burnish.files import write_atomically

# The bitcode from which rustc made an object: after imports from other units, after the merge of all crates,
# or before any pass.
_FRONTS = ("thin-lto-after-import.bc", "lto.after-restriction.bc", "no-opt.bc")
_ARCHIVE = b"!<arch>\n"
_WASM = b"\0asm"
# Sections of an object for a later link-time optimization by rustc: the bitcode, and its options.
_BITCODE = (".llvmbc", ".llvmcmd")
_STRING = r'"(?:[^"\\]|\\.)*"'
_LINK = re.compile(rf"(?:\w+={_STRING} )*{_STRING}(?: {_STRING})*")
_WORD = re.compile(rf"(?:\w+=)?{_STRING}")
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))")
_JOBSERVER = ("CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS")  # its files are open in the first process only
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


@dataclass(frozen=True)
class Unit:
    """An object of a crate, and the bitcode that rustc made it from."""

    path: Path
    front: Path  # before the passes that are searched
    after: Path  # after rustc's passes
    reference: bytes  # the object as rustc made it first, if that is in an archive
    is_linked: bool  # into a program at once, and in no archive

    @classmethod
    def all_in(cls, folder: Path, first: Mapping[str, bytes]) -> list[Unit]:
        """Return the objects in a folder of rustc's that have their bitcode beside them.

        `first` are the contents of the first objects, by their names.
        """
        found = []
        for path in sorted(folder.glob("*.rcgu.o")):
            stem = path.name.removesuffix("o")
            fronts = [folder / f"{stem}{ending}" for ending in _FRONTS]
            front = next((one for one in fronts if one.exists()), None)
            if front and (after := folder / f"{stem}bc").exists():
                found.append(cls(path, front, after, first.get(path.name) or path.read_bytes(), not first))
        return found

    def size(self) -> int:
        """Return the bytes of the bitcode that is searched."""
        return self.front.stat().st_size

    def job(self, command: RustCommand, model: str, *, several: bool) -> ClangJob:
        """Return clang's job for such an object: it gives burnish's back end the options."""
        unit = f" ({self.path.name.split('.')[-3]})" if several else ""
        options = "-emit-obj", f"-{command.level}", "-ffunction-sections", "-fdata-sections"
        output = "-mrelocation-model", model, "-o", str(self.path), "-x", "ir", f"{command.source}{unit}"
        return ClangJob((command.words[0], "-cc1", *options, *output))


def outcomes_of(
    command: RustCommand, options: DriverOptions, optimizer: Optimizer, workspace: Path
) -> Iterator[tuple[Outcome, Path]]:
    """Make the outputs of a command that rustc has run smaller; yield outcomes, and their output files."""
    assert options.compiled
    outcome = Outcome(command.source, command.level, command.words)
    try:
        if why := command.refusal:
            yield replace(outcome, action="passed through", reason=why), command.output
            return
        yield from _CrateBuild(command, options, options.compiled, optimizer, workspace).run()
    except (KeptReference, BurnishError, OSError, ValueError) as why:
        yield replace(outcome, reason=str(why)), command.output


@dataclass(frozen=True)
class _CrateBuild:
    """A command that rustc has run once, and the inputs of every later step."""

    command: RustCommand
    options: DriverOptions
    compiled: Compiled
    optimizer: Optimizer
    workspace: Path

    def run(self) -> Iterator[tuple[Outcome, Path]]:
        """See outcomes_of.

        Raises:
            KeptReference: rustc fails, or makes other metadata or other objects than the first time.
        """
        made = self.workspace / "made"
        made.mkdir()
        guard = self._build((), self.compiled.clang_seconds, 0.0, self.workspace).guard()
        printed = guard.step(lambda: _run(self.command.once_more(made)))
        outputs = self._outputs(made)
        links = links_in(printed)
        first: dict[str, bytes] = {}
        for path, output in outputs.items():
            if is_archive(output):
                first |= _members(output, path)
        units = Unit.all_in(made, first)
        model = guard.step(lambda: relocation_model(min(units, key=Unit.size).after)) if units else ""
        ended = self.compiled.clock.now()
        outcomes = {unit.path: self._improved(unit, units, model, ended) for unit in units}
        better = {
            unit.path: with_bitcode_of(unit.reference, file.read_bytes())
            for unit in units
            if (file := outcomes[unit.path].better)
        }
        for path, output in outputs.items():
            why = ""
            if better:
                try:
                    write_atomically(
                        output, guard.step(partial(_remade, path, output, better, links.get(path)))
                    )
                except (KeptReference, BurnishError, OSError, ValueError) as error:
                    why = str(error)
            for one in outcomes.values():
                found = one.unused(why) if one.better and why else one
                yield replace(found, command=self.command.words), output

    def _outputs(self, made: Path) -> dict[Path, Path]:
        """Return rustc's second outputs that are made of objects, with the first ones.

        Raises:
            KeptReference: rustc makes no such output.
        """
        found = {}
        for path in sorted(made.iterdir()):
            first = self.command.folder / path.name
            if ".rcgu." not in path.name and path.is_file() and _has_objects(path) and first.is_file():
                found[path] = first
        if not found:
            raise KeptReference("rustc makes no object when it compiles once more")
        return found

    def _improved(self, unit: Unit, units: list[Unit], model: str, ended: float) -> Outcome:
        """Search for a smaller object; its part of the budget is that of its bitcode."""
        job = unit.job(self.command, model, several=len(units) > 1)
        if not unit.reference.startswith(ELF) and _BITCODE[0].encode() in unit.reference:
            return passed_through(
                job, "the object has bitcode for other links; -C embed-bitcode=no", unit.path
            )
        share = unit.size() / sum(map(Unit.size, units))
        started = self.compiled.clock.now() - share * ended  # the second compilation counts as burnish's
        folder = self.workspace / str(units.index(unit))
        folder.mkdir()
        build = self._build((job,), share * self.compiled.clang_seconds, started, folder)
        reference = folder / "reference.o"
        reference.write_bytes(unit.reference)
        (folder / DEPENDENCIES).write_text(first_rule(unit.path.parent), errors="surrogateescape")
        bitcode = Bitcode(unit.front.read_bytes(), unit.after.read_bytes(), unit.is_linked)
        try:
            return improve_rust(build, job, bitcode, reference, folder)
        except (KeptReference, BurnishError, OSError, ValueError) as why:
            return kept(job, str(why))

    def _build(self, jobs: tuple[ClangJob, ...], seconds: float, started: float, folder: Path) -> Build:
        command, options = self.command, self.options
        plan = ClangJobs(jobs, "", target=Path(command.last("--target")).name, gnu=RUSTC)
        if options.stack_limit is None and command.is_for_another_machine:
            options = replace(options, stack_limit=STACK_LIMIT)
        compiled = Compiled(seconds, started, frozenset())
        key = Key((*(word for job in jobs for word in job.command), *command.crate), self.options)
        return Build(plan, compiled, options, self.optimizer, folder, key)


def _remade(made: Path, first: Path, better: Mapping[Path, bytes], link: tuple[str, ...] | None) -> bytes:
    """Return an output of rustc with better objects in it; `made` is the second one.

    Raises:
        KeptReference: the link fails, or the linked program is not smaller.
    """
    from burnish import _native

    if is_archive(first):
        return _native.with_members(first.read_bytes(), {one.name: code for one, code in better.items()})
    content = made.read_bytes()
    for path, code in better.items():
        if path.read_bytes() == content:  # --emit=obj
            return code
    if link is None:
        raise KeptReference("rustc does not tell how it links")
    for path, code in better.items():
        path.write_bytes(code)
    _run(link)
    if loaded_bytes(made) >= loaded_bytes(first):
        raise KeptReference("the program that is linked of smaller objects loads as many bytes as rustc's")
    return made.read_bytes()


def first_rule(folder: Path) -> str:
    """Return the rule for make with the files of a crate; one without files if rustc has written none."""
    for path in folder.glob("*.d"):
        return path.read_text(errors="surrogateescape").partition("\n")[0]
    return "read:"


def with_bitcode_of(theirs: bytes, ours: bytes) -> bytes:
    """Return an object with the sections of another one that hold bitcode; linkers drop these."""
    from burnish import _native

    for section in _native.elf_sections(theirs) if theirs.startswith(ELF) else ():
        if section.name in _BITCODE:
            ours = _native.with_section(ours, section.name, section.content)
    return ours


def relocation_model(bitcode: Path) -> str:
    """Return the relocation model of a module as clang names it: "pic" or "static"."""
    from burnish import _native

    return "pic" if _native.Module(bitcode.read_bytes(), "unit").position_independent else "static"


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive."""
    with path.open("rb") as file:
        return file.read(len(_ARCHIVE)) == _ARCHIVE


def _members(first: Path, second: Path) -> dict[str, bytes]:
    """Return the contents of an archive's objects by their names.

    Raises:
        KeptReference: the second archive has other names, or other metadata.
    """
    from burnish import _native

    contents, others = (
        {name: content for name, _, content in _native.archive_members(path.read_bytes())}
        for path in (first, second)
    )
    if contents.keys() != others.keys() or any(
        contents[name] != others[name] for name in contents if ".rcgu." not in name
    ):
        raise KeptReference(f"rustc makes another {first.name} when it compiles once more")
    return contents


def loaded_bytes(program: Path) -> int:
    """Return the bytes that a linked program loads: of a WebAssembly module all but its custom sections.

    Raises:
        InputError: the file is not a linked program.
    """
    content = program.read_bytes()
    if not content.startswith(_WASM):
        return read_linked(program).loaded_bytes
    from burnish.tasks.wasm_passes.sections import sections

    return sum(section.size for section in sections(content) if section.kind != "custom")


def links_in(printed: str) -> dict[Path, tuple[str, ...]]:
    """Return the commands of linkers that rustc printed, by their outputs: `NAME="..." "cc" "-m64" ...`."""
    found = {}
    for line in printed.splitlines():
        if _LINK.fullmatch(line):
            words = tuple(
                _ESCAPED.sub(_character, word.replace('"', "", 1)[:-1]) for word in _WORD.findall(line)
            )
            if "-o" in words[:-1]:
                found[Path(words[words.index("-o") + 1])] = ("env", *words)
    return found


def _character(escaped: re.Match[str]) -> str:
    """Return the character of an escape sequence of Rust."""
    number, letter = escaped.groups()
    return chr(int(number, 16)) if number else _NAMED.get(letter, letter)


def _has_objects(path: Path) -> bool:
    """Return whether a file is an archive, an object or a program."""
    with path.open("rb") as file:
        return file.read(len(_ARCHIVE)).startswith((_ARCHIVE, ELF, _WASM))


def _run(command: tuple[str, ...]) -> str:
    """Run a command and return its output.

    Raises:
        KeptReference: the command fails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _JOBSERVER}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.splitlines() or ["without a word"]
        raise KeptReference(f"{Path(command[0]).name} failed with code {done.returncode}: {lines[0]}")
    return done.stdout
