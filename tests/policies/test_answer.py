"""Exported policies answer what is asked, where it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from burnish.core.errors import InputError
from burnish.learning.agents.export import export_policy
from burnish.learning.agents.policy import FlatHead, Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.policies.answer import answers_of
from burnish.policies.guiding import load_guide
from tests.conftest import OpenSandbox
from tests.core.asking_task import ACTIONS, TASK, calls, open_asking, optimum
from tests.core.counting_task import TASK as COUNTING

PROGRAM = calls("main 4: f f g; f 2: h; g 6: h; h 5:")
CARD: dict[str, object] = {"task": TASK.id, "observation": "question", "max_steps": None, "reward": "log"}


def exported(
    folder: Path, prefers: str, card: dict[str, object] = CARD, actions: tuple[str, ...] = ACTIONS
) -> Path:
    """Return the file of a policy that prefers an answer wherever it is legal, and the last one else."""
    torch.manual_seed(0)
    policy = Policy(MLP(MLPConfig(hidden=(4,)), 5), actions, critic="none")
    assert isinstance(policy.head, FlatHead)
    with torch.no_grad():
        policy.head.logits.weight.zero_()
        policy.head.logits.bias.copy_(torch.arange(len(actions)).float())
        policy.head.logits.bias[actions.index(prefers)] += 10
    return export_policy(policy, folder, card)


def test_a_policys_file_answers_in_the_worker_as_it_does_step_by_step(
    open_sandbox: OpenSandbox, tmp_path: Path
) -> None:
    path = exported(tmp_path, "fold")
    session = open_sandbox(open_asking, PROGRAM)
    guide_for = load_guide(path, TASK)
    expected = next(iter(guide_for(open_asking(PROGRAM)).initial_traces))
    assert session.answer(answers_of(path, TASK)) == tuple(session.trace) == expected
    assert session.measure("size") == optimum(PROGRAM)


def test_another_policy_under_the_same_name_is_read_anew(open_sandbox: OpenSandbox, tmp_path: Path) -> None:
    session = open_sandbox(open_asking, PROGRAM)
    fork = session.fork()
    assert session.answer(answers_of(exported(tmp_path, "fold"), TASK))[0] == "main > f #1: inline"
    assert fork.answer(answers_of(exported(tmp_path, "leave"), TASK))[0] == "main > f #1: leave"


def test_what_a_policy_does_not_know_is_the_first_that_is_legal(tmp_path: Path) -> None:
    session = open_asking(calls("main 2: main f; f 9:"))  # of the first call, only leave is legal
    path = exported(tmp_path, "fold", actions=("fold", "inline"))
    assert session.answer(answers_of(path, TASK)) == ("main > main #1: leave", "main > f #1: inline")


def test_what_cannot_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"policy\.npz: the policy was trained for asking-v0, not for counting"
    ):
        answers_of(exported(tmp_path, "fold"), COUNTING)
    at_sites = exported(tmp_path, "fold", CARD | {"sites": 1}, (*ACTIONS, *(f"#1: {a}" for a in ACTIONS)))
    with pytest.raises(
        InputError,
        match="the policy acts at 1 sites; expected one that only answers the compiler's questions",
    ):
        answers_of(at_sites, TASK)
    wrong = exported(tmp_path, "fold", CARD | {"sites": 1})
    with pytest.raises(InputError, match="3 actions do not fit 1 sites"):
        answers_of(wrong, TASK)
