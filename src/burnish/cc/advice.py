"""Options that would make a linked program smaller, each measured by a build with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from burnish.cc.build_log import Record
from burnish.cc.linked import Linked
from burnish.cc.remaking import LinkCommand, remake
from burnish.core.errors import InputError

_LLD = ("-fuse-ld=lld",)  # the options below are lld's, and sizes by different linkers are not comparable


@dataclass(frozen=True)
class Advice:
    """Advice to change the options of a build."""

    options: str  # as a user writes them
    gives_up: str  # what a user loses with these options
    adds: tuple[str, ...] = ()  # words to add to a clang -cc1 line
    drops: tuple[str, ...] = ()  # words to remove from it, by their beginnings
    link: tuple[str, ...] = ()  # options of the linking compiler
    libraries: bool = True  # whether the advice is for shared libraries, too

    def change(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a clang -cc1 line with the change; words that it already has are not added again."""
        kept = tuple(word for word in command if not (self.drops and word.startswith(self.drops)))
        added = tuple(word for word in self.adds if word not in kept)
        return (*kept[:2], *added, *kept[2:])


ADVICE = (
    Advice(
        "-fno-asynchronous-unwind-tables -fno-unwind-tables",
        "stack traces from any instruction, which profilers and crash handlers need; the tables "
        "for C++ exceptions stay",
        drops=("-funwind-tables",),
    ),
    Advice(
        "-ffunction-sections -fdata-sections -Wl,--gc-sections",
        "functions and data without references; mark as retain what is found only by its section",
        adds=("-ffunction-sections", "-fdata-sections"),
        link=("-Wl,--gc-sections",),
    ),
    Advice(
        "-Wl,--icf=safe",
        "equal functions are merged if their addresses are not compared: stack traces name either one",
        link=("-Wl,--icf=safe",),
    ),
    Advice(
        "-Wl,-z,pack-relative-relocs",
        "systems whose dynamic linker is older than glibc 2.36",
        link=("-Wl,-z,pack-relative-relocs",),
    ),
    Advice(
        "-fvisibility=hidden",
        "symbols for other modules, dlsym and plug-ins, except those marked visible",
        adds=("-fvisibility=hidden",),
        drops=("-fvisibility=",),
        libraries=False,  # in a library all symbols would go, unless its interface is marked visible
    ),
)


@dataclass(frozen=True)
class MeasuredAdvice:
    """The measured effect of one advice."""

    advice: Advice
    linked: Linked | None = None  # None: it could not be measured
    saved_bytes: int = 0  # loaded bytes, with this advice alone
    why_not: str = ""


@dataclass(frozen=True)
class Measurements:
    """Sizes of a build: as it is, with each advice alone, and with all advice that saves bytes."""

    as_linked: Linked  # by the command as it is
    base: Linked  # by lld, from objects compiled again: the advice is compared with it
    measured: tuple[MeasuredAdvice, ...]  # largest saving first
    together: Linked | None  # with all advice that saves bytes; None if fewer than two do
    remade: int  # the number of objects that were compiled again
    kept: dict[Path, str] = field(default_factory=dict)  # the other objects, and the reasons


def measure_advice(command: LinkCommand, records: Iterable[Record]) -> Measurements:
    """Measure each advice: compile again and link, in a temporary folder.

    An object is compiled again only if the build log has its command; its latest record counts.

    Raises:
        InputError: the command does not link as it is, or not with lld.
    """
    latest = {record.output_path: record for record in records}
    known = {path: latest[path] for path in dict.fromkeys(command.objects) if path in latest}
    with (
        tempfile.TemporaryDirectory(prefix="burnish-advice-") as scratch,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        return _Trial(command, known, Path(scratch), pool).measure()


class _Trial:
    """The objects of one link command, and a folder for trials."""

    def __init__(
        self, command: LinkCommand, known: dict[Path, Record], folder: Path, pool: ThreadPoolExecutor
    ) -> None:
        self.command, self.known, self.folder, self.pool = command, known, folder, pool
        self.links = 0
        self.kept = {path: "not in the build log" for path in command.objects if path not in known}

    def measure(self) -> Measurements:
        as_linked = self.link((), {})
        unchanged = self.remade([])
        base = self.link(_LLD, unchanged)
        measured = [self.alone(advice, base, unchanged) for advice in ADVICE]
        measured.sort(key=lambda one: -one.saved_bytes)
        good = [one.advice for one in measured if one.saved_bytes > 0]
        together = None
        if len(good) > 1:
            options = [option for advice in good for option in advice.link]
            together = self.link((*_LLD, *options), self.remade(good, unchanged))
        return Measurements(as_linked, base, tuple(measured), together, len(unchanged), self.kept)

    def alone(self, advice: Advice, base: Linked, unchanged: dict[Path, Path]) -> MeasuredAdvice:
        if self.command.is_shared and not advice.libraries:
            return MeasuredAdvice(
                advice, why_not="in a library, first mark the functions for others as visible"
            )
        recompiles = advice.adds or advice.drops
        if recompiles and not unchanged and not advice.link:
            return MeasuredAdvice(advice, why_not="the build log has no object of it: build with burnish cc")
        objects = self.remade([advice], unchanged) if recompiles else unchanged
        try:
            linked = self.link((*_LLD, *advice.link), objects)
        except InputError as error:
            return MeasuredAdvice(advice, why_not=str(error))
        return MeasuredAdvice(advice, linked, base.loaded_bytes - linked.loaded_bytes)

    def link(self, options: Sequence[str], objects: dict[Path, Path]) -> Linked:
        self.links += 1
        return self.command.link(self.folder / f"linked-{self.links}", options, objects)

    def remade(self, advice: Sequence[Advice], unchanged: dict[Path, Path] | None = None) -> dict[Path, Path]:
        """Return all known objects, compiled with some advice; those that fail stay as they were."""
        self.links += 1
        paths = list(self.known if unchanged is None else unchanged)
        folder = self.folder / f"objects-{self.links}"
        folder.mkdir()
        outputs = [folder / f"{number}.o" for number in range(len(paths))]
        errors = list(self.pool.map(lambda *pair: self._remake(*pair, advice=advice), paths, outputs))
        made = {}
        for path, output, error in zip(paths, outputs, errors, strict=True):
            if error and unchanged is None:
                self.kept[path] = error
            else:
                made[path] = unchanged[path] if error and unchanged else output
        return made

    def _remake(self, path: Path, output: Path, *, advice: Sequence[Advice]) -> str:
        record = self.known[path]
        if not record.command:
            return "an earlier version logged it without its command: build it again"

        def change(command: tuple[str, ...]) -> tuple[str, ...]:
            for one in advice:
                command = one.change(command)
            return command

        try:
            remake(record, change, output)
        except (InputError, OSError) as error:
            return str(error)
        return ""
