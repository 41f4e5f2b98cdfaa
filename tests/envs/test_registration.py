"""The environments by their ids, as Gymnasium makes them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.registry import load_task, task_names
from burnish.envs import find_programs
from burnish.envs.vector import VectorEnv
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA, program

ID = "burnish/LLVMPasses-v1"
FILES = [DATA / "matrix.c", DATA / "strings.c"]


@pytest.mark.usefixtures("nothing_left")
def test_gymnasium_makes_and_accepts_it() -> None:
    env = gymnasium.make(f"burnish.envs:{ID}", programs=FILES[0], max_steps=3, render_mode="ansi")
    assert env.spec and env.spec.id == ID
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_close_check=True)
    env.close()


def test_former_ids_lead_to_the_same_tasks() -> None:
    ids = {name: load_task(name).gymnasium_ids for name in task_names()}
    assert ids["llvm_inlining"] == ("burnish/LLVMInlining-v0", "burnish/LlvmInlining-v0")
    assert ids["loop_nests"] == ("burnish/LoopNests-v0",)
    for name, own in ids.items():
        assert [gymnasium.spec(id).kwargs["task"] for id in own] == [name] * len(own)


@pytest.mark.usefixtures("nothing_left")
def test_programs_may_be_paths_text_and_programs() -> None:
    env = gymnasium.make(ID, programs=[FILES[0], str(FILES[1]), program("machine.c")])
    names = [Path(env.reset(seed=seed)[1]["program"]).name for seed in range(4)]
    assert names == ["matrix.c", "strings.c", "machine.c", "matrix.c"]
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_programs_may_be_made() -> None:
    env = gymnasium.make(ID, programs=lambda number: program(("matrix.c", "strings.c")[number % 2]))
    assert env.reset(seed=3)[1]["program"] == "strings.c"
    env.close()


def test_a_corpus_is_left_as_it_is() -> None:
    class Corpus:
        def __len__(self) -> int:
            return 10**6

        def __getitem__(self, index: int) -> Program:
            raise AssertionError("it is not its turn")

    corpus: Any = Corpus()
    assert find_programs(TASK, corpus) is corpus


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"missing\.c"):
        gymnasium.make(ID, programs="missing.c")


@pytest.mark.usefixtures("nothing_left")
def test_time_limit_of_gymnasium_fits() -> None:
    env = gymnasium.make(ID, programs=FILES[0], max_episode_steps=2)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    env.close()


@pytest.mark.parametrize("mode", [None, "sync", "async"])
def test_gymnasium_makes_vectors(mode: str | None) -> None:
    several = gymnasium.make_vec(
        ID,
        2,
        vectorization_mode=mode,
        programs=FILES,
        observation=("autophase", "opcode-counts"),
        max_steps=2,
    )
    assert isinstance(several, VectorEnv) == (mode is None)
    observed, infos = several.reset(seed=0)
    assert observed["autophase"].shape == (2, 56)
    assert observed in several.observation_space
    assert [Path(name).name for name in infos["program"]] == ["matrix.c", "strings.c"]
    assert infos["mask"].shape == (2, several.single_action_space.n)  # type: ignore[attr-defined]
    for _ in range(3):
        observed, rewards, *_ = several.step(np.array([0, 1]))
        assert observed in several.observation_space
    assert rewards.tolist() == [0, 0]  # after two steps, both began again
    several.close()


@pytest.mark.usefixtures("nothing_left")
def test_wrappers_of_gymnasium_fit() -> None:
    env = gymnasium.make(ID, programs=FILES[0], observation=("autophase", "function-properties"), max_steps=3)
    env = gymnasium.wrappers.FlattenObservation(env)
    env = gymnasium.wrappers.TransformReward(env, lambda reward: 2 * float(reward))
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    observed, info = env.reset(seed=0)
    assert observed in env.observation_space
    start, total = info["cost"], 0.0
    for _ in range(3):
        observed, reward, *_, info = env.step(0)
        total += float(reward)
    assert info["episode"]["l"] == 3
    assert info["episode"]["r"] == pytest.approx(total)
    assert total == pytest.approx(2 * np.log(start / info["cost"]))
    env.close()


def test_references_are_programs_that_are_made_in_turn() -> None:
    env = gymnasium.make(ID, programs=["random:0..99", FILES[0], "random:7"], limits=None)
    programs = env.unwrapped.programs  # type: ignore[attr-defined]
    assert len(programs) == 102
    assert Path(programs[100].name).name == "matrix.c"
    assert programs[101].digest == programs[7].digest == programs[-1].digest
    assert [part.name for part in programs[99:101]] == [programs[99].name, programs[100].name]
    with pytest.raises(IndexError):
        programs[102]
    assert env.reset(seed=7)[1]["program"] == programs[7].name
