"""The key of a compilation: its command and the options of burnish that its object depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from burnish import __version__
from burnish.cc.file_budget import DEFAULT
from burnish.cc.requests import DriverOptions

# Options of a command that do not change its object; those of the first line have a value in the next word.
_OF_FILES = ("-o", "-MF", "-MT", "-MQ", "-MJ")
_OF_OUTPUT = re.compile(r"-o.+|-M(?:M?D|P|G)|-M[FTQ].+|-f(?:no-)?(?:color|caret)-diagnostics.*")
_FOR_PREPROCESSOR = "-Wp,"  # begins a word with options of the preprocessor; there -MD and -MMD name a file
_OF_PROFILES = re.compile(r"-f(?:profile-|profile-instr-|profile-sample-|auto-)(?:use|profile)(?:=(.*))?")
DEFAULT_PROFILE = "default.profdata"  # of -fprofile-use without a file, or with a folder


@dataclass(frozen=True)
class Key:
    """A compilation: its command, the profile that this names, and the options of burnish that matter."""

    arguments: tuple[str, ...]  # of the compiler
    options: DriverOptions
    cxx: bool = False

    @cached_property
    def name(self) -> str:
        """The digest of the command, but for the names of its outputs, and of the options."""
        chosen = replace(
            self.options,
            compiled=None,
            caller=None,
            log=None,
            memory=None,
            memory_error="",
            words=(),
            budget=DEFAULT,
            build_seconds=None,
        )
        words = _without_outputs(self.arguments)
        return digest(repr((__version__, self.cxx, chosen, words)).encode(), *_profiles(self.arguments))

    def for_source(self, source: str) -> Key:
        """Return the key of one source's object: a command may compile several."""
        return replace(self, arguments=(*self.arguments, source))

    def of_object(self, reference: bytes) -> str:
        """Return the key of the command with the object that the compiler made."""
        return digest(self.name.encode(), reference)

    def of_module(self, bitcode: bytes) -> str:
        """Return the key of the front end's module."""
        return digest(self.name.encode(), b"module", bitcode)

    def of_unit(self, bitcode: bytes) -> str:
        """Return the key of the front end's module as a unit of a whole program."""
        return digest(self.name.encode(), b"unit", bitcode)


def digest(*parts: bytes) -> str:
    """Return 32 hexadecimal digits of BLAKE2b over parts and their lengths."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _without_outputs(arguments: Sequence[str], with_file: Sequence[str] = _OF_FILES) -> list[str]:
    kept, words = [], iter(arguments)
    for word in words:
        if word in with_file:
            next(words, None)
        elif word.startswith(_FOR_PREPROCESSOR):
            parts = word.removeprefix(_FOR_PREPROCESSOR).split(",")
            if left := _without_outputs(parts, (*_OF_FILES, "-MD", "-MMD")):
                kept.append(_FOR_PREPROCESSOR + ",".join(left))
        elif not _OF_OUTPUT.fullmatch(word):
            kept.append(word)
    return kept


def _profiles(arguments: Sequence[str]) -> Iterator[bytes]:
    """Yield the digest of each profile that a command names, b"" for a missing one."""
    for word in arguments:
        if found := _OF_PROFILES.fullmatch(word):
            path = Path(found[1] or "")
            path = path / DEFAULT_PROFILE if path.is_dir() else path
            yield hashlib.blake2b(path.read_bytes()).digest() if path.is_file() else b""
