"""Profiles of earlier runs: builds that collect them, and builds that use them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.cc.command_key import Key
from burnish.cc.commands.launch import find_launcher
from burnish.cc.jobs import ClangJob
from burnish.cc.link.units import read_unit
from burnish.cc.outcomes import level_of_passes
from burnish.cc.profiles import Profile, without_profile
from burnish.cc.refusals import refusal
from burnish.cc.requests import DriverOptions
from burnish.llvm.modules.module import emit_described, emit_object
from burnish.llvm.modules.objectives import slowdown, slowdown_of_part, slowdowns
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.toolchain import find_tool

SOURCES = Path(__file__).parent / "profiled"
USE = {"generate": "-fprofile-use=merged.profdata", "instr-generate": "-fprofile-instr-use=merged.profdata"}
OFTEN = "5000"  # steps


@dataclass
class Builds:
    """A folder with a program, burnish-cc with a short budget, and clang."""

    folder: Path
    burnish: str
    options: list[str] = field(default_factory=list)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LLVM_PROFILE_FILE": "raw.profraw"}
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env=environment, timeout=60
        )

    def cc(self, *words: str) -> subprocess.CompletedProcess[str]:
        log = str(self.folder / "log.jsonl")
        options = ["--alone", "--remember", "none", "--report", log, "--budget", "4evaluations"]
        return self.run(self.burnish, *options, *self.options, *words)

    def clang(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(find_tool("clang")), *words)

    def profile(self, level: str, how: str, steps: str = "2000") -> None:
        """Train an instrumented program of clang, and merge the profile."""
        done = self.clang(level, f"-fprofile-{how}", "program.c", "-o", "instrumented")
        assert done.returncode == 0, done.stderr
        self.merge(steps)

    def merge(self, steps: str = "2000") -> None:
        assert self.run("./instrumented", steps).returncode == 0
        merged = ["merge", "raw.profraw", "-o", "merged.profdata"]
        assert self.run(str(find_tool("llvm-profdata")), *merged).returncode == 0

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def front(self, *words: str) -> bytes:
        """Return the front end's module."""
        words = ("-emit-llvm", "-Xclang", "-disable-llvm-passes", *words)
        done = self.clang("-c", *words, "program.c", "-o", "front.bc")
        assert done.returncode == 0, done.stderr
        return (self.folder / "front.bc").read_bytes()


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    shutil.copytree(SOURCES, tmp_path / "project")
    return Builds(tmp_path / "project", find_launcher("burnish-cc"))


def code_of(path: Path) -> dict[str, bytes]:
    """Return the bytes of each function of an object that was made with -ffunction-sections."""
    found = {}
    for section in _native.elf_sections(path.read_bytes()):
        if section.name.startswith(".text.") and section.size:
            found[section.name.rpartition(".")[2]] = section.content
    return found


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("generate", ()),
        ("instr-generate", ("--whole-program",)),
        ("generate", ("-flto",)),
        ("instr-generate", ("--whole-program", "-flto")),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_profile_is_made_and_used_by_burnish_alone(
    builds: Builds, how: str, words: tuple[str, ...]
) -> None:
    instrumented = builds.cc(*words, "-Oz", f"-fprofile-{how}", "program.c", "-o", "instrumented")
    assert (instrumented.returncode, instrumented.stderr) == (0, "")
    *_, record = (one for one in builds.records() if one["source"] == "program.c")
    assert record["action"] == "passed through"
    assert "executions are counted by code that passes of clang's own insert" in record["reason"]
    builds.merge()

    used = builds.cc(*words, "-Oz", USE[how], "program.c", "-o", "program")
    assert (used.returncode, used.stderr) == (0, "")
    assert builds.records()[-1]["action"] in ("optimized", "kept")  # by few evaluations
    outputs = {builds.run(f"./{name}", OFTEN).stdout for name in ("program", "instrumented")}
    assert len(outputs) == 1


@pytest.mark.parametrize("how", ["generate", "instr-generate"])
def test_units_of_whole_programs_have_the_counts(builds: Builds, how: str) -> None:
    builds.profile("-Oz", how)
    (builds.folder / "other.c").write_text("int other(int x) { return x > 3 ? x * 5 : x; }\n")
    words = ("--whole-program", "-Oz", USE[how])
    for name in ("program", "other"):
        assert builds.cc(*words, "-c", f"{name}.c", "-o", f"{name}.o").returncode == 0
    embedded = read_unit((builds.folder / "program.o").read_bytes())
    assert embedded and _native.Module(embedded.unit.bitcode, "unit").total_count > 1000
    assert builds.cc(*words, "program.o", "other.o", "-o", "program").returncode == 0
    assert builds.records()[-1]["source"] == "2 units"
    assert builds.records()[-1]["action"] == "optimized"
    assert builds.run("./program", OFTEN).stdout == builds.run("./instrumented", OFTEN).stdout


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "Os", "Oz"])
def test_the_rest_of_the_pipeline_gives_clangs_object(builds: Builds, level: str) -> None:
    builds.profile(f"-{level}", "generate")
    words = (f"-{level}", "-fprofile-use=merged.profdata")
    front = builds.front(*words)
    builds.clang("-c", *words, "program.c", "-o", "program.o")
    profile = Profile("llvm", builds.folder / "merged.profdata")
    module = _native.Module(profile.counted(front, level), "program")
    module.honour_mandatory()
    module.set_level_attributes(level)
    module.run(f"clang<{level}>", level)
    assert emit_object(module, level, "") == (builds.folder / "program.o").read_bytes()


@pytest.mark.parametrize("level", ["O2", "Oz"])
@pytest.mark.parametrize("words", [("-gmlt",), ("-gmlt", "-fdebug-info-for-profiling")], ids=" ".join)
def test_samples_give_clangs_code(builds: Builds, level: str, words: tuple[str, ...]) -> None:
    words = (f"-{level}", "-ffunction-sections", "-fprofile-sample-use=samples.prof", *words)
    front = builds.front(*words)
    builds.clang("-c", *words, "program.c", "-o", "program.o")
    profile = Profile("samples", builds.folder / "samples.prof", len(words) == 5, infers=True)
    module = _native.Module(profile.counted(front, level), "program")
    module.drop_debug_info()
    module.run(f"clang<{level}>", level)
    (builds.folder / "ours.o").write_bytes(_with_sections(module, level))
    assert code_of(builds.folder / "ours.o") == code_of(builds.folder / "program.o")


def _with_sections(module: _native.Module, level: str) -> bytes:
    back_end = _native.BackEnd()
    back_end.level, back_end.function_sections = level, True
    return module.emit_object(back_end)


@pytest.mark.parametrize("how", ["generate", "instr-generate"])
def test_a_level_for_speed_makes_cold_functions_smaller(builds: Builds, how: str) -> None:
    builds.profile("-O2", how)
    words = ("-O2", "-ffunction-sections", USE[how], "-c", "program.c", "-o")
    builds.clang(*words, "clang.o")
    done = builds.cc(*words, "burnish.o")
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = builds.records()
    assert record["action"] == "optimized"
    assert record["loaded_bytes"] < record["loaded_bytes_before"]
    before, after = (code_of(builds.folder / name) for name in ("clang.o", "burnish.o"))
    assert len(after["report"]) < len(before["report"])
    assert (after["step"], after["main"]) == (before["step"], before["main"])


def test_a_level_for_speed_with_samples(builds: Builds) -> None:
    assert builds.cc("-O2", "-gmlt", "-fprofile-sample-use=samples.prof", "-c", "program.c").returncode == 0
    (record,) = builds.records()
    assert record["action"] == "optimized"


def test_passes_leave_settled_functions_as_they_are(builds: Builds) -> None:
    builds.profile("-O2", "generate")
    front = builds.front("-O2", "-fprofile-use=merged.profdata")
    counted = Profile("llvm", builds.folder / "merged.profdata").counted(front, "O2")
    module = _native.Module(counted, "program")
    assert not module.has_settled_functions
    module = module.with_small_cold_functions("O2")
    assert module and module.has_settled_functions
    before = dict(module.structural_hashes())
    for passes in ("clang<Oz>", "clang<O3>", "function(reg2mem)", "outline<call-cost=0>", "mergefunc"):
        module.run(passes, "Oz")
    module.set_level_attributes("Oz")
    after = dict(module.structural_hashes())
    assert after["step"] == before["step"] and after["main"] == before["main"]
    assert after["report"] != before["report"]


def test_a_new_profile_means_a_new_search(builds: Builds) -> None:
    """The same one means none, and a lock repeats what was found."""
    builds.profile("-O2", "generate")
    log = builds.folder / "log.jsonl"

    def built(*options: str) -> bytes:
        words = ("--alone", "--report", str(log), *options, "-O2", USE["generate"], "-c", "program.c")
        assert builds.run(builds.burnish, *words).returncode == 0
        return (builds.folder / "program.o").read_bytes()

    remember = ("--remember", str(builds.folder / "memory"))
    assert built(*remember) == built(*remember)
    assert builds.run("./instrumented", "0").returncode == 0  # `report` is executed, too
    merge = ["merge", "raw.profraw", "merged.profdata", "-o", "merged.profdata"]
    assert builds.run(str(find_tool("llvm-profdata")), *merge).returncode == 0
    other = built(*remember)
    assert [row["recalled"] for row in builds.records()] == [False, True, False]
    assert builds.run(str(find_launcher("burnish")), "lock", str(log)).returncode == 0
    assert built("--lock", str(builds.folder / "burnish.lock")) == other


def test_seldom_executed_functions(builds: Builds) -> None:
    """`rarely` has a few of 300,000 counts; LLVM calls cold what has none, or one."""
    builds.profile("-O2", "generate", "20000")
    front = builds.front("-O2", "-fprofile-use=merged.profdata")
    counted = Profile("llvm", builds.folder / "merged.profdata").counted(front, "O2")
    module = _native.Module(counted, "program")
    assert 200_000 < module.total_count < 400_000
    settled = {}
    for seldom, inlined in ((False, True), (True, True), (True, False)):
        small = module.with_small_cold_functions("O2", seldom, inlined)
        assert small
        before = dict(small.structural_hashes())
        small.run("function(reg2mem,instnamer)", "O2")
        after = dict(small.structural_hashes())
        settled[seldom, inlined] = {name for name, value in before.items() if value == after[name]}
    assert {"step", "main", "rarely"} <= settled[False, True]
    assert {"step", "main"} <= settled[True, True] and "rarely" not in settled[True, True]
    assert "rarely" not in settled[True, False]


def test_no_cold_function(builds: Builds) -> None:
    module = _native.Module(builds.front("-O2"), "program")
    assert module.with_small_cold_functions("O2") is None


@pytest.mark.parametrize("level", ["-Oz", "-O2"])
@pytest.mark.parametrize("name", ["missing", "samples"])
def test_a_wrong_profile_is_clangs_error(builds: Builds, level: str, name: str) -> None:
    words = (level, f"-fprofile-use={name}.prof", "-c", "program.c")
    theirs, ours = builds.clang(*words), builds.cc(*words)
    assert ours.returncode == theirs.returncode != 0
    assert ours.stderr == theirs.stderr


def test_a_stale_profile(builds: Builds) -> None:
    """Its warnings are clang's, and appear once."""
    builds.profile("-Oz", "instr-generate")
    with (builds.folder / "program.c").open("a") as source:
        source.write('unsigned added(unsigned x) { return x > 3 ? x / 3 : report(x, "x"); }\n')
    words = ("-Oz", USE["instr-generate"], "-c", "program.c", "-Wprofile-instr-unprofiled", "-Weverything")
    theirs, ours = builds.clang(*words), builds.cc(*words)
    assert ours.stderr == theirs.stderr
    assert "profile" in ours.stderr


def job_of(*words: str) -> ClangJob:
    return ClangJob(("clang", "-cc1", "-emit-obj", "-o", "a.o", *words, "-x", "c", "a.c"))


def test_profiles_of_a_job() -> None:
    path, kind = "-fprofile-instrument-use-path=a.profdata", "-fprofile-instrument-use="
    for of in ("clang", "llvm"):
        profile, rest = without_profile(job_of(kind + of, path, "-Oz"))
        assert (profile, rest) == (Profile(of, Path("a.profdata")), job_of("-Oz"))
    infers = ("-mllvm", "-sample-profile-use-profi")
    profile, rest = without_profile(job_of("-fprofile-sample-use=s.prof", *infers, "-working-directory", "d"))
    assert profile == Profile("samples", Path("d/s.prof"), infers=True)
    for words in ((), (f"{kind}csllvm", path), (f"{kind}llvm", path, "-fprofile-sample-use=s.prof")):
        assert without_profile(job_of(*words)) == (None, job_of(*words))


@pytest.mark.parametrize(
    ("words", "profiles", "why"),
    [
        (
            ("-fprofile-instrument-use=csllvm", "-fprofile-instrument-use-path=a"),
            True,
            "profiles of this kind",
        ),
        (
            ("-fprofile-instrument-use=llvm", "-fprofile-instrument-use-path=a"),
            False,
            "profiles of this kind",
        ),
        (("-fprofile-sample-use=a", "-fpseudo-probe-for-profiling"), True, "profiles of this kind"),
        (("-fmemory-profile-use=a",), True, "profiles of this kind"),
        (("-fprofile-instrument=llvm",), True, "executions are counted"),
    ],
)
def test_profiles_that_are_refused(words: tuple[str, ...], profiles: bool, why: str) -> None:
    reason = refusal(job_of("-Oz", "-vectorize-slp", *words), every_level=False, profiles=profiles)
    assert reason and why in reason


def test_the_key_of_a_command_has_its_profiles_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (
        "-fprofile-use",
        "-fprofile-use=.",
        "-fprofile-instr-use=default.profdata",
        "-fauto-profile=default.profdata",
    )

    def names() -> list[str]:
        return [Key(("-Oz", word), DriverOptions()).name for word in words]

    found = [names()]
    for content in ("1", "2"):
        Path("default.profdata").write_text(content)
        found.append(names())
    assert all(len(set(of_word)) == 3 for of_word in zip(*found, strict=True))


COUNTED = """
target triple = "x86_64-unknown-linux-gnu"
define void @caller(ptr %p) !prof !0 {{
  call void @callee(ptr %p)
  call void @callee(ptr %p)
  ret void
}}
define internal void @callee(ptr %p) noinline {prof} {{
  store volatile i32 1, ptr %p
  ret void
}}
!0 = !{{!"function_entry_count", i64 {callers}}}
!1 = !{{!"function_entry_count", i64 {callees}}}
"""


def times_of(callers: int, callees: int | None) -> dict[str, float]:
    text = COUNTED.format(callers=callers, callees=callees or 0, prof="" if callees is None else "!prof !1")
    module = _native.Module(text.encode(), "counted")
    return dict(emit_described(module, "Oz", "x86-64").counted_times)


def test_times_grow_with_the_counts() -> None:
    once, often = times_of(1, 2), times_of(100, 200)
    assert often == pytest.approx({name: 100 * time for name, time in once.items()})
    assert once["callee"] > 0


def test_a_function_is_executed_as_often_as_its_callers_call_it() -> None:
    assert times_of(5, None) == times_of(5, 10) == times_of(5, 3)
    assert times_of(5, 20)["callee"] == pytest.approx(2 * times_of(5, 10)["callee"])


def test_no_profile_no_counted_times() -> None:
    module = _native.Module(b"define void @f() { ret void }", "none")
    assert emit_described(module, "Oz", "x86-64").counted_times == []


def costs(**counted: float) -> CallCosts:
    return CallCosts({}, frozenset(), {}, {}, {}, counted)


def test_slowdowns_by_counts_add_up() -> None:
    reference = costs(hot=90.0, inlined=10.0, cold=0.0)
    now = costs(hot=99.0, cold=0.0)  # `inlined` is now a part of `hot`
    ratios = slowdowns(now, reference)
    assert ratios == pytest.approx({"hot": 1.09, "cold": 1.0, "inlined": 0.9})
    assert slowdown(ratios, now, reference) == pytest.approx(1.0)  # 99 instead of 100 is no gain
    slower = costs(hot=99.0, inlined=12.0, cold=0.0)
    assert slowdown(slowdowns(slower, reference), slower, reference) == pytest.approx(1.11)
    assert slowdown_of_part("hot", now, reference) == pytest.approx(1.1)
    assert slowdown_of_part("cold", now, reference) == slowdown_of_part("inlined", now, reference) == 1.0


def test_lost_gotos_count_as_time() -> None:
    reference = CallCosts({}, frozenset(), {"run": 4096}, {}, {}, {"run": 100.0})
    now = CallCosts({}, frozenset(), {"run": 1}, {}, {}, {"run": 100.0})
    assert slowdown(slowdowns(now, reference), now, reference) == pytest.approx(2.0)  # 4096 ** (1 / 12)


def test_nothing_was_executed() -> None:
    assert slowdown(slowdowns(costs(f=0.0), costs(f=0.0)), costs(f=0.0), costs(f=0.0)) == 1.0


def test_the_levels_of_profiles() -> None:
    use = (
        "-fprofile-instrument-use=clang",
        "-fprofile-instrument-use-path=a",
        "-vectorize-loops",
        "-vectorize-slp",
    )
    for level in ("-O1", "-O2", "-O3", "-Ofast", "-Os", "-Oz"):
        assert refusal(job_of(level, *use), every_level=False, profiles=True, for_speed=True) is None
    assert "no objective for speed" in str(refusal(job_of("-O2", *use), every_level=False, profiles=True))
    assert "no effect" in str(refusal(job_of("-O0", *use), every_level=True, profiles=True))
    assert level_of_passes("Ofast") == "O3"
