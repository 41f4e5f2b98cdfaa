"""Sources of programs: files of MLIR, names of families, seeds, and text.

FILE.mlir                              a function `main` on tensors, see burnish.tasks.mlir_schedules.reading
FOLDER                                 all such files in a folder, recursively
matmul:512x512x512                     a program of a family
matmul:train  matmul:test  matmul:all  a split of a family's set
schedules:test                         a split of all families' sets
sample:train                           a split of a sample: up to 20 programs of each family
set17:all  set1250:train               splits of fixed sets: 17 programs, all held out, and 1250 programs
random:7  random:0..99                 random programs by seed
'func.func @main(...) ...'             the program itself
"""

from __future__ import annotations

import re

from burnish.core.errors import InputError, ProgramError
from burnish.core.program import Program
from burnish.tasks.mlir_schedules.reading import LANGUAGE, normal_text
from burnish.tasks.mlir_schedules.writing import families, sets
from burnish.tasks.mlir_schedules.writing.families import FAMILIES
from burnish.tasks.mlir_schedules.writing.generator import random_text
from burnish.tasks.mlir_schedules.writing.sets import RANDOM, SETS, SPLITS
from burnish.tasks.tensors.programs import NamedSource

SUFFIXES = (".mlir",)
SEEDS = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
MOST_SEEDS = 10_000_000  # in one range
TEXT = re.compile(r"\bfunc\.func\b[^{]*\{", re.DOTALL)


class MlirSource(NamedSource):
    """Linalg programs from files, names or text."""

    many, text, first_words = "programs of MLIR", TEXT, (*SETS, RANDOM)

    def __init__(self) -> None:
        super().__init__(LANGUAGE, SUFFIXES)
        self.kinds = (
            "a file (.mlir), a folder of such files, a name: matmul:512x512x512, set17:all, random:7,"
            " or the text of a program"
        )

    def expand_name(self, name: str) -> list[str]:
        """See NamedSource."""
        family, _, rest = name.partition(":")
        if family == RANDOM:
            return [f"{RANDOM}:{seed}" for seed in _seeds(name)]
        if rest in SPLITS or family not in FAMILIES:
            return sets.names(family, rest)
        return [name]

    def parse(self, text: str) -> Program:
        """See NamedSource."""
        return program(text, "the program")

    def read(self, content: bytes, name: str) -> Program:
        """See NamedSource."""
        try:
            return program(content.decode(), name)
        except UnicodeDecodeError as error:
            raise ProgramError(
                f"{name}: byte {error.start} is not UTF-8; expected the text of a module"
            ) from None

    def named(self, name: str) -> Program:
        """See NamedSource."""
        family = name.partition(":")[0]
        if family == RANDOM:
            seeds = _seeds(name)
            if len(seeds) != 1:
                raise InputError(
                    f"{name}: the text names {len(seeds)} programs; expected one seed, such as random:7"
                )
            return program(random_text(seeds[0]), name)
        if family not in FAMILIES:
            raise InputError(
                f"{name}: this is a set; expected {', '.join(f'{family}:{split}' for split in SPLITS)}"
            )
        return program(families.find(name), name)


def program(text: str, name: str) -> Program:
    """Return the program of a text, in normal form: texts that differ only in form give the same content.

    Raises:
        ProgramError: the text is not a program of this task; the message names what was expected.
        MissingTool: MLIR is not installed.
    """
    return Program(name, LANGUAGE, normal_text(text, name).encode())


def _seeds(text: str) -> range:
    """Return the seeds of 'random:7' or 'random:0..99'.

    Raises:
        InputError: the text has another form, or the range is empty or too large.
    """
    found = SEEDS.fullmatch(text.partition(":")[2])
    if not found:
        raise InputError(f"{text}: expected a seed, such as random:7, or seeds, such as random:0..99")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last < first + MOST_SEEDS:
        raise InputError(f"{text}: expected seeds from the smaller to the larger, {MOST_SEEDS} at most")
    return range(first, last + 1)
