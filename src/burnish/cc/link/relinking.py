"""The program linked once more, with a module in place of its units' objects."""

from __future__ import annotations

from pathlib import Path

from burnish.cc.link import elf
from burnish.cc.link.generate import generate
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.merging import Link, Merged
from burnish.cc.linked import Linked, read_linked
from burnish.cc.requests import KeptReference, Optimized


def link_module(
    link: Link, merged: Merged, found: Optimized, path: Path, code: bytes | None = None
) -> Linked:
    """Generate a module's code and link the program with it.

    Args:
        link: The link of the program.
        merged: The merged units.
        found: The module after its passes.
        path: The path of the new program; no map or other file is written beside it.
        code: The module's object; clang generates it by default.

    Raises:
        KeptReference: a step fails, or the program's symbols would differ for its users.
        InputError: the output is not a program.
    """
    if code is None:
        generate(merged.pattern, found.bitcode, object_of(path), merged.module.waits.step_seconds)
    else:
        object_of(path).write_bytes(code)
    _job(link, merged, path).run(merged.module.waits.step_seconds)
    _same_symbols(link.program, path)
    return read_linked(path)


def write_side_files(link: Link, merged: Merged, path: Path) -> None:
    """Repeat the link of link_module, this time with maps and other files beside the program.

    Raises:
        KeptReference: the link fails.
    """
    if link.job.has_side_files:
        _job(link, merged, path, side_files=True).run(merged.module.waits.step_seconds)


def _job(link: Link, merged: Merged, path: Path, *, side_files: bool = False) -> LinkJob:
    inputs = merged.inputs
    words = {**inputs.words, inputs.first: (object_of(path), *inputs.words[inputs.first])}
    return link.job.changed(words, path, side_files=side_files)


def object_of(path: Path) -> Path:
    """Return the path of the module's object, from which the program at `path` is linked."""
    return path.with_suffix(".o")


def _same_symbols(reference: Path, better: Path) -> None:
    """Raise KeptReference if users of a program could miss a symbol, or find a new one.

    Weak symbols may come and go if lld allows that when it resolves the module (no pass removes one): they
    are inline functions and templates, which each user has (GlobalValue::canBeOmittedFromSymbolTable).
    """
    old, new = (path.read_bytes() for path in (reference, better))
    if change := _strong(old, dynamic=True) ^ _strong(new, dynamic=True):
        raise KeptReference(f"the dynamic symbol {_name(change)} would not be as the linker defines it")
    before = {one.name for one in elf.symbols(old) if one.is_defined}
    if before and (more := _strong(new) - before):
        raise KeptReference(f"the symbol {_name(more)} would come from elsewhere")


def _strong(file: bytes, *, dynamic: bool = False) -> set[bytes]:
    every = elf.symbols(file, dynamic=dynamic)
    return {one.name for one in every if one.is_defined and one.binding != elf.WEAK}


def _name(names: set[bytes]) -> str:
    return repr(min(names).decode(errors="replace"))
