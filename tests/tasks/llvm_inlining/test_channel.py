"""An unmodified clang that asks over its channel makes the bytes that are made in process."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.llvm.channel import Channel, Served, serve
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import find_tool
from burnish.policies.answer import answers_of
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.load import load_action_policy
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.channel import inliner_questions
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.sources import DATA, FILES
from tests.tasks.llvm_inlining.policies import policy_on_vectors, random_policy, random_rows, saved

OLDER = tuple(name for name in FEATURES if "avail_external" not in name and "default_dest" not in name)
"""The 35 of LLVM 17."""


def header(names: Sequence[str], decision: str = "inlining_decision") -> bytes:
    tensors = [{"name": name, "port": 0, "shape": [1], "type": "int64_t"} for name in names]
    advice = {"name": decision, "port": 0, "shape": [1], "type": "int64_t"}
    return json.dumps({"features": tensors, "advice": advice}).encode() + b"\n"


def observation(number: int, values: Sequence[int]) -> bytes:
    raw = struct.pack(f"<{len(values)}q", *values)
    return b'{"context":"f"}\n' * (number == 0) + b'{"observation":%d}\n%s\n' % (number, raw)


def served_to(
    policy: ArraysPolicy, base: Path, *compilers: Sequence[bytes], seconds: float = 0
) -> tuple[Served, list[int]]:
    """Have compilers, one after the other, write and, but for the first text, read; return the answers."""
    answers: list[int] = []

    def compile_all() -> None:
        for written in compilers:
            with Path(f"{base}.out").open("wb", buffering=0) as out, Path(f"{base}.in").open("rb") as answer:
                for number, text in enumerate(written):
                    out.write(text)
                    if number and text.endswith(b"\n"):
                        answers.append(struct.unpack("<q", answer.read(8))[0])
                time.sleep(seconds)

    with Channel(base) as channel:
        thread = threading.Thread(target=compile_all, daemon=True)
        thread.start()
        served = serve(inliner_questions(policy), channel, thread.is_alive)
    return served, answers


@pytest.mark.parametrize("made_by", [random_policy, policy_on_vectors])
def test_clang_makes_the_same_bytes_as_the_session(
    made_by: Callable[[int], ArraysPolicy], tmp_path: Path
) -> None:
    path = saved(made_by(0), tmp_path)
    policy, decisions = load_action_policy(path), 0
    for name in FILES:
        session = open_inlining(load_program(DATA / name))
        trace = session.answer(answers_of(path, TASK))
        base = tmp_path / "channel"
        made = tmp_path / f"{name}.o"
        asks = inliner_questions(policy).options(base)
        options = [word for option in asks for word in ("-mllvm", option)]
        tool = find_tool("clang++" if name.endswith("cpp") else "clang")
        with Channel(base) as channel:
            process = subprocess.Popen([tool, "-Oz", *options, "-c", DATA / name, "-o", made])
            served = serve(inliner_questions(policy), channel, lambda process=process: process.poll() is None)  # type: ignore[misc]
        assert process.returncode == 0
        inlined = sum(entry.endswith(": inline") for entry in trace)
        assert (served.compiles, served.decisions, served.answers[1]) == (1, len(trace), inlined)
        assert made.read_bytes() == session.object_code(), name
        decisions += len(trace)
    assert decisions > 50
    assert not [*tmp_path.glob("channel.*")]


@pytest.mark.parametrize("scale", ["log1p", "quantiles"])
def test_a_compiler_with_fewer_features_in_another_order_is_answered_by_name(
    scale: str, tmp_path: Path
) -> None:
    policy = random_policy(1, scale, columns=OLDER)
    assert len(OLDER) == 35
    rows = random_rows(40)[:, :35]
    expected = native_network(policy).choose(np.ascontiguousarray(rows)).tolist()
    backwards = [observation(number, row[::-1].tolist()) for number, row in enumerate(rows)]
    served, answers = served_to(policy, tmp_path / "c", [header(OLDER[::-1]), *backwards])
    assert answers == expected
    assert (served.compiles, served.decisions, served.answers[1]) == (1, 40, sum(answers))
    assert served.answers[1] > 0


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="sends 35 features, but not switch_default_dest_penalty, is_callee_a"
    ):
        served_to(random_policy(0), tmp_path / "a", [header(OLDER)])
    with pytest.raises(InputError, match="asks for 'index_to_evict'; expected 'inlining_decision'"):
        served_to(random_policy(0), tmp_path / "b", [header(FEATURES, "index_to_evict")])
    with pytest.raises(InputError, match="two compilers share the channel"):
        served_to(random_policy(0), tmp_path / "c", [observation(0, range(38))])
    with pytest.raises(InputError, match=r"not a line of the protocol"):
        served_to(random_policy(0), tmp_path / "d", [header(FEATURES) + b"\x01\x02\n"])
    other = replace(random_policy(0), card={"observation": "questions"})
    with pytest.raises(InputError, match="the policy observes 'questions'"):
        inliner_questions(other)
    with pytest.raises(InputError, match=r"chooses among leave, gvn, \.\.\.; expected one that answers"):
        inliner_questions(replace(random_policy(0), actions=("leave", "gvn")))
    (tmp_path / "e.in").write_text("")
    with pytest.raises(InputError, match=r"e\.in exists, but is not a FIFO"), Channel(tmp_path / "e"):
        pass
    with pytest.raises(InputError, match="cannot be made: No such file"), Channel(tmp_path / "no" / "f"):
        pass


def test_a_compiler_that_is_killed_does_not_disturb_the_next(tmp_path: Path) -> None:
    policy, rows = random_policy(0), random_rows(60)
    expected = native_network(policy).choose(rows).tolist()
    asked = [observation(number, row.tolist()) for number, row in enumerate(rows)]
    first = header(FEATURES)
    whole = [first, *asked]
    for broken in (first[:100], first + asked[0][:-100], first + asked[0][:25], first + asked[0]):
        for seconds in (0, 0.05):  # the next one is there at once, or it comes after a while
            _, answers = served_to(policy, tmp_path / "c", whole, [broken], whole, seconds=seconds)
            assert answers == expected * 2, (len(broken), seconds)
    assert 0 < sum(expected) < 60


def test_policies_that_only_python_runs_answer_the_same() -> None:
    policy = random_policy(4)
    swapped = replace(
        policy,
        actions=("inline", "leave"),
        head=replace(policy.head, weight=policy.head.weight[:, ::-1], bias=policy.head.bias[::-1]),
    )
    asked, by_python = inliner_questions(policy), inliner_questions(swapped)
    assert tuple(asked.tensors) == tuple(by_python.tensors) == FEATURES
    rows = random_rows(50).tolist()
    assert [asked.answer(row) for row in rows] == [by_python.answer(row) for row in rows]


def run(*words: str | os.PathLike[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "burnish.cli", "serve-inliner", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)


def test_the_command_runs_a_compiler(tmp_path: Path) -> None:
    policy = saved(random_policy(0), tmp_path)
    clang, source = find_tool("clang"), DATA / "hash_table.c"
    done = run("--policy", policy, "--", clang, "-Oz", "-c", source, "-o", "a.o", folder=tmp_path)
    assert done.stderr == "burnish serve-inliner: 9 calls, 4 inlined\n"
    assert done.returncode == 0
    session = open_inlining(load_program(source))
    session.answer(answers_of(policy, TASK))
    assert (tmp_path / "a.o").read_bytes() == session.object_code()
    failed = run("--policy", policy, "--", clang, "-Oz", "-c", "none.c", folder=tmp_path)
    assert (failed.returncode, "no such file" in failed.stderr) == (1, True)
    missing = run("--policy", policy, "--", "no-compiler", folder=tmp_path)
    assert (missing.returncode, missing.stderr) == (
        2,
        "burnish: error: no-compiler: No such file or directory\n",
    )
    nowhere = run("--policy", policy, folder=tmp_path)
    assert "expected a command after --, or --launchers FOLDER, or --channel BASE" in nowhere.stderr


MAKEFILE = """
all: $(addsuffix .o,$(FILES))
%.c.o: $(DATA)/%.c
	$(CC) -Oz -c $< -o $@
%.cpp.o: $(DATA)/%.cpp
	$(CXX) -Oz -c $< -o $@
"""


def test_a_build_with_four_compilers_at_once_makes_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    policy, calls, inlined = saved(random_policy(0), tmp_path), 0, 0
    words = ["make", "-j4", "CC=clang", "CXX=clang++", f"DATA={DATA}", f"FILES={' '.join(FILES)}"]
    path = f"{find_tool('clang').parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "burnish.cli", "serve-inliner", "--policy", str(policy), "--", *words]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    for name in FILES:
        session = open_inlining(load_program(DATA / name))
        trace = session.answer(answers_of(policy, TASK))
        calls, inlined = calls + len(trace), inlined + sum(entry.endswith(": inline") for entry in trace)
        assert (tmp_path / f"{name}.o").read_bytes() == session.object_code(), name
    assert done.stderr == f"burnish serve-inliner: {calls:,} calls, {inlined:,} inlined\n"
