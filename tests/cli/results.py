"""Results that nobody measured, and files of them."""

from __future__ import annotations

from pathlib import Path

from burnish.core.result import Result
from burnish.tasks.llvm_passes import TASK


def result_of(source: str, digest: str, *trace: str, fallback: str = "") -> Result:
    """Return a result for a program that is read from a file or another name."""
    return Result(
        task=TASK.id,
        program=source,
        digest=digest,
        objective="text-bytes",
        method="m",
        seed=0,
        trace=trace,
        cost=1.0,
        baselines={},
        evaluations=1,
        seconds=0.1,
        toolchain={},
        fallback=fallback,
        source=(source,),
    )


def written(folder: Path, *rows: Result) -> str:
    """Write results into a file and return its path."""
    path = folder / "results.jsonl"
    path.write_text("".join(row.to_json() + "\n" for row in rows))
    return str(path)
