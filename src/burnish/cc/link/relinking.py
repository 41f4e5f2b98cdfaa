"""The program once more, with a module in the place of its units' objects."""

from __future__ import annotations

from pathlib import Path

from burnish import _native
from burnish.cc.link.generate import generate
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.merging import Link, Merged
from burnish.cc.linked import Linked, read_linked
from burnish.cc.requests import KeptReference, Optimized

_LOCAL, _WEAK = 0, 2  # bindings of symbols: STB_*


def link_module(
    link: Link, merged: Merged, found: Optimized, path: Path, code: bytes | None = None
) -> Linked:
    """Generate a module's code and link the program with it.

    Args:
        link: Of the program.
        merged: Its module.
        found: The module after its passes.
        path: Where to; no map or other file is written beside it.
        code: The module's object; by default clang's.

    Raises:
        KeptReference: that fails, or the program would be another one to its users.
        InputError: what is linked is no program.
    """
    if code is None:
        generate(merged.pattern, found.bitcode, object_of(path), merged.module.waits.step_seconds)
    else:
        object_of(path).write_bytes(code)
    _job(link, merged, path).run(merged.module.waits.step_seconds)
    _same_symbols(link.program, path)
    return read_linked(path)


def write_side_files(link: Link, merged: Merged, path: Path) -> None:
    """Link what link_module linked once more, with maps and other files beside the program.

    Raises:
        KeptReference: that fails.
    """
    if link.job.has_side_files:
        _job(link, merged, path, side_files=True).run(merged.module.waits.step_seconds)


def _job(link: Link, merged: Merged, path: Path, *, side_files: bool = False) -> LinkJob:
    inputs = merged.inputs
    words = {**inputs.words, inputs.first: (object_of(path), *inputs.words[inputs.first])}
    return link.job.changed(words, path, side_files=side_files)


def object_of(path: Path) -> Path:
    """Return where the module's object is that a program was linked of."""
    return path.with_suffix(".o")


def _same_symbols(reference: Path, better: Path) -> None:
    """Raise KeptReference where others could miss something in a program, or find something new.

    Weak symbols may come and go where lld says so when it resolves the module (no pass takes one away):
    inline functions and templates, which whoever needs one has (GlobalValue::canBeOmittedFromSymbolTable).
    """
    old, new = (path.read_bytes() for path in (reference, better))
    if change := _strong(old, dynamic=True) ^ _strong(new, dynamic=True):
        raise KeptReference(f"the dynamic symbol {min(change)!r} would not be as the linker defines it")
    before = {one.name for one in _defined(old)}
    if before and (more := _strong(new) - before):
        raise KeptReference(f"the symbol {min(more)!r} would come from elsewhere")


def _strong(file: bytes, *, dynamic: bool = False) -> set[str]:
    return {one.name for one in _defined(file, dynamic=dynamic) if one.binding != _WEAK}


def _defined(file: bytes, *, dynamic: bool = False) -> list[_native.ElfSymbol]:
    return [one for one in _native.elf_symbols(file, dynamic) if one.is_defined and one.binding != _LOCAL]
