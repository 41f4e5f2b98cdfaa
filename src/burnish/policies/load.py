"""Reading of policies that choose the next action."""

from __future__ import annotations

from pathlib import Path

from burnish.core.errors import InputError
from burnish.policies.choose import ActionPolicy
from burnish.policies.npz import kind_of


def load_action_policy(path: Path) -> ActionPolicy:
    """Read a policy that burnish train wrote: .npz or .onnx.

    Raises:
        MissingTool: the package that runs the policy is not installed.
        InputError: the file is not such a policy.
    """
    if path.suffix == ".npz":
        from burnish.policies import arrays, value_table

        kind = kind_of(path)
        if kind == value_table.KIND:
            return value_table.load_table(path)
        if kind:
            raise InputError(f"{path}: a policy of kind {kind!r}; expected one that chooses actions")
        return arrays.load_arrays(path)
    if path.suffix == ".onnx":
        from burnish.policies.onnx import load_onnx

        return load_onnx(path)
    raise InputError(f"{path}: expected a policy's .npz or .onnx file")
