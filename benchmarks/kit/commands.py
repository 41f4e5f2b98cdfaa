"""The burnish command in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from burnish.evaluation.statistics import ALL


def burnish(*arguments: str, capture: bool = False) -> str:
    """Run a command of burnish; return what it prints if `capture` is true, else "".

    Raises:
        CalledProcessError: the command failed.
    """
    command = [sys.executable, "-m", "burnish.cli", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE if capture else None, text=True)
    return done.stdout or ""


def evaluate(folder: Path, methods: Iterable[str], *words: str) -> list[dict[str, Any]]:
    """Evaluate methods, resume what the folder has already, and return the rows of `--json`.

    Args:
        folder: The evaluation's folder.
        methods: Searches, with their policies.
        words: Programs and options of `burnish evaluate`.
    """
    burnish("evaluate", "--out", str(folder), "--methods", ",".join(methods), *words)
    return [
        json.loads(line)
        for line in burnish("evaluate", "--json", "--out", str(folder), capture=True).splitlines()
    ]


def of_all(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `evaluate` that are means over all programs, not over a project or a language."""
    return [row for row in rows if row.get("project") == row.get("language") == ALL]
