"""What the commands' arguments have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from burnish.core.task import Task
from burnish.policies import find as policies


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split at a double dash: the command's own words, and clang's."""
    words = list(arguments)
    if "--" not in words:
        return words, ()
    cut = words.index("--")
    return words[:cut], tuple(words[cut + 1 :])


def add_without(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves actions out; its value is for burnish.tasks.llvm_passes.actions.left_out."""
    without = "actions that are left out, which every result says: names, or beginnings such as 'outline*'"
    parser.add_argument("--without", action="append", default=[], metavar="ACTION,...", help=without)


def listed(values: Sequence[str]) -> list[str]:
    """Return what an option that may be repeated names, with commas between several."""
    return [text for value in values for text in value.split(",")]


def announce_policy(name: str, task: Task, objective: str) -> None:
    """Say, on standard error, that a policy which guides a search was made for another objective."""
    if other := policies.made_for(name, task, objective):
        what = f"the policy that guides the search was made for {other}, not for {objective}"
        print(f"burnish: {what}", file=sys.stderr)
