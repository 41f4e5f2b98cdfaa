"""burnish evaluate: results measured once more, methods compared, and leaderboards verified."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.cli import evaluate_methods, evaluate_results

WORDS = ("--methods", "--out")


def main(arguments: Sequence[str]) -> int:
    """Run the command: of methods where some are named, else of results."""
    if any(word.partition("=")[0] in WORDS for word in arguments):
        return evaluate_methods.main(arguments)
    return evaluate_results.main(arguments)
