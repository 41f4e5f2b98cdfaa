"""Sources of nests: files in the language, TOML files, names of families, and text.

FILE.nest                             the language of burnish.tasks.loop_nests.parsing
FILE.toml                             the same as a table: see `from_toml`
FOLDER                                all such files in a folder, recursively
matmul:64x64x64  matmul:64x64x64@f64  a nest of a family
matmul:train  matmul:test  nests:all  a split of a family's set, or of all families' sets
sample:train                          up to 40 nests of each family
'f32 m=4 n=8; c[m,n] = a[n]'          the nest itself, with newlines or semicolons
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from burnish.core.errors import InputError, ProgramError, UnknownName
from burnish.core.program import Program
from burnish.tasks.loop_nests import families
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.nest import DTYPES, LANGUAGE, DType, Nest, make_nest
from burnish.tasks.loop_nests.parsing import parse, parse_statement
from burnish.tasks.tensors.programs import NamedSource

SUFFIXES = (".nest", ".toml")
SPLITS = ("train", "test", "all")
EVERY = "nests"  # stands for all families
SAMPLE = "sample"  # up to OF_EACH nests of each family
OF_EACH = 40
LARGE_EXTENT = 8  # `other_extents` keeps extents up to this one
KEYS = ("dtype", "extents", "statements")
TEXT = re.compile(rf"\A\s*(?:{'|'.join(DTYPES)})\b[^\n;]*[\n;]")


class NestSource(NamedSource):
    """Nests from files, names or text."""

    many, text, first_words = "nests", TEXT, (*FAMILIES, EVERY, SAMPLE)

    def __init__(self) -> None:
        super().__init__(LANGUAGE, SUFFIXES)
        self.kinds = (
            "a file (.nest .toml), a folder of such files, a name: matmul:64x64x64, or the text of a nest"
        )

    def expand_name(self, name: str) -> list[str]:
        """See NamedSource."""
        family, split, dtype = _parts(name)
        if split not in SPLITS:
            return [name]
        known = FAMILIES if family in (EVERY, SAMPLE) else (family,)
        sets = [list(families.names(one, split)) for one in known]
        if family == SAMPLE:
            sets = [_evenly(each, OF_EACH) for each in sets]
        return [f"{name}{dtype}" for each in sets for name in each]

    def parse(self, text: str) -> Program:
        """See NamedSource."""
        return parse(text.replace(";", "\n")).program()

    def read(self, content: bytes, name: str) -> Program:
        """See NamedSource."""
        text = content.decode(errors="replace")
        nest = from_toml(text, name) if Path(name).suffix == ".toml" else parse(text, name)
        return nest.program(name)

    def named(self, name: str) -> Program:
        """See NamedSource."""
        family, extents, dtype = _parts(name)
        if family == EVERY:
            raise InputError(f"{name}: expected {', '.join(f'{EVERY}:{split}' for split in SPLITS)}")
        found = families.find(f"{family}:{extents}", _dtype(dtype.removeprefix("@") or "f32", name))
        return found.program(name)


def from_toml(text: str, name: str) -> Nest:
    """Parse a nest in TOML.

        dtype = "f32"
        statements = ["c[m, n] += a[m, k] * b[k, n]"]
        [extents]
        m = 128
        n = 128
        k = 64

    Raises:
        ProgramError: the text is not a nest; the message names what was expected.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramError(f"{name}: {error}") from None
    for key in table:
        if key not in KEYS:
            raise ProgramError(f"{name}: {UnknownName.among('key', key, KEYS)}")
    statements, extents = table.get("statements"), table.get("extents")
    if not isinstance(statements, list) or not all(isinstance(one, str) for one in statements):
        raise ProgramError(f"{name}: expected statements, such as ['c[m, n] += a[m, k] * b[k, n]']")
    if not isinstance(extents, dict) or not all(type(value) is int for value in extents.values()):
        raise ProgramError(f"{name}: expected extents, a whole number for each iterator: [extents] m = 128")
    read = [parse_statement(one, f"{name}: statement {number}") for number, one in enumerate(statements, 1)]
    return make_nest(read, extents, _dtype(table.get("dtype", "f32"), name), name)


def _dtype(text: object, name: str) -> DType:
    if not isinstance(text, str) or text not in DTYPES:
        raise ProgramError(f"{name}: dtype {text!r}; expected {' or '.join(DTYPES)}")
    return cast(DType, text)


def _parts(text: str) -> tuple[str, str, str]:
    """Return the parts of a name: the family, the extents or split, and the type: '', or such as '@f64'."""
    family, _, rest = text.partition(":")
    which, at, dtype = rest.partition("@")
    return family, which, at + dtype


def other_extents(program: Program) -> Program:
    """Return the nest with extents times 0.5 to 1.87, drawn from the program's digest; small ones stay."""
    nest = parse(program.content.decode(), program.name)
    rng = np.random.default_rng(int(program.digest[:8], 16))
    extents = {
        name: max(LARGE_EXTENT, int(extent * 2 ** rng.uniform(-1, 0.9))) if extent > LARGE_EXTENT else extent
        for name, extent in nest.extents.items()
    }
    return make_nest(nest.statements, extents, nest.dtype, program.name).program(program.name)


def _evenly(names: Sequence[str], count: int) -> list[str]:
    """Return `count` names at even distances, or all if there are fewer."""
    step = max(1.0, len(names) / count)
    return [names[int(i * step)] for i in range(min(count, len(names)))]
