"""Comparing observations of random walks."""

from __future__ import annotations

from typing import Any

from gymnasium.utils.env_checker import data_equivalence


def assert_same(one: Any, other: Any) -> None:
    """Assert that two observations are equal."""
    assert data_equivalence(one, other)
