"""A session: one module, between passes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np

from burnish.core.errors import CompilerCrash, UnknownName
from burnish.core.program import Program, Workload
from burnish.core.session import Session
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.tasks.wasm_passes.actions import ACTIONS, ALL, AT_FUNCTIONS, AT_MODULE
from burnish.tasks.wasm_passes.binaryen import DEFAULTS, Module, Settings
from burnish.tasks.wasm_passes.objectives import BY_SITE, OBJECTIVES, compressed_size
from burnish.tasks.wasm_passes.observations import OBSERVATIONS, features, opcode_counts, section_sizes
from burnish.tasks.wasm_passes.programs import Prepared, open_check, prepared
from burnish.tasks.wasm_passes.running import fuel_of
from burnish.tasks.wasm_passes.sections import body_sizes


class WasmSession(Session):
    """A module between passes. Sites are its functions with a body, the largest first.

    A state is a module's binary form, with the names of its functions, and the effect of the actions at
    functions since. An action on the whole module reads this form and writes it, as a call of wasm-opt does.
    So nothing that only lives in binaryen's memory is part of a state. Actions at functions follow each other
    in memory, because a trace may have one for each of a thousand functions.
    """

    def __init__(self, name: str, prepared: Prepared, workload: Workload | None) -> None:
        super().__init__(ACTIONS)
        self.name = name
        self.workload = workload
        self._prepared = prepared
        self._module: Module | None = None  # the state after actions at functions, else None
        self._written: tuple[bytes, bytes] | None = prepared[:2]  # with names, and as a file; None: not yet
        self._names: tuple[str, ...] | None = None  # of functions with a body; None: not read yet
        self._sites: dict[str, None] | None = None

    def close(self) -> None:
        """Free binaryen's memory."""
        if self._module:
            self._module.close()
        self._module = None

    def fork(self) -> WasmSession:
        """Return a second session in the same state."""
        copy = WasmSession(self.name, self._prepared, self.workload)
        copy.trace = list(self.trace)
        copy._module = self._module.copy() if self._module else None
        copy._written, copy._names, copy._sites = self._written, self._names, self._sites
        return copy

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal actions: all on the whole module, those of OF_FUNCTIONS at a function."""
        if site == WHOLE_PROGRAM:
            return AT_MODULE.copy()
        return AT_FUNCTIONS.copy() if site in self._site_names() else np.zeros(len(ACTIONS), dtype=bool)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Run the passes of an action; at a function, a change is reported without comparing."""
        self.check_legal(action, site)
        one, changed = ALL[ACTIONS[action]], True
        if site:
            if self._module is None:
                self._module = self._read()
            one.run(self._module, site)  # adds and removes no function
            self._written = None
        else:
            before = self.content()
            with self._read() as module:
                one.run(module)
                self._written = self._write(module, one.settings)
            self.close()
            if changed := self.content() != before:
                self._names = self._sites = None
        self.record(action, site)
        return changed

    def content(self) -> bytes:
        """Return the module's binary form, with the names of its functions."""
        return self._forms()[0]

    def object_code(self) -> bytes:
        """Return the module as it is written to a file, without names."""
        return self._forms()[1]

    def _forms(self) -> tuple[bytes, bytes]:
        if self._written is None:
            assert self._module
            with self._module.copy() as module:
                self._written = self._write(module)
        return self._written

    def _write(self, module: Module, settings: Settings = DEFAULTS) -> tuple[bytes, bytes]:
        """Optimize the module's stack code; return the module with names, and as a file."""
        module.optimize_stack_code(settings)
        return module.write(names=True), module.write(names=False) + self._prepared.last_section

    def sites(self) -> tuple[str, ...]:
        """Return the functions with a body, the largest first."""
        return tuple(self._site_names())

    def _site_names(self) -> dict[str, None]:
        if self._sites is None:
            names = self._function_names()
            sizes = body_sizes(self.content())
            order = sorted(range(len(names)), key=lambda i: -sizes[i])
            self._sites = dict.fromkeys(names[i] for i in order)
        return self._sites

    def _function_names(self) -> tuple[str, ...]:
        if self._names is None:
            with self._read() as module:
                self._names = module.functions()
        return self._names

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        match space:
            case "features":
                return features(self.object_code())
            case "sections":
                return section_sizes(self.object_code())
            case "opcodes":
                return opcode_counts(self.text())
            case "wat":
                return self.text()
            case "wasm":
                return self.object_code()
        raise UnknownName.among("observation", space, OBSERVATIONS)

    def text(self) -> str:
        """Return the module's text form."""
        with self._read() as module:
            return module.text()

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES, of the module or of one function: 0 if functions have no such cost.

        Raises:
            UnknownName: there is no such objective.
            NotMeasurable: the program cannot be run.
        """
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        if site:
            return self.costs(objective).get(site, 0.0)
        if objective == "fuel":
            return float(fuel_of(self.name, self.object_code(), self.workload))
        return float(compressed_size(objective, self.object_code()))

    def costs(self, objective: str) -> dict[str, float]:
        """Return the bytes of each function's body in the code section, the number of its size included."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        if objective not in BY_SITE:
            return {}
        sizes = body_sizes(self.object_code())
        return {name: float(size) for name, size in zip(self._function_names(), sizes, strict=True)}

    def digest(self) -> str:
        """Return the digest of the binary form with names: 32 hexadecimal digits."""
        return hashlib.blake2b(self.content(), digest_size=16).hexdigest()

    def verify(self) -> str:
        """Return the name of binaryen's validator, after it accepts the module."""
        with self._read() as module:
            if not module.is_valid():
                raise CompilerCrash(f"{self.name}: binaryen's validator rejects the module after its passes")
        return "binaryen's validator"

    def _read(self) -> Module:
        return Module(self.content(), self._prepared.features)


def open_program(program: Program, first: Sequence[str] = ()) -> WasmSession:
    """Open a program in the state after a baseline's actions, which are not in the trace.

    Raises:
        InputError, ProgramError: see `prepared`.
        MissingTool: binaryen or wasmtime is not installed.
    """
    open_check(program)
    session = WasmSession(program.name, prepared(program.name, program.content), program.workload)
    session.replay(first)
    session.trace.clear()
    return session


BASELINES: dict[str, Opener] = {
    "unoptimized": open_program,
    **{
        level: partial(open_program, first=(f"default<{level}>",)) for level in ("O2", "O3", "O4", "Os", "Oz")
    },
}
