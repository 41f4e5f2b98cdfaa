"""Sources of programs on tensors: files, names of families and sets, and text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.program_source import FileSource, Loaded


class NamedSource(FileSource):
    """Programs from files, names or text; the same program has the same digest, whatever its source."""

    many: str  # a noun for several programs
    text: re.Pattern[str]  # found in the text of a program, and in no name
    first_words: Collection[str]  # of names: families and sets

    def is_text(self, text: str) -> bool:
        """Return whether a text is a program itself."""
        return self.text.search(text) is not None

    def is_name(self, text: str) -> bool:
        """Return whether a text begins with a family or a set and a colon, and is not an existing file."""
        family, colon, _ = text.partition(":")
        return bool(colon) and family in self.first_words and not Path(text).exists()

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        return self.is_text(text) or self.is_name(text) or super().takes(text)

    def expand(self, text: str) -> list[str]:
        """See ProgramSource."""
        if self.is_text(text):
            return [text]
        return self.expand_name(text) if self.is_name(text) else super().expand(text)

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource; `arguments` must be empty, because there is no compiler to pass them to."""
        if self.is_text(name) or self.is_name(name):
            if arguments:
                raise InputError(f"{name}: {arguments[0]!r}: {self.many} take no compiler options")
            return Loaded(self._written(name) if self.is_text(name) else self.named(name))
        content = super().load(name, arguments, directory).program.content
        return Loaded(self.read(content, name))

    def file(self, name: str) -> Path | None:
        """See ProgramSource."""
        return None if self.is_text(name) or self.is_name(name) else super().file(name)

    def stem(self, name: str) -> str:
        """See ProgramSource."""
        return self._written(name).name if self.is_text(name) else name

    def project(self, name: str) -> str:
        """Return a program's family, or its file's folder; a program given as text is its own project."""
        if self.is_text(name):
            return self.stem(name)
        return name.partition(":")[0] if self.is_name(name) else super().project(name)

    def _written(self, text: str) -> Program:
        """Return the program of a text, named after its digest."""
        program = self.parse(text)
        return replace(program, name=f"{self.language}-{program.digest[:8]}")

    @abstractmethod
    def parse(self, text: str) -> Program:
        """Return the program of a text.

        Raises:
            ProgramError: the text is not a program.
        """

    @abstractmethod
    def read(self, content: bytes, name: str) -> Program:
        """Return the program of a file, named after the file.

        Raises:
            ProgramError: the content is not a program.
        """

    @abstractmethod
    def named(self, name: str) -> Program:
        """Return the program that a name stands for.

        Raises:
            InputError: the name stands for several, or for none.
        """

    @abstractmethod
    def expand_name(self, name: str) -> list[str]:
        """Return the names of the programs that a name stands for.

        Raises:
            InputError: the name stands for no program.
        """
