"""Agents of other libraries train: see also tests/envs/test_rllib.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.slow


def run(name: str) -> str:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ppo_of_torchrl_learns() -> None:
    returns = [float(found) for found in re.findall(r"over -Oz ([\d.-]+)", run("torchrl_ppo.py"))]
    assert len(returns) == 4
    assert max(returns[1:]) > returns[0]


def test_masked_ppo_of_sb3_contrib_makes_a_program_smaller() -> None:
    found = re.match(r"(\d+) -> (\d+) instructions", run("masked_ppo.py"))
    assert found and int(found[2]) < int(found[1])
