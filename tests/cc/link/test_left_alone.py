"""What can go wrong leaves clang's objects and the linker's own program."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cc.link.conftest import FLAGS, Builds, C
from tests.cc.served import OPTIMIZERS
from tests.waiting import MOST_SECONDS, wait_until


def kept(builds: Builds, *words: str) -> str:
    """Link twice, check that the program is clang's, and return why."""
    linked = builds.link("program", *words)
    assert linked["action"] == "kept"
    programs = [(builds.folder / name).read_bytes() for name in ("program", "program.clang")]
    assert programs[0] == programs[1].replace(b".clang", b"")
    return str(linked["reason"])


@pytest.mark.parametrize("optimizer", ["fail", "crash", "garbage", "nothing", "drop_everything"])
def test_an_optimizer_that_fails(builds: Builds, optimizer: str) -> None:
    """Then there are the level's own passes, and the attributes of functions."""
    objects = builds.objects(*C)  # no optimizer runs before the link
    builds.optimizer, builds.options = optimizer, ("--budget=9evaluations",)
    linked = builds.link("program", *objects)
    assert (linked["action"], linked["trace"][0]) == ("optimized", "clang<Oz>")
    assert linked["reason"]


@pytest.mark.parametrize(
    "flags", [("-flto",), ("-fsanitize=address",), ("--coverage",), ("-fprofile-generate",)], ids=" ".join
)
def test_builds_of_other_kinds(builds: Builds, flags: tuple[str, ...]) -> None:
    builds.clang("-Oz", *flags, *C, "-o", "program")
    (builds.folder / "program").rename(builds.folder / "program.clang")
    builds.cc("-Oz", *flags, *C, "-o", "program")
    assert builds.loaded("program") == builds.loaded("program.clang")
    *compiled, linked = [row["reason"] for row in builds.records()]
    assert linked.startswith(("no object has a unit", "the whole program has"))
    assert all("passes of clang's own" in reason for reason in compiled)
    assert len(compiled) == (0 if flags == ("-flto",) else 4)


def test_units_beside_objects_for_link_time_optimization(builds: Builds) -> None:
    objects = builds.objects("main.c", "find.c", "sums.c")
    builds.clang("-Oz", "-flto", "-c", "twice.c", "-o", "twice.o")
    assert "clang's own link-time optimization" in kept(builds, *objects, "twice.o", "-flto")


def test_small_programs(builds: Builds) -> None:
    (builds.folder / "small.c").write_text("int main(void) { return 0; }\n")
    assert "too few to gain" in kept(builds, *builds.objects("small.c"))


def test_a_linker_script(builds: Builds) -> None:
    (builds.folder / "more.ld").write_text("SECTIONS { .extra : { *(.extra) } } INSERT AFTER .data;\n")
    assert "a linker script sets the layout" in kept(builds, *builds.objects(*C), "-Wl,-T,more.ld")


def test_a_link_that_fails_says_what_clang_says(builds: Builds) -> None:
    objects = builds.objects("main.c", "find.c")
    command = [sys.executable, str(OPTIMIZERS), "shrink", "cc", "--whole-program", *objects, "-o", "program"]
    done = subprocess.run(command, cwd=builds.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "undefined symbol: checksum" in done.stderr
    assert not (builds.folder / "program").exists()


def test_objects_are_clangs_to_every_linker(builds: Builds) -> None:
    objects = builds.objects(*C)
    builds.clang(*objects, "-o", "with")
    builds.clang(*FLAGS, "-c", *C)
    builds.clang(*objects, "-o", "without")
    assert (builds.folder / "with").read_bytes() == (builds.folder / "without").read_bytes()


@pytest.mark.parametrize("seconds", ["0.05s"])
def test_a_budget_for_the_build(builds: Builds, seconds: str) -> None:
    """Where it is used up there is no search."""
    builds.options = ("--build-budget", seconds)
    objects = builds.objects(*C)
    linked = [builds.link(name, *objects) for name in ("program", "again")]
    assert [row["evaluations"] for row in linked][1] in (0, 2)
    assert {row["action"] for row in linked} <= {"optimized", "kept"}


def test_a_signal_in_the_search(builds: Builds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    objects = builds.objects(*C)
    here = tmp_path / "sleeps"
    monkeypatch.setenv("SLEEPS", str(here))
    own = ["--report", str(builds.log), "--whole-program", "--budget=9evaluations"]
    command = [sys.executable, str(OPTIMIZERS), "sleep", "cc", *own, *objects, "-o", "program"]
    linking = subprocess.Popen(command, cwd=builds.folder)
    wait_until(here.exists, linking)
    linking.send_signal(signal.SIGTERM)
    assert linking.wait(MOST_SECONDS) == -signal.SIGTERM
    builds.clang(*objects, "-o", "program.clang")
    assert builds.run("./program", "3") == builds.run("./program.clang", "3").replace(".clang", "")
