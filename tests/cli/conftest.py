"""What tests of several commands use."""

from __future__ import annotations

import pytest

from burnish.evaluation.report.plots import improvement_plot
from tests.evaluation.rows import row


@pytest.fixture(scope="session")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have matplotlib open its fonts: it never closes them."""
    figure = improvement_plot([row("a", 50.0)])
    figure.savefig(tmp_path_factory.mktemp("fonts") / "a.svg")
