"""A program's profile, from an instrumented run.

The counts of a program that looks at the time or at addresses differ from run to run. So a machine keeps
them, and every process has the same module.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.program import Workload
from burnish.files import default_cache
from burnish.llvm.run.block_counts import block_counts

KEPT = 200  # profiles, of 10 to 200 KB each; the oldest ones are removed
SPLIT = "function(break-crit-edges)"  # then the counts of blocks are those of edges, too


def profile(module: _native.Module, workload: Workload) -> None:
    """Run a program, and write how often it did what into its module, as clang does with -fprofile-use.

    The module gets branch weights, entry counts of functions, the summary, and the attributes of hot and cold
    functions; see native/profile.h. Targets of indirect calls and sizes of memory operations are not counted.
    The program does not run again if this machine has its counts: see `kept_counts`.

    Raises:
        InputError: a run writes no counts; see `block_counts`.
    """
    split = module.clone()
    split.run(SPLIT)
    _native.set_profile(module, split, kept_counts(split, workload).tolist())


def kept_counts(module: _native.Module, workload: Workload) -> NDArray[np.uint64]:
    """Return `block_counts`: those of the first call for this module and workload on this machine.

    They are kept in the user's cache. If that cannot be written, they are counted anew.
    """
    key = hashlib.blake2b(f"{module.digest()} {workload.digest}".encode(), digest_size=16).hexdigest()
    path = default_cache() / "profiles" / f"{key}.npy"
    if (known := _read(path)) is not None:
        return known
    counts = block_counts(module, workload)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}")
        with own.open("wb") as file:
            np.save(file, counts)
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(own, path)
        own.unlink()
        for old in sorted(path.parent.glob("*.npy"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    found = _read(path)
    return counts if found is None else found


def _read(path: Path) -> NDArray[np.uint64] | None:
    """Return kept counts, or None without a readable file. A broken file is removed."""
    try:
        found: NDArray[np.uint64] = np.load(path)
    except OSError:
        return None
    except (ValueError, EOFError):
        path.unlink(missing_ok=True)
        return None
    return found
