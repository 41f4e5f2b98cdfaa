"""RLlib's example, where its environment has been made: `make` in examples/rllib."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "rllib"
PYTHON = FOLDER / ".venv" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="run `make` in examples/rllib first: it installs ray"),
]


def run(*arguments: str) -> str:
    command = [str(PYTHON), *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_gymnasium_accepts_the_environment_in_the_version_that_ray_wants() -> None:
    assert run("check.py").startswith("gymnasium 1.2.2: check_env passes")


def test_ppo_trains_in_rllib() -> None:
    lines = run("ppo.py", "--iterations", "2").splitlines()
    assert [line.split(":")[0] for line in lines] == ["iteration 1", "iteration 2"]
    assert "1200 steps" in lines[1]
