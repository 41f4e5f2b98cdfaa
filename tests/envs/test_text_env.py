"""The environments in text: what a model reads, how its answers are read, and the rewards."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.task import Task
from burnish.envs.env import Env
from burnish.envs.text_env import TextEnv, parse
from burnish.tasks.loop_nests.parsing import parse as parse_nest
from tests.core import counting_task
from tests.core.failures import failing_task
from tests.sources import DATA, program
from tests.tasks.mlir_schedules.small import small
from tests.tasks.wasm_passes.modules import count

ID = "burnish/LLVMPassesText-v1"
HASH = DATA / "hash_table.c"
PROGRAMS: dict[str, Callable[[], Program]] = {
    "llvm_passes": lambda: program("matrix.c"),
    "llvm_inlining": lambda: program("hash_table.c"),
    "llvm_codegen": lambda: program("hash_table.c"),
    "loop_nests": lambda: parse_nest("f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]").program("product"),
    "mlir_schedules": lambda: small("matmul"),
    "wasm_passes": count,
}


def made(task: str, **options: Any) -> TextEnv:
    """Return the environment of a task on a small program, by its id."""
    if task == "mlir_schedules":
        pytest.importorskip("torch_mlir")
    env = gymnasium.make(load_task(task).text_id, programs=PROGRAMS[task](), **options).unwrapped
    assert isinstance(env, TextEnv)
    return env


def listed(message: str) -> list[str]:
    """Return the actions that a message lists as legal."""
    lines = message.partition("Legal actions:\n")[2].splitlines()
    return [
        name for line in lines if line.startswith("- ") for name in line[2:].partition(": ")[0].split("  ")
    ]


@pytest.mark.parametrize("task", PROGRAMS)
@pytest.mark.usefixtures("nothing_left")
def test_every_task_is_explained_and_played(task: str) -> None:
    env = made(task, max_steps=3)
    message, info = env.reset(seed=0)
    assert message in env.observation_space
    for part in (task, info["program"], env.env.objective.name, "Action: stop", "For comparison"):
        assert part in message
    legal = listed(message)
    assert legal
    mask = env.env.action_masks()
    assert set(legal) == {env.env.actions[i] for i in np.flatnonzero(mask)}
    for line in message.splitlines():
        assert not line.startswith("- ") or len(line.partition(": ")[2]) > 5, "a description is missing"
    for step in range(1, 4):
        message, reward, terminated, truncated, info = env.step(f"I choose\nAction: {legal[0]}")
        assert message in env.observation_space
        assert f"Step {step} of 3" in message
        assert info["entry"].endswith(legal[0])
        if terminated or truncated:
            break
        legal = listed(message) or legal
    assert "The episode has ended." in message
    assert np.isfinite(reward)
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_rewards_are_those_of_the_environment_in_numbers() -> None:
    text, numbers = made("llvm_passes"), Env(load_task("llvm_passes"), PROGRAMS["llvm_passes"]())
    cost = text.reset(seed=0)[1]["cost"]
    numbers.reset(seed=0)
    total = 0.0
    for name in ("mem2reg", "early-cse", "inline", "simplifycfg", "clang<Oz>"):
        _, reward, *_, info = text.step(f"Action: {name}")
        assert reward == numbers.step(numbers.actions.index(name))[1]
        total += reward
    assert total == pytest.approx(np.log(cost / info["cost"]))
    text.close()
    numbers.close()


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("way", ["stop", "unusable"])
def test_costly_objective_is_measured_when_the_episode_ends_without_an_action(way: str) -> None:
    env = made("llvm_passes", objective="text-bytes", dense=False, max_steps=2)
    start = env.reset(seed=0)[1]["cost"]
    _, reward, *_, info = env.step("clang<Oz>")
    assert reward == 0
    assert "cost" not in info
    message, reward, terminated, truncated, info = env.step("Action: stop" if way == "stop" else "nonsense")
    assert (terminated, truncated) == (way == "stop", way != "stop")
    assert reward == pytest.approx(np.log(start / info["cost"])) != 0
    assert f"Cost: {info['cost']:g}" in message
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_unusable_answer_counts_as_a_step_and_changes_nothing() -> None:
    env = made("llvm_passes", illegal_reward=-0.25, max_steps=2)
    env.reset(seed=0)
    message, reward, terminated, truncated, info = env.step("Action: mem3reg")
    assert "'mem2reg'" in message
    assert (reward, terminated, truncated, info["entry"]) == (-0.25, False, False, "")
    assert env.env.trace == ()
    message, reward, terminated, truncated, _ = env.step("")
    assert "expected a line such as: Action: always-inline" in message
    assert (reward, terminated, truncated) == (-0.25, False, True)
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_action_at_a_site_and_answer_to_a_question() -> None:
    env = made("llvm_passes", sites=2)
    message, _ = env.reset(seed=0)
    site = env.env.sites[1]
    assert f"Sites: {site}" in message
    assert env.step(f"Action: {site}: mem2reg")[-1]["entry"] == f"{site}: mem2reg"
    env.close()
    asking = made("llvm_inlining")
    message, _ = asking.reset(seed=0)
    question = asking.env.question
    assert f"The compiler asks about {question}" in message
    assert asking.step(f"Action: {question}: inline")[-1]["entry"] == f"{question}: inline"
    assert asking.env.question != question
    asking.close()


@pytest.mark.usefixtures("nothing_left")
def test_crash_ends_the_episode_and_is_told() -> None:
    task: Task = failing_task(counting_task.TASK, "segfault")
    env = TextEnv(task, counting_task.counters("a=240 b=77"))
    env.reset(seed=0)
    message, reward, terminated, _, info = env.step("Action: segfault")
    assert terminated
    assert reward == -1
    assert message.startswith("Step 1 of")
    assert ": segfault\nThe compiler failed: " in message
    assert info["failure"] == "CompilerCrash"
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_gymnasium_accepts_it_and_makes_vectors() -> None:
    env = gymnasium.make(ID, programs=[DATA / "matrix.c", DATA / "strings.c"], max_steps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_close_check=True)
    env.close()
    several = gymnasium.make_vec(
        ID,
        num_envs=2,
        vectorization_mode="sync",
        programs=[DATA / "matrix.c", DATA / "strings.c"],
        max_steps=3,
    )
    messages, _ = several.reset(seed=0)
    assert ["matrix.c" in messages[0], "strings.c" in messages[1]] == [True, True]
    _, rewards, *_ = several.step(["Action: mem2reg", "Action: nonsense"])
    assert rewards[0] > 0
    assert rewards[1] == 0
    several.close()


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copy_continues_the_episode(copied: Callable[[TextEnv], TextEnv]) -> None:
    env = made("llvm_passes")
    env.reset(seed=0)
    env.step("mem2reg")
    twin = copied(env)
    assert twin.step("gvn")[:4] == env.step("gvn")[:4]
    assert twin.env.trace == env.env.trace == ("mem2reg", "gvn")
    twin.close()
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_state_is_restored_and_explained() -> None:
    env = made("llvm_passes")
    env.reset(seed=0)
    env.step("mem2reg")
    state = env.env.state
    env.step("gvn")
    message, info = env.reset(options={"state": state})
    assert info["cost"] == state.cost
    assert f"Now: {state.cost:g}." in message
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_log_has_the_actions_and_how_the_episode_ended(tmp_path: Path) -> None:
    env = made("llvm_passes", log=tmp_path / "log.jsonl", max_steps=2)
    for answers in (["mem2reg", "stop"], ["bogus", "mem2reg"], ["mem2reg", "bogus"]):
        env.reset(seed=0)
        for answer in answers:
            env.step(answer)
    env.close()
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["trace"] for row in rows] == [["mem2reg"]] * 3
    assert [row["ended"] for row in rows] == ["stopped", "truncated", "truncated"]


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("mem2reg", "mem2reg"),
        ("  `mem2reg`. ", "mem2reg"),
        ("Action: mem2reg", "mem2reg"),
        ("action : gvn<no-load-pre>\n", "gvn<no-load-pre>"),
        ("First mem2reg, then gvn.\nAction: mem2reg\nNo, better:\n**Action:** `gvn`", "gvn"),
        ("> - *Action*: tile(0, 16)", "tile(0, 16)"),
        ("Because loads repeat:\n```\nearly-cse\n```\nThat is all.", "early-cse"),
        ("```text\nf: mem2reg\n```", "f: mem2reg"),
        ("I think so.\n\nsroa<modify-cfg>\n", "sroa<modify-cfg>"),
        ("Action: main > f #2: inline", "main > f #2: inline"),
        ("", ""),
        ("```\n```", ""),
        ("\n \n", ""),
    ],
)
def test_grammar_of_answers(answer: str, action: str) -> None:
    assert parse(answer) == action


@settings(max_examples=30)
@given(st.text())
def test_any_answer_is_read(answer: str) -> None:
    assert parse(f"{answer}\nAction: gvn") == "gvn"
    assert isinstance(parse(answer), str)


@pytest.mark.usefixtures("nothing_left")
def test_messages_have_a_length_and_printable_characters() -> None:
    env = made("llvm_passes", characters=100)
    source = Program("ä.c", "llvm", PROGRAMS["llvm_passes"]().content)
    message, _ = env.reset(options={"program": source})
    assert "Program: ?.c" in message
    assert message in env.observation_space
    state = message.partition("State (ir):\n")[2].partition("\nLegal actions")[0]
    assert 100 <= len(state) < 150
    env.close()


def test_wrong_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="characters"):
        gymnasium.make(ID, programs=HASH, character=100)
    with pytest.raises(InputError, match="illegal_reward"):
        gymnasium.make(ID, programs=HASH, illegal_reward="none")
    with pytest.raises(InputError, match="characters"):
        gymnasium.make(ID, programs=HASH, characters=0)
