"""A policy as a C header and as ONNX: the same answers without burnish."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.cli import main
from burnish.core.errors import InputError
from burnish.learning.agents.export_onnx import export_arrays
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.toolchain import find_tool
from burnish.policies.arrays import ArraysPolicy, Linear
from burnish.policies.find import path_of
from burnish.policies.load import load_action_policy
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining.c_header import c_header
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.sources import FILES, program
from tests.tasks.llvm_inlining.policies import random_policy, random_rows, saved

PROGRAM = """
#include "tiny.h"
#include <stdio.h>
int main(void) {
  int64_t row[COUNT];
  if (sizeof tiny_features / sizeof *tiny_features != COUNT)
    return 1;
  while (fread(row, sizeof row, 1, stdin) == 1)
    putchar('0' + tiny_inline(row));
  return 0;
}
"""


def answers_in_c(
    policy: ArraysPolicy, rows: np.ndarray[tuple[int, int], np.dtype[np.int64]], compiler: str, folder: Path
) -> list[int]:
    (folder / "tiny.h").write_text(c_header(policy, "tiny"))
    (folder / "main.c").write_text(PROGRAM)
    program = folder / "program"
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    words = [compiler, "-O2", *warnings, f"-DCOUNT={rows.shape[1]}", str(folder / "main.c"), "-lm"]
    subprocess.run([*words, "-o", str(program)], check=True)
    printed = subprocess.run([program], input=rows.tobytes(), capture_output=True, check=True).stdout
    return [int(one) for one in printed.decode()]


def compilers() -> tuple[str, str]:
    return str(find_tool("clang")), "gcc"


@pytest.mark.parametrize(
    ("number", "scale", "activation"),
    [
        (number, *what)
        for number, what in enumerate(itertools.product(("log1p", "none", "quantiles"), ("relu", "tanh")))
    ],
)
def test_the_header_answers_as_the_native_network(
    number: int, scale: str, activation: str, tmp_path: Path
) -> None:
    policy = random_policy(number, scale, activation, norm=number % 3 == 1)
    rows = random_rows(1000, seed=number)
    expected = native_network(policy).choose(rows).tolist()
    assert answers_in_c(policy, rows, compilers()[number % 2], tmp_path) == expected
    assert 0 < sum(expected) < 1000


LOGITS = """
#include "tiny.h"
#include <stdio.h>
int main(void) {
  int64_t row[38];
  while (fread(row, sizeof row, 1, stdin) == 1) {
    float x[38], logits[2];
    for (int i = 0; i < 38; ++i)
      x[i] = (float)row[i];
    tiny_evaluate(x, logits);
    printf("%d %a %a\\n", tiny_inline(row), (double)logits[0], (double)logits[1]);
  }
  return 0;
}
"""
TOLERANCE = 1e-4  # of a logit, relative to the largest of its row: the order of float32 sums may differ


def real_rows() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    sources = [program(name) for name in FILES] + [random_module(seed, 2000) for seed in range(10)]
    tables = [np.asarray(open_inlining(one).observe("questions")) for one in sources]
    return np.concatenate([table[:, :38] for table in tables if len(table)])


@pytest.mark.parametrize("compiler", compilers())
def test_the_header_of_the_shipped_policy_answers_10_000_questions_as_the_policy(
    compiler: str, tmp_path: Path
) -> None:
    policy = load_action_policy(path_of("llvm_inlining-loaded-bytes"))
    assert isinstance(policy, ArraysPolicy)
    real = real_rows()
    rows = np.ascontiguousarray(np.concatenate([real, random_rows(10_000 - len(real))]))
    assert len(real) > 100
    (tmp_path / "tiny.h").write_text(c_header(policy, "tiny"))
    (tmp_path / "main.c").write_text(LOGITS)
    words = [compiler, "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "-lm", "-o", "program"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], input=rows.tobytes(), capture_output=True, check=True)
    found = [line.split() for line in done.stdout.decode().splitlines()]
    logits = np.array([[float.fromhex(one) for one in line[1:]] for line in found])
    expected = policy.head(policy.encoder(rows.astype(np.float32)))
    largest = np.maximum(1, np.abs(expected).max(axis=1, keepdims=True))
    assert (np.abs(logits - expected) / largest).max() < TOLERANCE
    answers = policy.log_probs(list(rows), np.ones((len(rows), 2), dtype=bool)).argmax(axis=1)
    assert [int(line[0]) for line in found] == native_network(policy).choose(rows).tolist()
    assert [int(line[0]) for line in found] == answers.tolist()
    assert 20 < answers[: len(real)].sum() < len(real) - 20


@pytest.mark.parametrize("compiler", compilers())
def test_a_header_of_35_features_in_their_own_order(compiler: str, tmp_path: Path) -> None:
    policy = random_policy(1, columns=FEATURES[:2:-1])
    rows = np.ascontiguousarray(random_rows(1000)[:, :35])
    assert answers_in_c(policy, rows, compiler, tmp_path) == native_network(policy).choose(rows).tolist()
    assert f'"{FEATURES[-1]}",\n    "{FEATURES[-2]}"' in (tmp_path / "tiny.h").read_text()


@pytest.mark.parametrize(
    ("scale", "activation", "norm"),
    [
        ("log1p", "relu", False),
        ("none", "tanh", True),
        ("quantiles", "relu", True),
        pytest.param("log1p", "tanh", True, marks=pytest.mark.slow),
        pytest.param("none", "relu", False, marks=pytest.mark.slow),
        pytest.param("quantiles", "tanh", True, marks=pytest.mark.slow),
    ],
)
def test_onnx_is_read_again_and_answers_the_same(
    scale: str, activation: str, norm: bool, tmp_path: Path
) -> None:
    policy = random_policy(2, scale, activation, norm=norm)
    export_arrays(policy, path := tmp_path / "policy.onnx")
    again, rows = load_action_policy(path), list(random_rows(300))
    masks = np.ones((300, 2), dtype=bool)
    masks[::7, 1] = False
    assert (again.actions, again.card) == (policy.actions, policy.card)
    ours = policy.log_probs(rows, masks)
    np.testing.assert_allclose(again.log_probs(rows, masks), ours, rtol=1e-3, atol=1e-3)
    assert (again.log_probs(rows, masks).argmax(axis=1) == ours.argmax(axis=1)).mean() > 0.99


def test_the_command_writes_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(random_policy(0), tmp_path)
    assert main(["export", "policy.npz", "--out", "my-policy.h"]) == 0
    assert Path("my-policy.h").read_text() == c_header(random_policy(0), "my_policy")
    assert main(["export", "policy.npz", "--format", "onnx", "--out", "p.bin"]) == 0
    assert "my-policy.h: " in capsys.readouterr().out
    assert main(["export", "policy.npz", "--out", "p.txt"]) == 2
    assert "p.txt: expected FILE.onnx or FILE.h, or --format" in capsys.readouterr().err


def test_onnx_needs_torch_and_the_command_names_what_installs_it(tmp_path: Path) -> None:
    saved(random_policy(0), tmp_path)
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; sys.modules['torch'] = None\n"
        "from burnish.cli import main\n"
        "sys.exit(main(['export', 'policy.npz', '--out', 'p.onnx']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "torch writes ONNX, and torch is not installed: pip install '.[train]'" in done.stderr


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'my policy' is not a name in C"):
        c_header(random_policy(0), "my policy")
    with pytest.raises(InputError, match="a perceptron on LLVM's features"):
        c_header(replace(random_policy(0), actions=("gvn", "dce")), "p")
    policy = random_policy(0)
    kinds, kind = Linear(policy.head.weight[:, :1], policy.head.bias[:1]), np.zeros(2, dtype=np.int64)
    with pytest.raises(InputError, match="chooses a kind of action first"):
        export_arrays(replace(policy, kinds=kinds, kind=kind), tmp_path / "policy.onnx")
