"""Random actions, a third of them ours, on code that few passes expect: it stays valid, and states replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK
from burnish.workers.worker import Limits
from tests.conftest import OpenSandbox
from tests.sources import DATA

SOURCES = sorted((DATA / "unusual").glob("*.c*"))
OURS = [text for text in TASK.actions if text.startswith("outline<")]
PIPELINES = [text for text in TASK.actions if text.startswith("clang<")]


def random_actions(rng: np.random.Generator, count: int) -> list[str]:
    """Return random actions: a third ours, and a pipeline of clang's that shows what they broke."""
    kinds = rng.choice(3, size=count, p=[1 / 3, 1 / 12, 7 / 12])
    return [str(rng.choice((OURS, PIPELINES, TASK.actions)[kind])) for kind in kinds]


@pytest.mark.parametrize("debug", [[], ["-g"]], ids=["plain", "-g"])
@pytest.mark.parametrize("source", SOURCES, ids=[path.name for path in SOURCES])
def test_states_are_valid_and_replay(source: Path, debug: list[str], open_sandbox: OpenSandbox) -> None:
    flags = ["-std=c++20"] if source.suffix == ".cpp" else []
    program = load_program(source, [*flags, *debug])
    rng = np.random.default_rng([len(debug), *source.name.encode()])
    for _ in range(2):
        session = open_sandbox(TASK.open, program, Limits())
        for action in random_actions(rng, 12):
            session.replay([action])
            session.verify()
        again = open_sandbox(TASK.open, program, Limits())
        again.replay(session.trace)
        assert again.digest() == session.digest(), session.trace
    session = open_sandbox(TASK.open, program, Limits())
    session.replay(["clang<Oz>", "outline<call-cost=0>"])
    session.verify()
    assert any(site.startswith("outlined") for site in session.sites())
