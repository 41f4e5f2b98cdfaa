"""Passes that begin where a policy has decided what is inlined; and policies that fail."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from burnish.cc import build_log, optimizer
from burnish.cc.commands import cc
from burnish.cc.remaking import remake
from burnish.cc.requests import KeptReference
from burnish.core.answer import Answerer
from burnish.core.errors import UnknownName
from burnish.policies.arrays import Linear
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.inlined import open_answered, split_answers
from burnish.tasks.llvm_passes import Options, make_task
from burnish.workers.worker import Limits
from tests.cc.requests import asking, request_of
from tests.sources import DATA, program
from tests.tasks.llvm_inlining.policies import random_policy, saved

REQUEST = replace(request_of("m.cpp", policy="none"), evaluations=12)


def always(answer: str, folder: Path) -> Path:
    """Return the file of a policy that always gives one answer."""
    policy = random_policy(0, hidden=(4,))
    bias = np.array([name == answer for name in ACTIONS], dtype=np.float32)
    return saved(replace(policy, head=Linear(0 * policy.head.weight, bias)), folder)


def test_answers_are_used_where_they_pay(tmp_path: Path) -> None:
    """In classes.cpp -Oz calls many small functions that would be nothing."""
    content = program("classes.cpp").content
    alone = optimizer.optimize(content, REQUEST)
    assert not split_answers(alone.trace)[0]
    with_policy = asking(REQUEST, inline_policy=str(always("inline", tmp_path)))
    made = optimizer.optimize(content, with_policy)
    answers, passes = split_answers(made.trace)
    assert answers
    assert made.evaluations <= 12
    state = open_answered(program("classes.cpp"), Options(), answers)
    state.replay(passes)
    assert made.bitcode == state.observe("bitcode")
    assert state.measure("loaded-bytes") < open_answered(program("classes.cpp"), Options(), ()).measure(
        "loaded-bytes"
    )
    assert optimizer.optimize(content, with_policy) == made
    worse = asking(REQUEST, inline_policy=str(always("leave", tmp_path)))
    content = program("hash_table.c").content  # what it leaves there is larger
    assert optimizer.optimize(content, worse) == optimizer.optimize(content, REQUEST)


def test_a_policy_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    policy = random_policy(0)
    bias = np.array([0, np.nan], dtype=np.float32)
    no_number = saved(replace(policy, head=Linear(policy.head.weight, bias)), tmp_path)
    garbage = tmp_path / "garbage.npz"
    garbage.write_bytes(b"PK" + bytes(range(256)))
    content = program("hash_table.c").content
    alone = optimizer.optimize(content, REQUEST)
    for path in (no_number, garbage, tmp_path / "gone.npz", tmp_path):
        assert optimizer.optimize(content, asking(REQUEST, inline_policy=str(path))) == alone
    for evaluations, path in ((1, garbage), (1, no_number)):
        request = replace(asking(REQUEST, inline_policy=str(path)), evaluations=evaluations)
        with pytest.raises(
            KeptReference, match=r"nothing smaller was found; the inlining policy did not answer: "
        ):
            optimizer.optimize(content, request)


@dataclass(frozen=True)
class Failing:
    """What is made into a policy in the worker, and fails there."""

    how: str

    def __call__(self) -> Answerer:
        if self.how == "raises":
            raise RuntimeError("no idea")
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
        raise AssertionError


@pytest.mark.parametrize(
    ("how", "said"),
    [("raises", "RuntimeError: RuntimeError: no idea"), ("dies", "SIGKILL"), ("hangs", "2 s|2.0 s|deadline")],
)
def test_a_policy_that_fails_is_told_of_and_no_more(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.policies.answer.answers_of", lambda _path, _task: Failing(how))
    limits = Limits(deadline_seconds=2, begin="fork")
    problem = Problem(make_task(), program("hash_table.c"), "loaded-bytes", limits=limits)
    answers, note = optimizer.answers_to_inliner(problem, asking(REQUEST, inline_policy="any"))
    assert answers == ()
    assert note.startswith("; the inlining policy did not answer: ")
    assert re.search(said, note), note


@pytest.mark.parametrize("level", ["-O0", "-O1", "-Oz"])
def test_an_object_of_burnish_cc_is_made_again_from_its_log(level: str, tmp_path: Path) -> None:
    policy, log = always("inline", tmp_path), tmp_path / "log"
    own = ["--report", log, "--budget", "12 evaluations", "--speed-limit", "none", "--policy", "none"]
    own += ["--objective", "loaded-bytes", f"--inline-policy={policy}"]
    source, made = DATA / "classes.cpp", tmp_path / "classes.o"
    assert cc.main([*map(str, own), level, "-c", str(source), "-o", str(made)], cxx=True) == 0
    (record,) = build_log.read(log)
    assert record.loaded_bytes is not None and record.loaded_bytes_before is not None
    answers, _ = split_answers(record.trace)
    if level == "-Oz":
        assert record.action == "optimized" and answers, record
        assert record.loaded_bytes < record.loaded_bytes_before
    remake(record, lambda words: words, tmp_path / "again.o")
    assert (tmp_path / "again.o").read_bytes() == made.read_bytes()


def test_the_options_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(random_policy(0), tmp_path)
    monkeypatch.chdir(tmp_path)
    options, _ = cc.parse(["--inline-policy", "policy.npz", "-Oz"])
    assert options and options.inline_policy == str(tmp_path / "policy.npz")
    with pytest.raises(UnknownName, match=r"policy.*nowhere"):
        cc.parse(["--inline-policy", "nowhere", "-Oz"])
