"""The engines by name, and their options from a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnish.cluster.engine import Engine
from burnish.core.errors import InputError, UnknownName

NAMES = ("local", "slurm", "submitit", "ray", "ray://ADDRESS")


def open_engine(name: str, folder: Path, options: Mapping[str, Any] | None = None) -> Engine:
    """Return the engine of a name, such as --on takes.

    Args:
        name: "local"; "slurm"; "submitit", its local executor; "ray" on this machine, "ray://HOST:PORT" or
            "ray:auto" on a cluster that runs.
        folder: The run's folder.
        options: The engine's options: `slots`, and those of submitit (SLURM's: "slurm_partition",
            "timeout_min", "mem_gb") or of a Ray task ("num_cpus", "memory").

    Raises:
        UnknownName: no engine has this name.
        MissingTool: the engine's package is not installed.
        InputError: an option is unknown, or no cluster answers.
    """
    given = dict(options or {})
    slots = given.pop("slots", None)
    if slots is not None and (not isinstance(slots, int) or slots < 1):
        raise InputError(f"slots = {slots!r}: expected a whole number of at least 1")
    cores = len(os.sched_getaffinity(0))
    if name == "local":
        from burnish.cluster.local import LocalEngine

        if given:
            raise InputError(f"[local]: {next(iter(given))}: expected slots only")
        return LocalEngine(folder, processes=slots)
    if name in ("slurm", "submitit"):
        from burnish.cluster.slurm import SubmititEngine, slurm_cores

        on_slurm = name == "slurm"
        most = slots or (slurm_cores(given.get("slurm_partition", "")) if on_slurm else cores)
        return SubmititEngine(folder, cluster="slurm" if on_slurm else "local", slots=most, settings=given)
    if name == "ray" or name.startswith("ray:"):
        from burnish.cluster.on_ray import LOCAL, RayEngine

        address = LOCAL if name == "ray" else name if name.startswith("ray://") else name.removeprefix("ray:")
        return RayEngine(folder, address=address, slots=slots, settings=given)
    raise UnknownName.among("engine", name, NAMES)


def read_options(path: Path, name: str) -> dict[str, Any]:
    """Return the table of an engine in a TOML file; {} if the file lacks it.

    Raises:
        InputError: the file cannot be read, is not TOML, or has another kind of value under that name.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a TOML file with a table [{name}]") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    table = tables.get(name.partition(":")[0], {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name}: expected a table, [{name}]")
    return table
