"""burnish rustc: rustc, with smaller objects."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from burnish.cc import processes
from burnish.cc.commands import cc
from burnish.cc.requests import Optimizer
from burnish.cc.rustc import RUSTC, RustCommand
from burnish.core.errors import BurnishError, InputError

HELP = """\
usage: burnish rustc [OPTION]... RUSTC RUSTC-ARGUMENT...

A drop-in Rust compiler: rustc, whose objects get burnish's passes at -C opt-level=s and z.
  RUSTC_WRAPPER=burnish-rustc cargo build --release
No library or program is ever larger than rustc's own; whatever burnish cannot make smaller stays exactly as
rustc made it. `burnish report` shows the bytes before and after, crate by crate.

Options of burnish come before rustc: those of burnish cc (burnish cc --help) but --whole-program, for which
rustc has -C lto. For cargo, put them into a script: exec burnish-rustc --budget 8x "$@"
"""


def main(arguments: list[str], *, optimizer: Optimizer = cc.default_optimizer) -> int:
    """Make the outputs of a command smaller that the launcher has run; return the exit code."""
    try:
        options, words = cc.parse(arguments)
        if options is None:
            sys.stdout.write(HELP)
            return 0
        if not options.compiled or not words:
            raise InputError("expected rustc and its arguments: burnish-rustc rustc -C opt-level=z main.rs")
    except BurnishError as error:
        sys.stderr.write(f"burnish rustc: {error}\n")
        return 2
    from burnish.cc.rust import outcomes_of

    command, options = RustCommand(tuple(words)), cc.remembering(options)
    try:
        with (
            processes.signals_raise(),
            contextlib.suppress(OSError),
            tempfile.TemporaryDirectory(prefix="burnish-") as workspace,
        ):
            cc.log_outcomes(RUSTC, options, outcomes_of(command, options, optimizer, Path(workspace)))
    except processes.Interrupted as interrupted:
        return processes.die_of(interrupted.signum)
    return 0
