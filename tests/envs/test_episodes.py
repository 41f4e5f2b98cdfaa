"""Episodes as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnish.envs.env import Env
from burnish.envs.episodes import append_line
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.processes import call_at_once

HALVE, SUBTRACT = TASK.actions.index("halve"), TASK.actions.index("subtract(1)")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_episode_is_a_line(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "episodes.jsonl"
    program = counters("a=8 b=1")
    env = Env(
        TASK, program, limits=None, sites=1, max_steps=2, reward="difference", baselines=["halved"], log=log
    )
    env.reset()
    assert not log.exists()
    env.step(HALVE + len(TASK.actions))
    env.step(SUBTRACT)
    (row,) = rows(log)
    assert row.pop("began") > 1.7e9
    assert all(0 <= seconds < 60 for seconds in row.pop("seconds"))
    assert row == {
        "task": "counting-v4",
        "program": "a=8 b=1",
        "digest": program.digest,
        "objective": "total",
        "reward": "difference",
        "start": 10.0,
        "baselines": {"halved": 3.0},
        "trace": ["a: halve", "subtract(1)"],
        "costs": [6.0, 4.0],
        "rewards": [4.0, 2.0],
        "ended": "truncated",
        "error": "",
    }


def test_every_ending_is_told(tmp_path: Path, nothing_left: None) -> None:
    log = tmp_path / "episodes.jsonl"
    task = failing_task(TASK, "segfault")
    env = Env(
        task, [counters("a=1"), counters("a=2"), counters("a=4"), counters("a=6")], log=log, dense=False
    )
    env.reset()
    env.step(SUBTRACT)  # nothing is left but to crash
    env.reset()
    env.step(task.actions.index("segfault"))
    env.reset()
    env.reset()  # without a step: nothing to tell
    env.step(SUBTRACT)
    env.close()
    told = [(row["program"], row["ended"], row["trace"], row["costs"]) for row in rows(log)]
    assert told == [
        ("a=1", "abandoned", ["subtract(1)"], [None]),
        ("a=2", "crashed", ["segfault"], [None]),
        ("a=6", "abandoned", ["subtract(1)"], [None]),
    ]
    assert "SIGSEGV" in rows(log)[1]["error"]


def write_lines(path: Path, who: int) -> None:
    for number in range(200):
        append_line(path, json.dumps({"who": who, "number": number, "filler": "x" * (5000 + 100 * who)}))


def test_several_processes_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    call_at_once(write_lines, [(path, who) for who in range(4)])
    found = rows(path)
    assert len(found) == 800
    for who in range(4):
        assert [row["number"] for row in found if row["who"] == who] == list(range(200))


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = Env(TASK, counters("a=1"), limits=None, log=tmp_path / "file" / "episodes.jsonl")
    env.reset()
    with pytest.raises(OSError):
        env.step(SUBTRACT)
