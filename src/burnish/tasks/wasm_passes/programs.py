"""Programs: modules in binary or text form, their features, and checks before binaryen reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from burnish.core.errors import InputError, ProgramError
from burnish.core.program import Program, Workload
from burnish.core.program_source import FileSource, Loaded
from burnish.llvm.run.running import read_run
from burnish.tasks.wasm_passes.binaryen import FEATURES, Module
from burnish.tasks.wasm_passes.running import validate, wat_to_wasm
from burnish.tasks.wasm_passes.sections import HEADER, for_passes, sections

LANGUAGE = "wasm"
_DEFAULT = ("mutable-globals", "sign-ext")  # wasm-opt's own, for a module without a section of features
_USES = {
    "atomics": r"\.atomic\.|memory\.atomic|atomic\.fence|\bshared\b",
    "nontrapping-fptoint": r"\.trunc_sat_",
    "simd128": r"\bv128\b",
    "bulk-memory": r"\((?:memory\.(?:copy|fill|init)|data\.drop|table\.(?:copy|init)|elem\.drop)",
    "exception-handling": r"\((?:try|throw|rethrow|tag)\b",
    "tail-call": r"\(return_call",
    "reference-types": r"\(ref\.|\bexternref\b|\(table\.(?:get|set|grow|size)|\(table \$.*\(table \$",
    "multivalue": r"\(result \w+ \w",
    "memory64": r"\(memory \$\S+ i64",
    "relaxed-simd": r"relaxed_",
}
"""The text of what needs a feature, by feature."""


class WasmSource(FileSource):
    """Files .wasm and .wat, and folders of such files."""

    def __init__(self) -> None:
        super().__init__(LANGUAGE, (".wasm", ".wat"))

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource; a text is assembled.

        Raises:
            ProgramError: the text has an error, which the message quotes.
        """
        loaded = super().load(name, arguments, directory)
        if Path(name).suffix != ".wat":
            return loaded
        return replace(
            loaded, program=replace(loaded.program, content=wat_to_wasm(name, loaded.program.content))
        )

    def with_runs(
        self, program: Program, runs: Sequence[str], names: Sequence[str], arguments: Sequence[str]
    ) -> Program:
        """Return the program with the inputs of --run."""
        return replace(program, workload=Workload(tuple(map(read_run, runs)))) if runs else program


class Prepared(NamedTuple):
    """A module as sessions read it."""

    content: bytes  # with the names of its functions, without sections for tools
    shipped: bytes  # without names, with all sections but debug information
    features: int  # that passes may use, bits of FEATURES
    last_section: bytes  # target_features as binaryen writes it, but not in copies; b"" without one


@lru_cache(maxsize=8)  # searches and environments open a program many times; a module is below a few MB
def prepared(name: str, content: bytes) -> Prepared:
    """Return a module as sessions read it; the functions' names are those of the name section, or numbers.

    Raises:
        ProgramError: it is not a module, it is not linked, or its features are not supported.
    """
    try:
        found = {section.name: content[section.first : section.end] for section in sections(content)}
        content = for_passes(content)
    except ValueError as error:
        raise ProgramError(f"{name}: not a module of WebAssembly: {error}") from None
    if "linking" in found:
        raise ProgramError(f"{name}: an object file; link it first: wasm-ld {name} -o OUT.wasm")
    if "dylink" in found or "dylink.0" in found:
        raise ProgramError(f"{name}: a shared library; expected a module that is linked statically")
    validate(name, content)
    said = found.get("target_features", b"")
    with Module(HEADER + said if said else content) as module:
        if said:
            features, said = module.features, module.write(names=False).removeprefix(HEADER)
        else:
            module.set_features(sum(FEATURES.values()))
            features = used_features(module.text())
    with Module(content, features) as module:
        if not module.is_valid():
            raise ProgramError(f"{name}: binaryen's validator rejects the module; see its messages")
        return Prepared(module.write(names=True), module.write(names=False) + said, features, said)


def used_features(text: str) -> int:
    """Return the features that a module uses, by its text, and wasm-opt's defaults."""
    used = [name for name, pattern in _USES.items() if re.search(pattern, text)]
    return sum(FEATURES[name] for name in {*_DEFAULT, *used})


def open_check(program: Program) -> None:
    """Raise InputError unless the program is in this task's language."""
    if program.language != LANGUAGE:
        raise InputError(f"{program.name}: a program in {program.language!r}; expected {LANGUAGE!r}")
