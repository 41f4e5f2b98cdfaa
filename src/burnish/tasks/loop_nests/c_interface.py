"""Kernels for C programs: an object file and its header."""

from __future__ import annotations

from functools import partial

from burnish import _native
from burnish.tasks.loop_nests.kernel import PASSES
from burnish.tasks.loop_nests.lowering.lower import KERNEL, lower
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.tree import Tree
from burnish.tasks.tensors import c_interface
from burnish.tasks.tensors.arrays import ALIGNMENT
from burnish.tasks.tensors.c_interface import C_WORDS, NAME, Argument
from burnish.tasks.tensors.machine import Machine
from burnish.tasks.tensors.threads import POOL, object_with_threads

TAKEN = {*C_WORDS, KERNEL}  # names that functions cannot have
check_name = partial(c_interface.check_name, taken=TAKEN)
function_name = partial(c_interface.function_name, prefix="nest", taken=TAKEN)


def write_object(tree: Tree, name: str, machine: Machine) -> bytes:
    """Return an object file with one function of a given name; see `write_header`.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    lowered = lower(tree, machine.vector_bytes)
    kernel = lowered.text.replace(f"define void @{KERNEL}(", f"define internal void @{KERNEL}(", 1)
    threads = machine.threads if lowered.thread_bytes else 1
    code = _native.compile_object(f"{kernel}\n{_entry(tree.nest, name, threads)}", PASSES, machine.native)
    return object_with_threads(code) if threads > 1 else code


def write_header(nest: Nest, tree: Tree, name: str, machine: Machine) -> str:
    """Return the header that declares the function in `write_object`'s file.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    lowered = lower(tree, machine.vector_bytes)
    arguments = [
        Argument(argument_name(nest, tensor), nest.dtype, nest.shapes[tensor], tensor in nest.inputs)
        for tensor in (*nest.inputs, *nest.outputs)
    ]
    macros = [f"EXTENT_{iterator} {size}" for iterator, size in nest.extents.items()]
    note = (
        f"`scratch` is\n{name.upper()}_SCRATCH_BYTES of memory at a multiple of {ALIGNMENT} bytes"
        " (NULL if that is 0), which other calls\nmust not use at the same time. Nothing else is shared:"
        " calls with other arguments may run on other threads."
    )
    return c_interface.write_header(
        name,
        machine.cpu,
        arguments,
        note,
        statements=nest.statements,
        last=["void *scratch"],
        macros=[*macros, f"SCRATCH_BYTES {lowered.scratch_bytes + machine.threads * lowered.thread_bytes}"],
    )


def argument_name(nest: Nest, tensor: str) -> str:
    """Return the name of a C argument: the tensor's name if it is valid in C, else `tensor_` and a number."""
    if NAME.fullmatch(tensor) and tensor not in C_WORDS:
        return tensor
    return f"tensor_{(*nest.inputs, *nest.outputs).index(tensor)}"


def _entry(nest: Nest, name: str, threads: int) -> str:
    """Return the IR of the C function: it builds the kernel's array of pointers and runs it."""
    numbers = range(len(nest.inputs) + len(nest.outputs) + 1)
    pool = f"@{POOL}" if threads > 1 else "null"
    declared = f"declare void @{POOL}(ptr, ptr, i64, ptr, i64, i64)\n" if threads > 1 else ""
    values = [*(f"ptr %a{number}" for number in numbers), f"ptr {pool}", f"i64 {threads}"]
    lines = [f"%pointers = alloca [{len(values)} x ptr], align 8"]
    for number, value in enumerate(values):
        lines.append(f"%slot{number} = getelementptr ptr, ptr %pointers, i64 {number}")
        lines.append(f"store {value}, ptr %slot{number}, align 8")
    lines += [f"call void @{KERNEL}(ptr %pointers) noinline", "ret void"]
    body = "\n".join(f"  {line}" for line in lines)
    arguments = ", ".join(f"ptr %a{number}" for number in numbers)
    return f"{declared}define void @{name}({arguments}) nounwind {{\n{body}\n}}\n"
