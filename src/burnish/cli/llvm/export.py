"""burnish export: a policy as an ONNX file or a C header, which run without burnish."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError, MissingTool, install
from burnish.files import write_atomically
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.choose import ActionPolicy
from burnish.policies.find import path_of
from burnish.policies.load import load_action_policy

FORMATS = {".h": "c-header", ".onnx": "onnx"}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(
        prog="burnish export",
        description="Write a policy as what runs without burnish: an ONNX file, or, of a policy for the "
        "inliner or for evictions, a C header with its weights and one function, which needs nothing but the "
        "C library.",
    )
    parser.add_argument("policy", help="a policy.npz of burnish train, or the name of one that is shipped")
    parser.add_argument("--out", type=Path, required=True, help="where to: FILE.onnx or FILE.h")
    parser.add_argument("--format", choices=FORMATS.values(), help="by default what the end of --out says")
    parser.add_argument(
        "--name", help="of the C function: NAME_inline or NAME_evict; default: the header's own"
    )
    options = parser.parse(arguments)
    kind = options.format or FORMATS.get(options.out.suffix)
    if kind is None:
        raise InputError(f"--out {options.out}: expected FILE.onnx or FILE.h, or --format")
    policy = load_action_policy(path_of(options.policy))
    if kind == "onnx":
        _write_onnx(policy, options.out)
    else:
        name = options.name or re.sub(r"\W|^(?=\d)", "_", options.out.stem)
        write_atomically(options.out, _c_header(policy, name).encode())
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")
    return 0


def _c_header(policy: ActionPolicy, name: str) -> str:
    from burnish.tasks.llvm_codegen.policy import c_header as evictions
    from burnish.tasks.llvm_codegen.policy.scorer import ACTIONS
    from burnish.tasks.llvm_inlining.c_header import c_header

    if isinstance(policy, ArraysPolicy) and policy.actions == ACTIONS:
        return evictions.c_header(policy, name)
    return c_header(policy, name)


def _write_onnx(policy: ActionPolicy, out: Path) -> None:
    if not isinstance(policy, ArraysPolicy):
        raise InputError("only policies of arrays (.npz) are written as ONNX; the others are ONNX or tables")
    try:
        from burnish.learning.agents.export_onnx import export_arrays
    except ModuleNotFoundError as error:
        raise MissingTool(
            f"torch writes ONNX, and {error.name} is not installed: {install('train')}"
        ) from None
    export_arrays(policy, out)
