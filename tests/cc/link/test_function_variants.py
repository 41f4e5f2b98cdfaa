"""Attributes of functions: each gets what makes it smallest, and the code of all does not grow too far."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.link import function_variants
from burnish.cc.link.function_variants import Choice, by_functions, choose
from burnish.llvm.modules.module import emit_described, run_pass
from burnish.llvm.modules.passes import ACTIONS
from burnish.llvm.toolchain import compile_to_bitcode
from tests.cc.requests import asking, request_of
from tests.loaded_code import loaded_code
from tests.sources import DATA, program


def choice(function: str, saved: int, grown: int, variant: str = "no-minsize") -> Choice:
    return Choice(function, (variant,), saved, grown)


def test_each_function_gets_what_saves_the_most() -> None:
    small, large = choice("f", 4, 0), choice("f", 9, 0, "no-jump-tables")
    other = choice("g", 2, -1)
    assert choose([small, large, other], 0) == [large, other]
    assert choose([large, small], 0) == [large]
    assert choose([], 5) == []


def test_what_grows_is_taken_by_what_it_saves_for_a_byte() -> None:
    free, good, poor = choice("a", 3, 0), choice("b", 40, 4), choice("c", 40, 20)
    assert choose([poor, good, free], 100) == [free, good, poor]
    assert choose([poor, good, free], 10) == [free, good]
    assert choose([poor, good, free], -5) == [free]
    assert choose([poor, choice("d", 1, -30)], 0) == [choice("d", 1, -30), poor]  # what shrinks makes room


@pytest.mark.parametrize("growth", [1.0, 1.05])
def test_the_module_is_smaller_and_within_the_limit(growth: float) -> None:
    bitcode = program("matrix.c").content
    request = replace(request_of("matrix.c"), code_growth=growth)
    before = after_level(bitcode)
    found = by_functions(before.bitcode(), request)
    old, new = (sizes(module) for module in (before, _native.Module(found.bitcode)))
    assert new.loaded_bytes <= old.loaded_bytes
    assert new.text_bytes + new.read_only_bytes <= growth * (old.text_bytes + old.read_only_bytes)
    assert by_functions(before.bitcode(), request) == found
    assert found.trace[:2] == ("clang<Oz>", "outline<call-cost=2>")


def test_what_makes_the_program_slower_than_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_variants, "PASSES_FIRST", ("reg2mem",))
    monkeypatch.setattr(function_variants, "VARIANTS", (("reg2mem",),))
    bitcode = after_level(program("matrix.c").content).bitcode()
    request = replace(request_of("matrix.c"), code_growth=9.0)
    assert by_functions(bitcode, request).trace[:2] == ("clang<Oz>", "reg2mem")
    assert by_functions(bitcode, asking(request, speed_limit=1.05)).trace == ("clang<Oz>",)


def test_its_trace_is_one_of_the_task(tmp_path: Path) -> None:
    """A search can begin with it: replayed, it gives the same module."""
    from burnish.core.program import Program
    from burnish.tasks.llvm_passes import LANGUAGE, TASK

    source = tmp_path / "calls.c"
    source.write_text(
        "int f(int), g(int, int);\n"
        "int h(int a, int b, int c) { int x = f(a), y = f(b), z = g(c, x); return g(x + y, z) * f(a + z); }\n"
    )
    bitcode = compile_to_bitcode(source)
    request = replace(request_of("calls.c"), code_growth=1.3)
    found = by_functions(after_level(bitcode).bitcode(), request)
    assert found.trace[2:]
    session = TASK.open(Program("calls.c", LANGUAGE, bitcode))
    session.replay(found.trace)
    assert session.observe("bitcode") == found.bitcode


@pytest.mark.parametrize("source", ["matrix.c", "strings.c", "dispatch.c"])
def test_debug_information_changes_nothing(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same is chosen, and every variant is tried without debug information."""
    tried: list[bool] = []

    def emit(module: _native.Module, level: str, cpu: str) -> _native.Generated:
        tried.append(module.has_debug_info)
        return emit_described(module, level, cpu)

    monkeypatch.setattr(function_variants, "emit_described", emit)
    request = replace(request_of(source), code_growth=1.05)
    plain, described = (
        by_functions(after_level(compile_to_bitcode(DATA / source, options)).bitcode(), request)
        for options in ((), ("-g",))
    )
    assert described.trace == plain.trace and len(plain.trace) > 1
    assert set(tried) == {False}
    one, other = (_native.Module(found.bitcode) for found in (plain, described))
    assert (one.has_debug_info, other.has_debug_info) == (False, True)
    assert loaded_code(one.emit_object("Oz")) == loaded_code(other.emit_object("Oz"))


def test_passes_run_last_at_the_functions_that_they_make_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    request, before = request_of("strings.c"), after_level(program("strings.c").content)
    found = by_functions(before.bitcode(), request)
    ran = {item for item in found.trace if item.partition(": ")[2] in function_variants.PASSES_LAST}
    assert ran == {"count_words: lower-switch", "text_number: lower-switch"}
    assert found.evaluations > 10  # code generations
    monkeypatch.setattr(function_variants, "PASSES_LAST", ())
    without = by_functions(before.bitcode(), request)
    one, other = (sizes(_native.Module(attempt.bitcode)) for attempt in (found, without))
    assert one.loaded_bytes < other.loaded_bytes


def test_passes_that_are_late_do_not_run() -> None:
    request = request_of("strings.c")
    late = replace(request, until=request.clock.now())
    found = by_functions(after_level(program("strings.c").content).bitcode(), late)
    assert not {item.partition(": ")[2] for item in found.trace} & set(function_variants.PASSES_LAST)


def test_the_machine_outliner_keeps_its_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function without minsize saves depends on the others, which share its outlined code."""
    monkeypatch.setattr(function_variants, "VARIANTS", (("no-minsize",),))
    monkeypatch.setattr(function_variants, "PASSES_LAST", ())
    tried: list[str] = []

    def run(module: _native.Module, action: int, site: str, level: str) -> bool:
        tried.append(ACTIONS[action])
        return run_pass(module, action, site, level)

    monkeypatch.setattr(function_variants, "run_pass", run)
    repeated = "".join(
        f"int f{i}(int *p) {{ p[1] = p[2] * 7; p[3] = p[4] * 9; p[5] = p[6] * 11; return p[7] + {i}; }}\n"
        for i in range(6)
    )
    for target, expected in ((("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"), False), ((), True)):
        module = after_level(compile_text(repeated, *target))
        tried.clear()
        by_functions(module.bitcode(), replace(request_of("repeated.c"), code_growth=9.0))
        assert ("no-minsize" in tried) is expected


def compile_text(text: str, *arguments: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.c")
        path.write_text(text)
        return compile_to_bitcode(path, arguments)


def after_level(bitcode: bytes) -> _native.Module:
    module = _native.Module(bitcode)
    module.set_level_attributes("Oz")
    module.honour_mandatory()
    module.run("clang<Oz>", "Oz")
    return module


def sizes(module: _native.Module) -> _native.Sizes:
    return _native.object_sizes(module.emit_object("Oz"), module.position_independent)
