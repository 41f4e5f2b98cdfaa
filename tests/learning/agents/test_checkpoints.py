"""What a learner goes on from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from burnish.core.errors import InputError
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import descend, means

SAVED = Saved("mine", ("network", "rate", "layers"), ("updates",))


def learner(value: float, updates: int) -> SimpleNamespace:
    """Return something with a network, a tensor and networks by name, all of one value."""
    layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
    for layer in layers:
        torch.nn.init.constant_(layer.weight, value)
    rate = torch.tensor(value, requires_grad=True)
    numbers = {"seed": 3, "iterations": 4, "steps": 50, "episodes": 6, "updates": updates}
    return SimpleNamespace(network=layers[0], rate=rate, layers={"one": layers[1]}, **numbers)


def test_a_learner_goes_on_where_another_was() -> None:
    first, second = learner(2.0, 7), learner(1.0, 0)
    optimized = second.rate  # it stays the tensor that an optimizer knows
    SAVED.load(second, SAVED.state_of(first))
    assert second.network.weight.item() == second.layers["one"].weight.item() == second.rate.item() == 2
    assert second.rate is optimized and second.rate.requires_grad
    assert SAVED.counted(second) == {"steps": 50.0, "episodes": 6.0, "updates": 7.0}


def test_state_of_another_algorithm_is_refused_and_nothing_is_changed() -> None:
    state, second = SAVED.state_of(learner(2.0, 7)), learner(1.0, 0)
    with pytest.raises(InputError, match="expected the state of mine, not of 'theirs'"):
        SAVED.load(second, state | {"algorithm": "theirs"})
    assert second.rate.item() == 1 and second.updates == 0


def test_gradients_are_clipped_network_by_network() -> None:
    networks = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
    optimizer = torch.optim.SGD([network.weight for network in networks], lr=1.0)
    before = [network.weight.item() for network in networks]
    loss = sum(scale * network.weight.sum() for scale, network in zip((30.0, 0.5), networks, strict=True))
    assert isinstance(loss, torch.Tensor)
    assert descend(optimizer, loss, *networks, max_norm=1.0).item() == 0.5
    moved = [old - network.weight.item() for old, network in zip(before, networks, strict=True)]
    assert moved == pytest.approx([1.0, 0.5], abs=1e-4)


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    network = torch.nn.Linear(1, 1, bias=False)
    before = network.weight.item()
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    with pytest.raises(RuntimeError, match="non-finite"):
        descend(optimizer, network.weight.sum() * torch.nan, network, max_norm=1.0)
    assert network.weight.item() == before


def test_means_over_updates() -> None:
    assert means([{"loss": torch.tensor(1.0)}, {"loss": torch.tensor(2.0)}]) == {"loss": 1.5}
    assert means([]) == {}
