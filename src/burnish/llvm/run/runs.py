"""The option --run: arguments and standard input for a user's own program."""

from __future__ import annotations

import shlex
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Run


def read_run(text: str) -> Run:
    """Read one run: arguments as in a shell, optionally followed by `< FILE`."""
    reader = shlex.shlex(text, posix=True, punctuation_chars="<")  # like a shell, allow "<" without spaces
    reader.whitespace_split, reader.commenters = True, ""
    try:
        words = list(reader)
    except ValueError as error:
        raise InputError(f"--run {text!r}: {error}") from None
    if "<" not in words:
        return Run(text, tuple(words))
    if words[-2:-1] != ["<"]:
        raise InputError(f"--run {text!r}: expected arguments, optionally followed by '< FILE'")
    try:
        return Run(text, tuple(words[:-2]), stdin=Path(words[-1]).read_bytes())
    except OSError as error:
        raise InputError(f"--run {text!r}: {words[-1]}: {error.strerror}") from None
