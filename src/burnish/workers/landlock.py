"""Limits of a process's files by Landlock, a part of Linux since 5.13; they cannot be taken back.

The kernel checks each file that is opened, after all links: one of an `#include`, `#embed` or
`.incbin` line, a program that is run. Programs that the process starts have the same limits.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from burnish.core.errors import MissingTool

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on all processors
_VERSION = 1  # a flag of the first: return the kernel's version of Landlock
_PATH_BENEATH = 1
_NO_NEW_PRIVS = 38  # of prctl: set-user-id programs get no rights, which Landlock demands

# Rights of linux/landlock.h.
_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR = 1 << 1, 1 << 2, 1 << 3, 1 << 4
# By the first version with them: to write, read, list, make and remove; to move; to shorten. Any file may be
# executed that may be read, since the first bit is left out.
_RIGHTS = {1: (1 << 13) - 2, 2: 1 << 13, 3: 1 << 14}
_ON_FILES = _WRITE_FILE | _READ_FILE | 1 << 14
_NETWORK = 0b11  # since version 4: bind to ports of TCP, and connect to them


def version() -> int:
    """Return the kernel's version of Landlock; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(folders: Iterable[Path], scratch: Path) -> None:
    """Limit this process to its system's files and some folders, without a network.

    The limits hold for this thread and those that it begins later. Temporary files go to `scratch`, which
    can be removed at the end.

    Raises:
        MissingTool: the kernel has no Landlock, or does not let this process use it.
    """
    found = version()
    rights = sum(bits for since, bits in _RIGHTS.items() if since <= found)
    network = _NETWORK if found >= 4 else 0
    asked = struct.pack("QQ", rights, network)
    ruleset = _call(_CREATE_RULESET, asked, len(asked) if network else 8, 0) if found else -1
    if ruleset < 0:
        raise MissingTool(
            "the kernel cannot limit files: it needs Linux 5.13 or newer, with Landlock enabled"
        )
    try:
        for path in _system_paths():
            _allow(ruleset, path, _READ_FILE | _READ_DIR)
        for path in (*folders, scratch, Path(os.devnull)):
            _allow(ruleset, path, rights)
        _allow(ruleset, scratch.parent, _REMOVE_DIR)  # of empty folders
        _libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        if _call(_RESTRICT_SELF, ruleset, 0):
            raise MissingTool("Landlock refuses to limit this process; try it outside of the container")
    finally:
        os.close(ruleset)
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)


def _system_paths() -> list[Path]:
    """Return the paths of Python, the compilers and their headers, without a user's data."""
    here = [path for path in sys.path if path and not Path.cwd().is_relative_to(Path(path).resolve())]
    system = "/usr /lib /lib32 /lib64 /bin /sbin /etc/ld.so.cache /etc/ld.so.preload"
    devices = "/dev/zero /dev/urandom /dev/random /sys/devices/system /proc/cpuinfo /proc/meminfo"
    named = (sys.prefix, sys.base_prefix, *here, *system.split(), *devices.split())
    return [Path(__file__).parents[1], *map(Path, named)]


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        if _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
            raise MissingTool(f"{path}: Landlock refuses this path: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: bytes | int | None) -> int:
    """Make a system call; a negative result is an error, in ctypes.get_errno()."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *words))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
