"""Runs of a module by wasmtime: its outputs, and the instructions that it executes."""

from __future__ import annotations

import atexit
import importlib
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError, MissingTool, NotMeasurable, ProgramError
from burnish.core.program import Program, Run, Workload
from burnish.core.session import Session
from burnish.core.validator import Behaviour
from burnish.tasks.wasm_passes.binaryen import INSTALL

START = "_start"
FUEL = 1 << 50  # more than any run takes before its deadline
PATIENT_SECONDS = 120.0  # of one run
RESERVED = 1 << 16  # bytes of address space around a memory: one page of WebAssembly
SHOWN = 60  # bytes of an output that a message quotes
# Of wasmtime's own defaults; binaryen 116 reads older forms of these, and ends the process on newer ones.
_REFUSED = ("wasm_gc", "wasm_function_references", "wasm_exceptions")


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    status: int  # exit code
    trap: str  # why it was ended; "" if it ended by itself
    output: bytes = field(repr=False)
    errors: bytes = field(repr=False)
    fuel: int = field(compare=False)  # instructions executed, by wasmtime's count


@cache
def wasmtime() -> Any:
    """Return wasmtime's module.

    Raises:
        MissingTool: it is not installed.
    """
    try:
        return importlib.import_module("wasmtime")
    except ImportError as error:
        raise MissingTool(f"wasmtime is not installed ({error}): {INSTALL}") from None


def validate(name: str, content: bytes) -> None:
    """Raise ProgramError unless wasmtime's validator accepts a module."""
    try:
        wasmtime().Module.validate(_validator(), content)
    except wasmtime().WasmtimeError as error:
        raise ProgramError(f"{name}: {_first_line(error)}") from None


def wat_to_wasm(name: str, text: bytes) -> bytes:
    """Return a text module's binary form.

    Raises:
        ProgramError: the text has an error, which the message quotes.
    """
    try:
        return bytes(wasmtime().wat2wasm(text))
    except wasmtime().WasmtimeError as error:
        raise ProgramError(f"{name}: {error}") from None


def fuel_of(name: str, content: bytes, workload: Workload | None) -> int:
    """Return the instructions of all runs of a program; without a workload, of one run without input.

    Raises:
        NotMeasurable: it does not end by itself, or cannot be started.
    """
    try:
        outcomes = execute(content, workload.runs if workload else (Run("no input"),), _files(workload))
    except InputError as error:
        raise NotMeasurable(f"{name}: {error}") from None
    for outcome in outcomes:
        if outcome.trap:
            raise NotMeasurable(f"{name}: {outcome.trap}")
    return max(1, sum(outcome.fuel for outcome in outcomes))


def execute(
    content: bytes, runs: Sequence[Run], files: Mapping[str, bytes], seconds: float = PATIENT_SECONDS
) -> tuple[Outcome, ...]:
    """Run a module's _start once for each run, in a folder with `files`.

    Raises:
        InputError: the module has no _start, or imports more than WASI.
    """
    # A deadline ends all runs of an engine, those of other threads, too.
    engine = _new_engine()
    module = wasmtime().Module(engine, content)
    return tuple(_execute(engine, module, run, files, seconds) for run in runs)


def _execute(engine: Any, module: Any, run: Run, files: Mapping[str, bytes], seconds: float) -> Outcome:
    api = wasmtime()
    store, linker, wasi = api.Store(engine), api.Linker(engine), api.WasiConfig()
    store.set_fuel(FUEL)
    store.set_epoch_deadline(1)
    linker.define_wasi()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        streams = {name: folder / name for name in ("stdin", "stdout", "stderr")}
        streams["stdin"].write_bytes(run.stdin)
        wasi.argv = ["program", *run.arguments]
        wasi.stdin_file, wasi.stdout_file, wasi.stderr_file = map(str, streams.values())
        if files:
            (folder / "files").mkdir()
            for name, content in files.items():
                (folder / "files" / name).write_bytes(content)
            wasi.preopen_dir(str(folder / "files"), ".")
        store.set_wasi(wasi)
        try:
            instance = linker.instantiate(store, module)
        except (api.WasmtimeError, api.Trap) as error:
            raise InputError(f"it cannot be started with WASI: {_first_line(error)}") from None
        if START not in (exports := instance.exports(store)):
            raise InputError(f"it exports no {START}, so it is not a program")
        deadline = threading.Timer(seconds, engine.increment_epoch)
        deadline.start()
        status, trap = 0, ""
        try:
            exports[START](store)
        except api.ExitTrap as end:
            status = end.code
        except (api.WasmtimeError, api.Trap) as error:
            trap = _first_line(error)
        finally:
            deadline.cancel()
        output, errors = (_content(streams[name]) for name in ("stdout", "stderr"))
        return Outcome(status, trap, output, errors, FUEL - store.get_fuel())


def _content(path: Path) -> bytes:
    """Return a file's content; b"" if nothing was written."""
    return path.read_bytes() if path.exists() else b""


class WasmBehaviour(Behaviour):
    """Runs of a state's module under wasmtime; exit codes and outputs are compared byte by byte."""

    same = "prints the same as"

    def __init__(self, name: str, workload: Workload, seconds: float = PATIENT_SECONDS) -> None:
        self.name = name
        self.workload = workload
        self.seconds = seconds
        self.inputs = len(workload.runs)

    def within(self, seconds: float) -> WasmBehaviour:
        """See Behaviour."""
        return WasmBehaviour(self.name, self.workload, seconds)

    def run(self, session: Session, expected: Any = None) -> tuple[Outcome, ...]:
        """See Behaviour."""
        try:
            return execute(session.object_code(), self.workload.runs, _files(self.workload), self.seconds)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None

    def differences(self, seen: Any, expected: Any) -> list[str]:
        """See Behaviour."""
        found = []
        for run, one, right in zip(self.workload.runs, seen, expected, strict=True):
            output = right.output if run.expected is None else run.expected
            if one.trap or right.trap:
                found.append(f"input {run.name!r}: {one.trap or f'the reference: {right.trap}'}")
            elif one.status != right.status:
                found.append(f"input {run.name!r}: exit code {one.status}, expected {right.status}")
            elif one.output != output:
                shown = f"{one.output[:SHOWN]!r}, expected {output[:SHOWN]!r}"
                found.append(f"input {run.name!r}: prints {shown}")
        return found


def behaviour(program: Program) -> WasmBehaviour | None:
    """Return the behaviour of a program with a workload; None for a program without one."""
    return WasmBehaviour(program.name, program.workload) if program.workload else None


@cache
def _validator() -> Any:
    atexit.register(_validator.cache_clear)  # wasmtime's modules are gone when the interpreter frees the rest
    return _new_engine()


def _new_engine() -> Any:
    config = wasmtime().Config()
    config.consume_fuel = True
    config.epoch_interruption = True
    config.memory_reservation = RESERVED  # by default 4 GiB, which is more than a worker may map
    config.memory_guard_size = RESERVED
    config.signals_based_traps = False  # otherwise a crash of binaryen would come to wasmtime's handler
    for name in _REFUSED:
        setattr(config, name, False)
    return wasmtime().Engine(config)


def _files(workload: Workload | None) -> dict[str, bytes]:
    return dict(workload.files) if workload else {}


def _first_line(error: Exception) -> str:
    """Return the reason of one of wasmtime's errors, which is in its last line that is not empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
