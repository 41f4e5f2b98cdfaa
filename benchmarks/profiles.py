"""Programs with profiles of real runs: size and run time by `burnish cc` against clang with the same profile.

    python benchmarks/profiles.py [--projects bzip2,mawk,lua] [--levels O2,Oz] [--rounds 9] [--out rows.jsonl]

At each level clang builds a project with -fprofile-generate, and its programs run on the training inputs:
texts and shared libraries of this Python, every other one. clang and `burnish cc` build the project with that
profile. The programs are linked by lld and stripped. Their outputs are compared on the other texts and
libraries, and their user CPU times there: clang's, clang's once more and burnish's in turns. A ratio is the
median of the rounds' ratios, in the geometric mean of the runs; that of clang's second copy shows the noise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shipped.building import Built, build
from shipped.compilers import ENVIRONMENT, Compiler, built_in, of_command
from shipped.projects import Project, load_project
from shipped.rows import machine, paired_ratio
from shipped.running import run_all, time_in_turns

from burnish.cc.linked import read_linked
from burnish.core.errors import InputError, UnknownName
from burnish.llvm.toolchain import find_tool

SCRIPTS = Path(__file__).with_name("profiled")
MOST_BYTES = 3_000_000  # of an input
# The runs of each project; {inputs} has text and binary, for training or for measuring.
RUNS: Mapping[str, tuple[str, ...]] = {
    "bzip2": (
        "{bzip2} -c {inputs}/text > t.bz2 && {bzip2} -dc t.bz2",
        "{bzip2} -1 -c {inputs}/binary > b.bz2 && {bzip2} -dc b.bz2",
    ),
    "mawk": (f"{{mawk}} -f {SCRIPTS}/words.awk {{inputs}}/text",),
    "lua": (f"{{lua}} {SCRIPTS}/words.lua {{inputs}}/text",),
}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", default=",".join(RUNS), help="(default: %(default)s)")
    parser.add_argument("--levels", default="O2,Oz", help="(default: %(default)s)")
    parser.add_argument("--cc", default="burnish-cc", help="with its options (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="of timing; 0: none (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="append the rows of JSON")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "burnish-ships")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="burnish-profiles-") as scratch:
        inputs = [write_inputs(Path(scratch, name), part) for part, name in enumerate(("training", "other"))]
        for name in options.projects.split(","):
            if name not in RUNS:
                raise UnknownName.among("project", name, RUNS)
            project = replace(load_project(name, options.folder.resolve()), runs=RUNS[name])
            for level in options.levels.split(","):
                folder = Path(scratch, name, level)
                row = measured(project, f"-{level}", options.cc, options.rounds, inputs, folder)
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
                if options.out:
                    with options.out.open("a") as out:
                        out.write(json.dumps(row) + "\n")
    show(rows)


def measured(
    project: Project, level: str, cc: str, rounds: int, inputs: Sequence[Path], folder: Path
) -> dict[str, Any]:
    """Return the row of a project at a level."""
    training, other = inputs
    clang = replace(built_in()["clang -Oz"], flags=(level,))

    def made(name: str, compiler: Compiler, *words: str) -> Built:
        using = replace(compiler, name=name, flags=(level, *words))
        return build(project, using, folder / name, tables=True, jobs=1)

    plain = made("plain", clang)
    profile = trained(project, made("instrumented", clang, "-fprofile-generate"), training, folder)
    used = f"-fprofile-use={profile}"
    theirs, again = (made(name, clang, used) for name in ("clang", "again"))
    shrunk = made("shrunk", clang, used, "-mllvm", "-pgo-cold-func-opt=minsize")
    ours = made("burnish", of_command(cc), used)
    row: dict[str, Any] = {
        "project": project.name,
        "version": project.version,
        "level": level,
        "cc": cc,
        "machine": machine(),
        "loaded_bytes": {
            "clang without a profile": size_of(project, plain),
            "clang": size_of(project, theirs),
            "clang, cold functions for size": size_of(project, shrunk),
            "burnish": size_of(project, ours),
        },
        "objects_larger": sum(ours.objects[name] > size for name, size in theirs.objects.items()),
    }
    expected, found = (run_all(project, one, other) for one in (plain, ours))
    row["outputs_equal"] = [one.digest for one in expected] == [one.digest for one in found]
    if rounds:
        seconds = time_in_turns(project, [theirs, again, ours, plain], other, rounds)
        for name, times in zip(("clang_again", "burnish", "without_a_profile"), seconds[1:], strict=True):
            row[f"time_{name}"] = paired_ratio(seconds[0], times)
    return row


def trained(project: Project, instrumented: Built, inputs: Path, folder: Path) -> Path:
    """Return the merged profile of a project's runs on the training inputs.

    Raises:
        InputError: a run fails, or no run writes counts.
    """
    counts = folder / "counts"
    counts.mkdir()
    ENVIRONMENT["LLVM_PROFILE_FILE"] = f"{counts}/%p.profraw"
    try:
        for command, ran in zip(project.runs, run_all(project, instrumented, inputs), strict=True):
            if ran.code:
                raise InputError(f"{project.name}: {command}: ends with {ran.code}")
    finally:
        del ENVIRONMENT["LLVM_PROFILE_FILE"]
    profile = folder / "merged.profdata"
    merge = [str(find_tool("llvm-profdata")), "merge", "-o", str(profile)]
    subprocess.run([*merge, *map(str, counts.glob("*.profraw"))], check=True)
    return profile


def size_of(project: Project, built: Built) -> int:
    """Return the loaded bytes of a project's first program."""
    return read_linked(Path(built.programs[next(iter(project.programs))])).loaded_bytes


def write_inputs(folder: Path, part: int) -> Path:
    """Write a text and a binary of every other file of this Python's library; return the folder."""
    library = Path(sysconfig.get_path("stdlib"))
    kinds = {
        "text": sorted(library.glob("*.py")),
        "binary": sorted((library / "lib-dynload").glob("*.so")),
    }
    folder.mkdir(parents=True)
    for name, files in kinds.items():
        content = b"".join(file.read_bytes() for file in files[part::2])
        (folder / name).write_bytes(content[:MOST_BYTES])
    return folder


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the rows as a table."""
    for row in rows:
        sizes = row["loaded_bytes"]
        clang = sizes["clang"]
        changes = ", ".join(
            f"{name} {size / clang - 1:+.1%}" for name, size in sizes.items() if name != "clang"
        )
        times = ", ".join(
            f"{name[5:]} {row[name] - 1:+.1%}" for name in row if name.startswith("time_") and row[name]
        )
        print(
            f"{row['project']} {row['level']}: clang {clang:,} bytes; {changes}; time {times}; "
            f"outputs {'equal' if row['outputs_equal'] else 'DIFFER'}"
        )


if __name__ == "__main__":
    main()
