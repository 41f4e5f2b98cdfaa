"""A link by a GNU compiler, and its linker's decisions about the units, by its interface for plugins.

GNU ld works as for link-time optimization, with the user's own command and linker script. A plugin
(native/link_plugin) gives it the symbols of units in place of those of their objects. The linker answers
which definitions it takes, and which of these something else than a unit refers to. (binutils,
include/plugin-api.h.)
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from burnish import _native
from burnish.cc.foreign import in_gnus_place
from burnish.cc.isolation import Guard
from burnish.cc.link.inputs import LinkedFile
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.units import ProgramUnit
from burnish.cc.requests import KeptReference

PLUGIN = Path(_native.__file__).with_name("_link_plugin.so")
_UNDEFINED = 2  # LDPK_UNDEF
_PREVAILING, _IR_ONLY = 2, 3  # LDPR_PREVAILING_DEF, LDPR_PREVAILING_DEF_IRONLY
_END = "end"  # the last line of the answers
# The output is not a program, or GCC itself makes code while it links.
_UNLINKED = ("-r", "-Wl,-r", "-Wl,--relocatable", "-flto", "-shared")
_WRAP = re.compile(r"-Wl,--?wrap(?:=(.*))?$")


@dataclass(frozen=True)
class GnuLink(LinkJob):
    """One command of a GNU compiler that links."""

    @classmethod
    def of(cls, command: Sequence[str]) -> GnuLink:
        """Return the link of a command, with one word for each word of the linker, and no response files.

        Raises:
            KeptReference: a response file cannot be read.
        """
        return cls(tuple(_words(command)))

    @property
    def why_not(self) -> str:
        """Return why the inputs cannot become one module; "" if they can."""
        told = [word for word in self.command if word.partition("=")[0] in _UNLINKED]
        return f"{told[0]}: burnish leaves this link to the compiler" if told else ""

    @property
    def wrapped(self) -> list[str]:
        """The names after --wrap: references to them are for other definitions than their own."""
        found = []
        for word, following in pairwise((*self.command, "")):
            if name := _WRAP.match(word):
                found.append(name[1] if name[1] is not None else following.removeprefix("-Wl,"))
        return found


def _words(command: Sequence[str]) -> Iterator[str]:
    words = iter(command)
    for word in words:
        if word.startswith("@"):
            try:
                yield from _words(shlex.split(Path(word[1:]).read_text()))
            except (OSError, ValueError) as error:
                raise KeptReference(f"{word}: {error}") from None
        elif word == "-Xlinker":
            yield f"-Wl,{next(words, '')}"
        elif word.startswith("-Wl,"):
            yield from (f"-Wl,{part}" for part in word.removeprefix("-Wl,").split(","))
        else:
            yield word


def resolve(
    job: GnuLink, files: Sequence[LinkedFile], units: Sequence[ProgramUnit], folder: Path, guard: Guard
) -> tuple[list[ProgramUnit], bytes]:
    """Return the units that the linker takes, in its order, and the bitcode of their module, before any pass.

    Args:
        job: The link.
        files: Its inputs that have units.
        units: Those of the inputs' units that may become part of the module.
        folder: For files in between.
        guard: For LLVM's steps.

    Raises:
        KeptReference: the linker does not answer, or the units do not fit together.
    """
    admitted, wrapped = {id(unit) for unit in units}, job.wrapped
    asked = [
        (part.found.unit, part)
        for file in files
        for part in file.parts
        if part.found and id(part.found.unit) in admitted
    ]

    def known() -> list[_Known]:
        return [_Known.of(unit, part.content, wrapped) for unit, part in asked]

    table, listed = folder / "units", guard.step(known)
    with table.open("w") as written:
        for (_, part), one in zip(asked, listed, strict=True):
            written.write("\n".join([f"unit\t{part.start}\t{part.file.resolve()}", *one.lines, ""]))
    answers = _answers(job, table, guard.step_seconds)
    if not answers:
        raise KeptReference("the linker took no unit that can become part of a module")

    def merged() -> bytes:
        taken = [listed[number] for number, _ in answers]
        told = [one.told(resolutions, wrapped) for one, (_, resolutions) in zip(taken, answers, strict=True)]
        bitcode = _native.merge_units([one.bitcode for one in taken], told)
        return in_gnus_place(_with_wrapped(bitcode, wrapped))

    return [asked[number][0] for number, _ in answers], guard.step(merged)


@dataclass(frozen=True)
class _Known:
    """A unit as the linker sees it.

    Attributes:
        bitcode: The unit, which refers to wrappers in place of what they wrap.
        names: Its symbols.
        lines: The plugin's lines for them, and for what the unit's object needs beside them. The latter are
            calls that a code generator adds. The linker must see them to take the same libraries.
    """

    bitcode: bytes
    names: tuple[str, ...]
    lines: tuple[str, ...]

    @classmethod
    def of(cls, unit: ProgramUnit, content: bytes, wrapped: Sequence[str]) -> _Known:
        bitcode = unit.bitcode
        if wrapped:
            module = _native.Module(bitcode, unit.job.source)
            module.refer_to_wrappers(wrapped)
            bitcode = module.bitcode()
        own = _native.unit_symbols(bitcode)
        names = tuple(symbol.name for symbol in own)
        lines = [
            f"{symbol.kind}\t{symbol.visibility}\t{symbol.size}\t{symbol.name}\t{symbol.group}"
            for symbol in own
        ]
        needed = {
            symbol.name for symbol in _native.elf_symbols(content) if not symbol.is_defined and symbol.name
        }
        lines += [f"{_UNDEFINED}\t0\t0\t{name}\t" for name in sorted(needed.difference(names))]
        return cls(bitcode, names, tuple(lines))

    def told(self, resolutions: Sequence[int], wrapped: Sequence[str]) -> list[int]:
        """Return the linker's answers for the unit's symbols; wrappers, and what they wrap, stay visible."""
        visible = {*wrapped, *(f"__wrap_{name}" for name in wrapped)}
        answers = zip(self.names, resolutions, strict=False)  # then those for what the object needs
        return [_PREVAILING if name in visible and one == _IR_ONLY else one for name, one in answers]


def _with_wrapped(bitcode: bytes, wrapped: Sequence[str]) -> bytes:
    if not wrapped:
        return bitcode
    module = _native.Module(bitcode, "merged")
    module.refer_to_wrapped(wrapped)
    return module.bitcode()


def _answers(job: GnuLink, table: Path, deadline_seconds: float) -> list[tuple[int, list[int]]]:
    """Return, for each unit that the linker takes, its number in the table and the linker's resolutions."""
    options = (f"-Wl,-plugin,{PLUGIN}", f"-Wl,-plugin-opt={table}")
    asked = job.changed({}, table.with_name("unlinked"))
    failed: KeptReference | None = None
    try:
        GnuLink((*asked.command, *options)).run(deadline_seconds)
    except KeptReference as why:  # always: the plugin ends the link when it has the answers
        failed = why
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = table.with_name(f"{table.name}.answers").read_text().splitlines()
    if lines[-1:] != [_END]:
        raise KeptReference(f"the linker does not say which units it takes: {failed}")
    numbers = ([int(number) for number in line.split()] for line in lines[:-1])
    return [(first, rest) for first, *rest in numbers]
