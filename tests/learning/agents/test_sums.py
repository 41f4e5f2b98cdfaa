"""Logits that are sums: those of kinds and parameters, over the same flat list."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given

from burnish.learning.agents.policy import FactorisedHead, Head, SummedHead, entropy
from burnish.learning.agents.sums import SummedLogits
from tests.learning.agents.test_policy import ACTIONS, KINDS, made, masks, observed


def test_summed_logits_by_hand() -> None:
    torch.manual_seed(1)
    logits = SummedLogits(3, (*ACTIONS, "#1: tile(j, 8)"))
    vector = torch.randn(1, 3)
    of = dict(zip(logits.names, logits.factors(vector)[0].tolist(), strict=True))
    tile, adce, passes = of["tile", -1, ""], of["adce", -1, ""], of["gvn", -1, ""]
    expected = [
        passes,
        tile + of["tile", 0, "i"] + of["tile", 1, "32"],
        passes + of["gvn", 0, "no-load-pre"],
        adce,
        tile + of["tile", 0, "j"] + of["tile", 1, "8"],
        tile + of["tile", 0, "k"] + of["tile", 1, "8"],
        of["#1: tile", -1, ""] + of["#1: tile", 0, "j"] + of["#1: tile", 1, "8"],
    ]
    assert len(of) == 12
    assert logits(vector)[0].tolist() == pytest.approx(expected, rel=1e-5)
    assert logits.as_linear()(vector)[0].tolist() == pytest.approx(expected, rel=1e-5)


@given(row=masks.map(lambda rows: rows[0]))
def test_summed_heads_are_what_enumeration_says(row: list[bool]) -> None:
    vector, mask = torch.tensor([[0.3, -1.2, 0.7, 2.0]]), torch.tensor([row])
    for summed in (SummedHead(4, ACTIONS), FactorisedHead(4, ACTIONS, summed=True)):
        torch.manual_seed(2)
        with torch.no_grad():
            for parameter in summed.parameters():
                parameter.normal_()
        logits = summed.logits if isinstance(summed, SummedHead) else summed.action_logits
        of_actions = [math.exp(value) for value in logits(vector)[0].tolist()]
        chances = [weight * legal for weight, legal in zip(of_actions, row, strict=True)]
        if isinstance(summed, FactorisedHead):
            of_kinds = dict(zip(KINDS, summed.kind_logits(vector).exp()[0].tolist(), strict=True))
            for kind, members in KINDS.items():
                total = sum(chances[a] for a in members)
                for a in members:
                    chances[a] *= of_kinds[kind] / total if total else 0
        expected = [chance / sum(chances) for chance in chances]
        found = summed(vector, mask)
        assert found.exp()[0].tolist() == pytest.approx(expected, rel=1e-4)
        bits = -sum(chance * math.log(chance) for chance in expected if chance)
        assert entropy(found, mask).tolist() == pytest.approx([bits], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("head", ["summed", "factorised-summed"])
def test_what_is_learned_of_a_size_counts_at_every_place(head: Head) -> None:
    policy, mask = made(head), torch.ones(1, 6, dtype=torch.bool)
    batch = policy.collate(observed(1))
    before = policy.log_probs(batch, mask).detach()
    adam = torch.optim.Adam(policy.head.parameters(), lr=0.1)
    for _ in range(5):
        adam.zero_grad()
        (-policy.log_probs(batch, mask)[0, ACTIONS.index("tile(j, 8)")]).backward()
        adam.step()
    gain = (policy.log_probs(batch, mask) - before)[0]
    eight, other = ACTIONS.index("tile(k, 8)"), ACTIONS.index("tile(i, 32)")
    assert gain[eight] > gain[other] + 0.1
