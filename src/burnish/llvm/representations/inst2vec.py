"""Vectors of inst2vec (Ben-Nun et al. 2018, arXiv:1806.07336) for the texts of program graphs.

inst2vec embeds statements of LLVM with typed pointers: `<%ID> = load i32, i32* <%ID>, align 4`. Its files
are in the repository of its authors (spcl/ncc) and in the wheel of CompilerGym. Each statement becomes the
text of the node that the same instruction has here, `load i32`; a text gets the mean of its statements'
vectors. A text without a statement gets the mean of its opcode's. Variables and constants have no vectors,
since inst2vec embeds statements only, and neither have casts between types of pointers, which LLVM has no
more.
"""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.llvm.representations.vocabulary import FUNCTION, shipped_vocabulary

DICTIONARY: Final = "dictionary.pickle"  # numbers by statement
EMBEDDINGS: Final = "embeddings.pickle"  # float32[statements, D]
POINTER: Final = "ptr"
_PICKLED: Final = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}
"""The functions and classes that the two files need; a pickle could call any other one, too."""
_BINARY: Final = frozenset(
    "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split()
)
_CASTS: Final = frozenset(
    "zext sext trunc fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast".split()
)
_BY_FIRST_TYPE: Final = _BINARY | frozenset(
    "load store alloca getelementptr phi ret switch landingpad extractvalue insertvalue extractelement "
    "insertelement shufflevector".split()
)
_COMPARISON: Final = re.compile(
    r"(icmp|fcmp) (?:fast |nnan |ninf |nsz |arcp |contract |afn |reassoc )*(\w+) "
)
_GLOBAL: Final = re.compile(r"<@ID> = .*?\b(global|constant) ")
_CALL: Final = re.compile(r"(?:(?:tail|musttail|notail) )?(call|invoke) ")
_NAMED: Final = re.compile(r"(?:void|i\d+|half|float|double|x86_fp80|fp128|opaque|label|metadata|x86_mmx)\b")
_INTEGER: Final = re.compile(r"i(\d+)\b")
_WORDS: Final = re.compile(rf"(?:(?!{_NAMED.pattern})[a-z_]+(?:\([^()]*\))? )*")  # attributes, before a type
_SIZED: Final = re.compile(r"[<\[](\d+) x ")
_AFTER: Final = re.compile(r"\s*\*")
_CLOSING: Final = {"(": ")", "{": "}", "[": "]", "<": ">"}


class _Type(NamedTuple):
    text: str  # as in node texts
    end: int  # where the statement goes on


def token_vectors(folder: Path, texts: Sequence[str] | None = None) -> NDArray[np.float32]:
    """Return float32[len(texts), D]: the vectors of texts of nodes, 0 for those that have none.

    The default is the texts of the shipped vocabulary, in the order of their numbers.

    Raises:
        InputError: the folder does not have inst2vec's two files.
    """
    statements, vectors = _read(folder)
    by_text, by_opcode = defaultdict(list), defaultdict(list)
    for statement, number in statements.items():
        if text := node_text(statement):
            by_text[text].append(number)
            by_opcode[text.partition(" ")[0]].append(number)
    texts = shipped_vocabulary().texts if texts is None else texts
    found = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    for row, text in zip(found, texts, strict=True):
        if numbers := by_text.get(text) or by_opcode.get(text.partition(" ")[0]):
            row[:] = vectors[numbers].mean(axis=0)
    return found


def node_text(statement: str) -> str:
    """Return the text of the node of a statement of inst2vec; "" if its instruction exists no more."""
    if found := _GLOBAL.match(statement):
        return f"{found[1]} {_type(statement, found.end()).text}"
    text = statement.removeprefix("<%ID> = ")
    if text.startswith("define "):
        return FUNCTION
    if found := _CALL.match(text):
        returned = _type(text, _after_words(text, found.end()))
        indirect = "" if text[returned.end :].lstrip().startswith("<@ID>") else "indirect "
        return f"{found[1]} {indirect}{returned.text}"
    if found := _COMPARISON.match(text):
        return f"{found[1]} {found[2]} {_type(text, found.end()).text}"
    opcode = re.split(r"[\s,]", text, maxsplit=1)[0]
    if opcode in ("unreachable", "resume"):
        return opcode
    if opcode == "br":
        return "br" if text.startswith("br label") else "br i1"
    start = len(opcode) + 1
    if opcode == "select":
        condition = _type(text, start)
        return f"select {_type(text, text.find(', ', condition.end) + 2).text}"
    if opcode in _CASTS:
        source = _type(text, start)
        target = _type(text, text.rfind(" to ") + 4)
        same = source.text == target.text == POINTER
        return "" if same else f"{opcode} {source.text} to {target.text}"
    if opcode in _BY_FIRST_TYPE:
        return f"{opcode} {_type(text, _after_words(text, start)).text}"
    return ""


def _after_words(text: str, start: int) -> int:
    """Return the place of the type after flags, attributes and conventions."""
    words = _WORDS.match(text, start)
    return words.end() if words else start


def _type(text: str, start: int) -> _Type:
    """Read a type: pointers of all types are `ptr`, arrays have no length, structures no elements."""
    packed = text.startswith("<{", start)
    if packed or text.startswith("{", start):
        found = _Type("struct", _closed(text, start))
    elif sized := _SIZED.match(text, start):
        inner = _type(text, sized.end())
        if text[start] == "<":
            found = _Type(f"<{_size(sized[1], 64, 'n')} x {inner.text}>", inner.end + 1)
        else:
            found = _Type("[array]" if inner.text.startswith("[") else f"[{inner.text}]", inner.end + 1)
    elif integer := _INTEGER.match(text, start):
        found = _Type(f"i{_size(integer[1], 128, 'N')}", integer.end())
    elif named := _NAMED.match(text, start):
        found = _Type(named[0], named.end())
    else:
        raise InputError(f"{text!r:.200}: expected a type at {text[start : start + 20]!r}")
    end, pointer = found.end, False
    while True:
        if star := _AFTER.match(text, end):
            end, pointer = star.end(), True
        elif text.startswith(" (", end) and (after := _AFTER.match(text, _closed(text, end + 1))):
            end, pointer = after.end(), True  # a function's type
        else:
            return _Type(POINTER, end) if pointer else found


def _size(digits: str, most: int, otherwise: str) -> str:
    """Return a width or a length as node texts have it: a letter, unless it is a power of two."""
    return digits if int(digits).bit_count() == 1 and int(digits) <= most else otherwise


def _closed(text: str, start: int) -> int:
    """Return the place after the bracket that closes the one at `start`."""
    open_brackets = list[str]()
    for place in range(start, len(text)):
        if closing := _CLOSING.get(text[place]):
            open_brackets.append(closing)
        elif open_brackets and text[place] == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return place + 1
    raise InputError(f"{text!r:.200}: a bracket is not closed")


def _read(folder: Path) -> tuple[Mapping[str, int], NDArray[np.float32]]:
    """Read the two files."""
    try:
        statements, vectors = (_unpickled(folder / name) for name in (DICTIONARY, EMBEDDINGS))
        vectors = np.asarray(vectors, dtype=np.float32)
        if not all(isinstance(one, str) for one in statements) or vectors.ndim != 2:
            raise ValueError("not a dictionary of statements and a matrix")
        if not all(0 <= number < len(vectors) for number in statements.values()):
            raise ValueError("a statement's number is not a row of the matrix")
        return statements, vectors
    except (OSError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, EOFError) as error:
        raise InputError(
            f"{folder}: expected inst2vec's {DICTIONARY} and {EMBEDDINGS}, as CompilerGym has them: {error}"
        ) from None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which a table of vectors does not need")
        return super().find_class(module, name)


def _unpickled(path: Path) -> Any:
    with path.open("rb") as file:
        return _Unpickler(file).load()
