"""Random programs: any number of valid LLVM modules, each from a seed, that run and print a checksum."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.llvm.corpora.building import FileGroup, Item, PackageJob, recipe_of
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.random_functions import SCALARS, Array, Body, Signature, write_function

PACKAGE = "random"
VERSION = 1  # increment it when a seed gives another program
PART_PROGRAMS = 64  # programs in one part of a build, which one process generates
SIZE = 1000  # approximate IR instructions of a program
STATEMENTS = 10  # approximate statements of a function
STATEMENT_INSTRUCTIONS = 27  # IR instructions of a statement, on average

HEAD = """source_filename = "random-{seed}"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

@format = private unnamed_addr constant [8 x i8] c"%016lx\\0A\\00"
"""
TAIL = """
declare i32 @printf(ptr, ...)
{declarations}
attributes #0 = {{ minsize nounwind optsize uwtable "no-trapping-math"="true" "target-cpu"="x86-64" }}
"""


def random_module(seed: int, size: int = SIZE) -> Program:
    """Return the random program of a seed, about `size` IR instructions; the same for the same seed and size.

    It has a `main` and a workload. Its output depends on `argc`, so that no pass can compute it. It has
    internal functions, loops, branches, switches, memory, integers, floats and vectors.
    """
    text = random_ir(seed, size)
    bitcode = _native.Module(text.encode(), f"random:{seed}").bitcode()
    name = f"random:{seed}" if size == SIZE else f"random:{seed}:{size}"
    return Program(name, "llvm", bitcode, Workload((Run("default"),), link_arguments=("-lm",)))


def random_ir(seed: int, size: int = SIZE) -> str:
    """Return the random program of a seed as LLVM IR text."""
    rng = random.Random(f"burnish {VERSION} {seed} {size}")
    arrays = []
    for number in range(rng.randint(2, 5)):
        element = rng.choice(("i32", "i32", "i64", "i8", "double"))
        arrays.append(Array(f"@data{number}", element, rng.choice((8, 16, 32, 64))))
    functions: list[Signature] = []
    texts = []
    count = max(1, round(size / (STATEMENTS * STATEMENT_INSTRUCTIONS)))
    most = max(2, min(3 * STATEMENTS // 2, size // STATEMENT_INSTRUCTIONS))
    for number in range(count):
        signature = _signature(rng, f"f{number}", arrays)
        known = [*arrays, replace(signature.array, pointer="%array")] if signature.array else list(arrays)
        body = Body(rng, signature, known, functions[-8:])
        texts.append(write_function(body, rng.randint(most // 3, most)))
        functions.append(replace(signature, steps=body.steps))
    parts = [HEAD.format(seed=seed), *(_definition(rng, array) for array in arrays), "", *texts]
    parts.append(_main(rng, functions, arrays))
    parts.append(TAIL.format(declarations=_declarations("\n".join(parts))))
    return "\n".join(parts)


def random_job(count: int, seed: int = 0, size: int = SIZE) -> PackageJob:
    """Plan a package of random programs with `count` consecutive seeds from `seed` on."""
    if count < 1:
        raise InputError(f"expected at least one random program, got {count}")
    seeds = [str(number) for number in range(seed, seed + count)]
    rows = functools.partial(_rows, size)
    parts = [
        FileGroup(seeds[start], tuple(seeds[start : start + PART_PROGRAMS]), rows)
        for start in range(0, count, PART_PROGRAMS)
    ]
    return PackageJob(PACKAGE, recipe_of(PACKAGE, VERSION, seed, count, size), tuple(parts))


def _rows(size: int, seeds: tuple[str, ...], _: Path) -> Iterator[list[Item]]:
    for seed in seeds:
        row = PackRow("", seed, "", "llvm", "compiled")
        yield [(row, random_module(int(seed), size).content)]


def _definition(rng: random.Random, array: Array) -> str:
    if array.element == "double":
        values = [f"double {rng.randint(-99, 99) / 4:.6e}" for _ in range(array.length)]
    else:
        values = [f"{array.element} {rng.randint(-100, 100)}" for _ in range(array.length)]
    kind = f"[{array.length} x {array.element}]"
    return f"{array.pointer} = internal global {kind} [{', '.join(values)}], align 16"


def _signature(rng: random.Random, name: str, arrays: list[Array]) -> Signature:
    parameters = tuple(rng.choice(SCALARS) for _ in range(rng.randint(1, 3)))
    return Signature(
        name, rng.choice(SCALARS), parameters, rng.choice(arrays) if rng.random() < 0.4 else None
    )


def _main(rng: random.Random, functions: list[Signature], arrays: list[Array]) -> str:
    """Return a `main` that calls every function once and prints a checksum of results and global arrays."""
    lines = ["  %wide = sext i32 %argc to i64"]
    total = "%wide"
    for number, function in enumerate(functions):
        lines += [f"  %a{number} = {_cast_integer('i64', total, 'i32')}"]
        words = []
        for index, kind in enumerate(function.parameters):
            name = f"%a{number}.{index}"
            lines.append(f"  {name} = {_from_i32(kind, f'%a{number}')}")
            words.append(f"{kind} {name}")
        if function.array:
            words.append(f"ptr {function.array.pointer}")
        lines.append(f"  %r{number} = call {function.result} @{function.name}({', '.join(words)})")
        bits, more = _to_bits(function.result, f"%r{number}", f"%b{number}")
        lines += [*more, *_mix(total, bits, f"%t{number}")]
        total = f"%t{number}"
    for number, array in enumerate(arrays):
        lines += _sum_of(array, number, total)
        total = f"%m{number}.total"
    lines += [f"  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 {total})", "  ret i32 0"]
    return "\n".join(["define i32 @main(i32 %argc, ptr %argv) #0 {", "entry:", *lines, "}"])


def _sum_of(array: Array, number: int, total: str) -> list[str]:
    """Return a loop that mixes the elements of an array into the checksum."""
    name, before = f"m{number}", "entry" if number == 0 else f"m{number - 1}.end"
    bits, more = _to_bits(array.element, f"%{name}.value", f"%{name}.bits")
    kind = f"[{array.length} x {array.element}]"
    return [
        f"  br label %{name}",
        f"{name}:",
        f"  %{name}.i = phi i64 [ 0, %{before} ], [ %{name}.next, %{name} ]",
        f"  %{name}.before = phi i64 [ {total}, %{before} ], [ %{name}.total, %{name} ]",
        f"  %{name}.at = getelementptr inbounds {kind}, ptr {array.pointer}, i64 0, i64 %{name}.i",
        f"  %{name}.value = load {array.element}, ptr %{name}.at",
        *more,
        *_mix(f"%{name}.before", bits, f"%{name}.total"),
        f"  %{name}.next = add i64 %{name}.i, 1",
        f"  %{name}.more = icmp ult i64 %{name}.next, {array.length}",
        f"  br i1 %{name}.more, label %{name}, label %{name}.end",
        f"{name}.end:",
    ]


def _mix(total: str, bits: str, name: str) -> list[str]:
    return [f"  {name}.x = xor i64 {total}, {bits}", f"  {name} = mul i64 {name}.x, 1099511628211"]


def _from_i32(kind: str, value: str) -> str:
    if kind in ("double", "float"):
        return f"sitofp i32 {value} to {kind}"
    return _cast_integer("i32", value, kind)


def _cast_integer(kind: str, value: str, wanted: str) -> str:
    have, want = int(kind[1:]), int(wanted[1:])
    if have == want:
        return f"add {kind} {value}, 0"
    return f"{'trunc' if have > want else 'sext'} {kind} {value} to {wanted}"


def _to_bits(kind: str, value: str, name: str) -> tuple[str, list[str]]:
    """Return the name of an i64 for a value, and its instructions; every NaN gives the same i64."""
    if kind not in ("double", "float"):
        return name, [f"  {name} = {_cast_integer(kind, value, 'i64')}"]
    lines = []
    if kind == "float":
        lines.append(f"  {name}.d = fpext float {value} to double")
        value = f"{name}.d"
    lines += [
        f"  {name}.nan = fcmp uno double {value}, 0.0",
        f"  {name}.one = select i1 {name}.nan, double 1.0, double {value}",
        f"  {name} = bitcast double {name}.one to i64",
    ]
    return name, lines


def _declarations(text: str) -> str:
    """Return declarations of the intrinsics that a text calls."""
    found = dict.fromkeys(re.findall(r"call (\S+|<4 x i32>) (@llvm\.[\w.]+)\(([^)]*)\)", text))
    lines = {}
    for result, name, arguments in found:
        words = (word.strip() for word in arguments.split(", "))
        kinds = ", ".join(word.rpartition(" ")[0].replace(" align 16", "") for word in words)
        lines[name] = f"declare {result} {name}({kinds})"
    return "\n".join(lines[name] for name in sorted(lines))
