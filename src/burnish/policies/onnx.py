"""Policies whose network is an ONNX file: on graphs, sequences, or mixtures. onnxruntime runs them.

burnish.learning.agents.export writes them. The model has an input for each array of a batch, with the names
of `flat`, and the input `mask`. Its outputs are `log_probs` and, with a critic, `values`. The rest of the
policy is JSON in the model's metadata, under the key `burnish`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from burnish.core.errors import InputError, MissingTool, install
from burnish.policies.batches import Inputs, flat, inputs_from_table
from burnish.policies.choose import Floats, Mask

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT: Final = 1
METADATA: Final = "burnish"


@dataclass(frozen=True, eq=False)
class OnnxPolicy:
    """A policy that onnxruntime runs."""

    actions: tuple[str, ...]
    inputs: Inputs
    session: InferenceSession = field(repr=False)
    card: Mapping[str, Any] = field(default_factory=dict)  # metadata; see ActionPolicy

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        """Return float32[B, n] for B observations; about ILLEGAL where the mask bool[B, n] is False."""
        (log_probs,) = self._run(["log_probs"], observations, masks)
        return log_probs

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        """Return `log_probs` and the values float32[B].

        Raises:
            InputError: the policy has no critic.
        """
        if "values" not in {output.name for output in self.session.get_outputs()}:
            raise InputError("this policy has no critic; it was trained or exported without one")
        log_probs, values = self._run(["log_probs", "values"], observations, masks)
        return log_probs, values

    def _run(self, outputs: list[str], observations: Sequence[Any], masks: Mask) -> list[Floats]:
        batch = flat(self.inputs.batch(observations))
        found: list[Floats] = self.session.run(outputs, {**batch, "mask": masks})
        return found


def load_onnx(path: Path, threads: int = 1) -> OnnxPolicy:
    """Read a policy that burnish.learning.agents.export wrote.

    Raises:
        MissingTool: onnxruntime is not installed.
        InputError: the file is not such a policy, or its format has another version.
    """
    try:
        import onnxruntime
        from onnxruntime.capi.onnxruntime_pybind11_state import (
            Fail,
            InvalidGraph,
            InvalidProtobuf,
            NoSuchFile,
        )
    except ImportError:
        raise MissingTool(
            f"onnxruntime is not installed; pip install onnxruntime, or {install('train')}"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        rest = json.loads(session.get_modelmeta().custom_metadata_map[METADATA])
        if rest["format"] != FORMAT:
            raise InputError(f"format {rest['format']}; this burnish reads {FORMAT}: export the policy again")
        return OnnxPolicy(tuple(rest["actions"]), inputs_from_table(rest["inputs"]), session, rest["card"])
    except (Fail, InvalidGraph, InvalidProtobuf, NoSuchFile, ValueError, KeyError, InputError) as error:
        raise InputError(f"{path}: not an ONNX policy of burnish: {error}") from None
