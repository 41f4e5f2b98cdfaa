"""Corpora that engines build: the same bytes as one process builds, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.cluster.executor import OnEngine
from burnish.core.errors import InputError
from burnish.llvm.corpora.building import FileGroup, Item, PackageJob, build
from burnish.llvm.corpora.random_modules import random_job
from burnish.llvm.corpora.store import open_corpus
from burnish.workers.executor import IN_TURN
from tests.cluster.test_engines import ENGINES, opened
from tests.llvm.corpora.test_building import made_up, reasons
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
COUNT = 130  # modules, in three parts


@pytest.mark.parametrize("name", ENGINES)
def test_a_corpus_does_not_depend_on_the_engine(name: str, tmp_path: Path) -> None:
    for folder, do in (
        ("here", IN_TURN),
        ("there", OnEngine(partial(opened, name), tmp_path / "shards")),
    ):
        build(tmp_path / folder, [random_job(COUNT, 0, 60)], do=do)
    here, there = ((tmp_path / folder / "random.pack").read_bytes() for folder in ("here", "there"))
    assert here == there
    assert len(list((tmp_path / "shards/results").iterdir())) == 3
    assert [path.name for path in (tmp_path / "there").glob("[!.]*")] == ["random.pack"]


KILLED = """
import sys
from functools import partial
from pathlib import Path
sys.path[:0] = {path!r}
from burnish.cluster.executor import OnEngine
from burnish.llvm.corpora.building import build
from burnish.llvm.corpora.random_modules import random_job
from tests.cluster.test_engines import opened
do = OnEngine(partial(opened, "local"), Path({shards!r}))
build(Path({folder!r}), [random_job({count}, 0, 60)], do=do)
"""


def test_a_build_whose_processes_are_killed_keeps_what_was_done(tmp_path: Path) -> None:
    shards, folder = tmp_path / "shards", tmp_path / "corpus"
    code = KILLED.format(path=[str(ROOT)], shards=str(shards), folder=str(folder), count=COUNT)
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    wait_until(lambda: bool(list(shards.glob("results/*.json"))))
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    times = {path: path.stat().st_mtime_ns for path in shards.glob("results/*.json")}
    build(folder, [random_job(COUNT, 0, 60)], do=OnEngine(partial(opened, "local"), shards))
    build(tmp_path / "whole", [random_job(COUNT, 0, 60)], do=IN_TURN)
    assert (folder / "random.pack").read_bytes() == (tmp_path / "whole/random.pack").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_file_that_kills_its_process_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    groups = FileGroup("1", ("a", "deadly", "z"), made_up), FileGroup("2", ("b",), made_up)
    do = OnEngine(partial(opened, "local"), tmp_path / ".shards")
    build(tmp_path, [PackageJob("p", "r", groups)], do=do)
    found = reasons(tmp_path)
    assert found.pop("deadly").startswith("killed its process: the compiler process ended by signal SIGKILL")
    assert found == dict.fromkeys("abz", "made up")


def test_a_part_that_fails_is_named_with_the_folder_of_its_traceback(tmp_path: Path) -> None:
    groups = FileGroup("1", ("a",), made_up), FileGroup("2", ("b",), no_compiler)
    do = OnEngine(partial(opened, "local"), tmp_path / ".shards")
    with pytest.raises(InputError, match=r"1 of 2 shards failed: .*no compiler; see .*failures"):
        build(tmp_path, [PackageJob("p", "r", groups)], do=do)
    assert len(list(tmp_path.glob("building/p/*.pack"))) == 1, "the other part is kept"


def no_compiler(paths: Sequence[str], scratch: Path) -> Iterator[list[Item]]:
    raise RuntimeError("no compiler")


def test_the_command_builds_on_an_engine_and_leaves_packs_only(tmp_path: Path) -> None:
    (tmp_path / "engines.toml").write_text("[local]\nslots = 2\n")
    options = ["--on", "local", "--engine-options", str(tmp_path / "engines.toml"), "--quiet"]
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.c").write_text("int f(int x) { return x * 3; }\n")
    for folder, more in (("here", ["--jobs", "1", "--quiet"]), ("there", options)):
        words = ["corpus", "build", "--from", str(sources), "--folder", str(tmp_path / folder), *more]
        assert main(words) == 0
        assert main(["corpus", "random", "--count", "5", "--folder", str(tmp_path / folder), *more]) == 0
    here, there = (open_corpus(tmp_path / folder) for folder in ("here", "there"))
    assert here.digest == there.digest
    assert not (tmp_path / "there/.shards").exists()
