"""Inlining alone in linked C++: LLVM's heuristic, the shipped policy, searches; the passes are clang's.

The objects of each program differ only by their inlining: file by file, and with all files as one module.
They are linked with the same options: -Oz, a section for each function, unused sections dropped, lld,
stripped. The programs' outputs are compared with those of clang's build, and the project's own tests are run.

    python benchmarks/inlining_linked.py [--projects jsoncpp,fasttext] [--evaluations 40] [--whole 80]
    python benchmarks/inlining_linked.py --rows benchmarks/results/inlining_linked/rows.jsonl
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kit.kept import keep, show
from shipped.building import build
from shipped.compilers import built_in
from shipped.inlined import Inlined, Part
from shipped.projects import Project, load_project
from shipped.running import Ran, run_all, run_tests
from shipped.texts import write_inputs

from burnish.cc.linked import KINDS
from burnish.core.trace import Trace
from burnish.policies.answer import answers_of
from burnish.policies.find import shipped
from burnish.policies.guiding import load_guide
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.inlined import other_answers
from burnish.workers.worker import Limits

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "inlining_linked"
PROJECTS = "jsoncpp,fasttext"
OBJECTIVE = "loaded-bytes"
POLICY = f"{TASK.name}-{OBJECTIVE}"
WAYS = ("clang -Oz", "heuristic", "policy", "search", "smallest linked")


@dataclass(frozen=True)
class Found:
    """The answers of each part that differ from the heuristic's, and the evaluations that found them."""

    answers: dict[str, Trace]
    evaluations: int = 0


def nothing(parts: Sequence[Part]) -> Found:
    """Leave all answers to LLVM's heuristic."""
    return Found({part.program.name: () for part in parts})


def by_policy(parts: Sequence[Part]) -> Found:
    """Answer all questions by the shipped policy."""
    policy = answers_of(shipped()[POLICY], TASK)
    answers = {}
    for part in parts:
        session = TASK.open(part.program)
        session.answer(policy)
        answers[part.program.name] = other_answers(session)
    return Found(answers)


def by_search(parts: Sequence[Part], evaluations: int, memory: Path) -> Found:
    """Search each part by itself, from LLVM's and from the policy's answers; reuse stored results."""
    found = Found({})
    for part in parts:
        path = memory / f"{part.program.digest}-{evaluations}.json"
        if not path.exists():
            problem = Problem(TASK, part.program, OBJECTIVE, limits=Limits(deadline_seconds=600))
            guide_for = replace(load_guide(shipped()[POLICY], TASK), rollouts=1)
            budget = Budget(evaluations=evaluations, workers=1)
            result = search(problem, budget, method="coordinate", guide_for=guide_for)
            memory.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps([result.trace, result.evaluations, result.seconds]))
        trace, taken, _seconds = json.loads(path.read_text())
        found.answers[part.program.name] = tuple(trace)
        found = replace(found, evaluations=found.evaluations + taken)
    return found


@dataclass(frozen=True)
class Measured:
    """A program of a project, and the outputs of the project as clang builds it."""

    inlined: Inlined
    inputs: Path
    expected: list[Ran]

    def link(self, parts: Sequence[Part], found: Found, to: str) -> tuple[Row, dict[Part, Path]]:
        """Link the program under some answers and return its row and its objects."""
        objects, questions = {}, 0
        for number, part in enumerate(parts):
            path = self.inlined.folder / to / f"{number}.o"
            path.parent.mkdir(parents=True, exist_ok=True)
            questions += part.write(found.answers[part.program.name], path)
            objects[part] = path
        others = sum(map(len, found.answers.values()))
        row = {"questions": questions, "others": others, "evaluations": found.evaluations}
        return self.row(objects, to) | row, objects

    def row(self, objects: dict[Part, Path], to: str) -> Row:
        """Link some objects, run the program, and return its row."""
        output = self.inlined.folder / to / self.inlined.name
        linked = self.inlined.link(objects, output)
        programs = {**self.inlined.built.programs, self.inlined.name: str(output)}
        changed = dataclasses.replace(self.inlined.built, programs=programs)
        ran = run_all(self.inlined.project, changed, self.inputs)
        return {
            "loaded_bytes": linked.loaded_bytes,
            "kinds": {kind: linked.of_kind(kind) for kind in KINDS},
            "file_bytes": output.stat().st_size,
            "same_outputs": [one.digest for one in ran] == [one.digest for one in self.expected],
            "tests": run_tests(self.inlined.project, changed),
        }

    def smallest(self, ways: Sequence[dict[Part, Path]]) -> Row:
        """Choose each part's object from the ways so that the linked program is smallest, part by part.

        The linker keeps one copy of a function that several files have. So a smaller file need not make the
        program smaller.
        """
        output = self.inlined.folder / "smallest" / self.inlined.name
        sizes = [self.inlined.link(way, output).loaded_bytes for way in ways]
        size, best = min(sizes), dict(ways[sizes.index(min(sizes))])
        links = len(ways)
        for part in best:
            for way in ways:
                tried = {**best, part: way[part]}
                if tried == best:
                    continue
                links += 1
                if (found := self.inlined.link(tried, output).loaded_bytes) < size:
                    best, size = tried, found
        return self.row(best, "smallest") | {"links": links}


def measured(project: Project, folder: Path, evaluations: int, whole: int) -> Iterator[Row]:
    """Yield a row for each program and way: with an object for each file, and with one for all files."""
    compiler = built_in()["clang -Oz"]
    built = build(project, compiler, folder / project.name / "clang", tables=True, jobs=1)
    inputs = project.inputs or write_inputs(folder / "inputs")
    expected = run_all(project, built, inputs)
    for name in project.programs:
        own = folder / project.name / name
        inlined = Inlined(project, name, compiler, built, own)
        program = Measured(inlined, inputs, expected)
        first = {"project": project.name, "version": project.version, "program": name}
        yield first | {"as": "files", "way": WAYS[0]} | program.row({}, "clang")
        whole_program = ("program", [inlined.whole()], whole)
        for kind, parts, most in (("files", inlined.files(), evaluations), whole_program):
            ways: dict[str, Callable[[Sequence[Part]], Found]] = {
                "heuristic": nothing,
                "policy": by_policy,
                "search": partial(by_search, evaluations=most, memory=folder / "answers"),
            }
            linked = []
            for way, find in ways.items():
                row, objects = program.link(parts, find(parts), f"{kind}-{way}")
                linked.append(objects)
                yield first | {"as": kind, "way": way} | row
            if len(parts) > 1:
                yield first | {"as": kind, "way": WAYS[-1]} | program.smallest(linked)


def table(rows: Iterable[Row]) -> str:
    """Return a line for each program and way, with its loaded bytes and the ratio of clang's to them."""
    lines = [
        f"{'':48}{'loaded bytes':>12} {'':>9} {'code':>9} {'others':>15} {'compiles':>9}  outputs  tests"
    ]
    base = 0
    for row in rows:
        if row["way"] == WAYS[0]:
            base = row["loaded_bytes"]
        part = f"{base / row['loaded_bytes']:9.4f}" if row["way"] != WAYS[0] else " " * 9
        others = f"{row['others']:,} of {row['questions']:,}" if "others" in row else ""
        name = f"{row['program']}, {row['as']}: {row['way']}"
        said = "same" if row["same_outputs"] else "DIFFER"
        tests = {None: "none", "": "pass"}.get(row["tests"], "FAIL")
        code = row["kinds"]["code"]
        numbers = (
            f"{row['loaded_bytes']:12,} {part} {code:9,} {others:>15} {row.get('evaluations', 0) or '':>9}"
        )
        lines.append(f"{name:48}{numbers}  {said:7}  {tests}")
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Search, link, and write rows.jsonl and table.txt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", default=PROJECTS, help=f"default: {PROJECTS}")
    parser.add_argument("--evaluations", type=int, default=40, help="compiles of each file")
    parser.add_argument("--whole", type=int, default=80, help="compiles of each program as one module")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "burnish-ships")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rows", type=Path, help="print the table of these rows instead")
    options = parser.parse_args()
    if options.rows:
        show(options.rows, table)
        return
    folder = options.folder.resolve()
    rows = (
        row
        for name in options.projects.split(",")
        for row in measured(
            load_project(name, folder), folder / "inlining", options.evaluations, options.whole
        )
    )
    keep(rows, options.out, table)


if __name__ == "__main__":
    main()
