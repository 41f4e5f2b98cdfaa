"""Run a program for another machine: python -m burnish.llvm.run.emulate MACHINE PROGRAM [ARGUMENT]...

The machine is "wasi", for WebAssembly, or the name of one of burnish.llvm.run.emulated.BOARDS. The program
has this process's standard input and output. WebAssembly may open files in the current folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from burnish.llvm.run.emulated import BOARDS, WASI


def main(words: Sequence[str]) -> int:
    """Run the program; return its exit code."""
    machine, program, *arguments = words
    return _run_wasi(program, arguments) if machine == WASI else _become_qemu(machine, program, arguments)


def _become_qemu(machine: str, program: str, arguments: Sequence[str]) -> int:
    """Become QEMU, which prints what a program prints by semihosting to its standard error."""
    os.dup2(1, 2)
    # In QEMU's options a comma is written twice. Without any word, a program would get its own path.
    given = [f"arg={word.replace(',', ',,')}" for word in arguments or [""]]
    board = BOARDS[machine]
    command = [*board.qemu, "-nographic", "-monitor", "none", "-serial", "none", "-kernel", program]
    command += ["-semihosting-config", ",".join(["enable=on", "target=native", *given])]
    os.execvp(command[0], command)


def _run_wasi(program: str, arguments: Sequence[str]) -> int:
    import wasmtime

    engine = wasmtime.Engine()
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
    try:
        instance = linker.instantiate(store, wasmtime.Module.from_file(engine, program))
        instance.exports(store)["_start"](store)  # type: ignore[operator]
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os.abort()  # as a program of this machine ends after such an error
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
