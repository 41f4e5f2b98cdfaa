"""The command that links a program, run again with other options and objects, into another file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.linked import Linked, read_linked
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool

_LINKERS = ("ld", "ld.lld", "ld.bfd", "ld.gold", "lld", "mold")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".i", ".ii", ".S", ".s")


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
