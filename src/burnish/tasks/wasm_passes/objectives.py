"""Objectives: bytes of the module, compressed or not, and executed instructions."""

from __future__ import annotations

import gzip
import importlib
from functools import cache
from typing import Any

from burnish.core.errors import MissingTool
from burnish.core.objective import Objective
from burnish.tasks.wasm_passes.binaryen import INSTALL

OBJECTIVES: dict[str, Objective] = {
    item.name: item
    for item in (
        Objective("wasm-bytes", "bytes", "of the module, as it is written to a file", heading="wasm bytes"),
        Objective(
            "gzip-bytes", "bytes", "of the module, compressed by gzip -9", by_site=False, heading="gzip"
        ),
        Objective(
            "brotli-bytes",
            "bytes",
            "of the module, compressed by brotli -q 11",
            dense=False,
            by_site=False,
            heading="brotli",
        ),
        Objective(
            "fuel",
            "instructions",
            "executed in all runs, counted by wasmtime; without --run, one run without input",
            dense=False,
            by_site=False,
            needs_workload=True,
            heading="executed",
        ),
    )
}
BY_SITE = tuple(name for name, item in OBJECTIVES.items() if item.by_site)


def compressed_size(objective: str, content: bytes) -> int:
    """Return a module's bytes by one of the objectives in bytes.

    Raises:
        MissingTool: brotli is not installed.
    """
    match objective:
        case "gzip-bytes":
            return len(gzip.compress(content, 9, mtime=0))
        case "brotli-bytes":
            return len(_brotli().compress(content))  # quality 11, a window of 4 MiB: browsers' files
    return len(content)


@cache
def _brotli() -> Any:
    try:
        return importlib.import_module("brotli")
    except ImportError as error:
        raise MissingTool(f"brotli is not installed ({error}): {INSTALL}") from None
