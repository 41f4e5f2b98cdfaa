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
from dataclasses import replace
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError, ProgramError, UnknownName
from burnish.core.program import Program
from burnish.core.program_source import FileSource, Loaded
from burnish.tasks.loop_nests import families
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.nest import DTYPES, LANGUAGE, DType, Nest, make_nest
from burnish.tasks.loop_nests.parsing import parse, parse_statement

SUFFIXES = (".nest", ".toml")
SPLITS = ("train", "test", "all")
EVERY = "nests"  # stands for all families
SAMPLE = "sample"  # up to OF_EACH nests of each family
OF_EACH = 40
LARGE_EXTENT = 8  # `other_extents` keeps extents up to this one
KEYS = ("dtype", "extents", "statements")
TEXT = re.compile(rf"\s*(?:{'|'.join(DTYPES)})\b[^\n;]*[\n;]")


class NestSource(FileSource):
    """Nests from files, names or text; the same nest has the same digest, whatever its source."""

    def __init__(self) -> None:
        super().__init__(LANGUAGE, SUFFIXES)
        self.kinds = (
            "a file (.nest .toml), a folder of such files, a name: matmul:64x64x64, or the text of a nest"
        )

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        return is_text(text) or is_name(text) or super().takes(text)

    def expand(self, text: str) -> list[str]:
        """See ProgramSource."""
        if is_text(text):
            return [text]
        if not is_name(text):
            return super().expand(text)
        family, split, dtype = _parts(text)
        if split not in SPLITS:
            return [text]
        known = FAMILIES if family in (EVERY, SAMPLE) else (family,)
        sets = [list(families.names(one, split)) for one in known]
        if family == SAMPLE:
            sets = [_evenly(each, OF_EACH) for each in sets]
        return [f"{name}{dtype}" for each in sets for name in each]

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource; `arguments` must be empty, as there is no compiler to pass them to."""
        if is_text(name) or is_name(name):
            if arguments:
                raise InputError(f"{name}: {arguments[0]!r}: nests take no compiler options")
            return Loaded(_written(name) if is_text(name) else _named(name).program(name))
        found = super().load(name, arguments, directory).program
        text = found.content.decode(errors="replace")
        nest = from_toml(text, name) if Path(name).suffix == ".toml" else parse(text, name)
        return Loaded(nest.program(name))

    def file(self, name: str) -> Path | None:
        """See ProgramSource."""
        return None if is_text(name) or is_name(name) else super().file(name)

    def stem(self, name: str) -> str:
        """See ProgramSource."""
        return _written(name).name if is_text(name) else name

    def project(self, name: str) -> str:
        """Return a nest's family, or its file's folder; a nest given as text is its own project."""
        if is_text(name):
            return self.stem(name)
        return name.partition(":")[0] if is_name(name) else super().project(name)


def is_text(text: str) -> bool:
    """Return whether a text is a nest itself: it begins with a type, and has several lines or a semicolon."""
    return TEXT.match(text) is not None


def is_name(text: str) -> bool:
    """Return whether a text names a family and extents or a split, and is not an existing file."""
    family, colon, _ = text.partition(":")
    return bool(colon) and family in (*FAMILIES, EVERY, SAMPLE) and not Path(text).exists()


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
    return "f32" if text == "f32" else "f64"


def _written(text: str) -> Program:
    """Parse a nest in text, and return it as a program named after its digest."""
    program = parse(text.replace(";", "\n")).program()
    return replace(program, name=f"nest-{program.digest[:8]}")


def _named(text: str) -> Nest:
    family, extents, dtype = _parts(text)
    if family == EVERY:
        raise InputError(f"{text}: expected {', '.join(f'{EVERY}:{split}' for split in SPLITS)}")
    return families.find(f"{family}:{extents}", _dtype(dtype.removeprefix("@") or "f32", text))


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
