"""Kernels for C programs: an object file and its header."""

from __future__ import annotations

import re
from pathlib import PurePath

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.session import Session
from burnish.tasks.loop_nests.kernel import PASSES, Machine
from burnish.tasks.loop_nests.lowering import ALIGNMENT, KERNEL, lower
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.tree import Tree

C_TYPES = {"f32": "float", "f64": "double"}
C_WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof bool constexpr false nullptr static_assert thread_local true typeof class delete new
    operator private protected public template this throw try using virtual namespace and or not xor
    main scratch
    """.split()
)
"""Names that arguments and functions cannot have: keywords of C and C++, `main`, and the last argument."""


def emit_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .o file: a C function that is named after the program."""
    return session.object_code()


def emit_header(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .h file: the declaration of `emit_object`'s function."""
    text = session.observe("c_header")
    assert isinstance(text, str)
    return text.encode()


def write_object(tree: Tree, name: str, machine: Machine) -> bytes:
    """Return an object file with one function of a given name; see `write_header`.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    kernel = lower(tree, machine.vector_bytes).text
    kernel = kernel.replace(f"define void @{KERNEL}(", f"define internal void @{KERNEL}(", 1)
    return _native.compile_object(f"{kernel}\n{_entry(tree.nest, name)}", PASSES, machine.native)


def write_header(nest: Nest, tree: Tree, name: str, machine: Machine) -> str:
    """Return the header that declares the function in `write_object`'s file.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    kind = C_TYPES[nest.dtype]
    lowered = lower(tree, machine.vector_bytes)
    scratch_bytes = lowered.scratch_bytes + lowered.thread_bytes
    macro = name.upper()
    parameters = [f"const {kind} *{argument_name(nest, tensor)}" for tensor in nest.inputs]
    parameters += [f"{kind} *{argument_name(nest, tensor)}" for tensor in nest.outputs]
    sizes = "\n".join(
        f" *   {'const ' if tensor in nest.inputs else ''}{kind} "
        f"{argument_name(nest, tensor)}{''.join(f'[{size}]' for size in nest.shapes[tensor]) or '[1]'}"
        for tensor in (*nest.inputs, *nest.outputs)
    )
    extents = "\n".join(f"#define {macro}_EXTENT_{key} {size}" for key, size in nest.extents.items())
    statements = "\n".join(f" *   {statement}" for statement in nest.statements)
    return f"""\
/* Made by burnish for {machine.cpu}.
 *
{statements}
 *
 * Arrays are dense, in C order:
{sizes}
 * Outputs share no memory with other arguments; their previous values are ignored. `scratch` is
 * {macro}_SCRATCH_BYTES of memory at a multiple of {ALIGNMENT} bytes (NULL if that is 0), which other calls
 * must not use at the same time. Nothing else is shared: calls with other arguments may run on other threads.
 */
#ifndef {macro}_H
#define {macro}_H

{extents}
#define {macro}_SCRATCH_BYTES {scratch_bytes}

#ifdef __cplusplus
extern "C" {{
#endif

void {name}({", ".join([*parameters, "void *scratch"])});

#ifdef __cplusplus
}}
#endif

#endif
"""


def check_name(name: str) -> None:
    """Check that a name is valid for a C function.

    Raises:
        InputError: the name is not valid.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in C_WORDS or name == KERNEL:
        raise InputError(f"{name!r} is not a name of a C function; expected one such as 'matmul_128'")


def function_name(program: str) -> str:
    """Return the name of a program's C function, made from the name of its file or from its text."""
    words = "_".join(re.findall("[A-Za-z0-9]+", PurePath(program).stem))
    return words if re.match("[A-Za-z]", words) and words not in (*C_WORDS, KERNEL) else f"nest_{words}"


def argument_name(nest: Nest, tensor: str) -> str:
    """Return the name of a C argument: the tensor's name if it is valid in C, else `tensor_` and a number."""
    if re.fullmatch(r"[A-Za-z_]\w*", tensor, re.ASCII) and tensor not in C_WORDS:
        return tensor
    return f"tensor_{(*nest.inputs, *nest.outputs).index(tensor)}"


def _entry(nest: Nest, name: str) -> str:
    """Return the IR of the C function: it builds the kernel's array of pointers and runs it on one thread."""
    numbers = range(len(nest.inputs) + len(nest.outputs) + 1)
    values = [*(f"ptr %a{number}" for number in numbers), "ptr null", "i64 1"]
    lines = [f"%pointers = alloca [{len(values)} x ptr], align 8"]
    for number, value in enumerate(values):
        lines.append(f"%slot{number} = getelementptr ptr, ptr %pointers, i64 {number}")
        lines.append(f"store {value}, ptr %slot{number}, align 8")
    lines += [f"call void @{KERNEL}(ptr %pointers) noinline", "ret void"]
    body = "\n".join(f"  {line}" for line in lines)
    arguments = ", ".join(f"ptr %a{number}" for number in numbers)
    return f"define void @{name}({arguments}) nounwind {{\n{body}\n}}\n"
