"""Short budgets search variants of functions: passes and machine code together, in few compilations."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc import back_end, variants
from burnish.cc.back_end import emit_described
from burnish.cc.cross import own_of
from burnish.cc.file_budget import FileBudget
from burnish.cc.foreign import after_level
from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.own_trials import Own
from burnish.cc.prior_variants import Variants, variants_of
from burnish.cc.repeating import BEGIN, split_code
from burnish.cc.requests import Attempt, Emitted, KeptReference, LeftToClang, Request, Start
from burnish.cc.short_search import FunctionSearch, ShortSearch, Tried
from burnish.cc.variants import repeated, vary, vary_further
from burnish.core.session import Session
from burnish.core.trace import Trace, of_sites, split_entry
from burnish.llvm.targets import machine_of
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_codegen.actions import OUTLINE
from burnish.tasks.llvm_codegen.generations import Decided, Generations
from tests.cc.conftest import make_drop_in
from tests.cc.requests import asking, request_of
from tests.cc.test_back_end import job_of
from tests.cc.test_cross import EACH_MACHINE
from tests.core.test_clock import CountedClock
from tests.sources import DATA


def start_of(source: Path, folder: Path) -> tuple[Start, ClangJob]:
    """Return a module before any pass with clang's own object, which burnish's back end makes here."""
    job, front = job_of(source, "-Oz", folder), folder / "front.bc"
    subprocess.run(job.front_end(front).command, check=True)
    own = emit_described(after_level(front.read_bytes(), "Oz"), job).code
    return Start(front.read_bytes(), job.command, _native.Module.join_groups, own), job


def loaded_bytes(code: bytes) -> int:
    return int(_native.object_sizes(code, True).loaded_bytes)


def short(name: str, **options: object) -> Request:
    return replace(request_of(name, speed_limit=1.05, **options), short_code=True)


def output_of(directory: Path, clang_object: str) -> tuple[int, bytes]:
    program = directory / "program"
    subprocess.run([find_tool("clang"), clang_object, "-o", program], cwd=directory, check=True)
    done = subprocess.run([program, "work", "1000"], capture_output=True, check=False)
    return done.returncode, done.stdout


def test_passes_and_code_are_found_together(tmp_path: Path) -> None:
    start, _ = start_of(DATA / "behave.c", tmp_path)
    found = vary(start, short("behave.c"))
    assert start.own and found.code and loaded_bytes(found.code) < loaded_bytes(start.own)
    passes, code = split_code(found.trace)
    assert passes[0] == "clang<Oz>" and passes[1:] and code
    assert 1 <= found.evaluations <= 1 + sum(map(len, variants_of("X86")))
    assert vary(start, short("behave.c")) == found


def test_the_level_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, _ = start_of(DATA / "behave.c", tmp_path)
    asked: list[Decided] = []
    generate = Generations.generate

    def counted(self: Generations, decided: Decided) -> object:
        asked.append(decided)
        return generate(self, decided)

    emitted: list[Emitted] = []

    def described(bitcode: bytes, job: ClangJob) -> Emitted:
        emitted.append(emit_described(bitcode, job))
        return emitted[-1]

    monkeypatch.setattr(Generations, "generate", counted)
    monkeypatch.setattr(back_end, "emit_described", described)
    found = vary(start, short("behave.c"))
    assert (len(emitted), len(asked)) == (1, found.evaluations)
    asked.clear()
    after = after_level(start.bitcode, "Oz")
    level = Attempt(after, (), 0, emitted[0].calls, emitted=emitted[0])
    known = vary(replace(start, level=level, level_bitcode=after), short("behave.c"))
    assert (known.trace, known.code) == (found.trace, found.code)
    assert len(asked) == found.evaluations


def test_variants_in_other_processes_are_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, _ = start_of(DATA / "behave.c", tmp_path)
    request = short("behave.c")
    here = vary(start, request)
    several = replace(start, steps=Guard(tmp_path, 300.0, 300.0).steps), replace(request, processes=3)
    found = vary(*several)
    assert (found.trace, found.code, found.evaluations) == (here.trace, here.code, here.evaluations)
    # One trial that ends its process costs no more than itself.
    tried = FunctionSearch.tried

    def dies(search: FunctionSearch, trace: Trace, number: int) -> Tried:
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return tried(search, trace, number)

    monkeypatch.setattr(FunctionSearch, "tried", dies)
    without = vary(*several)
    assert (without.crashes, without.evaluations) == (1, here.evaluations - 1)
    assert start.own and without.code and loaded_bytes(without.code) < loaded_bytes(start.own)


def test_the_best_variant_may_be_another_processs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its passes are repeated here, and its code is not generated again."""
    start, _ = start_of(DATA / "behave.c", tmp_path)
    request = asking(short("behave.c"), speed_limit=None)
    monkeypatch.setattr(FunctionSearch, "join", lambda _: None)
    here = vary(start, request)
    asked: list[Decided] = []
    generate = Generations.generate

    def counted(self: Generations, decided: Decided) -> object:
        asked.append(decided)
        return generate(self, decided)

    monkeypatch.setattr(Generations, "generate", counted)
    monkeypatch.setattr(variants, "_best_trace", lambda front, level, *_, **__: (level, 0))
    found = vary(replace(start, steps=Guard(tmp_path, 300.0, 300.0).steps), replace(request, processes=2))
    assert not asked
    assert found.code and here.code and BEGIN in found.trace
    again = repeated(start, request, found.trace, checks=False)
    assert (again.bitcode, again.code) == (found.bitcode, found.code)


def test_another_object_than_clangs_is_left_to_clang(tmp_path: Path) -> None:
    start, _ = start_of(DATA / "behave.c", tmp_path)
    assert start.own
    with pytest.raises(LeftToClang, match="burnish's writes another object"):
        vary(replace(start, own=start.own + b"more"), short("behave.c"))
    with pytest.raises(LeftToClang, match="whose options burnish's does not take"):
        vary(replace(start, command=(*start.command, "-mllvm", "-x")), short("behave.c"))


def test_what_is_known_of_functions_is_tried_first(tmp_path: Path) -> None:
    """Another file with the same functions, and no search: only what was found for them."""
    shutil.copy(DATA / "behave.c", tmp_path)
    memory = tmp_path / "memory"
    start, _ = start_of(tmp_path / "behave.c", tmp_path)
    first = vary(start, short("behave.c", memory=memory))
    (tmp_path / "copied.c").write_text((tmp_path / "behave.c").read_text() + "int more = 1;")
    again, _ = start_of(tmp_path / "copied.c", tmp_path)
    remembered = short("copied.c", memory=memory, budget=FileBudget(remembered=True))
    found = vary(again, remembered)
    assert {split_entry(text)[1] for text in found.trace} == {split_entry(text)[1] for text in first.trace}
    assert found.evaluations == 0
    with pytest.raises(KeptReference, match="no remembered result makes it smaller"):
        vary(again, asking(remembered, memory=tmp_path / "empty"))


def test_a_short_budget_is_for_variants_alone() -> None:
    request = replace(request_of("a.c"), clock=CountedClock(100.0), spare_seconds=2.0)
    short_one = replace(request, until=110.0, short_code=True)
    assert short_one.for_variants().until == 112.0
    assert replace(request, until=110.0).for_variants().until == pytest.approx(105.0)
    assert replace(request, seconds=10.0).for_variants().until == pytest.approx(105.0)
    assert replace(request, evaluations=30).for_variants().evaluations == 15
    assert replace(request, until=110.0).for_variations().until == pytest.approx(106.0)
    assert replace(request, evaluations=15).for_variations().evaluations == 9
    assert request.begins_with_variants and not replace(request, code_share=0.0).begins_with_variants
    assert not replace(request, begin=("clang<Oz>",)).begins_with_variants
    for option in ("search", "policy", "inline_policy", "evict_policy"):
        assert not asking(request, **{option: "given"}).begins_with_variants


@pytest.mark.parametrize("checks", [False, True])
def test_a_trace_makes_the_same_object_again(tmp_path: Path, checks: bool) -> None:
    start, _ = start_of(DATA / "behave.c", tmp_path)
    found = vary(start, short("behave.c"))
    again = repeated(start, short("behave.c"), ("gone: sink", *found.trace, "gone: order(0)"), checks=checks)
    assert (again.trace, again.code) == (found.trace, found.code)
    decisions = found.trace[found.trace.index(BEGIN) :]  # after the level's own passes
    alone = repeated(start, short("behave.c"), decisions, checks=checks)
    level = repeated(start, short("behave.c"), ("clang<Oz>", *decisions), checks=checks)
    assert (alone.trace, alone.code) == (decisions, level.code)
    assert start.own
    other = replace(start, own=start.own + b"more")
    if checks:
        with pytest.raises(LeftToClang, match="burnish's writes another object"):
            repeated(other, short("behave.c"), found.trace, checks=True)
    else:
        assert repeated(other, short("behave.c"), found.trace, checks=False).code == found.code


@pytest.mark.parametrize("option", ["-g", "-ffunction-sections"])
def test_a_build_gets_them(tmp_path: Path, option: str) -> None:
    searched = ("--code-generation=searched", "--budget=7.9x")
    burnish = make_drop_in(tmp_path / "project", "fail", "cc", *searched)
    shutil.copy(DATA / "behave.c", burnish.directory)
    assert burnish("-Oz", option, "-c", "behave.c").returncode == 0
    (record,) = burnish.records()
    assert (record["action"], record["reason"]) == ("optimized", "")
    assert record["loaded_bytes"] < record["loaded_bytes_before"]
    passes, code = split_code(tuple(record["trace"]))
    assert passes[0] == "clang<Oz>" and passes[1:] and code
    subprocess.run([find_tool("clang"), "-Oz", "-c", "behave.c", "-o", "own.o"], cwd=burnish.directory)
    assert output_of(burnish.directory, "behave.o") == output_of(burnish.directory, "own.o")


def source_for(machine: tuple[str, ...]) -> str:
    """Return a file whose functions a variant makes smaller and not slower on the machine."""
    return "structs.c" if "thumb" in machine[0] else "floating.c"


def start_on(machine: tuple[str, ...], source: str, folder: Path) -> tuple[Start, Own]:
    """Return a module before any pass for another machine with burnish's own object."""
    job = job_of(DATA / source, " ".join(("-Oz", *machine)), folder)
    own = own_of(job, folder)
    finish, after = _native.Module.join_groups, own.level.bitcode
    return Start(own.front, job.command, finish, own.code, own.level, after), own


@EACH_MACHINE
def test_other_machines_have_variants_of_their_own(tmp_path: Path, machine: tuple[str, ...]) -> None:
    """No object is clang's here: burnish's own after the level's passes has to be beaten."""
    source = source_for(machine)
    start, own = start_on(machine, source, tmp_path)
    found = vary(start, short(source))
    assert BEGIN in found.trace and found.code and loaded_bytes(found.code) < loaded_bytes(own.code)
    known = variants_of(machine_of(machine[0].removeprefix("--target=")))
    assert found.evaluations <= 1 + len(known.of_programs) + len(known.of_functions)
    assert vary(start, short(source)) == found
    again = repeated(start, short(source), found.trace, checks=True)
    assert (again.trace, again.code) == (found.trace, found.code)


@EACH_MACHINE
def test_functions_are_varied_after_a_short_search(tmp_path: Path, machine: tuple[str, ...]) -> None:
    """In as many evaluations as are allowed, never worse, always the same, and its trace can be repeated."""
    source = source_for(machine)
    start, _ = start_on(machine, source, tmp_path)
    found = vary(start, short(source))
    request = replace(short(source), evaluations=40)
    further = vary_further(start, request, found.trace)
    assert found.code and further.code and 1 < further.evaluations <= 40
    assert loaded_bytes(further.code) <= loaded_bytes(found.code)
    assert vary_further(start, request, found.trace) == further
    again = repeated(start, short(source), further.trace, checks=True)
    assert (again.trace, again.code) == (further.trace, further.code)
    from_level = vary_further(start, replace(request, evaluations=120), ())
    assert from_level.code and of_sites(from_level.trace)


@EACH_MACHINE
def test_a_short_budget_has_them_for_each_machine(tmp_path: Path, machine: tuple[str, ...]) -> None:
    source = source_for(machine)
    burnish = make_drop_in(tmp_path / "project", "fail", "cc", "--code-generation=searched", "--budget=7.9x")
    shutil.copy(DATA / source, burnish.directory)
    done = burnish(*machine, "-Oz", "-c", source)
    assert (done.returncode, done.stderr) == (0, b"")
    (record,) = burnish.records()
    assert record["action"] == "optimized" and BEGIN in record["trace"]
    assert record["loaded_bytes"] < record["loaded_bytes_before"]


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """A file that the outliner makes smaller, and the first variants of functions do not."""
    work = "".join(f"put({i}, {i * i});" for i in range(12))
    functions = [f"int f{i}(int x) {{ put(x, {i}); {work} return x + {i}; }}" for i in range(4)]
    source = tmp_path / "alike.c"
    source.write_text("\n".join(["void put(int, int);", *functions]))
    return source


def test_traces_of_the_whole_program_come_first(
    alike: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variants are tried after the best one; those that make nothing smaller are left out."""
    start, _ = start_of(alike, tmp_path)
    request, known = replace(request_of("alike.c"), short_code=True), variants_of("X86").of_functions[:2]

    def found(*whole: str) -> Attempt:
        chosen = Variants((whole,) if whole else (), known)
        monkeypatch.setattr(variants, "variants_of", lambda _: chosen)
        return vary(start, request)

    for whole in (("clang<Oz>", "outline<call-cost=2>"), ("outline<call-cost=2>", "clang<Oz>")):
        first = found(*whole)
        assert first.trace[:2] == whole
        assert start.own and first.code and loaded_bytes(first.code) < loaded_bytes(start.own)
        assert repeated(start, request, first.trace, checks=True).code == first.code
    for useless in ((), ("clang<Oz>", "reg2mem")):
        with pytest.raises(KeptReference, match="nothing smaller was found"):
            found(*useless)


def test_little_time_is_for_variants(alike: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces of the whole program are tried if there is time for five code generations."""
    start, job = start_of(alike, tmp_path)
    own = back_end.level_of(start.bitcode, job)
    made = own.emitted
    assert made and made.seconds > 0
    whole = ("clang<Oz>", "outline<call-cost=2>")
    chosen = Variants((whole,), variants_of("X86").of_functions[:2])
    monkeypatch.setattr(variants, "variants_of", lambda _: chosen)
    request = replace(request_of("alike.c"), short_code=True, until=100.0, clock=CountedClock())

    def found(seconds: float) -> Attempt:
        level = replace(own, emitted=replace(made, seconds=seconds))
        return vary(replace(start, level=level, level_bitcode=own.bitcode), request)

    assert found(20.0).trace[:2] == whole
    with pytest.raises(KeptReference, match="nothing smaller was found"):
        found(20.1)


def test_a_limit_counts_the_trial_of_decisions_on_the_whole_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with unwind tables, it is tried first whether AArch64's outliner helps."""
    given: dict[Trace, int] = {}

    def search(session: Session, objective: str, traces: Sequence[Trace], *rest: object) -> ShortSearch:
        everywhere = rest[-1]
        assert isinstance(everywhere, tuple)
        given[everywhere] = len(traces)
        return ShortSearch(session, session.measure(objective), 0)

    monkeypatch.setattr(variants, "short_search", search)
    for tables in ("-funwind-tables", "-fno-asynchronous-unwind-tables"):
        start, _ = start_on(("--target=aarch64-linux-gnu", tables), "floating.c", tmp_path)
        with suppress(KeptReference):
            vary(start, replace(short("floating.c"), evaluations=9))
    assert given[OUTLINE[-1:]] == given[()] - 1


ROUND = "a[{0}] = (a[{0}] + b[{1}]) ^ c; a[{0}] = a[{0}] << 7 | a[{0}] >> 25; b[{1}] += a[{0}] * c;"
MACROS = (
    "void f(unsigned *a, unsigned *b, unsigned c) {"
    + "".join(ROUND.format(i, i % 5) for i in range(60))
    + "}"
)
INLINE = """
static inline __attribute__((always_inline)) int work(const int *p, int n, int mode) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += mode ? p[i] * p[n - i] + sum : p[i] ^ mode;
  for (int i = 0; i < n; i += 3) sum ^= p[i] << mode;
  return sum;
}
""" + "".join(f"int f{i}(const int *p, int n) {{ return work(p, n, {i}); }}" for i in range(12))


def test_repeated_code_gets_traces_of_programs_however_few_trials_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4", "-ffreestanding")
    whole = variants_of("ARM").of_programs

    def chosen(source: str, *, few: bool = True) -> tuple[Trace, ...]:
        start, _ = start_on(machine, str(tmp_path / source), tmp_path)
        opened = variants._opened(start, short(source))
        level = variants._staged(opened, start)
        front = level.fork()
        variants._level_code(level, opened.origin, start)
        return tuple(variants._always_tried(start, front, level, whole, few=few))

    (tmp_path / "macros.c").write_text(MACROS)
    (tmp_path / "inline.c").write_text(INLINE)
    shutil.copy(DATA / "structs.c", tmp_path)
    (outlined_first,) = [trace for trace in whole if trace[0] == "mem2reg"]
    assert chosen("macros.c") == (outlined_first,)
    assert chosen("structs.c") == ()
    assert chosen("inline.c") == (whole[0], outlined_first)
    assert chosen("macros.c", few=False) == (whole[0], outlined_first)
    assert chosen("structs.c", few=False) == whole[:1]
    monkeypatch.setattr(variants, "OUTLINED", 1.0)
    assert chosen("inline.c") == whole[:1]
    assert chosen("macros.c") == chosen("structs.c") == ()
