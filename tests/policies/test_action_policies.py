"""Files of policies, and actions from log-probabilities."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, load_arrays, save_arrays
from burnish.policies.batches import Features
from burnish.policies.choose import choose, masked_log_softmax
from burnish.policies.load import load_action_policy


def floats(*rows: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(rows, dtype=np.float32)


def policy() -> ArraysPolicy:
    """Return one by hand: the vector is relu(2 x - 1), the logits are it and 1, the value is its negative."""
    encoder = Perceptron(False, floats(0.5), floats(0.5), (Linear(floats([1]), floats(0)),))
    return ArraysPolicy(
        actions=("a", "b"),
        inputs=Features(),
        encoder=encoder,
        head=Linear(floats([1, 0]), floats(0, 1)),
        critic=Linear(floats([-1]), floats(0)),
    )


def test_arrays_by_hand() -> None:
    log_probs, values = policy().evaluate([floats(2), floats(-5)], np.array([[True, True], [True, False]]))
    assert values.tolist() == [-3, 0]
    assert log_probs[0].tolist() == pytest.approx(
        [3 - np.log(np.exp(3) + np.e), 1 - np.log(np.exp(3) + np.e)], rel=1e-6
    )
    assert log_probs[1, 0] == 0
    assert log_probs[1, 1] < -1e8


def test_large_logits_do_not_overflow() -> None:
    found = masked_log_softmax(floats([1e4, -1e4, 0]), np.array([[True, True, False]]))
    assert found[0, :2].tolist() == [0, -2e4]


def test_choices_are_as_frequent_as_probable_and_never_illegal() -> None:
    log_probs = masked_log_softmax(floats([0, 5, 1, -3]), np.array([[True, False, True, True]]))
    drawn = choose(np.repeat(log_probs, 20000, axis=0), np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=4) / 20000
    assert shares[1] == 0
    np.testing.assert_allclose(shares, np.exp(log_probs[0]), atol=4 * np.sqrt(0.25 / 20000))
    assert choose(log_probs).tolist() == [2]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    save_arrays(policy(), tmp_path / "p.npz")
    read = load_action_policy(tmp_path / "p.npz")
    observations, masks = [floats(2), floats(0.7)], np.ones((2, 2), dtype=bool)
    for expected, found in zip(
        policy().evaluate(observations, masks), read.evaluate(observations, masks), strict=True
    ):
        np.testing.assert_array_equal(expected, found)


def archive(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def rest(**values: Any) -> Any:
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing of the kind", "not a policy of arrays"),
        (b"", "not a policy of arrays"),
        (archive(other=np.zeros(3)), "not a policy of arrays: 'rest"),
        (archive(rest=rest(format=2)), "format 2; this burnish reads 1: write the file again"),
        (
            archive(rest=rest(format=1, log1p=True, actions=["a"], names=[])),
            "not a policy of arrays: 'encoder.mean",
        ),
        (archive(rest=np.array([{"pickled": "object"}])), "not a policy of arrays"),
    ],
)
def test_other_files_are_rejected(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_arrays(tmp_path / "p.npz")


def test_a_damaged_file_is_rejected(tmp_path: Path) -> None:
    save_arrays(policy(), tmp_path / "p.npz")
    content = (tmp_path / "p.npz").read_bytes()
    (tmp_path / "p.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="not a policy of arrays"):
        load_arrays(tmp_path / "p.npz")


def test_what_is_not_there_and_what_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a policy's \.npz or \.onnx file"):
        load_action_policy(tmp_path / "p.pt")
    with pytest.raises(InputError, match="not a policy of arrays"):
        load_action_policy(tmp_path / "p.npz")


def test_other_onnx_files_are_rejected(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "p.onnx"
    with pytest.raises(InputError, match="not an ONNX policy"):
        load_action_policy(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not an ONNX policy"):
        load_action_policy(path)
    value = onnx.helper.make_tensor_value_info("x", 1, [1])
    result = onnx.helper.make_tensor_value_info("y", 1, [1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["x"], ["y"])], "g", [value], [result])
    onnx.save(
        onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 18)]), path
    )
    with pytest.raises(InputError, match="not an ONNX policy of burnish: 'burnish'"):
        load_action_policy(path)
