"""Costs are those of the written file, read by another reader, and of other tools."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from burnish.core.errors import NotMeasurable
from burnish.core.program import Program
from burnish.tasks.wasm_passes import TASK
from burnish.tasks.wasm_passes.observations import OPCODES, opcode_counts, section_sizes
from burnish.tasks.wasm_passes.sections import NAMES
from burnish.tasks.wasm_passes.session import WasmSession, open_program
from tests.tasks.wasm_passes.modules import compiled, constants, count

PROGRAMS = [count, constants, compiled]


def leb128(data: Iterator[int]) -> tuple[int, int]:
    """Read a number; return it and its length in bytes."""
    digits = []
    for byte in data:
        digits.append(byte % 128)
        if byte < 128:
            break
    return sum(digit * 128**place for place, digit in enumerate(digits)), len(digits)


def read(content: bytes) -> tuple[dict[int, int], list[int]]:
    """Return the sizes of sections by number, and those of functions' bodies with the number before each."""
    data = iter(content)
    sizes: dict[int, int] = {}
    bodies: list[int] = []
    assert bytes(next(data) for _ in range(8)) == b"\0asm\1\0\0\0"
    for kind in data:
        size, length = leb128(data)
        sizes[kind] = sizes.get(kind, 0) + 1 + length + size
        inside = iter([next(data) for _ in range(size)])
        if kind == 10:
            for _ in range(leb128(inside)[0]):
                body, length = leb128(inside)
                bodies.append(length + body)
                assert len([next(inside) for _ in range(body)]) == body
            assert not list(inside)
    return sizes, bodies


def after(program: Program, *trace: str) -> WasmSession:
    session = open_program(program)
    session.replay(trace)
    return session


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "trace", [(), ("default<Oz>",), ("inlining(always=16)", "reorder-functions-by-name")]
)
def test_costs_are_the_bytes_of_the_file(program: Callable[[], Program], trace: tuple[str, ...]) -> None:
    session = after(program(), *trace)
    content = session.object_code()
    sizes, bodies = read(content)
    assert session.measure("wasm-bytes") == len(content) == 8 + sum(sizes.values())
    assert sorted(session.site_costs("wasm-bytes").values()) == sorted(bodies)
    assert sizes[10] - sum(bodies) <= 6  # its number, its size, and the number of functions
    assert section_sizes(content).tolist() == [sizes.get(i, 0) for i in range(len(NAMES))]


def test_a_function_has_its_own_cost_wherever_it_stands() -> None:
    session = after(compiled(), "dce")
    before = session.site_costs("wasm-bytes")
    session.apply_entry("reorder-functions-by-name")
    assert set(before) == set(session.sites())
    # An index of a function is one byte in all of these calls, so bodies keep their sizes.
    assert session.site_costs("wasm-bytes") == before
    assert list(session.sites()) == sorted(session.sites(), key=lambda site: -before[site])


def test_an_action_at_a_function_changes_only_its_cost() -> None:
    session = after(compiled(), "default<Oz>")
    before = session.site_costs("wasm-bytes")
    site = session.sites()[0]
    session.apply_entry(f"{site}: flatten")
    now = session.site_costs("wasm-bytes")
    assert [name for name in before if now[name] != before[name]] == [site]


def test_compressed_costs_are_those_of_gzip_and_brotli() -> None:
    brotli = pytest.importorskip("brotli")
    session = after(compiled())
    content = session.object_code()
    assert session.measure("gzip-bytes") == len(gzip.compress(content, 9, mtime=0))
    assert session.measure("brotli-bytes") == len(brotli.compress(content, quality=11))
    assert session.site_costs("gzip-bytes") == {}


def test_fuel_is_the_same_in_each_run_and_less_after_inlining() -> None:
    session = after(compiled("O1"))
    fuel = session.measure("fuel")
    assert fuel == session.measure("fuel") > 1000
    session.replay(["inlining-optimizing(O3)", "default<O3>"])
    assert session.measure("fuel") < fuel


def test_fuel_needs_a_program() -> None:
    with pytest.raises(NotMeasurable, match="_start"):
        after(constants()).measure("fuel")


def test_opcodes_are_those_of_the_text() -> None:
    counts = dict(zip(OPCODES, opcode_counts(after(constants()).text()), strict=True))
    assert (counts["i32.store"], counts["i32.load"], counts["call"], counts["call_indirect"]) == (2, 1, 2, 1)
    assert counts["other"] == 0


def test_features_have_the_histogram_of_the_code() -> None:
    session = after(compiled())
    seen = session.observe("features")
    assert isinstance(seen, np.ndarray)
    sizes, bodies = read(session.object_code())
    named = dict(zip(TASK.observations["features"].columns, seen, strict=True))
    assert (named["functions"], named["largest body"]) == (len(bodies), max(bodies))
    assert seen[-256:].sum() == sizes[10] - 1 - len_of_leb128(sizes[10])


def len_of_leb128(size: int) -> int:
    """Return the bytes of the number before a section of this size, its kind included."""
    return next(length for length in range(1, 6) if size - 1 - length < 128**length)
