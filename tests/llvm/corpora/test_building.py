import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora import building
from burnish.llvm.corpora.building import FileGroup, PackageJob, PackProgress, build
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.public import package_job
from burnish.llvm.corpora.store import open_corpus
from burnish.workers.executor import Processes
from tests.llvm.corpora.conftest import PADDING, Tree
from tests.llvm.corpora.sdists import make_package
from tests.waiting import wait_until


def source(number: int) -> str:
    return f"int answer_{number}(int x) {{ return x * {number} + 7; }}\n{PADDING}"


Plan = Callable[..., PackageJob]


@pytest.fixture
def package(tree: Tree) -> Plan:
    """Return a function that plans a package of some folders, with a generated header in each."""
    files = {"config.h.in": "#undef HAVE_STDIO_H\n"}
    for folder in range(6):
        for number in range(2):
            code = '#include "config.h"\n' + source(10 * folder + number)
            files[f"f{folder}/{number}.c"] = code
    files["f0/bad.c"] = "int bad = ;\n" + PADDING
    root = tree(files)
    return lambda **changes: package_job(root, make_package(b"", **changes))


def test_a_package_is_compiled_with_what_failed_beside(tmp_path: Path, package: Plan) -> None:
    build(tmp_path / "c", [package()])
    corpus = open_corpus(tmp_path / "c")
    assert len(corpus) == 12
    (failed,) = (row for row in corpus.rows if row.status == "failed")
    assert (failed.name, failed.reason) == ("tiny/f0/bad.c", "expected expression")
    assert [path.name for path in (tmp_path / "c").glob("[!.]*")] == ["tiny.pack"]


def test_nothing_is_written_beside_the_sources(tmp_path: Path, package: Plan) -> None:
    before = sorted((tmp_path / "package").rglob("*"))
    build(tmp_path / "c", [package()])
    assert sorted((tmp_path / "package").rglob("*")) == before


def test_the_digest_does_not_depend_on_the_number_of_processes(tmp_path: Path, package: Plan) -> None:
    for processes in (1, 3):
        build(tmp_path / str(processes), [package()], do=Processes(processes))
    assert open_corpus(tmp_path / "1").digest == open_corpus(tmp_path / "3").digest
    assert (tmp_path / "1/tiny.pack").read_bytes() == (tmp_path / "3/tiny.pack").read_bytes()


def test_what_is_built_is_not_built_again(tmp_path: Path, package: Plan) -> None:
    seen: list[PackProgress] = []
    build(tmp_path / "c", [package()])
    build(tmp_path / "c", [package()], progress=seen.append)
    assert seen[-1].resumed == seen[-1].files_done == seen[-1].files == 13
    build(tmp_path / "c", [package(defines=("NEW",))], progress=seen.append)
    assert seen[-1].resumed == 0


def test_progress_counts_to_the_end(tmp_path: Path, package: Plan) -> None:
    seen: list[PackProgress] = []
    build(tmp_path / "c", [package()], progress=seen.append)
    assert (seen[-1].packages_done, seen[-1].files_done) == (1, 13)
    assert seen[-1].statuses == {"compiled": 12, "failed": 1}
    assert [step.files_done for step in seen] == sorted(step.files_done for step in seen)


def test_packages_of_other_builds_stay(tmp_path: Path, package: Plan) -> None:
    build(tmp_path / "c", [package()])
    build(tmp_path / "c", [replace(package(name="other"), name="other")])
    assert set(open_corpus(tmp_path / "c").packs) == {"tiny", "other"}


KILLED = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from tests.llvm.corpora.sdists import make_package
from burnish.llvm.corpora.building import build
from burnish.llvm.corpora.public import package_job
from burnish.workers.executor import Processes
build(Path({folder!r}), [package_job(Path({package!r}), make_package(b""))], do=Processes(2))
"""


def test_a_build_killed_at_any_moment_ends_with_the_same_digest(tmp_path: Path, package: Plan) -> None:
    """SIGKILL to the whole process group, after 0, 1, ... finished parts, and in between."""
    build(tmp_path / "whole", [package()])
    folder = tmp_path / "killed"
    root = str(Path(__file__).parents[3])
    code = KILLED.format(path=[root], folder=str(folder), package=str(tmp_path / "package"))
    kills = 0
    for parts in range(6):
        child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        while child.poll() is None and len(list(folder.glob("building/*/*.pack"))) < parts:
            time.sleep(0.005)
        time.sleep(0.02 * parts)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            kills += 1
        child.wait()
    assert kills >= 3
    # a killed worker's clang, in a session of its own, ends later
    wait_until(lambda: not at_work_in(tmp_path))
    build(folder, [package()])
    assert open_corpus(folder).digest == open_corpus(tmp_path / "whole").digest
    assert (folder / "tiny.pack").read_bytes() == (tmp_path / "whole/tiny.pack").read_bytes()
    assert [path.name for path in folder.glob("[!.]*")] == ["tiny.pack"]


def test_a_build_killed_after_its_pack_leaves_nothing_for_ever(tmp_path: Path, package: Plan) -> None:
    build(tmp_path, [package()])
    rest = tmp_path / "building" / package().name
    rest.mkdir(parents=True)
    (rest / "part.pack").write_bytes(b"")
    build(tmp_path, [package()])
    assert not rest.parent.exists()


def at_work_in(folder: Path) -> set[int]:
    """Return the processes whose command or working folder is in a folder."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            if str(folder) in words or str((process / "cwd").readlink()).startswith(str(folder)):
                found.add(int(process.name))
    return found - {os.getpid()}


def same_program_in(tree: Tree, name: str, split: str, **changes: Any) -> PackageJob:
    """Return the plan of a package with one file of its own, and one that every such package has."""
    files = {"shared.c": source(1), f"{name}.c": source(2 + len(name))}
    root = tree({f"{name}/{path}": text for path, text in files.items()}) / name
    return package_job(root, make_package(b"", name=name, split=split, **changes))


@pytest.mark.parametrize("also", [(), ("first",)], ids=["alone", "with the other split"])
def test_a_split_does_not_depend_on_which_others_are_built(
    tmp_path: Path, tree: Tree, also: tuple[str, ...]
) -> None:
    repeats = {"shared.c": "first/shared.c in train"}
    jobs = {
        "first": same_program_in(tree, "first", "train"),
        "second": same_program_in(tree, "second", "test", repeats=repeats),
    }
    build(tmp_path / "corpus", [jobs[name] for name in (*also, "second")])
    test = open_corpus(tmp_path / "corpus").split("test")
    assert [row.name for row in test.programs] == ["second/second.c"]
    (left_out,) = (row for row in test.rows if not row.is_program)
    assert (left_out.name, left_out.status) == ("second/shared.c", "repeated")
    assert left_out.reason == "the same program as first/shared.c in train"


def test_what_is_said_to_be_repeated_is_built_again(tmp_path: Path, tree: Tree) -> None:
    build(tmp_path / "corpus", [same_program_in(tree, "second", "test")])
    assert len(open_corpus(tmp_path / "corpus")) == 2
    repeats = {"shared.c": "first/shared.c in train"}
    build(tmp_path / "corpus", [same_program_in(tree, "second", "test", repeats=repeats)])
    assert len(open_corpus(tmp_path / "corpus")) == 1


def test_tables_of_data_are_skipped(tmp_path: Path, tree: Tree) -> None:
    root = tree({"code.c": source(1), "data/table-1.c": source(2), "data/other.c": source(3)})
    package = make_package(b"", tables=("data/table-",))
    build(tmp_path / "corpus", [package_job(root, package)])
    rows = {row.path: (row.status, row.reason) for row in open_corpus(tmp_path / "corpus").rows}
    assert rows.pop("data/table-1.c") == ("skipped", "a table: data without code")
    assert rows == {"code.c": ("compiled", ""), "data/other.c": ("compiled", "")}


def test_what_is_said_to_be_repeated_but_does_not_compile_has_failed(tmp_path: Path, tree: Tree) -> None:
    root = tree({"bad.c": source(1) + "int broken(;\n"})
    package = make_package(b"", repeats={"bad.c": "first/shared.c in train"})
    build(tmp_path / "corpus", [package_job(root, package)])
    assert [row.status for row in open_corpus(tmp_path / "corpus").rows] == ["failed"]


def made_up(paths: Sequence[str], scratch: Path) -> Iterator[list[tuple[PackRow, bytes]]]:
    """Compile made-up files; one kills its process, another takes a minute."""
    for path in paths:
        if path == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60 if path == "endless" else 0)
        yield [(PackRow("p", path, "train", "c", "failed", "made up"), b"")]


def reasons(folder: Path) -> dict[str, str]:
    return {row.path: row.reason for row in open_corpus(folder).rows}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_kills_its_process_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, processes: int
) -> None:
    groups = FileGroup("1", ("a", "deadly", "z"), made_up), FileGroup("2", ("b",), made_up)
    build(tmp_path, [PackageJob("p", "r", groups)], do=Processes(processes))
    found = reasons(tmp_path)
    assert found.pop("deadly").startswith("killed its process: the compiler process ended by signal SIGKILL")
    assert found == dict.fromkeys("abz", "made up")


def test_a_file_that_takes_too_long_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "LIMITS", replace(building.LIMITS, deadline_seconds=5.0))
    build(tmp_path, [PackageJob("p", "r", (FileGroup("1", ("a", "endless", "z"), made_up),))])
    assert reasons(tmp_path) == {"a": "made up", "endless": "took too long", "z": "made up"}


def test_a_second_build_in_the_same_folder_is_refused(tmp_path: Path, package: Plan) -> None:
    with building._locked(tmp_path), pytest.raises(InputError, match="another build is running there"):
        build(tmp_path, [package()])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, package: Plan) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write a corpus there"):
        build(tmp_path / "file/corpus", [package()])
