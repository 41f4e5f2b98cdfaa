"""Figures on corpora for the documentation: build time, compiled share, bytes, time to open and to read.

    python benchmarks/corpus.py                         # a build from nothing: minutes, on all cores
    python benchmarks/corpus.py --folder DIR            # continues or measures an existing corpus
    python benchmarks/corpus.py --kills 5               # builds again, killed five times: the same digest?
    python benchmarks/corpus.py --folder DIR --leaks    # functions of val and test that train has too

Packages are fetched first, outside the measured time. Exit code 1 in three cases: less than 92 % of a split
compile, a program is in two splits and the manifest does not say which keeps it, or the killed build differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from burnish import _native
from burnish.files import default_cache
from burnish.llvm.corpora.fetch import fetch
from burnish.llvm.corpora.manifest import SPLITS, load_manifest
from burnish.llvm.corpora.public import packages_of
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.corpora.store import Corpus, open_corpus

LEAST_SHARE = 0.92
LEAST_LINES = 30
NAMES = re.compile(r'[%@!#]("[^"]*"|[\w.$-]+)')


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", default=",".join(SPLITS))
    parser.add_argument("--folder", type=Path, help="default: a new one, removed at the end")
    parser.add_argument("--sources", type=Path, default=default_cache())
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument("--leaks", action="store_true", help="takes a minute")
    parser.add_argument("--output", type=Path, help="also write the figures there as JSON")
    options = parser.parse_args()
    if options.leaks and "train" not in options.split.split(","):
        parser.error("--leaks compares with the training split: have it in --split")
    for package in packages_of(options.split.split(",")):
        fetch(package, options.sources)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "corpus"
        seconds = build(options, folder)
        figures: dict[str, object] = {"processes": options.jobs, "build seconds": round(seconds)}
        corpus = open_corpus(folder)
        shares = {split: share(corpus, split) for split in options.split.split(",")}
        figures |= {"digest": corpus.digest, "splits": shares} | sizes(folder, corpus) | times(folder, corpus)
        unknown = unknown_repeats(corpus)
        figures |= {"in two splits, and not in the manifest": unknown} if unknown else {}
        if options.leaks:
            figures["functions"] = leaks(corpus)
        same = True
        if options.kills:
            killed = Path(scratch) / "killed"
            figures["kills"] = build_killed(options, killed, seconds)
            figures["digest after the kills"] = open_corpus(killed).digest
            same = figures["digest"] == figures["digest after the kills"]
    print(json.dumps(figures, indent=1))
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if same and not unknown and all(row["share"] >= LEAST_SHARE for row in shares.values()) else 1


def command(options: argparse.Namespace, folder: Path) -> list[str]:
    words = ["corpus", "build", "--split", options.split, "--sources", str(options.sources)]
    return [sys.executable, "-m", "burnish.cli", *words, "--jobs", str(options.jobs), "--folder", str(folder)]


def build(options: argparse.Namespace, folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command(options, folder), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def build_killed(options: argparse.Namespace, folder: Path, seconds: float) -> list[float]:
    """Kill the build's process group after random times, then build to the end; return the times in s."""
    rng = random.Random(options.seed)
    moments = [round(rng.uniform(0.5, seconds / options.kills), 1) for _ in range(options.kills)]
    for moment in moments:
        child = subprocess.Popen(command(options, folder), start_new_session=True, stdout=subprocess.DEVNULL)
        time.sleep(moment)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    build(options, folder)
    return moments


def share(corpus: Corpus, split: str) -> dict[str, float]:
    count = Counter(row.status for row in corpus.rows if row.split == split)
    compiled = count["compiled"] + count["repeated"]
    tried = compiled + count["failed"]
    programs = corpus.split(split).programs
    return {
        "files tried": tried,
        "compiled": compiled,
        "share": round(compiled / tried, 4),
        "skipped": count["skipped"],
        "left out, as another split has them": count["repeated"],
        "programs": len(programs),
        "IR instructions": sum(row.instructions for row in programs),
        "median": statistics.median(row.instructions for row in programs),
        "largest": max(row.instructions for row in programs),
    }


def unknown_repeats(corpus: Corpus) -> dict[str, str]:
    """Return the reasons of left-out repeats that the manifest does not name: they depend on the build."""
    said = {package.name: package.repeats for package in load_manifest()}
    rows = [row for row in corpus.rows if row.status == "repeated"]
    return {row.name: row.reason for row in rows if row.path not in said.get(row.package, {})}


def sizes(folder: Path, corpus: Corpus) -> dict[str, object]:
    raw = sum(row.bitcode_bytes for row in corpus.rows)
    stored = sum(path.stat().st_size for path in folder.glob("*.pack"))
    return {"bitcode bytes": raw, "bytes on disk": stored, "times smaller": round(raw / stored, 2)}


def times(folder: Path, corpus: Corpus) -> dict[str, object]:
    opened = [timed(lambda: open_corpus(folder)) for _ in range(9)]
    reading = timed(lambda: [program.content for program in corpus.shuffled(0)])
    generating = timed(lambda: [random_module(seed) for seed in range(100)])
    return {
        "milliseconds to open": round(1e3 * statistics.median(opened), 1),
        "microseconds to read a program, in a random order": round(1e6 * reading / len(corpus)),
        "milliseconds to generate a random program": round(1e3 * generating / 100, 1),
    }


def leaks(corpus: Corpus) -> dict[str, dict[str, object]]:
    """Count the functions of each split that train also has, ignoring the names in them."""
    found: dict[str, list[tuple[str, str]]] = {}  # by split: digest of a function, and the program's package
    for row, program in zip(corpus.programs, corpus, strict=True):
        functions = found.setdefault(row.split, [])
        functions += [(digest, row.package) for digest in function_digests(program.content)]
    train = {digest for digest, _ in found.pop("train")}
    report: dict[str, dict[str, object]] = {}
    for split in found:
        known = Counter(package for digest, package in found[split] if digest in train)
        counts: dict[str, object] = {"functions": len(found[split]), "in train too": known.total()}
        report[split] = counts | {"by package": dict(known.most_common())}
    return report


def function_digests(bitcode: bytes) -> Iterator[str]:
    """Yield the digest of each function of LEAST_LINES lines or more, without names and metadata."""
    body: list[str] | None = None
    for line in _native.Module(bitcode).print().splitlines():
        if line.startswith("define"):
            body = []
        elif line == "}" and body is not None:
            if len(body) >= LEAST_LINES:
                yield hashlib.blake2b("\n".join(body).encode(), digest_size=12).hexdigest()
            body = None
        elif body is not None:
            body.append(NAMES.sub("x", line.split(", !")[0]))


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
