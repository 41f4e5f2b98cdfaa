"""burnish evaluate: results measured once more, methods compared, and leaderboards verified."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.cli import evaluate_methods, evaluate_results, leaderboard


def main(arguments: Sequence[str]) -> int:
    """Run the command: of methods where some are named, of a leaderboard, else of results."""
    options = {word.partition("=")[0] for word in arguments}
    if "--verify" in options:
        return leaderboard.main(arguments)
    if options & {"--methods", "--out"}:
        return evaluate_methods.main(arguments)
    return evaluate_results.main(arguments)
