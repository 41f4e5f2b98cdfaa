"""Start of burnish-cc, the native launcher, by `burnish cc`, before anything else is imported."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import Sequence
from typing import NoReturn

from burnish.core.errors import MissingTool

# The first options of the launcher's calls of Python.
HANDED_OVER = ("--launched", "--compiled", "--direct", "--serve")


def is_handed_over(arguments: Sequence[str]) -> bool:
    """Return whether the arguments come from the launcher, and not from a user."""
    return bool(arguments) and arguments[0].startswith(HANDED_OVER)


def launch(name: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the launcher of `burnish cc`, `burnish c++` or `burnish rustc`.

    Raises:
        MissingTool: the launcher is neither beside burnish nor on PATH.
    """
    launcher = f"burnish-{name}"
    path = find_launcher(launcher)
    for ignored in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and programs inherit that
        signal.signal(getattr(signal, ignored), signal.SIG_DFL)
    os.execv(path, [launcher, *arguments])


def find_launcher(launcher: str) -> str:
    """Return the path of burnish-cc, burnish-c++ or burnish-rustc.

    Raises:
        MissingTool: the launcher is neither beside burnish nor on PATH.
    """
    folders = (os.path.dirname(os.path.abspath(sys.argv[0])), sysconfig.get_path("scripts"))
    for folder in folders:
        path = os.path.join(folder, launcher)
        if os.access(path, os.X_OK):
            return path
    if found := shutil.which(launcher):
        return found
    raise MissingTool(
        f"{launcher} is neither in {folders[-1]} nor on PATH; it comes with burnish, so install that again: "
        "pip install --force-reinstall . in a clone of burnish"
    )
