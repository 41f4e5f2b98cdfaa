"""Programs, and the workloads and runs by which they can be executed."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property

from burnish.core.errors import InputError


@dataclass(frozen=True)
class Run:
    """One execution of a program: what it is given, and what it must print."""

    name: str  # of the input, such as "small"
    arguments: tuple[str, ...] = ()
    stdin: bytes = field(default=b"", repr=False)
    expected: bytes | None = field(default=None, repr=False)
    """Its standard output where that is known; otherwise what the program prints at -O0 counts."""


@dataclass(frozen=True)
class Workload:
    """How to build, run and check a program: link its object with these, then execute each of the runs."""

    runs: tuple[Run, ...]
    objects: tuple[bytes, ...] = field(default=(), repr=False)  # of what is not optimized
    link_arguments: tuple[str, ...] = ()  # clang's, such as "-lm"
    files: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Names and contents in the folder that the program runs in."""
    remembered: bool = field(default=False, compare=False)
    """What earlier sessions on this machine measured counts: for searches, not for what is reported."""

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of BLAKE2b over all that says what is run."""
        return hashlib.blake2b(repr(astuple(self)[:-1]).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Program:
    """One program: an LLVM module, a loop nest, a linalg module.

    Its identity is the digest of its content; the name is for people.

    Raises:
        InputError: the content is not bytes.
    """

    name: str
    language: str  # what the content is written in, such as "llvm"; a task opens one language
    content: bytes = field(repr=False)
    workload: Workload | None = field(default=None, repr=False, compare=False)  # None: it cannot be run
    recalls: bool = field(default=False, repr=False, compare=False)
    """What earlier sessions on this machine measured counts: for searches, not for what is reported."""

    def __post_init__(self) -> None:
        if not isinstance(self.content, bytes):
            kind = type(self.content).__name__
            raise InputError(
                f"Program({self.name!r}, content={self.content!r:.40}): the content is a {kind}; "
                "expected bytes: load_program(FILE) reads them, TEXT.encode() makes them of a text"
            )

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of BLAKE2b over language and content."""
        text = self.language.encode() + b"\0" + self.content
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    @cached_property
    def key(self) -> str:
        """What its costs depend on: the digest, and that of its workload where it has one."""
        return f"{self.digest} {self.workload.digest}" if self.workload else self.digest

    def remembered(self) -> Program:
        """Return the same program, whose measurements may be those of earlier sessions."""
        workload = self.workload and replace(self.workload, remembered=True)
        return self if self.recalls else replace(self, workload=workload, recalls=True)
