"""Run a program for another machine, and perhaps count the instructions that it executes.

    python -m burnish.llvm.run.emulate [--count=FILE] MACHINE PROGRAM [ARGUMENT]...

The machine is "wasi", for WebAssembly, or the name of one of burnish.llvm.run.emulated.BOARDS. The program
has this process's standard input and output. WebAssembly may open files in the current folder. Instructions
of WebAssembly are counted as wasmtime's fuel.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from burnish.llvm.run.emulated import BOARDS, COUNT, WASI, plugin_words

FUEL = 1 << 62  # more than any run takes


def main(words: Sequence[str]) -> int:
    """Run the program; return its exit code."""
    file = words[0].removeprefix(COUNT) if words[0].startswith(COUNT) else ""
    machine, program, *arguments = words[bool(file) :]
    if machine == WASI:
        return _run_wasi(program, arguments, file)
    return _become_qemu(machine, program, arguments, file)


def _become_qemu(machine: str, program: str, arguments: Sequence[str], file: str) -> int:
    """Become QEMU, which prints what a program prints by semihosting to its standard error."""
    os.dup2(1, 2)
    # In QEMU's options a comma is written twice. Without any word, a program would get its own path.
    given = [f"arg={word.replace(',', ',,')}" for word in arguments or [""]]
    board = BOARDS[machine]
    command = [*board.qemu, *(plugin_words(file) if file else ())]
    command += ["-nographic", "-monitor", "none", "-serial", "none", "-kernel", program]
    command += ["-semihosting-config", ",".join(["enable=on", "target=native", *given])]
    os.execvp(command[0], command)


def _run_wasi(program: str, arguments: Sequence[str], file: str) -> int:
    import wasmtime

    config = wasmtime.Config()
    config.consume_fuel = bool(file)
    engine = wasmtime.Engine(config)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = ["program", *arguments]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(".", ".")
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    if file:
        store.set_fuel(FUEL)
    try:
        instance = linker.instantiate(store, wasmtime.Module.from_file(engine, program))
        instance.exports(store)["_start"](store)  # type: ignore[operator]
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os.abort()  # as a program of this machine ends after such an error
    finally:
        if file:
            Path(file).write_text(f"{FUEL - store.get_fuel()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
