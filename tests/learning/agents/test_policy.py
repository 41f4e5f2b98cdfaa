"""Policies: what is illegal has no probability, whatever the head is, and gradients stay finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from burnish.core.action import Action
from burnish.core.errors import InputError
from burnish.learning.agents.policy import (
    HEADS,
    ILLEGAL,
    Critic,
    FactorisedHead,
    Head,
    Policy,
    QNetwork,
    entropy,
    masked_log_softmax,
    sample,
)
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.llvm.modules.passes import ACTIONS as PASSES

ACTIONS = ("gvn", "tile(i, 32)", "gvn<no-load-pre>", "adce", "tile(j, 8)", "tile(k, 8)")
KINDS = {"gvn": (0, 2), "tile": (1, 4, 5), "adce": (3,)}

masks = st.lists(st.lists(st.booleans(), min_size=6, max_size=6).filter(any), min_size=1, max_size=4)
heads = pytest.mark.parametrize("head", list(HEADS))


def made(head: Head = "flat", critic: Critic = "shared", actions: tuple[str, ...] = ACTIONS) -> Policy:
    torch.manual_seed(0)
    policy = Policy(MLP(MLPConfig(hidden=(16,)), 4), actions, head=head, critic=critic)
    with torch.no_grad():  # heads begin close to uniform: too easy
        for parameter in policy.head.parameters():
            parameter.normal_(0, 2)
    return policy


def observed(rows: int, seed: int = 0) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return list(np.random.default_rng(seed).normal(size=(rows, 4)) * 3)


def softmax(logits: list[float]) -> list[float]:
    weights = [math.exp(value) for value in logits]
    return [weight / sum(weights) for weight in weights]


@heads
@given(rows=masks)
def test_probabilities_are_of_legal_actions_and_sum_to_one(head: Head, rows: list[list[bool]]) -> None:
    policy, mask = made(head), torch.tensor(rows)
    log_probs = policy.log_probs(policy.collate(observed(len(rows))), mask)
    probabilities = log_probs.exp()
    assert log_probs.isfinite().all()
    assert (probabilities[~mask] == 0).all()
    assert (log_probs[~mask] < ILLEGAL / 2).all()
    assert torch.allclose(probabilities.sum(dim=1), torch.ones(len(rows)), atol=1e-5)


def test_flat_head_by_hand() -> None:
    log_probs = masked_log_softmax(
        torch.tensor([[1.0, 5.0, 2.0, 0.5]]), torch.tensor([[True, False, True, True]])
    )
    first, third, fourth = softmax([1.0, 2.0, 0.5])
    assert log_probs[0, [0, 2, 3]].exp().tolist() == pytest.approx([first, third, fourth], rel=1e-6)


@given(row=masks.map(lambda rows: rows[0]))
def test_factorised_head_is_the_product_by_hand(row: list[bool]) -> None:
    torch.manual_seed(1)
    head = FactorisedHead(3, ACTIONS)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_()
    vector = torch.randn(1, 3)
    of_kinds = dict(zip(KINDS, head.kind_logits(vector)[0].tolist(), strict=True))
    of_actions = head.action_logits(vector)[0].tolist()
    expected = [0.0] * len(ACTIONS)
    legal = {kind: [a for a in members if row[a]] for kind, members in KINDS.items()}
    kinds = [kind for kind, members in legal.items() if members]
    for kind, chance in zip(kinds, softmax([of_kinds[kind] for kind in kinds]), strict=True):
        given_kind = softmax([of_actions[a] for a in legal[kind]])
        for action, conditional in zip(legal[kind], given_kind, strict=True):
            expected[action] = chance * conditional
    found = head(vector, torch.tensor([row])).exp()[0].tolist()
    assert found == pytest.approx(expected, rel=1e-5)


def test_factorised_over_the_passes_of_llvm() -> None:
    head = FactorisedHead(3, PASSES)
    assert len(head.kinds) == len({Action.parse(action).kind for action in PASSES}) < len(PASSES)
    assert head.kinds[head.kind[PASSES.index("gvn<no-load-pre>")]] == "gvn"
    members = head.members[head.kinds.index("clang")][head.there[head.kinds.index("clang")]]
    assert [PASSES[i] for i in members] == [text for text in PASSES if text.startswith("clang<")]
    assert head.there.sum() == len(PASSES)


@heads
def test_one_legal_action_is_certain(head: Head) -> None:
    policy, mask = made(head), torch.eye(6, dtype=torch.bool)
    batch = policy.collate(observed(6))
    log_probs = policy.log_probs(batch, mask)
    assert torch.equal(log_probs.exp(), torch.eye(6))
    assert (entropy(log_probs, mask) == 0).all()
    for generator in (None, torch.Generator().manual_seed(0)):
        assert policy.act(observed(6), mask.numpy(), generator).tolist() == list(range(6))


@pytest.mark.parametrize("head", ["flat", "factorised"])
def test_gradients_are_finite_and_no_illegal_action_has_one(head: Head) -> None:
    policy, mask = made(head), torch.tensor([[True, False, True, False, False, False]] * 3)
    log_probs, values = policy.evaluate(policy.collate(observed(3)), mask)
    loss = log_probs[:, 0].sum() + entropy(log_probs, mask).sum() + values.sum()
    loss.backward()
    assert all(parameter.grad is not None for parameter in policy.encoder.parameters())
    assert all(p.grad is None or p.grad.isfinite().all() for p in policy.parameters())
    logits = policy.head.action_logits if isinstance(policy.head, FactorisedHead) else policy.head.logits
    assert isinstance(logits, torch.nn.Linear)
    assert logits.weight.grad is not None
    assert (logits.weight.grad[[1, 3, 4, 5]] == 0).all()
    assert (logits.weight.grad[[0, 2]] != 0).any()


@heads
def test_nothing_legal_is_finite(head: Head) -> None:
    """The last state of an episode: nobody acts in it, but its row may be in a batch."""
    policy, mask = made(head), torch.zeros(2, 6, dtype=torch.bool)
    log_probs, values = policy.evaluate(policy.collate(observed(2)), mask)
    (log_probs.sum() * 1e-9 + entropy(log_probs, mask).sum() + values.sum()).backward()
    assert log_probs.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in policy.parameters())


@heads
def test_gradients_are_those_of_finite_differences(head: Head) -> None:
    policy = made(head).double()
    mask = torch.tensor([[True, True, True, False, True, False], [True] * 6])
    batch = policy.collate(observed(2)).double()
    parameters = dict(policy.head.named_parameters())

    def output(*values: Tensor) -> Tensor:
        named = dict(zip(parameters, values, strict=True))
        found: Tensor = torch.func.functional_call(policy.head, named, (policy.encoder(batch), mask))
        return torch.cat([found[mask], entropy(found, mask)])

    assert torch.autograd.gradcheck(
        output, [value.detach().requires_grad_() for value in parameters.values()]
    )


def test_entropy_by_hand() -> None:
    mask = torch.tensor([[True, True, False, True], [True, True, False, False]])
    logits = torch.tensor([[0.0, math.log(2), 9.0, 0.0], [3.0, 3.0, 0.0, 0.0]])
    expected = [-(2 * 0.25 * math.log(0.25) + 0.5 * math.log(0.5)), math.log(2)]
    assert entropy(masked_log_softmax(logits, mask), mask).tolist() == pytest.approx(expected, rel=1e-6)


def test_samples_are_as_frequent_as_probable_and_never_illegal() -> None:
    mask = torch.tensor([[True, False, True, True]])
    log_probs = masked_log_softmax(torch.tensor([[0.0, 5.0, 1.0, -3.0]]), mask).expand(20000, 4)
    drawn = sample(log_probs, torch.Generator().manual_seed(0))
    shares = np.bincount(drawn.numpy(), minlength=4) / 20000
    expected = log_probs[0].exp().numpy()
    assert shares[1] == 0
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / 20000))


def test_the_seed_decides_what_is_drawn() -> None:
    policy, mask = made(), np.ones((50, 6), dtype=bool)

    def drawn(seed: int) -> list[int]:
        return policy.act(observed(50), mask, torch.Generator().manual_seed(seed)).tolist()

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_most_probable_action() -> None:
    policy, mask = made(), np.random.default_rng(0).random((9, 6)) < 0.5
    mask[:, 2] = True
    log_probs = policy.log_probs(policy.collate(observed(9)), torch.from_numpy(mask))
    assert policy.act(observed(9), list(mask)).tolist() == log_probs.argmax(dim=1).tolist()


def test_a_shared_critic_shares_and_runs_the_encoder_once() -> None:
    policy, mask, runs = made(), torch.ones(3, 6, dtype=torch.bool), []
    policy.encoder.register_forward_hook(lambda *_: runs.append(1))
    batch = policy.collate(observed(3))
    log_probs, values = policy.evaluate(batch, mask)
    assert len(runs) == 1
    assert torch.equal(log_probs, policy.log_probs(batch, mask))
    assert torch.equal(values, policy.values(batch))
    assert values.shape == (3,)


def test_a_separate_critic_leaves_the_actors_encoder_alone() -> None:
    policy = made(critic="separate")
    batch = policy.collate(observed(3))
    policy.values(batch).sum().backward()
    assert all(parameter.grad is None for parameter in policy.encoder.parameters())
    assert policy.critic_encoder
    assert all(parameter.grad is not None for parameter in policy.critic_encoder.parameters())
    shared = made()
    assert len(list(policy.parameters())) == len(list(shared.parameters())) + 2


def test_a_policy_without_critic_says_so() -> None:
    policy = made(critic="none")
    with pytest.raises(InputError, match="no critic; make it with critic='shared' or 'separate'"):
        policy.values(policy.collate(observed(1)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"head": "tree"}, "'flat', 'summed', 'factorised', 'factorised-summed', not 'tree'"),
        ({"critic": "twin"}, "'none', 'shared' or 'separate', not 'twin'"),
    ],
)
def test_wrong_choices(values: dict[str, str], message: str) -> None:
    encoder = MLP(MLPConfig(), 4)
    with pytest.raises(InputError, match=message):
        Policy(encoder, ACTIONS, **values)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one action"):
        Policy(encoder, ())


def q_network() -> QNetwork:
    torch.manual_seed(0)
    return QNetwork(MLP(MLPConfig(hidden=(16,)), 4), 6)


def test_the_largest_value_of_a_legal_action() -> None:
    network, mask = q_network(), np.random.default_rng(0).random((9, 6)) < 0.5
    mask[:, 2] = True
    values = network(network.collate(observed(9))).detach().numpy()
    expected = np.where(mask, values, -np.inf).argmax(axis=1)
    assert network.act(observed(9), mask).tolist() == expected.tolist()


def test_exploration_is_uniform_over_what_is_legal() -> None:
    network = q_network()
    mask = np.tile([True, False, True, True, False, True], (8000, 1))
    rows = observed(1) * 8000
    best = int(network.act(rows[:1], mask[:1]).item())
    drawn = network.act(rows, mask, torch.Generator().manual_seed(0), epsilon=0.4).numpy()
    shares = np.bincount(drawn, minlength=6) / 8000
    expected = np.where(mask[0], 0.1, 0.0)
    expected[best] += 0.6
    assert (shares[~mask[0]] == 0).all()
    np.testing.assert_allclose(shares, expected, atol=0.025)
