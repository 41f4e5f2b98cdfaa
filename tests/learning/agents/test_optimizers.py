"""Optimizers: torch's steps and states, without the import of torch's compiler."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from burnish.learning.agents import optimizers

KINDS = [("Adam", {"eps": 1e-5}), ("AdamW", {"weight_decay": 0.1}), ("SGD", {"momentum": 0.9})]
TRAINING = """
import sys
import torch
from burnish.learning.agents import optimizers
from burnish.learning.agents.learner import descend

network = torch.nn.Linear(2, 1)
for kind in (optimizers.Adam, optimizers.AdamW, optimizers.SGD):
    optimizer = kind(network.parameters(), lr=0.1)
    descend(optimizer, network(torch.ones(2)).sum(), network, max_norm=1.0)
    optimizer.load_state_dict(optimizer.state_dict())
assert "torch._dynamo" not in sys.modules
"""


def trained(kind: Any, settings: dict[str, float], state: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """Return the weights after three steps with a schedule, and the optimizer's state."""
    torch.manual_seed(0)
    network = nn.Linear(4, 3)
    optimizer = kind(network.parameters(), lr=0.1, **settings)
    if state:
        optimizer.load_state_dict(state)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)
    for _ in range(3):
        optimizer.zero_grad()
        network(torch.ones(2, 4)).square().sum().backward()
        optimizer.step()
        schedule.step()
    return network.weight, optimizer.state_dict()


@pytest.mark.parametrize(("name", "settings"), KINDS)
def test_steps_and_states_are_torchs(name: str, settings: dict[str, float]) -> None:
    weights, state = trained(getattr(optimizers, name), settings)
    theirs, their_state = trained(getattr(torch.optim, name), settings)
    assert torch.equal(weights, theirs)
    assert repr(state) == repr(their_state)
    again, _ = trained(getattr(optimizers, name), settings, their_state)  # a checkpoint of before
    expected, _ = trained(getattr(torch.optim, name), settings, state)
    assert torch.equal(again, expected)


def test_training_imports_no_compiler_of_torch() -> None:
    subprocess.run([sys.executable, "-c", TRAINING], check=True)
