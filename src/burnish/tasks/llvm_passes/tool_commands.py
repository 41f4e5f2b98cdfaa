"""Entries of a trace as commands of LLVM's own tools."""

from __future__ import annotations

from collections.abc import Sequence

from burnish import _native
from burnish.core.action import Action
from burnish.llvm.modules.passes import OURS, as_opt_pipeline
from burnish.llvm.reproducers.stock_tools import ToolCommand

# Passes that native/passes.h adds with a parameter: in LLVM's tools, the parameter is a command line option.
_OPTIONS = {
    "inliner-wrapper": ("inliner-wrapper", "threshold", "-inline-threshold"),
    "module-inline": ("module-inline", "threshold", "-inline-threshold"),
    "jump-threading": ("function(jump-threading)", "threshold", "-jump-threading-threshold"),
}


def tool_command(entries: Sequence[str]) -> ToolCommand | None:
    """Return the command that runs some entries; None if LLVM's tools cannot run them.

    The tools cannot run an entry at a site. For those, `only_functions` reduces a module to the site, and
    the pass runs on that whole module.
    """
    if pipeline := as_opt_pipeline(entries):
        return ToolCommand("opt", (f"-passes={pipeline}",))
    return _alone(entries[0]) if len(entries) == 1 else None


def _alone(text: str) -> ToolCommand | None:
    """Return the command for one entry that `as_opt_pipeline` cannot write; None if there is none."""
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
