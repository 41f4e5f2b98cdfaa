"""Programs, and the workloads and runs that execute them."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property

from burnish.core.errors import InputError


@dataclass(frozen=True)
class Run:
    """One execution of a program: its inputs and its expected output."""

    name: str  # of the input, such as "small"
    arguments: tuple[str, ...] = ()
    stdin: bytes = field(default=b"", repr=False)
    expected: bytes | None = field(default=None, repr=False)
    """The expected standard output; None: the program's output at -O0 is expected."""


@dataclass(frozen=True)
class Workload:
    """Instructions to run and check a program: link its object with `objects`, then execute `runs`."""

    runs: tuple[Run, ...]
    objects: tuple[bytes, ...] = field(default=(), repr=False)  # other object files, which are not optimized
    link_arguments: tuple[str, ...] = ()  # for clang, such as "-lm"
    files: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Names and contents of the files in the folder that the program runs in."""
    remembered: bool = field(default=False, compare=False)
    """Reuse measurements of earlier sessions on this machine: for searches, not for reported costs."""
    linker: tuple[str, ...] = ()  # command that links for another machine; the objects follow
    emulator: tuple[str, ...] = ()  # command that runs the program there; its path and arguments follow

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of BLAKE2b over all fields except `remembered`."""
        *told, _, linker, emulator = astuple(self)
        told += [linker, emulator] if emulator else []
        return hashlib.blake2b(repr(tuple(told)).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Program:
    """One program: an LLVM module, a loop nest, a linalg module.

    Its identity is the digest of its language and content; the name is for people.

    Raises:
        InputError: the content is not bytes.
    """

    name: str
    language: str  # of the content, such as "llvm"; a task opens one language
    content: bytes = field(repr=False)
    workload: Workload | None = field(default=None, repr=False, compare=False)  # None: it cannot be run
    recalls: bool = field(default=False, repr=False, compare=False)
    """Reuse measurements of earlier sessions on this machine: for searches, not for reported costs."""

    def __post_init__(self) -> None:
        if not isinstance(self.content, bytes):
            kind = type(self.content).__name__
            raise InputError(
                f"Program({self.name!r}, content={self.content!r:.40}): the content is a {kind}; "
                "expected bytes: load_program(FILE) reads them, TEXT.encode() converts a string"
            )

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of BLAKE2b over language and content."""
        text = self.language.encode() + b"\0" + self.content
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    @cached_property
    def key(self) -> str:
        """The identity of its costs: the digest, and the workload's digest if there is a workload."""
        return f"{self.digest} {self.workload.digest}" if self.workload else self.digest

    def remembered(self) -> Program:
        """Return the same program, but with measurements of earlier sessions reused."""
        workload = self.workload and replace(self.workload, remembered=True)
        return self if self.recalls else replace(self, workload=workload, recalls=True)
