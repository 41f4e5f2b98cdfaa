"""The benchmark of what ships, on a project of a few lines."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import ships
from shipped import debian, rows
from shipped.building import Built, build
from shipped.compilers import built_in, of_command
from shipped.projects import TABLE, Project, load_project
from shipped.rows import Bench, measure, read_rows
from shipped.running import run_all
from shipped.tables import detail_table, loaded_table
from shipped.texts import write_inputs

from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool

SOURCES = {
    "shared.c": """\
int unused(int x) { return x * 77; }
#ifdef WRONG
int answer(int x) { return x + 1; }
#else
int answer(int x) { int sum = 0; for (int i = 0; i < x; i++) sum += i % 7; return sum; }
#endif
""",
    "one.c": """\
#include <stdio.h>
#include <stdlib.h>
int answer(int);
int main(int count, char **words) {
  FILE *file = fopen("written", "w");
  fprintf(file, "%d\\n", answer(atoi(words[count - 1])));
  return fclose(file) || puts("done") < 0;
}
""",
    "two.c": '#include <stdio.h>\nint main(void) { return puts("two") < 0; }\n',
    "configure": "#!/bin/sh\necho 'int main(void) { return 0; }' > conftest.c\n$CC $CFLAGS -c conftest.c\n",
}


PROJECTS = "lua mawk expat pcre2 jsoncpp zlib xz libpng mujs libyaml snappy leveldb fmt".split()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "sources"
    root.mkdir()
    for name, text in SOURCES.items():
        (root / name).write_text(text)
    (root / "configure").chmod(0o755)
    return Project(
        name="small",
        version="1",
        sha256="0" * 64,
        root=root,
        sources=(root / "shared.c",),
        programs={"one": (root / "one.c",), "two": (root / "two.c",)},
        runs=("{one} 2000000", "{two} && {one} 1"),
        tests=("test -x one && {one} 9 && test `cat written` = 22",),
        configure="./configure",
    )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    baseline = built_in()["clang -Oz"]
    return Bench(tmp_path / "builds", tmp_path, baseline, rounds=3, jobs=2)


def sizes(program: Path) -> dict[str, int]:
    printed = subprocess.run(
        [str(find_tool("llvm-size")), "-A", str(program)], capture_output=True, check=True
    )
    return {name: int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", printed.stdout.decode(), re.M)}


def test_a_row_says_what_is_shipped(project: Project, bench: Bench, tmp_path: Path) -> None:
    row = measure(bench, project, of_command("clang -O2"), tables=True)
    assert (row["outputs"], row["tests"], row["objects"], row["tables"]) == ("", "", 3, True)
    program = tmp_path / "builds/small/tables/clang-O2/one"
    told = sizes(program)
    found = row["programs"]["one"]
    assert all(found["sections"][name] == told[name] for name in (".text", ".eh_frame", ".rela.dyn"))
    assert found["loaded_bytes"] == sum(found["kinds"].values())
    command = [str(find_tool("llvm-readobj")), "--sections", str(program)]
    assert b".symtab" not in subprocess.run(command, capture_output=True, check=True).stdout
    assert set(row["run_seconds"]) == {"baseline", "compiler", "rounds"}
    assert row["run_ratio"] is None or row["run_ratio"] > 0
    without = measure(bench, project, bench.baseline, tables=False)
    unwind = [each["programs"]["one"]["kinds"]["unwind tables"] for each in (row, without)]
    assert unwind[1] < unwind[0]
    assert "run_seconds" not in without


def test_without_rounds_no_run_is_timed(project: Project, bench: Bench) -> None:
    row = measure(Bench(**{**vars(bench), "rounds": 0}), project, of_command("clang -Os"), tables=True)
    assert row["outputs"] == row["tests"] == "" and "run_ratio" not in row and "run_seconds" not in row
    before = measure(bench, project, bench.baseline, tables=True)
    table = detail_table([before, row], bench.baseline.name, "clang -Os", tables=True)
    assert {column.header: list(column.cells) for column in table.columns}["run time"] == ["", "", ""]


def test_another_result_is_caught(project: Project, bench: Bench) -> None:
    row = measure(bench, project, of_command("clang -Oz -DWRONG"), tables=True)
    assert "written\x005999995" in row["outputs"] and "written\x002000001" in row["outputs"]
    assert row["tests"].startswith("code 1")


def test_a_compiler_that_fails_is_reported(project: Project, bench: Bench) -> None:
    with pytest.raises(InputError, match="no-such-flag"):
        measure(bench, project, of_command("clang -no-such-flag"), tables=True)


def test_a_project_that_prints_something_else_each_time_is_no_measure(project: Project, bench: Bench) -> None:
    changing = Project(**{**vars(project), "runs": ("{two} && date +%N",)})
    with pytest.raises(InputError, match="something else each time"):
        measure(bench, changing, bench.baseline, tables=True)


def test_a_build_is_not_repeated(project: Project, bench: Bench, tmp_path: Path) -> None:
    first = build(project, bench.baseline, tmp_path / "kept", tables=True, jobs=1)
    stamp = Path(first.programs["one"]).stat().st_mtime_ns
    assert build(project, bench.baseline, tmp_path / "kept", tables=True, jobs=1) == first
    assert Path(first.programs["one"]).stat().st_mtime_ns == stamp
    again = build(project, bench.baseline, tmp_path / "kept", tables=False, jobs=1)
    assert Path(again.programs["one"]).stat().st_mtime_ns != stamp


def test_files_that_a_run_writes_are_its_output(project: Project, bench: Bench) -> None:
    built = build(project, bench.baseline, bench.folder / "here", tables=True, jobs=1)
    (ran, _) = run_all(project, built, bench.inputs)
    assert ran.code == 0 and ran.printed == b"done\n\0written\x005999995\n"


def test_the_configure_script_is_timed_with_the_compiler(project: Project, bench: Bench) -> None:
    given = of_command("clang -Os")
    row = measure(Bench(**{**vars(bench), "configuring": (given,)}), project, given, tables=True)
    assert row["configure_seconds"]["baseline"] > 0 < row["configure_seconds"]["compiler"]
    assert not (project.root / "conftest.o").exists()


def test_tables_have_programs_and_totals(project: Project, bench: Bench) -> None:
    clang, other = bench.baseline, of_command("clang -O3")
    found = [measure(bench, project, compiler, tables=True) for compiler in (clang, other)]
    table = loaded_table(found, [clang.name, other.name], tables=True)
    columns = [list(column.cells) for column in table.columns]
    assert columns[0] == ["small: one", "small: two", "total"]
    before, after = ([row["programs"][name]["loaded_bytes"] for name in ("one", "two")] for row in found)
    assert columns[1] == [f"{size:,}" for size in (*before, sum(before))]
    change = 100 * (sum(after) - sum(before)) / sum(before)
    assert columns[2][-1] == f"{change:+.2f} %"
    detail = detail_table(found, clang.name, other.name, tables=True)
    assert list(detail.columns[0].cells) == columns[0]
    shown = {column.header: list(column.cells) for column in detail.columns}
    assert shown["outputs"][0] == "same"
    assert shown["loaded"] == columns[2]
    assert shown["run time"][0] == shown["run time"][2]  # one project: its mean is that of all
    assert shown["larger"][-1] == f"{found[1]['objects_larger']}/3"


def test_rows_are_read_by_what_they_are_of(tmp_path: Path) -> None:
    lines = [{"project": "p", "compiler": c, "tables": True, "n": n} for n, c in enumerate(("a", "b", "a"))]
    (tmp_path / "out").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_rows(tmp_path / "out")
    assert found["p", "a", True]["n"] == 2 and len(found) == 2
    assert read_rows(tmp_path / "missing") == {}


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (b"a\nb\n", b"a\nc\n", "line 2\n  clang -Oz: b\n  new:       c"),
        (b"a\n", b"a\nb\n", "line 2\n  clang -Oz: <end>"),
    ],
)
def test_the_first_difference_is_shown(before: bytes, after: bytes, line: str) -> None:
    assert rows.first_difference(before, after).startswith(line)


@pytest.mark.parametrize(
    ("arguments", "suggested"), [(["--projects", "lz5"], "'lz4'"), (["--compilers", "gcc -O"], "'gcc -Os'")]
)
def test_unknown_names_are_wrong_usage(
    arguments: list[str], suggested: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ships.main(arguments) == 2
    assert suggested in capsys.readouterr().out


def test_sources_are_asked_for_where_binaries_come_from() -> None:
    deb822 = """\
# a comment
Types: deb
URIs: http://archive.example/debian
Suites: stable stable-updates
Components: main contrib
Signed-By: /usr/share/keyrings/key.gpg

Types: deb
URIs: http://other.example/
Suites: any
Components: tools

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: stable
Components: main
"""
    assert debian.source_lines(deb822, one_line=False) == (
        "Types: deb-src\nURIs: http://archive.example/debian\nSuites: stable stable-updates\n"
        "Components: main contrib\nSigned-By: /usr/share/keyrings/key.gpg\n"
    )
    lines = (
        "# deb http://no.example a main\ndeb [arch=amd64] http://a.example s main\ndeb http://b.example s x\n"
    )
    assert debian.source_lines(lines, one_line=True) == "deb-src [arch=amd64] http://a.example s main\n"


def test_an_archive_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "small-1.2").mkdir()
    (tmp_path / "small-1.2" / "a.c").write_text("int a;\n")
    with tarfile.open(tmp_path / "small_1.2.orig.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "small-1.2", "small-1.2")
    archive = debian.fetch_archive("small", tmp_path)
    assert archive.version == "1.2" and len(archive.sha256) == 64
    debian.unpack(archive, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / "a.c").read_text() == "int a;\n"


def test_inputs_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (write_inputs(tmp_path / name) for name in ("a", "b"))
    names = sorted(path.name for path in first.iterdir())
    assert {"work.lua", "work.sql", "text.txt", "records.json", "catalogue.xml"} <= set(names)
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


@pytest.mark.parametrize("project", PROJECTS)
def test_commands_name_programs_and_helpers_that_the_table_has(project: str) -> None:
    row = tomllib.loads(TABLE.read_text(encoding="utf-8"))[project]
    known = {*row["programs"], *row.get("helpers", {}), "source", "inputs", "python"}
    commands = [*row["runs"], *row.get("tests", [])]
    assert (
        commands and {name for text in commands for name in re.findall(r"\{([a-z_][\w-]+)\}", text)} <= known
    )


@pytest.mark.slow
@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_of_debian_passes_its_tests(project: str, tmp_path: Path) -> None:
    given = ["--compilers", "", "--cc", "clang -O2", "--tables", "with", "--rounds", "1"]
    assert ships.main(["--projects", project, *given, "--folder", str(tmp_path)]) == 0


@pytest.mark.slow
def test_workloads_are_projects(tmp_path: Path) -> None:
    found = load_project("lz4", tmp_path)
    built: Built = build(found, built_in()["clang -Oz"], tmp_path / "build", tables=False, jobs=2)
    assert all(ran.code == 0 and ran.printed for ran in run_all(found, built, found.inputs or tmp_path))


def test_run_times_are_compared_round_by_round() -> None:
    """Here the processor is a third slower in two rounds of three, and the second build a tenth faster."""
    old, new = [[1.0, 1.5, 1.5]], [[0.9, 1.35, 1.35]]
    assert rows.paired_ratio(old, new) == pytest.approx(0.9)
    assert rows.paired_ratio([*old, [1.0, 1.0, 1.0]], [*new, [0.9, 5.0, 0.4]]) == pytest.approx(0.9)
    assert rows.paired_ratio([[0.0, 0.0]], [[0.0, 0.01]]) is None
