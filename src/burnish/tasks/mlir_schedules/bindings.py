"""MLIR's own Python bindings, from the wheel of torch-mlir: they parse, transform and compile programs."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from burnish.core.errors import MissingTool, ProgramError, install

WHEEL = "torch-mlir"
INSTALL = install("mlir")


@cache
def bindings(name: str) -> Any:
    """Return a module of the bindings: 'ir', 'passmanager', 'dialects.linalg', ...

    Raises:
        MissingTool: the wheel is not installed.
    """
    try:
        return importlib.import_module(f"torch_mlir.{name}")
    except ModuleNotFoundError as error:
        raise MissingTool(f"MLIR is not installed ({error}): {INSTALL}") from None


@cache
def context() -> Any:
    """Return this process's context, without threads, so that workers can be forked."""
    found = bindings("ir").Context()
    found.enable_multithreading(False)
    return found


def parse(text: str, name: str = "") -> Any:
    """Return the verified module of a text.

    Raises:
        ProgramError: the text is not MLIR, or not valid.
    """
    ir = bindings("ir")
    try:
        with context(), ir.Location.unknown():
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        where = f"{name}: " if name else ""
        raise ProgramError(f"{where}{first_line(str(error))}") from None


def run_passes(module: Any, pipeline: str) -> None:
    """Run a pipeline of passes, such as 'canonicalize,cse', on a module.

    Raises:
        torch_mlir.ir.MLIRError: a pass fails; the module may be half transformed.
    """
    with context():
        bindings("passmanager").PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def clone(module: Any) -> Any:
    """Return a second module with the same operations."""
    ir = bindings("ir")
    with context(), ir.Location.unknown():
        copy = ir.Module.create()
        for operation in module.body.operations:
            copy.body.append(operation.operation.clone())
    return copy


def first_line(text: str) -> str:
    """Return the first error of a diagnostic, without its heading; else its first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if "error:" in line] or lines or [""]
    return said[0].partition("error: ")[2] or said[0]


def version() -> str:
    """Return the version of the wheel; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(WHEEL)
    except PackageNotFoundError:
        return ""
