"""Outlining: what becomes a function, what does not, and that programs do what they did."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.core.program import Workload
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.modules.session import open_session
from burnish.llvm.programs import load_program
from burnish.llvm.run import link
from burnish.llvm.toolchain import find_tool
from tests.sources import printed

PIPELINES = {item.text: item.pipeline for item in PASSES}
OUTLINE = "outline<call-cost=0>"
STEP = """
  %a = load i32, ptr %p
  %b = mul i32 %a, {c}
  %c = xor i32 %b, %a
  %d = add {flags}i32 %c, 7
  store i32 %d, ptr %p"""


def step(c: int = 3, flags: str = "") -> str:
    return STEP.format(c=c, flags=flags)


def outlined(*bodies: str, head: str = "", result: str = "void", attributes: Sequence[str] = ()) -> str:
    """Return a module of functions f0, f1, ... after outlining, verified, as text."""
    functions = [
        f"define {result} @f{i}(ptr %p) {extra} {{{body}\n}}\n"
        for i, (body, extra) in enumerate(zip_longest(bodies, attributes, fillvalue=""))
    ]
    module = _native.Module("".join([head, *functions]).encode(), "test")
    module.run(OUTLINE)
    module.verify()
    return module.print()


def body_of(name: str, text: str) -> list[str]:
    """Return the instructions of a function."""
    pattern = rf"^define [^\n]*@{re.escape(name)}\([^\n]*\{{\n(.*?)^\}}"
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    assert match, f"{name} is not in\n{text}"
    return [line.strip() for line in match.group(1).splitlines() if line.startswith("  ")]


def test_what_repeats_is_called() -> None:
    text = outlined(*[step() + "\n  ret void"] * 3)
    assert all(body_of(f"f{i}", text) == ["tail call void @outlined(ptr %0)", "ret void"] for i in range(3))
    assert [line.split(" = ")[-1] for line in body_of("outlined", text)] == [
        "load i32, ptr %0, align 4",
        "mul i32 %2, 3",
        "xor i32 %3, %2",
        "add i32 %4, 7",
        "store i32 %5, ptr %0, align 4",
        "ret void",
    ]


def test_what_differs_is_a_parameter_and_what_is_the_same_is_not() -> None:
    constants = (3, 5, 9, 3)
    text = outlined(*(step(c) + "\n  ret void" for c in constants))
    calls = [body_of(f"f{i}", text)[0] for i in range(4)]
    assert calls == [f"tail call void @outlined(ptr %0, i32 {c})" for c in constants]


def test_a_result_is_returned_and_several_are_a_structure() -> None:
    uses = ("or", "shl", "sub", "and", "lshr", "ashr")
    text = outlined(*(step() + f"\n  %y = {use} i32 5, %d\n  ret i32 %y" for use in uses), result="i32")
    assert body_of("f0", text) == ["%2 = tail call i32 @outlined(ptr %0)", "%3 = or i32 5, %2", "ret i32 %3"]

    text = outlined(*(step() + f"\n  %y = {use} i32 %b, %d\n  ret i32 %y" for use in uses), result="i32")
    assert body_of("f0", text) == [
        "%2 = tail call { i32, i32 } @outlined(ptr %0)",
        "%3 = extractvalue { i32, i32 } %2, 0",
        "%4 = extractvalue { i32, i32 } %2, 1",
        "%5 = or i32 %3, %4",
        "ret i32 %5",
    ]


def test_a_promise_that_one_place_does_not_make_is_dropped() -> None:
    bodies = [step(flags=flags) + "\n  ret void" for flags in ("nsw ", "nuw nsw ", "nsw ", "")]
    for count, left in ((3, "add nsw i32 %4, 7"), (4, "add i32 %4, 7")):
        body = body_of("outlined", outlined(*bodies[:count]))
        assert [line.split(" = ")[1] for line in body if " add " in line] == [left]


DIAMOND = """
entry:
  %a = load i32, ptr %p
  %small = icmp slt i32 %a, 10
  br i1 %small, label %grow, label %shrink
grow:
  %b = mul i32 %a, 3
  br label %end
shrink:
  %c = udiv i32 %a, {divisor}
  br label %end
end:
  %d = phi i32 [ %b, %grow ], [ %c, %shrink ]
  store i32 %d, ptr %p
  {rest}"""
LOOP = """
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %a = load i32, ptr %at
  %b = mul i32 %a, %a
  store i32 %b, ptr %at
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, {count}
  br i1 %more, label %loop, label %end
end:
  {rest}"""
DEAD_END = """
entry:
  %a = load i32, ptr %p
  %good = icmp slt i32 %a, 10
  br i1 %good, label %go, label %bad
bad:
  call void @report(i32 {line})
  call void @abort()
  unreachable
go:
  {rest}"""
RESTS = (
    "ret i32 1",
    "%z = call i32 @one()\n  ret i32 %z",
    "%z = sdiv i32 7, 3\n  ret i32 %z",
)


@pytest.mark.parametrize("body", [DIAMOND, LOOP, DEAD_END])
def test_branches_and_loops_are_outlined(body: str) -> None:
    bodies = [body.format(divisor=7 + i, count=9 + i, line=40 + i, rest=rest) for i, rest in enumerate(RESTS)]
    head = "declare i32 @one()\ndeclare void @report(i32)\ndeclare void @abort()\n"
    text = outlined(*bodies, head=head, result="i32")
    for i, rest in enumerate(RESTS):
        call, *after = body_of(f"f{i}", text)
        assert call.startswith("tail call void @outlined(ptr %0, i32 ")
        assert after == [line.strip().replace("%z", "%2") for line in rest.splitlines()]


def test_a_function_that_ends_nowhere_is_not_continued_by_the_next() -> None:
    # In the order of the text, unreachable is followed by the next function's first instructions.
    dead = "".join(f"\n  call void @report(i32 {i})" for i in range(7)) + "\n  unreachable"
    text = outlined(*[step() + "\n  ret void", dead] * 4, head="declare void @report(i32)\n")
    assert all("outlined" in body_of(f"f{i}", text)[0] for i in range(8))


@pytest.mark.parametrize(
    "instruction",
    [
        "%x = alloca i32\n  store ptr %x, ptr %p",
        'call void asm sideeffect "nop", ""()',
        "%x = call i32 @twice()",
        "call void @hidden() nomerge",
        "%x = call ptr @llvm.returnaddress.p0(i32 0)\n  store ptr %x, ptr %p",
        '%x = call i32 @one() [ "deopt"(i32 1) ]',
    ],
)
def test_what_depends_on_its_function_stays_there(instruction: str) -> None:
    head = (
        "declare i32 @twice() returns_twice\ndeclare void @hidden()\ndeclare i32 @one()\n"
        "declare ptr @llvm.returnaddress.p0(i32)\n"
    )
    text = outlined(*[f"\n  {instruction}\n" + step() + "\n  ret void"] * 4, head=head)
    first = instruction.splitlines()[0].split(" = ")[-1].split(",")[0].split(" [")[0].removesuffix(" nomerge")
    for i in range(4):
        assert first in body_of(f"f{i}", text)[0]
        assert any("@outlined" in line for line in body_of(f"f{i}", text))
    assert first not in "".join(body_of("outlined", text))


def test_functions_agree_on_what_they_ask_of_the_compiler() -> None:
    bodies = [step() + "\n  ret void"] * 3
    cpu = '"target-cpu"="x86-64"'
    assert "@outlined" not in outlined(*bodies, attributes=[cpu, '"target-cpu"="haswell"', ""])
    text = outlined(*bodies, attributes=[f"minsize {cpu}"] * 3)
    attribute = re.search(r"@outlined\(ptr %0\) unnamed_addr #(\d+) \{", text)
    assert attribute
    assert f"attributes #{attribute.group(1)} = {{ minsize nounwind {cpu} }}" in text


def outlined_line(text: str) -> str:
    """Return the first line of what was outlined, with the attributes that its number stands for."""
    match = re.search(r"^define internal [^\n]*@outlined\([^\n]*", text, re.MULTILINE)
    assert match, text
    attributes = dict(re.findall(r"^attributes (#\d+) = \{ (.*) \}$", text, re.MULTILINE))
    return re.sub(r"#\d+", lambda number: attributes[number.group()], match.group())


CALL_IN_THE_MIDDLE = "\n  call void @report(i32 1)" + step() + "\n  ret void"
CALL_AT_THE_END = step() + "\n  call void @report(i32 %d)\n  ret void"


@pytest.mark.parametrize(
    ("body", "head", "attributes", "expected"),
    [
        # nothing can be thrown in a leaf, and it needs no table
        (step() + "\n  ret void", "", "uwtable", {"nounwind"}),
        (step() + "\n  ret void", "", "uwtable sanitize_address", {"nounwind", "uwtable"}),
        # an exception may pass
        (CALL_IN_THE_MIDDLE, "declare void @report(i32)", "uwtable", {"uwtable"}),
        (CALL_AT_THE_END, "declare void @report(i32)", "uwtable", {"uwtable"}),
        # none passes; but what is called may look at the stack, unless it is jumped to
        (CALL_IN_THE_MIDDLE, "declare void @report(i32)", "nounwind uwtable", {"nounwind", "uwtable"}),
        (CALL_IN_THE_MIDDLE, "declare void @report(i32) nounwind", "uwtable", {"nounwind", "uwtable"}),
        (CALL_AT_THE_END, "declare void @report(i32)", "nounwind uwtable", {"nounwind"}),
        (CALL_AT_THE_END, "declare void @report(i32) nounwind", "uwtable", {"nounwind"}),
        (
            CALL_AT_THE_END,
            "define void @report(i32) { ret void }",  # may come in place of its call, and with it others
            "nounwind uwtable",
            {"nounwind", "uwtable"},
        ),
    ],
)
def test_unwind_information_is_left_where_something_unwinds(
    body: str, head: str, attributes: str, expected: set[str]
) -> None:
    line = outlined_line(outlined(*[body] * 4, head=head + "\n", attributes=[attributes] * 4))
    assert {word for word in ("nounwind", "uwtable") if word in line} == expected


def test_a_call_may_be_a_jump_where_it_is_last() -> None:
    body = body_of("outlined", outlined(*[CALL_AT_THE_END] * 4, head="declare void @report(i32)\n"))
    assert body[-2:] == ["tail call void @report(i32 %5)", "ret void"]
    by_value = "\n  call void @take(ptr byval(i64) %p)" + step() + "\n  ret void"
    body = body_of("outlined", outlined(*[by_value] * 4, head="declare void @take(ptr byval(i64))\n"))
    assert body[0] == "call void @take(ptr byval(i64) %0)"


THROWING = r"""
#include <cstdio>
#include <stdexcept>
struct Noisy { const char *name; ~Noisy() { std::printf("~%s ", name); } };
volatile int sink;
__attribute__((noinline)) void check(int a) { if (a % 3 == 0) throw a; }
#define MIX(a) int x = a * 31 + sink; x ^= x >> 3; x = x * 17 + 5; check(x); x ^= sink; x *= 7; sink = x;
__attribute__((noinline)) void one(int a) { MIX(a) std::printf("1:%d ", x); }
__attribute__((noinline)) void two(int a) { MIX(a) std::printf("2:%d ", x + 1); }
__attribute__((noinline)) void three(int a) { MIX(a) std::printf("3:%d ", x - 1); }
__attribute__((noinline)) void four(int a) { MIX(a) std::printf("4:%d ", x - 2); }
__attribute__((noinline)) void noisy(void (*f)(int), int a) { Noisy n{"noisy"}; f(a); }
void (*const all[])(int) = {one, two, three, four};
int main() {
  for (int i = 0; i < 12; i++)
    for (auto *f : all) {
      try { noisy(f, i); } catch (int thrown) { std::printf("caught %d\n", thrown); sink = 0; }
    }
}
"""


@pytest.mark.parametrize("flags", [[], ["-fno-asynchronous-unwind-tables"]])
def test_exceptions_pass_through_what_was_outlined(tmp_path: Path, flags: list[str]) -> None:
    source = tmp_path / "throwing.cpp"
    source.write_text(THROWING)
    module = open_session(load_program(source, flags)).module
    module.run("clang<Oz>")
    before = run_cplusplus(module, tmp_path)
    module.run("outline<call-cost=0>")
    module.verify()
    assert any("@_Z5checki" in line for line in body_of("outlined", module.print()))
    assert run_cplusplus(module, tmp_path) == before
    assert before.count(b"caught") > 5


@pytest.mark.parametrize("attribute", ["optnone noinline", "nooutline", 'section ".iram"'])
def test_functions_that_are_to_be_left_alone_are(attribute: str) -> None:
    assert "@outlined" not in outlined(*[step() + "\n  ret void"] * 3, attributes=[attribute] * 3)


def test_a_function_with_a_block_that_cannot_be_reached_is_left_alone() -> None:
    strange = step() + "\n  ret void\nnever:\n  %s = add i32 %s, 1\n  br label %never"
    assert "@outlined" not in outlined(*[strange] * 4)


def test_costlier_calls_outline_less() -> None:
    module = open_session(random_module(3)).module
    counts = []
    for cost in range(4):
        other = module.clone()
        other.run(f"outline<call-cost={cost}>")
        counts.append(other.instruction_count())
    assert counts == sorted(counts)
    assert counts[0] < counts[3] <= module.instruction_count()


SEVERAL = "".join(
    f"\n  store volatile i32 {100 + i}, ptr getelementptr (i32, ptr inttoptr (i64 4096 to ptr), i32 {i})"
    for i in range(8)
)
WITHIN_A_LOOP = """
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x = call i32 @{name}()
  {body}
  %next = add i32 %i, {increment}
  %more = icmp slt i32 %next, %x
  br i1 %more, label %loop, label %end
end:
  ret void"""


def test_what_runs_often_is_left_where_it_is_unless_the_pass_is_told() -> None:
    functions = [
        WITHIN_A_LOOP.format(name=name, body=step() + SEVERAL, increment=i + 1)
        for i, name in enumerate(("one", "two", "three"))
    ]
    head = "".join(f"declare i32 @{name}()\n" for name in ("one", "two", "three"))
    text = head + "".join(
        f"define void @f{i}(ptr %p) minsize {{{body}\n}}\n" for i, body in enumerate(functions)
    )
    module = _native.Module(text.encode(), "test")
    calls = {}
    for action in (
        "outline<call-cost=0>",
        "outline<call-cost=0;max-frequency=4>",
        "outline<call-cost=1>",
        "outline<call-cost=1;max-frequency=4>",
        "outline<call-cost=1;max-frequency=100>",
    ):
        other = module.clone()
        other.run(action)
        calls[action] = len(re.findall(r"call [^\n]*@outlined", other.print()))
    assert [*calls.values()] == [3, 0, 0, 0, 3]


INTERPRETER = """
entry:
  br label %loop
loop:
  %x = call i32 @{name}()
  switch i32 %x, label %end [ {cases} ]
{ways}
next:
  br label %{after}
end:
  ret void"""


@pytest.mark.parametrize(("after", "body", "calls"), [("loop", "", 0), ("end", "", 3), ("loop", "cold", 3)])
def test_no_way_of_a_switch_in_a_loop_is_taken_to_be_rare(after: str, body: str, calls: int) -> None:
    """By frequencies each of the 40 ways runs about once: but an interpreter is in one of them always."""
    text = "declare void @rare() cold\n"
    for i, name in enumerate(("one", "two", "three")):
        ways = {f"way{way}": f"  store volatile i32 {way}, ptr %p\n" for way in range(40)}
        ways["way7"] += ("  call void @rare()\n" if body else "") + step() + SEVERAL + "\n"
        function = INTERPRETER.format(
            name=name,
            after=after,
            cases=" ".join(f"i32 {way + i}, label %way{way}" for way in range(40)),
            ways="\n".join(f"{label}:\n{lines}  br label %next" for label, lines in ways.items()),
        )
        text += f"declare i32 @{name}()\ndefine void @f{i}(ptr %p) minsize {{{function}\n}}\n"
    module = _native.Module(text.encode(), "test")
    module.run("outline<call-cost=1>")
    assert len(re.findall(r"call [^\n]*@outlined", module.print())) == calls


def test_a_function_is_not_made_much_slower() -> None:
    """A call takes long beside the little that a function does, and nothing beside two calls elsewhere."""
    text = "declare void @elsewhere()\n"
    for name, more in (("little", ""), ("much", "  call void @elsewhere()\n" * 2)):
        for i in range(3):
            text += f"define i32 @{name}{i}(ptr %p) minsize {{{step()}{SEVERAL}\n{more}  ret i32 {i}\n}}\n"
    module = _native.Module(text.encode(), "test")
    before = dict(module.expected_run_time())
    slower = {}
    for most in (1, 10, 1000):
        other = module.clone()
        other.run(f"outline<call-cost=1;max-slowdown={most}>")
        after = dict(other.expected_run_time())
        slower[most] = {name: after[name] / before[name] for name in before if after[name] > before[name]}
    assert slower[1] == {}
    assert slower[10].keys() == {"much0", "much1", "much2"}
    assert slower[1000].keys() == before.keys()
    assert max(slower[10].values()) <= 1.1 < slower[1000]["little0"]
    usual, same = module.clone(), module.clone()
    usual.run("outline<call-cost=1>")
    same.run("outline<call-cost=1;max-slowdown=40;max-frequency=4>")
    assert usual.digest() == same.digest()


@pytest.mark.parametrize(
    "wrong",
    [
        "max-frequency",
        "max-frequency=-1",
        "max-frequency=a",
        "frequency=4",
        "max-slowdown=",
        "max-slowdown=4;",
        "max-slowdown=4;slow=3",
    ],
)
def test_a_limit_is_a_number(wrong: str) -> None:
    with pytest.raises(_native.PipelineError):
        _native.check_pipeline(f"outline<call-cost=1;{wrong}>")


def test_a_call_that_moves_values_out_of_registers_is_not_worth_it() -> None:
    """The call's bytes are counted from a cost of 1 on: registers that it makes the function save, too."""
    cheap, *costly = (f"outline<call-cost={cost}>" for cost in range(4))
    text = "@table = external global [10 x i32]\n"
    for i, how in enumerate(("", "volatile ")):
        kept = "".join(
            f"\n  %k{j} = load {how}i32, ptr getelementptr (i32, ptr @table, i32 {j})" for j in range(6)
        )
        used = "".join(
            f"\n  store {how}i32 %k{j}, ptr getelementptr (i32, ptr @table, i32 {9 - j})" for j in range(6)
        )
        text += f"define void @f{i}(ptr %p) minsize uwtable {{{kept}{step()}{used}\n  ret void\n}}\n"
    module = _native.Module(text.encode(), "test")
    other = module.clone()
    other.run(cheap)
    assert "@outlined" in other.print()
    for action in costly:
        other = module.clone()
        other.run(action)
        assert "@outlined" not in other.print()


def loaded_bytes(module: _native.Module, folder: Path) -> int:
    """Return the sizes of code and unwind information in a module's object."""
    path = folder / "sized.o"
    path.write_bytes(module.emit_object("Oz"))
    table = subprocess.run(
        [find_tool("llvm-readelf"), "-SW", path], check=True, capture_output=True, text=True
    ).stdout
    sizes = re.findall(r"\] (\.text\S*|\.eh_frame) +(?:PROGBITS|X86_64_UNWIND) +\w+ \w+ (\w+)", table)
    return sum(int(size, 16) for _, size in sizes)


@functools.cache
def optimized_random(seed: int) -> tuple[bytes, int]:
    """Return a random module after clang's -Oz, and its bytes of code and unwind information."""
    module = open_session(random_module(seed)).module
    module.run("clang<Oz>")
    with tempfile.TemporaryDirectory() as folder:
        return module.bitcode(), loaded_bytes(module, Path(folder))


@pytest.mark.parametrize("cost", [1, 2, 3])
def test_programs_become_smaller_by_code_and_unwind_information(cost: int, tmp_path: Path) -> None:
    before, after = 0, 0
    for seed in range(12):
        optimized, size = optimized_random(seed)
        before += size
        module = _native.Module(optimized, f"random:{seed}")
        module.run(f"outline<call-cost={cost}>")
        after += loaded_bytes(module, tmp_path)
    assert after <= before


def test_twice_is_no_more_than_nested() -> None:
    module = open_session(random_module(5)).module
    before = module.instruction_count()
    counts = []
    for _ in range(4):
        module.run(OUTLINE)
        module.verify()
        counts.append(module.instruction_count())
    assert before > counts[0] >= counts[1] >= counts[2] >= counts[3]


def run_cplusplus(module: _native.Module, folder: Path) -> bytes:
    """Build a module of C++ and return what it prints."""
    workload = Workload(runs=(), link_arguments=("--driver-mode=g++",))
    executable = link(module.emit_object("Oz"), workload, folder / "program")
    return subprocess.run([executable], check=True, capture_output=True, timeout=20).stdout


def check_random_program(seed: int, folder: Path) -> int:
    """Outline a random program again and again, other passes between; return how often that changed it."""
    rng = np.random.default_rng(seed)
    program = random_module(seed)
    module = open_session(program).module
    changes = 0
    for _ in range(4):
        before = module.instruction_count()
        module.run(f"outline<call-cost={rng.integers(4)}>")
        module.verify()
        changes += module.instruction_count() < before
        for text in rng.choice([*PIPELINES], size=2):
            module.run(PIPELINES[text])
    unchanged = _native.Module(program.content, program.name)
    assert printed(module, program, folder) == printed(unchanged, program, folder), seed
    return changes


def test_random_programs_print_what_they_did(tmp_path: Path) -> None:
    assert sum(check_random_program(seed, tmp_path) for seed in range(8)) > 6


@pytest.mark.slow
def test_five_hundred_random_programs_print_what_they_did(tmp_path: Path) -> None:
    assert sum(check_random_program(seed, tmp_path) for seed in range(100, 600)) > 500
