"""The linker's command as clang plans it, with other inputs and another output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from burnish.cc import processes
from burnish.cc.jobs import ClangJob
from burnish.llvm.toolchain import find_tool

# Options that write a file beside the program, such as a map of its sections.
_SIDE_FILES = (
    "Map",
    "dependency-file",
    "reproduce",
    "why-extract",
    "print-archive-stats",
    "time-trace",
    "out-implib",
)
# A script may treat sections by name in ways that no module shows.
_SCRIPTS = ("-T", "--script", "-dT", "--default-script")
# With one of these options, the output is not a program, or another tool helps to make it.
_UNLINKED = ("-r", "--relocatable", "-i", "-Ur", "--oformat", "-plugin", "--plugin")


@dataclass(frozen=True)
class LinkJob:
    """One linker's command."""

    command: tuple[str, ...]

    @property
    def output(self) -> Path:
        """The program or shared library."""
        return Path(ClangJob(self.command).output or "a.out")

    @property
    def is_shared(self) -> bool:
        """Return whether the command makes a shared library."""
        return bool({"-shared", "--shared", "-Bshareable"} & set(self.command))

    @property
    def why_not(self) -> str:
        """Return why the inputs cannot become one module; "" if they can."""
        name = PurePath(self.command[0]).name
        if "ld" not in name:
            return f"burnish does not support the linker {name}"
        if told := [word for word in self.command if word.partition("=")[0] in _UNLINKED]:
            return f"{told[0]}: the output is not a program"
        if told := [word for word in self.command if word.startswith(_SCRIPTS)]:
            return f"{told[0]}: a linker script sets the layout of the program"
        return ""

    @property
    def has_side_files(self) -> bool:
        """Return whether the command writes a map, or another file beside the program."""
        return len(_without_side_files(self.command)) < len(self.command)

    def changed(
        self, inputs: Mapping[int, Sequence[str | Path]], output: Path, *, side_files: bool = False
    ) -> LinkJob:
        """Return the command with another output, and other words at some positions; () removes a word.

        With `side_files`, maps and other files beside the program are written, too.
        """
        words = [str(new) for index, word in enumerate(self.command) for new in inputs.get(index, (word,))]
        job = ClangJob(tuple(words if side_files else _without_side_files(words)))
        return replace(self, command=job.with_output(output).command)

    def by_lld(self, *options: str) -> LinkJob:
        """Return the command of burnish's own linker, with more options at the end."""
        return LinkJob((str(find_tool("ld.lld")), *self.command[1:], *options))

    def run(self, deadline_seconds: float) -> None:
        """Run the linker without output to the user.

        Raises:
            KeptReference: the linker fails.
        """
        processes.run_quietly(self.command, deadline_seconds)


def link_job_of(jobs: Sequence[ClangJob]) -> LinkJob | None:
    """Return the last of clang's jobs if it is the only one that links; else None."""
    others = [job for job in jobs if not job.belongs_to_clang]
    if len(others) != 1 or jobs[-1] is not others[0] or not jobs[-1].output:
        return None
    return LinkJob(jobs[-1].command)


def _without_side_files(command: Sequence[str]) -> list[str]:
    kept = []
    words = iter(command)
    for word in words:
        name, equals, _ = word.removeprefix("-Wl,").lstrip("-").partition("=")
        if not word.startswith("-") or name not in _SIDE_FILES:
            kept.append(word)
        elif not equals and name != "time-trace":
            next(words, None)
    return kept
