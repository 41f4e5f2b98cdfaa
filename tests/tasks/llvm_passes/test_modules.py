"""Modules: round trips, extraction, linking."""

from __future__ import annotations

import re

import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.programs import link_programs
from tests.sources import FILES, program

PING = b"""
define i32 @ping(i32 %n) {
  %r = call i32 @pong(i32 %n)
  ret i32 %r
}
declare i32 @pong(i32)
define i32 @main() {
  %r = call i32 @ping(i32 3)
  ret i32 %r
}
"""
PONG = b"""
@count = global i32 0
define i32 @pong(i32 %n) {
  %c = load i32, ptr @count
  %s = add i32 %c, %n
  store i32 %s, ptr @count
  ret i32 %s
}
define i32 @back(i32 %n) {
  %r = call i32 @ping(i32 %n)
  ret i32 %r
}
declare i32 @ping(i32)
"""

PREDECESSORS = re.compile(" *; preds = .*")  # in use-list order, which text does not keep


def ir(text: bytes, name: str = "part") -> Program:
    return Program(name, "llvm", text)


@pytest.mark.parametrize("name", FILES)
def test_bitcode_and_text_round_trips_keep_the_module(name: str) -> None:
    module = _native.Module(program(name).content, name)
    again = _native.Module(module.bitcode(), name)
    assert again.digest() == module.digest() == module.clone().digest()
    assert again.print() == module.print()
    read = _native.Module(module.print().encode(), name)
    assert PREDECESSORS.sub("", read.print()) == PREDECESSORS.sub("", module.print())
    assert read.structural_hash() == module.structural_hash()


@pytest.mark.parametrize("name", FILES)
def test_clone_is_independent(name: str) -> None:
    module = _native.Module(program(name).content)
    before = module.digest()
    clone = module.clone()
    clone.run("clang<Oz>")
    assert module.digest() == before != clone.digest()


@pytest.mark.parametrize("name", FILES)
def test_extracted_function_stands_alone(name: str) -> None:
    module = _native.Module(program(name).content)
    counts = dict(module.instruction_count_by_function())
    for function in module.functions:
        part = module.extract(function)
        assert part.functions == [function]
        assert part.instruction_count() == counts[function]
        part.verify()


def test_linked_modules_call_each_other() -> None:
    whole = _native.Module(link_programs([ir(PING), ir(PONG)]).content)
    assert set(whole.functions) == {"ping", "pong", "back", "main"}
    assert "declare" not in whole.print()
    whole.run("clang<O2>")
    assert whole.functions == ["main"]


def test_linking_gives_the_sum_of_the_parts() -> None:
    parts = [_native.Module(program(name).content) for name in ("hash_table.c", "strings.c", "matrix.c")]
    whole = _native.Module.link(parts)
    assert whole.instruction_count() == sum(part.instruction_count() for part in parts)
    assert [part.functions for part in parts] != [[]]
    assert sorted(whole.functions) == sorted(name for part in parts for name in part.functions)


def test_internalize_keeps_main_only_where_there_is_one() -> None:
    ping, pong = _native.Module(PING), _native.Module(PONG)
    inside = _native.Module.link([ping, pong], internalize=True).print()
    assert "define i32 @main" in inside and "define internal i32 @back" in inside
    assert "define i32 @back" in _native.Module.link([ping, pong], internalize=False).print()
    assert "define i32 @back" in _native.Module.link([pong], internalize=True).print()


def test_duplicate_symbol_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"'second'.*'ping'") as caught:
        link_programs([ir(PING, "first"), ir(PING, "second")])
    assert "\n" not in str(caught.value)
