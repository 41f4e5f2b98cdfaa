"""A build made again with other options: objects of the build log, with the same decisions, and the link."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.build_log import Record
from burnish.cc.isolation import LONGEST_SECONDS, guarded
from burnish.cc.jobs import ClangJob, make_plan
from burnish.cc.linked import Linked, read_linked
from burnish.cc.object_trials import in_groups
from burnish.cc.outcomes import level_of_passes
from burnish.cc.repeating import replayed, split_code
from burnish.cc.requests import KeptReference
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool

# Takes the words of a clang -cc1 line, and returns the changed words.
Change = Callable[[tuple[str, ...]], tuple[str, ...]]

_LINKERS = ("ld", "ld.lld", "ld.bfd", "ld.gold", "lld", "mold")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".i", ".ii", ".S", ".s")


def remake(record: Record, change: Change, output: Path) -> None:
    """Compile a record's source with changed options to another object, with the same decisions of burnish.

    Raises:
        InputError: the source does not compile any more, or the passes do not apply to it.
    """
    job = ClangJob(change(compilation(record).command)).silenced()
    if record.action != "optimized":
        _run(job.with_output(output), record)
        return
    from burnish.cc.machine_code import Generated, repeat  # a slow import

    front, back = output.with_suffix(".front.bc"), output.with_suffix(".back.bc")
    _run(job.front_end(front), record)
    passes, code = split_code(record.trace)
    if passes:
        back.write_bytes(in_groups(_replayed(front.read_bytes(), record, passes)))
    else:
        _run(job.clang_bitcode(back), record)
    _run(job.code_generation(back, output), record)
    if code:
        modules = back.read_bytes(), front.read_bytes(), output.read_bytes()
        generated = Generated(*modules, job.command, evict_policy=record.evict_policy)
        output.write_bytes(repeat(generated, level_of_passes(record.level), code))


def compilation(record: Record) -> ClangJob:
    """Return the job that compiled a record's source; if its whole command was logged, ask clang for the job.

    Raises:
        InputError: an assembler made the object, or clang does not plan the job any more.
    """
    if not record.level:
        raise InputError(f"{record.source}: the output of an assembler is not compiled again")
    if record.command[1:2] == ("-cc1",):
        return ClangJob(record.command)
    clang, *arguments = record.command
    plan = make_plan(Path(clang), arguments, Path(record.directory))
    for job in plan.compilations if plan else ():
        if job.source == record.source:
            return job
    raise InputError(f"{record.source}: clang no longer accepts its command: build it again")


def _replayed(bitcode: bytes, record: Record, trace: tuple[str, ...]) -> bytes:
    def passed() -> bytes:
        return replayed(bitcode, record.source, level_of_passes(record.level), trace)

    try:
        return guarded(passed, LONGEST_SECONDS, Path(tempfile.gettempdir()))
    except KeptReference as why:
        raise InputError(f"{record.source}: its passes cannot be repeated: {why}") from None


def _run(job: ClangJob, record: Record) -> None:
    done = subprocess.run(
        job.command,
        cwd=record.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = next(
            (line for line in done.stderr.splitlines() if "error:" in line), f"code {done.returncode}"
        )
        raise InputError(f"{record.source}: compiling it again fails: {said}")


@dataclass(frozen=True)
class LinkCommand:
    """A compiler's command that links objects, such as `clang -o program a.o b.o -lm`."""

    words: tuple[str, ...]
    directory: Path  # the directory in which it runs

    @property
    def objects(self) -> tuple[Path, ...]:
        """The objects in the command, as absolute paths, without archives and libraries."""
        named = [word for word in self.words[1:] if word.endswith(".o") and not word.startswith("-")]
        return tuple(self.absolute(word) for word in named if self.absolute(word).is_file())

    @property
    def is_shared(self) -> bool:
        """Return whether the command makes a shared library."""
        return "-shared" in self.words

    def absolute(self, word: str) -> Path:
        """Return the absolute path for a word of the command."""
        return Path(os.path.normpath(self.directory / word))

    def link(
        self, output: Path, options: Sequence[str] = (), objects: Mapping[Path, Path] | None = None
    ) -> Linked:
        """Link into another file, with options after the command's own, and with some objects replaced.

        Raises:
            InputError: the command does not link; the message has the last lines of its output.
        """
        replaced = objects or {}
        words = [
            str(replaced.get(self.absolute(word), word)) if word.endswith(".o") else word
            for word in self._inputs()
        ]
        command = [*words, *options, "-o", str(output)]
        # with this, gcc also finds the lld beside burnish's clang
        path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{find_tool('ld.lld').parent}"
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode or not output.is_file():
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-4:])
            raise InputError(
                f"{' '.join(words[:1])} with {' '.join(options) or 'no other options'} fails:\n{last}"
            )
        return read_linked(output)

    def _inputs(self) -> list[str]:
        """Return the words without -o and its value."""
        kept: list[str] = []
        words = iter(self.words)
        for word in words:
            if word == "-o":
                next(words, None)
            elif not (word.startswith("-o") and kept):
                kept.append(word)
        return kept


def read_link_command(words: Sequence[str], directory: Path) -> LinkCommand:
    """Check and return a command that is run again.

    Raises:
        InputError: the command is empty, calls the linker itself, compiles, or links no object.
    """
    if not words:
        raise InputError(
            "expected the command that links, after --: burnish report --advice -- clang -o a.out a.o"
        )
    if Path(words[0]).name in _LINKERS:
        raise InputError(f"{words[0]}: expected a compiler that calls the linker: clang -o a.out a.o ...")
    if "-c" in words or any(word.endswith(_SOURCES) and not word.startswith("-") for word in words[1:]):
        raise InputError("the command compiles; expected one that links objects: clang -o a.out a.o ...")
    command = LinkCommand(tuple(words), directory)
    if not command.objects:
        raise InputError(
            "the command names no object that exists; run it in the folder where the build ran it"
        )
    return command
