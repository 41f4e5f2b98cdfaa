"""Corpora of MLGO: folders of bitcode with clang's options, as LLVM's mlgo-utils extract them from a build.

    corpus_description.json    {"modules": ["lib/a.o", ...], "has_thinlto": false, ...}
    lib/a.o.bc                 the module before any pass
    lib/a.o.cmd                clang's -cc1 options, with a zero byte after each
    lib/a.o.thinlto.bc         in a ThinLTO build: the module's index, which selected the imported functions

mlgo-utils extract a ThinLTO module after the import (lld's .3.import.bc). So the module has definitions from
other modules, as available_externally. The option -thinlto-assume-merged declares that to clang.

`global_command_override` replaces all .cmd files. For a build by lld, mlgo-utils write a placeholder there,
which the user has to fill in.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.core.errors import InputError
from burnish.files import write_atomically
from burnish.llvm.corpora.flags import UNCHANGED, FlagChanges, changed_options

DESCRIPTION = "corpus_description.json"
UNSPECIFIED = ("<UNSPECIFIED>",)
BITCODE, COMMAND, INDEX = ".bc", ".cmd", ".thinlto.bc"
HALF = ".writing."  # beginning of the name of a folder with modules that are being written


@dataclass(frozen=True)
class MlgoCorpus:
    """Content of a corpus description; methods read the modules' files on each call."""

    folder: Path
    modules: tuple[str, ...] = field(repr=False)
    has_thinlto: bool = False
    override: tuple[str, ...] | None = None  # options that replace all .cmd files
    more: Mapping[str, Any] = field(default_factory=dict, repr=False)  # other entries of the description

    def path(self, module: str, suffix: str = BITCODE) -> Path:
        """Return the path of one of a module's files."""
        return self.folder / f"{module}{suffix}"

    def options(self, module: str) -> tuple[str, ...]:
        """Return clang's options for a module, from the build or from the override.

        Raises:
            InputError: the .cmd file cannot be read, or the override has not been filled in.
        """
        if self.override == UNSPECIFIED:
            raise InputError(
                f"{self.folder / DESCRIPTION}: global_command_override is still {UNSPECIFIED[0]}; "
                "write the -cc1 options of the build there"
            )
        if self.override is not None:
            return self.override
        path = self.path(module, COMMAND)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot read clang's options of {module}: {error}") from None
        return tuple(text.removesuffix("\0").split("\0")) if text else ()

    def command(self, module: str, changes: FlagChanges = UNCHANGED) -> tuple[str, ...]:
        """Return all of clang's arguments that compile a module, except the output."""
        words = [*changed_options(self.options(module), changes), "-x", "ir", str(self.path(module))]
        if self.has_thinlto:
            index = self.path(module, INDEX)
            words += [f"-fthinlto-index={index}", "-mllvm", "-thinlto-assume-merged"]
        return (*words, *changes.added)


@dataclass(frozen=True)
class MlgoModule:
    """A module for `write_mlgo`."""

    name: str  # relative, with '/'
    bitcode: bytes = field(repr=False)
    options: tuple[str, ...] = ()
    index: bytes | None = field(default=None, repr=False)  # ThinLTO's


def read_mlgo(folder: Path | str) -> MlgoCorpus:
    """Read the description of a corpus, given its folder or the description's path.

    Raises:
        InputError: the description is missing or invalid, or a module's file is missing.
    """
    folder = Path(folder)
    path = folder if folder.name == DESCRIPTION else folder / DESCRIPTION
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read it: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    more: dict[str, Any] = dict(table) if isinstance(table, dict) else {}
    modules, has_thinlto = more.pop("modules", None), more.pop("has_thinlto", None)
    if not isinstance(modules, list) or not _are_texts(modules) or not isinstance(has_thinlto, bool):
        raise InputError(f'{path}: expected "modules", a list of names, and "has_thinlto", true or false')
    override = more.pop("global_command_override", None)
    if override is not None and not (isinstance(override, list) and _are_texts(override)):
        raise InputError(f"{path}: global_command_override: expected a list of options")
    if not modules:
        raise InputError(f"{path}: there are no modules in it")
    corpus = MlgoCorpus(
        path.parent, tuple(modules), has_thinlto, None if override is None else tuple(override), more
    )
    for module in modules:
        for suffix in (BITCODE, INDEX) if has_thinlto else (BITCODE,):
            if not corpus.path(module, suffix).is_file():
                raise InputError(f"{path}: {module}: {corpus.path(module, suffix)} is missing")
    return corpus


def write_mlgo(
    folder: Path, modules: Iterable[MlgoModule], *, more: Mapping[str, Any] | None = None
) -> MlgoCorpus:
    """Write modules beside the folder's earlier ones, then move them in, then write the description.

    Files of the same names are replaced. A process that is stopped leaves the old corpus, or, if it was
    moving files, a folder without a description, which cannot be read. `more` are other entries of the
    description.

    Raises:
        InputError: there is no module, a name leads out of the folder or occurs twice, or only some modules
            have an index; the folder is unchanged.
    """
    names: dict[str, None] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{HALF}*"):  # by a killed process
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=HALF) as half:
            indexed = _write_modules(Path(half), modules, names)
            (folder / DESCRIPTION).unlink(missing_ok=True)
            for path in (one for one in Path(half).rglob("*") if one.is_file()):
                target = folder / path.relative_to(half)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    return _described(MlgoCorpus(folder, tuple(names), indexed, more=more or {}))


def _write_modules(folder: Path, modules: Iterable[MlgoModule], names: dict[str, None]) -> bool:
    """Write modules, and add their names to `names`; return whether they have an index."""
    indexed: set[bool] = set()
    for module in modules:
        inside = PurePosixPath(module.name)
        if not module.name or inside.is_absolute() or ".." in inside.parts:
            raise InputError(f"module {module.name!r}: expected a path inside the corpus")
        if module.name in names:
            raise InputError(f"module {module.name!r}: is in the corpus twice")
        names[module.name] = None
        indexed.add(module.index is not None)
        if len(indexed) > 1:
            raise InputError(
                f"{module.name}: expected a ThinLTO index for all modules of a corpus, or for no module"
            )
        options = "".join(f"{word}\0" for word in module.options).encode()
        files = {BITCODE: module.bitcode, COMMAND: options, INDEX: module.index}
        for suffix, content in files.items():
            if content is not None:
                path = folder / f"{module.name}{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    if not names:
        raise InputError("there is no module to write")
    return indexed == {True}


def combine_mlgo(folder: Path) -> MlgoCorpus:
    """Write one description for all corpora in a folder, as mlgo-utils' combine_training_corpus does."""
    found = [read_mlgo(path) for path in sorted(folder.glob(f"*/{DESCRIPTION}"))]
    if not found:
        raise InputError(f"{folder}: no folder in it has a {DESCRIPTION}")
    same = {(one.has_thinlto, one.override, json.dumps(one.more, sort_keys=True)) for one in found}
    if len(same) > 1:
        raise InputError(f"{folder}: the corpora there differ in more than their modules")
    modules = [f"{one.folder.relative_to(folder).as_posix()}/{name}" for one in found for name in one.modules]
    return _described(replace(found[0], folder=folder, modules=tuple(modules)))


def _described(corpus: MlgoCorpus) -> MlgoCorpus:
    """Write the description of a corpus, and read it."""
    override = {} if corpus.override is None else {"global_command_override": corpus.override}
    table = {**override, **corpus.more, "has_thinlto": corpus.has_thinlto, "modules": corpus.modules}
    write_atomically(corpus.folder / DESCRIPTION, json.dumps(table, indent=2).encode() + b"\n")
    return read_mlgo(corpus.folder)


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
