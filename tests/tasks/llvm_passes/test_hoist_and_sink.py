"""Hoisting and sinking: what is done once, what stays where it is, and that programs do what they did."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.modules.session import open_session
from tests.sources import DATA, FILES, printed, program

PIPELINES = {item.text: item.pipeline for item in PASSES}
HEAD = """
declare void @log(i32)
declare i32 @read() nounwind willreturn memory(none)
declare void @effect() nounwind willreturn
declare void @abort() noreturn
@g = global i32 0
"""


def after(action: str, text: str) -> str:
    """Return a module after an action, verified, as text."""
    module = _native.Module(text.encode(), "test")
    module.run(PIPELINES[action])
    module.verify()
    return module.print()


def function(body: str, result: str = "i32") -> str:
    """Return a module with one function of a condition, numbers and pointers."""
    return f"{HEAD}\ndefine {result} @f(i1 %c, i32 %a, i32 %b, ptr %p, ptr noalias %q) {{{body}\n}}\n"


def operations(text: str) -> list[str]:
    """Return the instructions of the function by their blocks, in order: "br | add ret"."""
    match = re.search(r"^define [^\n]*@f\([^\n]*\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    assert match, text
    blocks = re.split(r"\n\n", match.group(1))
    found = []
    for block in blocks:
        lines = [line.strip() for line in block.splitlines() if line.startswith("  ") and "#dbg" not in line]
        lines = [line.removeprefix("tail ") for line in (line.split(" = ")[-1] for line in lines)]
        found.append(" ".join(line.split()[0] for line in lines if line.split()[0].isalpha()))
    return found


def hoisted(body: str, result: str = "i32") -> list[str]:
    return operations(after("hoist-common", function(body, result)))


def sunk(body: str, result: str = "i32") -> list[str]:
    return operations(after("sink-common", function(body, result)))


DIAMOND = """
  br i1 %c, label %yes, label %no
yes:
{yes}
  br label %end
no:
{no}
  br label %end
end:
{end}"""


def diamond(yes: str, no: str, end: str = "  ret i32 0") -> str:
    return DIAMOND.format(yes=yes, no=no, end=end)


def test_what_both_ways_compute_is_computed_before_the_branch() -> None:
    yes = "  %x = mul i32 %a, %b\n  store i32 1, ptr %q\n  %y = sub i32 %x, 7\n  call void @log(i32 %y)"
    no = "  %z = udiv i32 %a, 3\n  %x2 = mul i32 %a, %b\n  %y2 = sub i32 %x2, 7\n"
    no += "  store i32 %z, ptr %p\n  store i32 %y2, ptr %p"
    assert hoisted(diamond(yes, no)) == ["mul sub br", "store call br", "udiv store store br", "ret"]


def test_a_copy_may_be_further_on_where_all_come_by() -> None:
    # On the way past `yes` it is computed at the end.
    body = """
  br i1 %c, label %yes, label %end
yes:
  %x = mul i32 %a, %b
  call void @log(i32 %x)
  br label %end
end:
  %y = mul i32 %a, %b
  ret i32 %y"""
    assert hoisted(body) == ["mul br", "call br", "ret"]


def test_a_way_that_has_no_copy_is_not_made_longer() -> None:
    body = """
  br i1 %c, label %yes, label %no
yes:
  %x = mul i32 %a, %b
  call void @log(i32 %x)
  br label %no
no:
  br i1 %c, label %one, label %two
one:
  %y = mul i32 %a, %b
  ret i32 %y
two:
  ret i32 0"""
    assert hoisted(body) == ["br", "mul call br", "br", "mul ret", "ret"]


def test_it_rises_from_branch_to_branch() -> None:
    body = """
  br i1 %c, label %low, label %high
low:
  %d = icmp eq i32 %a, 0
  br i1 %d, label %one, label %two
one:
  %x1 = mul i32 %a, %b
  ret i32 %x1
two:
  %x2 = mul i32 %a, %b
  %y2 = add i32 %x2, 1
  ret i32 %y2
high:
  %x3 = mul i32 %a, %b
  %y3 = add i32 %x3, 2
  ret i32 %y3"""
    assert hoisted(body) == ["mul br", "icmp br", "ret", "add ret", "add ret"]


def test_what_is_free_rises_with_what_uses_it_or_by_itself() -> None:
    way = "  %g{n} = getelementptr i8, ptr %p, i32 {at}\n  {use}"
    load = "%x{n} = load i32, ptr %g{n}\n  call void @log(i32 %x{n})\n  store i32 {n}, ptr %q"
    store = "store i32 {n}, ptr %g{n}"
    for use, all_of_it, without in (
        (load, "getelementptr load call br", "getelementptr load call br"),
        (store, "getelementptr br", "br"),
    ):
        ways = [way.format(n=n, at=8, use=use.format(n=n)) for n in (1, 2)]
        for action, expected in (("hoist-common", all_of_it), ("hoist-common<no-free>", without)):
            blocks = operations(after(action, function(diamond(*ways))))
            assert blocks[0] == expected


def test_loads_and_stores_rise_past_what_does_not_touch_them() -> None:
    load = "  store i32 {0}, ptr %q\n  %x{0} = load i32, ptr %p\n  store i32 %x{0}, ptr %q"
    assert hoisted(diamond(load.format(1), load.format(2))) == [
        "load br",
        "store store br",
        "store store br",
        "ret",
    ]
    store = "  store i32 {0}, ptr %q\n  store i32 5, ptr %p"
    assert hoisted(diamond(store.format(1), store.format(2))) == ["store br", "store br", "store br", "ret"]


@pytest.mark.parametrize(
    "before",
    [
        "call void @log(i32 {n})",
        "store i32 {n}, ptr %p",
        'fence syncscope("singlethread") seq_cst\n  store i32 {n}, ptr %q',
        "%s{n} = load atomic i32, ptr @g acquire, align 4\n  call void @log(i32 %s{n})",
    ],
)
def test_loads_stay_behind_what_may_change_them(before: str) -> None:
    way = "  {before}\n  %x{n} = load i32, ptr %p\n  store i32 %x{n}, ptr %q"
    ways = [way.format(before=before.format(n=n), n=n) for n in (1, 2)]
    blocks = hoisted(diamond(*ways))
    assert "load" not in blocks[0]
    assert all("load store br" in block for block in blocks[1:3])


def test_what_may_trap_stays_behind_what_may_not_come_back() -> None:
    way = "  call void @log(i32 {n})\n  %x{n} = sdiv i32 %a, %b\n  store i32 %x{n}, ptr %q"
    assert hoisted(diamond(way.format(n=1), way.format(n=2)))[0] == "br"
    harmless = way.replace("sdiv", "mul")
    assert hoisted(diamond(harmless.format(n=1), harmless.format(n=2)))[0] == "mul br"


def test_a_loop_that_never_comes_there_has_no_copy() -> None:
    body = """
  br i1 %c, label %loop, label %no
loop:
  %d = load volatile i1, ptr %q
  br i1 %d, label %loop, label %yes
yes:
  %x = sdiv i32 %a, %b
  ret i32 %x
no:
  %y = sdiv i32 %a, %b
  %z = add i32 %y, 1
  ret i32 %z"""
    assert hoisted(body)[0] == "br"


def test_a_promise_that_one_copy_does_not_make_is_dropped() -> None:
    yes = "  %x = add nuw nsw i32 %a, 1\n  %y = load i32, ptr %p, align 8, !range !0\n  %z = add i32 %x, %y"
    no = "  %x2 = add nsw i32 %a, 1\n  %y2 = load i32, ptr %p, align 4\n  %z2 = sub i32 %x2, %y2"
    use = "\n  call void @log(i32 %{0})"
    text = function(diamond(yes + use.format("z"), no + use.format("z2"))) + "!0 = !{i32 0, i32 9}\n"
    lines = [line.strip() for line in after("hoist-common", text).splitlines()]
    assert [line for line in lines if "add nsw i32" in line or "load" in line] == [
        "%6 = add nsw i32 %1, 1",
        "%7 = load i32, ptr %3, align 4",
    ]


STORES = (
    "  %x{n} = {op} i32 %a, %b\n  store i32 %x{n}, ptr %p\n  store i32 7, ptr %q\n  call void @log(i32 %x{n})"
)


def test_what_both_ways_do_at_their_ends_is_done_after_them() -> None:
    ways = [STORES.format(n=n, op=op) for n, op in ((1, "mul"), (2, "sub"))]
    assert sunk(diamond(*ways)) == ["br", "mul br", "sub br", "phi store store call ret"]
    constants = "  store i32 3, ptr %p", "  store i32 7, ptr %p"
    assert sunk(diamond(*constants)) == [
        "br",
        "store br",
        "store br",
        "ret",
    ]  # two constants loaded, one store less


def test_the_order_may_differ_where_it_does_not_matter() -> None:
    yes = "  store i32 7, ptr %q\n  store i32 %a, ptr %p\n  %x = mul i32 %a, %b"
    no = "  %x2 = mul i32 %a, %b\n  store i32 %a, ptr %p\n  store i32 7, ptr %q"
    end = "  %r = phi i32 [ %x, %yes ], [ %x2, %no ]\n  ret i32 %r"
    text = " ".join(sunk(diamond(yes, no, end)))
    assert sorted(text.split()) == ["mul", "ret", "store", "store"] or text.count("store") == 2
    same_place = (
        "  store i32 7, ptr %p\n  store i32 %a, ptr %p",
        "  store i32 %a, ptr %p\n  store i32 7, ptr %p",
    )
    assert " ".join(sunk(diamond(*same_place))).count("store") == 4


def test_some_of_the_predecessors_share_a_new_block() -> None:
    body = """
  switch i32 %a, label %four [ i32 1, label %one
                               i32 2, label %two
                               i32 3, label %three ]
one:
  %x1 = mul i32 %b, 3
  store i32 %x1, ptr %p
  store i32 8, ptr %q
  call void @log(i32 9)
  br label %end
two:
  %x2 = mul i32 %b, 5
  store i32 %x2, ptr %p
  store i32 8, ptr %q
  call void @log(i32 9)
  br label %end
three:
  call void @effect()
  br label %end
four:
  %x4 = load i32, ptr %p
  br label %end
end:
  %r = phi i32 [ 1, %one ], [ 1, %two ], [ 3, %three ], [ %x4, %four ]
  ret i32 %r"""
    blocks = sunk(body)
    assert sum(block.count("store") for block in blocks) == 2
    assert sum(block.count("log") or block.count("call") for block in blocks) == 2


def test_ends_of_the_function_become_one() -> None:
    body = """
  br i1 %c, label %yes, label %no
yes:
  store i32 %a, ptr %p
  store i32 2, ptr %q
  call void @log(i32 3)
  ret i32 %a
no:
  store i32 %b, ptr %p
  store i32 2, ptr %q
  call void @log(i32 3)
  ret i32 %b"""
    text = " ".join(sunk(body))
    assert [text.count(word) for word in ("phi", "store", "call", "ret")] == [1, 2, 1, 1]


def test_equal_branches_become_one() -> None:
    way = "  %l{n} = load i32, ptr %q\n  %d{n} = icmp eq i32 %l{n}, 3\n  br i1 %d{n}, label %one, label %two"
    body = f"""
  br i1 %c, label %yes, label %no
yes:
  store i32 1, ptr %p
{way.format(n=1)}
no:
  call void @effect()
{way.format(n=2)}
one:
  ret i32 1
two:
  ret i32 2"""
    text = " ".join(sunk(body))
    assert [text.count(word) for word in ("load", "icmp", "ret")] == [1, 1, 2]


@pytest.mark.parametrize(
    "instruction",
    [
        'call void asm sideeffect "nop", ""()',
        "call void @log(i32 1) nomerge",
        "call void @log(i32 1) convergent",
        "store volatile i32 1, ptr %p",
        "store atomic i32 1, ptr %p release, align 4",
    ],
)
@pytest.mark.parametrize("action", ["hoist-common", "hoist-common<no-free>", "sink-common"])
def test_what_belongs_to_its_place_stays_there(action: str, instruction: str) -> None:
    way = f"  store i32 2, ptr %q\n  {instruction}"
    text = re.sub(r"ptr %[34]\b", "ptr", after(action, function(diamond(way, way))))
    kept = instruction.replace("ptr %p", "ptr").split(" nomerge")[0].split(" convergent")[0]
    assert text.count(f"  {kept}") == 2, text


@pytest.mark.parametrize("action", ["hoist-common", "hoist-common<no-free>", "sink-common"])
def test_control_that_is_special_stays_as_it_is(action: str) -> None:
    text = after(action, (DATA / "control.ll").read_text())
    words = ("musttail call", "invoke void", "callbr void", "va_arg", "lifetime.end.p0(ptr %2)", "resume")
    assert [text.count(word) for word in words] == [2] * len(words)
    assert text.count("indirectbr") == 1
    assert text.count("call void @abort()") == 1  # a dead end is as good as a return


def test_equal_switches_become_one_with_all_their_edges() -> None:
    text = after("sink-common", (DATA / "control.ll").read_text())
    switched = re.search(r"define i32 @switchsame.*?^}", text, re.DOTALL | re.MULTILINE)
    assert switched and switched.group().count("switch i32") == 1
    assert re.search(r"phi i32 \[ (%\d+), (%\d+) \], \[ \1, \2 \]", switched.group())


def test_a_slot_on_the_stack_does_not_become_one_of_two() -> None:
    # A phi of allocas would keep both from becoming values.
    yes, no = (f"  store i32 %a, ptr %s{n}\n  call void @effect()" for n in (1, 2))
    body = diamond(yes, no, "  %l = load i32, ptr %s1\n  ret i32 %l")
    text = after("sink-common", function("\n  %s1 = alloca i32\n  %s2 = alloca i32" + body))
    assert "phi ptr" not in text


DEBUG = """
define i32 @f(i1 %c, i32 %a, ptr %p) !dbg !4 {
  br i1 %c, label %yes, label %no, !dbg !10
yes:
  %x = mul i32 %a, 3, !dbg !11
    #dbg_value(i32 %x, !8, !DIExpression(), !11)
  %y = add i32 %x, %a, !dbg !11
  store i32 %y, ptr %p, !dbg !11
    #dbg_value(i32 %y, !8, !DIExpression(), !11)
  br label %end, !dbg !11
no:
  %x2 = mul i32 %a, 3, !dbg !12
    #dbg_value(i32 %x2, !8, !DIExpression(), !12)
  %y2 = add i32 %x2, %a, !dbg !12
  store i32 %y2, ptr %p, !dbg !12
    #dbg_value(i32 %y2, !8, !DIExpression(), !12)
  br label %end, !dbg !12
end:
  ret i32 0, !dbg !10
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, scopeLine: 1, unit: !0,
                            spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!8 = !DILocalVariable(name: "v", scope: !4, file: !1, line: 2, type: !7)
!10 = !DILocation(line: 2, scope: !4)
!11 = !DILocation(line: 3, scope: !4)
!12 = !DILocation(line: 4, scope: !4)
"""


def test_a_variable_is_not_said_to_be_what_is_not_there_yet() -> None:
    sunk_text = after("sink-common", DEBUG)
    assert operations(sunk_text)[-1] == "mul add store ret"
    records = re.findall(r"#dbg_value\(i32 (\S+),", sunk_text)
    assert set(records) <= {"poison", "undef"}
    hoisted_text = after("hoist-common", DEBUG)
    assert operations(hoisted_text)[0] == "mul add store br"
    assert set(re.findall(r"#dbg_value\(i32 (%\d+),", hoisted_text)) == {"%4", "%5"}


@pytest.mark.parametrize(("action", "line"), [("hoist-common", "mul"), ("sink-common", "store")])
def test_what_is_done_once_has_the_line_of_none_alone(action: str, line: str) -> None:
    text = after(action, DEBUG)
    match = re.search(rf"{line} i32 [^\n]*!dbg !(\d+)", text)
    assert match
    assert f"!{match.group(1)} = !DILocation(line: 0, scope:" in text


def check_random_program(seed: int, folder: Path) -> int:
    """Hoist and sink in a random program, other passes between; return how often that changed it."""
    rng = np.random.default_rng(seed)
    source = random_module(seed)
    module = open_session(source).module
    changes = 0
    for _ in range(4):
        for text in rng.permutation(["hoist-common", "hoist-common<no-free>", "sink-common"]):
            before = module.instruction_count()
            module.run(PIPELINES[text])
            module.verify()
            assert module.instruction_count() <= before
            changes += module.instruction_count() < before
        for text in rng.choice([*PIPELINES], size=2):
            module.run(PIPELINES[text])
    unchanged = _native.Module(source.content, source.name)
    assert printed(module, source, folder) == printed(unchanged, source, folder), seed
    return changes


def test_random_programs_print_what_they_did(tmp_path: Path) -> None:
    assert sum(check_random_program(seed, tmp_path) for seed in range(8)) > 8


@pytest.mark.slow
def test_five_hundred_random_programs_print_what_they_did(tmp_path: Path) -> None:
    assert sum(check_random_program(seed, tmp_path) for seed in range(100, 600)) > 500


DIGESTS = """
import pickle
import sys
from burnish.tasks.llvm_passes import TASK
trace = ["sroa<modify-cfg>", "hoist-common", "sink-common", "simplifycfg", "hoist-common", "sink-common"]
for source in pickle.load(sys.stdin.buffer):
    session = TASK.open(source)
    session.replay(trace)
    print(session.digest())
"""


def test_five_processes_do_the_same() -> None:
    programs = pickle.dumps([*map(program, FILES), *map(random_module, range(8))])
    command = [sys.executable, "-c", DIGESTS]
    runs = {subprocess.check_output(command, input=programs) for _ in range(5)}
    assert len(runs) == 1
    assert len(runs.pop().split()) == len(FILES) + 8


def test_at_one_function_the_others_are_left_alone() -> None:
    session = open_session(program("matrix.c"))
    before = session.identities()
    session.replay(["sroa<modify-cfg>"])
    middle = session.identities()
    for action in ("hoist-common", "sink-common"):
        assert session.legal("multiply")[session.index(action)]
        session.replay([f"multiply: {action}"])
    after_all = session.identities()
    assert before.keys() == after_all.keys()
    assert {name: value for name, value in after_all.items() if name != "multiply"} == {
        name: value for name, value in middle.items() if name != "multiply"
    }
