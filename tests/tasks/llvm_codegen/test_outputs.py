"""Programs do what they did, whatever was decided of their code generation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.trace import Trace, entry
from burnish.evaluation.validate import validate
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.run import link
from burnish.tasks.llvm_codegen import PIPELINES, make_codegen
from burnish.tasks.llvm_codegen.actions import ACTIONS, OUTLINE, applies
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from tests.sources import workload_of

FUNCTION_ACTIONS = [text for text in ACTIONS if text not in OUTLINE and applies(text, "X86")]
MOST = 12  # entries at a function


def random_decisions(source: Program, pipeline: str, rng: np.random.Generator) -> Trace:
    """Decide at random of every function, and sometimes of the program."""
    sites = open_program(source, CodegenOptions(pipeline)).sites()
    trace = [OUTLINE[int(rng.integers(len(OUTLINE)))]] if rng.random() < 0.3 else []
    for site in ("", *sites):
        if rng.random() < 0.8:
            chosen = rng.choice(FUNCTION_ACTIONS, size=int(rng.integers(1, MOST + 1)), replace=False)
            trace += [entry(str(action), site) for action in chosen]
    return tuple(trace)


def validated(source: Program, number: int) -> str:
    """Return what is wrong after random decisions: replayed twice, verified, run, compared with -O0."""
    assert source.workload
    pipeline = PIPELINES[number % len(PIPELINES)]
    trace = random_decisions(source, pipeline, np.random.default_rng(number))
    found = validate(make_codegen(CodegenOptions(pipeline)), source, trace)
    return "" if found.failure is None else f"{source.name}, {pipeline}: {trace}: {found.failure}"


@pytest.mark.parametrize("number", range(2))
def test_programs_print_what_they_did(number: int) -> None:
    source = random_module(number) if number % 2 else load_kernel(kernel_names()[number * 9], ["small"])
    assert validated(source, number) == ""


def output(code: bytes, source: Program, folder: Path) -> bytes:
    """Link an object with its workload, run it on its first input, and return what it prints."""
    workload = workload_of(source)
    executable = link(code, workload, folder / "program")
    command: list[str | Path] = [executable, *workload.runs[0].arguments]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", kernel_names())
def test_10_traces_of_every_kernel_print_what_it_did(name: str, tmp_path: Path) -> None:
    """On 50 kernels, 500 traces."""
    source = load_kernel(name, ["small"])
    for number in range(10):
        pipeline = PIPELINES[number % len(PIPELINES)]
        session = open_program(source, CodegenOptions(pipeline))
        expected = output(session.object_code(), source, tmp_path)
        rng = np.random.default_rng([number, *name.encode()])
        session.replay(random_decisions(source, pipeline, rng))
        assert output(session.object_code(), source, tmp_path) == expected, (pipeline, session.trace)
