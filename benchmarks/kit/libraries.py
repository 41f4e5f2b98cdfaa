"""The options of benchmarks that compile libraries for other machines."""

from __future__ import annotations

import argparse
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"


def library_options(description: str | None, name: str) -> argparse.ArgumentParser:
    """Return the parser of a benchmark's command line: --budget, --jobs, --sources and --out.

    Args:
        description: The benchmark's docstring.
        name: Of the folder of results.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", default="2s", help="of burnish cc, for each file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sources", type=Path, default=Path("sources"), help="folder of fetched packages")
    parser.add_argument("--out", type=Path, default=RESULTS / name)
    return parser
