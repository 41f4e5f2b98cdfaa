"""Observations: sizes of sections, bytes of code, counts of opcodes, and the text."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
from numpy.typing import NDArray

from burnish.core.listing import Listing, Section
from burnish.core.objective import Observation
from burnish.tasks.wasm_passes.sections import NAMES, body_sizes, sections

_LOADS = ("load", "store", "load8_s", "load8_u", "load16_s", "load16_u", "store8", "store16")
_LONG = ("load32_s", "load32_u", "store32", "extend_i32_s", "extend_i32_u", "extend32_s")
_WHOLE = """
    const eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u clz ctz popcnt add sub mul div_s div_u rem_s rem_u
    and or xor shl shr_s shr_u rotl rotr extend8_s extend16_s
    trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u
    trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u
""".split()
_REAL = """
    const load store eq ne lt gt le ge abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign
    convert_i32_s convert_i32_u convert_i64_s convert_i64_u
""".split()
OPCODES = (
    *"unreachable nop block loop if br br_if br_table return call call_indirect drop select".split(),
    *"local.get local.set local.tee global.get global.set".split(),
    *"memory.size memory.grow memory.copy memory.fill".split(),
    *(f"{kind}.{name}" for kind, name in product(("i32", "i64"), (*_LOADS, *_WHOLE))),
    *(f"i64.{name}" for name in _LONG),
    *(f"{kind}.{name}" for kind, name in product(("f32", "f64"), _REAL)),
    *"i32.wrap_i64 f32.demote_f64 f64.promote_f32 i32.reinterpret_f32 i64.reinterpret_f64".split(),
    *"f32.reinterpret_i32 f64.reinterpret_i64".split(),
    "other",
)
"""The instructions that compilers emit for C, and all others together."""

# What the text has in round brackets beside instructions.
_NO_INSTRUCTIONS = frozenset(
    "module type func param result local import export memory table elem data global mut tag then else do"
    " start field struct array rec sub ref offset".split()
)
_HEAD = re.compile(r"\(([a-z][\w.]*)")
_FUNCTION = re.compile(r' \(func \$("(?:[^"\\]|\\.)*"|\S+)')
COUNTED = ("functions", "largest body", "median body")

OBSERVATIONS: dict[str, Observation] = {
    item.name: item
    for item in (
        Observation(
            "features",
            "sizes of sections in bytes, number of functions, sizes of bodies; how often each byte is there",
            shape=(len(NAMES) + len(COUNTED) + 256,),
            columns=(*NAMES, *COUNTED, *(f"byte {i}" for i in range(256))),
        ),
        Observation("sections", "the bytes of each kind of section", shape=(len(NAMES),), columns=NAMES),
        Observation(
            "opcodes", "how often each instruction is in the module", shape=(len(OPCODES),), columns=OPCODES
        ),
        Observation("wat", "the module in its text form", kind="text"),
        Observation("wasm", "the module in its binary form, as it is written to a file", kind="bytes"),
    )
}


def section_sizes(content: bytes) -> NDArray[np.int64]:
    """Return the bytes of each kind of section: int64[len(NAMES)]."""
    sizes = dict.fromkeys(NAMES, 0)
    for section in sections(content):
        sizes[section.kind] += section.size
    return np.array([*sizes.values()], dtype=np.int64)


def features(content: bytes) -> NDArray[np.int64]:
    """Return the default observation of a module: see OBSERVATIONS."""
    bodies = body_sizes(content) or [0]
    counted = [len(bodies), max(bodies), int(np.median(bodies))]
    code = [content[section.begin : section.end] for section in sections(content) if section.kind == "code"]
    seen = np.bincount(np.frombuffer(b"".join(code), dtype=np.uint8), minlength=256)
    return np.concatenate([section_sizes(content), counted, seen]).astype(np.int64)


def opcode_counts(text: str) -> NDArray[np.int64]:
    """Return the counts of OPCODES in a module's text: int64[len(OPCODES)]."""
    counts = Counter(_HEAD.findall(text))
    known = [counts[name] for name in OPCODES[:-1]]
    others = sum(count for name, count in counts.items() if name not in _NO_INSTRUCTIONS) - sum(known)
    return np.array([*known, others], dtype=np.int64)


def functions_of_text(text: str, details: bool) -> list[Section]:
    """Split a module's text into its functions; the rest comes first."""
    rest: list[str] = []
    found: list[Section] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not (name := _FUNCTION.match(line)):
            rest.append(line)
            continue
        body = [line]
        while not line.startswith(" )") and not (len(body) == 1 and line.count("(") == line.count(")")):
            line = next(lines)
            body.append(line)
        found.append(Section(name[1], name[1], tuple(body)))
    return [Section("", "types, memory and data", tuple(rest)), *found]


LISTING = Listing("wat", functions_of_text, label="text")
