"""What tests of trainings use."""

from __future__ import annotations

import pytest


@pytest.fixture
def curves() -> None:
    """Have the curves drawn at the end of a training."""


@pytest.fixture(autouse=True)
def only_curves_that_are_looked_at(request: pytest.FixtureRequest) -> None:
    """Draw no curves unless the test asks for them."""
    if "curves" not in request.fixturenames:
        request.getfixturevalue("without_curves")
