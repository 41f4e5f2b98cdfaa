"""Tables as policies: saved, read, asked about states that nobody has seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.policies.choose import ILLEGAL
from burnish.policies.load import load_action_policy
from burnish.policies.value_table import TablePolicy, save_table, state_key

SEEN, UNSEEN = np.array([1, 2]), np.array([2, 1])


def table() -> TablePolicy:
    return TablePolicy(("a", "b", "c"), {state_key(SEEN): np.array([0.5, 2.0, 1.0])}, card={"task": "x-v0"})


def test_a_table_prefers_what_is_worth_more() -> None:
    masks = np.array([[True, True, True], [True, False, True]])
    log_probs = table().log_probs([SEEN, SEEN], masks)
    assert log_probs.argmax(axis=1).tolist() == [1, 2]
    assert log_probs[1, 1] < ILLEGAL / 2
    assert np.exp(log_probs).sum(axis=1) == pytest.approx([1, 1])
    assert log_probs[0, 1] - log_probs[0, 2] == pytest.approx(10)


def test_what_was_never_seen_has_no_favourite() -> None:
    (log_probs,) = table().log_probs([UNSEEN], np.array([[True, False, True]]))
    assert np.exp(log_probs) == pytest.approx([0.5, 0, 0.5])
    with pytest.raises(InputError, match="a table has no critic"):
        table().evaluate([UNSEEN], np.ones((1, 3), dtype=bool))


def test_a_file_has_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    save_table(path, table())
    read = load_action_policy(path)
    assert isinstance(read, TablePolicy)
    assert (read.actions, read.card) == (table().actions, table().card)
    masks = np.ones((2, 3), dtype=bool)
    assert np.array_equal(read.log_probs([SEEN, UNSEEN], masks), table().log_probs([SEEN, UNSEEN], masks))
    np.savez(path, rest=np.frombuffer(b'{"kind": "q-table", "format": 1}', dtype=np.uint8))
    with pytest.raises(InputError, match=r"policy\.npz: not a policy's table"):
        load_action_policy(path)
