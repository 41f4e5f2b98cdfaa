"""Traces of answers replay to the same bytes anywhere, and programs do what they did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.evaluation.validate import validate
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.random_modules import random_module
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.conftest import OpenSandbox
from tests.sources import program

SPARSE = 0.3  # of the questions that are answered where not all are


def random_answers(source: Program, rng: np.random.Generator) -> Trace:
    """Answer all questions in LLVM's order, or some of them in any order."""
    session = open_inlining(source)
    if rng.integers(2):
        while session.question():
            session.apply(int(rng.integers(2)))
    else:
        for site in rng.permutation(np.array(session.sites(), dtype=object)):
            if rng.random() < SPARSE and session.legal(str(site)).any():
                session.apply(int(rng.integers(2)), str(site))
    return tuple(session.trace)


@pytest.mark.parametrize("name", ["classes.cpp", "hash_table.c", "recursion.c", "dispatch.c"])
def test_random_traces_replay_to_the_same_bytes_in_a_new_process(
    name: str, open_sandbox: OpenSandbox
) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(3):
        trace = random_answers(program(name), rng)
        here = open_inlining(program(name))
        here.replay(trace)
        there = open_sandbox(TASK.open, program(name))
        there.replay(trace)
        assert there.digest() == here.digest(), trace
        assert there.object_code() == here.object_code()
        assert there.sites() == here.sites()


def validated(source: Program, seed: int) -> str:
    """Return what is wrong after random answers: replayed twice, verified, built, run, compared with -O0."""
    assert source.workload
    trace = random_answers(source, np.random.default_rng(seed))
    found = validate(TASK, source, trace)
    return "" if found.failure is None else f"{source.name}: {trace}: {found.failure}"


@pytest.mark.parametrize("number", range(6))
def test_programs_print_what_they_did(number: int) -> None:
    source = random_module(number) if number % 2 else load_kernel(kernel_names()[number * 7], ["small"])
    assert validated(source, number) == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6, 206))
def test_200_programs_print_what_they_did(number: int) -> None:
    names = kernel_names()
    kernel = load_kernel(names[number // 2 % len(names)], ["small"])
    source = random_module(number) if number % 2 else replace(kernel, name=f"{kernel.name} {number}")
    assert validated(source, number) == ""
