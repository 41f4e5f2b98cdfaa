"""burnish evaluate: results measured once more, methods compared, and leaderboards verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.cli import evaluate_folder, evaluate_methods, evaluate_results, leaderboard


def main(arguments: Sequence[str]) -> int:
    """Run the command: of methods where some are named, of a leaderboard, of a folder, else of results."""
    options = {word.partition("=")[0] for word in arguments}
    if "--verify" in options:
        return leaderboard.main(arguments)
    if options & {"--methods", "--out"}:
        return evaluate_methods.main(arguments)
    if any(Path(word).is_dir() for word in arguments if not word.startswith("-")):
        return evaluate_folder.main(arguments)
    return evaluate_results.main(arguments)
