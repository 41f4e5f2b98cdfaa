"""C functions of tensors: their names, their headers, and the files that a command writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from burnish.core.errors import InputError
from burnish.core.session import Session

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
C_TYPES = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t"}
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


@dataclass(frozen=True)
class Argument:
    """An array that a C function takes: dense, in C order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_input: bool
    below: int | None = None  # if its elements are indices, they are from 0 to the one before this

    @property
    def kind(self) -> str:
        """The C type of the elements."""
        return f"{'const ' if self.is_input else ''}{C_TYPES[self.dtype]}"

    def __str__(self) -> str:
        indices = "" if self.below is None else f", indices from 0 to {self.below - 1}"
        return f"{self.kind} {self.name}{''.join(f'[{size}]' for size in self.shape) or '[1]'}{indices}"


def emit_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .o file: a C function that is named after the program."""
    return session.object_code()


def emit_header(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .h file: the declaration of `emit_object`'s function."""
    text = session.observe("c_header")
    assert isinstance(text, str)
    return text.encode()


def write_header(
    name: str,
    cpu: str,
    arguments: Sequence[Argument],
    note: str,
    *,
    statements: Sequence[object] = (),
    last: Sequence[str] = (),
    macros: Sequence[str] = (),
) -> str:
    """Return the header that declares a function.

    Args:
        name: The function's name.
        cpu: The CPU that the code is for, for the comment.
        arguments: The inputs, then the outputs.
        note: The end of the comment, after the sentence about outputs.
        statements: The statements that the function computes, for the comment.
        last: Declarations of further parameters.
        macros: The names and values of macros, without the function's name, which begins each.
    """
    begin = name.upper()
    outputs = "Outputs share no memory with other arguments; their previous values are ignored."
    comment = [
        f"Made by burnish for {cpu}.",
        "",
        *[f"  {statement}" for statement in statements],
        *[""] * bool(statements),
        "Arrays are dense, in C order:",
        *[f"  {argument}" for argument in arguments],
        *f"{outputs} {note}".splitlines(),
    ]
    text = "\n".join(f" * {line}".rstrip() for line in comment)
    defined = "".join(f"#define {begin}_{macro}\n" for macro in macros) + "\n" * bool(macros)
    included = "#include <stdint.h>\n\n" if any(one.dtype.startswith("i") for one in arguments) else ""
    parameters = [*(f"{one.kind} *{one.name}" for one in arguments), *last]
    return f"""\
/{text.removeprefix(" ")}
 */
#ifndef {begin}_H
#define {begin}_H

{included}{defined}#ifdef __cplusplus
extern "C" {{
#endif

void {name}({", ".join(parameters)});

#ifdef __cplusplus
}}
#endif

#endif
"""


def check_name(name: str, taken: Collection[str] = C_WORDS) -> None:
    """Check that a name is valid for a C function.

    Raises:
        InputError: the name is not valid, or is among those that are taken.
    """
    if not NAME.fullmatch(name) or name in taken:
        raise InputError(f"{name!r} is not a name of a C function; expected one such as 'matmul_128'")


def function_name(program: str, prefix: str, taken: Collection[str] = C_WORDS) -> str:
    """Return the name of a program's C function, made from the name of its file or from its text.

    Names that are not valid, or taken, begin with the prefix.
    """
    words = "_".join(re.findall("[A-Za-z0-9]+", PurePath(program).stem))
    return words if NAME.fullmatch(words) and words not in taken else f"{prefix}_{words}"
