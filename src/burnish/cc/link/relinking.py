"""The program linked once more, with a module in place of its units' objects."""

from __future__ import annotations

from pathlib import Path

from burnish import _native
from burnish.cc import processes
from burnish.cc.improve import code_generation
from burnish.cc.jobs import ClangJob
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.merging import Link, Merged
from burnish.cc.linked import read_linked
from burnish.cc.outcomes import Sizes
from burnish.cc.requests import Attempt, KeptReference

_LOCAL, _WEAK = 0, 2  # bindings of symbols: STB_*


def link_module(link: Link, merged: Merged, attempt: Attempt, path: Path) -> Sizes:
    """Link the program with a module's object, which clang generates if burnish did not.

    Args:
        link: The link of the program.
        merged: The module of the program.
        attempt: The module after its passes, perhaps with an object.
        path: The new program; no map or other file is written beside it.

    Raises:
        KeptReference: a step fails, or the program's symbols would differ for its users.
        InputError: the output is not a program.
    """
    if attempt.code is None:
        generate(merged.pattern, attempt.bitcode, object_of(path), merged.guard.step_seconds)
    else:
        object_of(path).write_bytes(attempt.code)
    _job(link, merged, path).run(merged.guard.step_seconds)
    _same_symbols(link.program, path)
    return Sizes.of_linked(read_linked(path))


def generate(job: ClangJob, bitcode: bytes, output: Path, deadline_seconds: float) -> None:
    """Write the object of a module after its passes.

    Raises:
        KeptReference: clang fails.
    """
    path = output.with_suffix(".bc")
    path.write_bytes(bitcode)
    processes.run_quietly(code_generation(job.silenced(), path, output).command, deadline_seconds)


def write_side_files(link: Link, merged: Merged, path: Path) -> None:
    """Repeat the link of link_module, this time with maps and other files beside the program.

    Raises:
        KeptReference: the link fails.
    """
    if link.job.has_side_files:
        _job(link, merged, path, side_files=True).run(merged.guard.step_seconds)


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
        raise KeptReference(f"the dynamic symbol {min(change)!r} would not be as the linker defines it")
    before = {one.name for one in _defined(old)}
    if before and (more := _strong(new) - before):
        raise KeptReference(f"the symbol {min(more)!r} would come from elsewhere")


def _strong(file: bytes, *, dynamic: bool = False) -> set[str]:
    return {one.name for one in _defined(file, dynamic=dynamic) if one.binding != _WEAK}


def _defined(file: bytes, *, dynamic: bool = False) -> list[_native.ElfSymbol]:
    return [one for one in _native.elf_symbols(file, dynamic) if one.is_defined and one.binding != _LOCAL]
