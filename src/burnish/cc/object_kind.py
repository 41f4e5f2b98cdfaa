"""Kinds of objects: the options of a command that reach the back end, without its files and definitions.

Burnish's back end makes clang's objects of one kind, or it does not. Tests have compared both for the usual
options; the memory knows further kinds for which a search has compared them. See burnish.cc.direct.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from burnish import __version__
from burnish.cc.command_key import digest
from burnish.cc.jobs import ClangJob
from burnish.cc.refusals import SIZE_LEVELS

# The compiler, the languages and all words but these with which tests have compared the objects.
COMPARED, COMPARED_LANGUAGES = "clang 23.1.4", frozenset({"c", "c++"})
_UNCOMPARED = re.compile(r"-m(?!64$|(arch|tune)=|no-red-zone$|sse[\w.]*$|avx[\w.]*$|cmodel=small$).*")

# Patterns of whole words. The first ones have their value in the next word.
_WITH_VALUE = re.compile(r"-[IDUo]|-isystem|-iquote|-idirafter|-include|-imacros|-M[FTQ]")
_OF_FRONT_END = re.compile(
    r"-[IDUo].+|-isystem.+|-iquote.+|-M[FTQ].+|-MM?D|-MP|-c|-w|-W(?!frame-larger-than|[apl],).*"
    r"|-pedantic(-errors)?|-ansi|-std=.+|-pipe|-pthread|-nostdinc(\+\+)?|-(std|rt|unwind)lib=.+"
    r"|-f(no-)?(color|caret)-diagnostics|-fdiagnostics-color(=.+)?|--(start|end)-no-unused-arguments"
    r"|-f(macro|file|debug)-prefix-map=.+"
)
_OF_BACK_END = re.compile(
    r"-O.|-m(?!llvm|mlir|link|fentry|relax-all)[a-z0-9.-]+(=[\w.+-]+)?"
    r"|-f(no-)?(PIC|PIE|aligned-allocation|addrsig|assume-sane-operator-new|asynchronous-unwind-tables"
    r"|builtin(-\w+)?|char8_t|common|data-sections|delete-null-pointer-checks|exceptions|fast-math|freestanding"
    r"|function-sections|hosted|ident|inline|inline-functions|jump-tables|math-errno|merge-all-constants"
    r"|omit-frame-pointer|optimize-sibling-calls|pic|pie|plt|rtti|semantic-interposition|short-enums"
    r"|short-wchar|signed-char|sized-deallocation|stack-clash-protection|stack-protector(-strong|-all)?"
    r"|strict-aliasing|strict-enums|strict-overflow|strict-vtable-pointers|threadsafe-statics|trapping-math"
    r"|unique-section-names|unsigned-char|unwind-tables|use-cxa-atexit|visibility-inlines-hidden|wrapv"
    r"|zero-initialized-in-bss)|-g(\d|gdb\d?|dwarf(-\d)?)?|-fvisibility=\w+|-ftls-model=[\w-]+|-ffp-contract=\w+|-fcf-protection(=\w+)?|-fstrict-flex-arrays=\d"
)


class PlainCommand(NamedTuple):
    """The arguments of a command that has only words of this module."""

    kind: tuple[str, ...]  # the words that reach the back end
    inputs: tuple[str, ...]


def plain_command(arguments: Sequence[str]) -> PlainCommand | None:
    """Sort the words of a command for one object; None if there is one that this module does not know."""
    kind, inputs, words = [], [], iter(arguments)
    for word in words:
        if _WITH_VALUE.fullmatch(word):
            next(words, None)
        elif _OF_BACK_END.fullmatch(word):
            kind.append(word)
        elif not word.startswith("-"):
            inputs.append(word)
        elif not _OF_FRONT_END.fullmatch(word):
            return None
    return PlainCommand(tuple(kind), tuple(inputs))


def was_compared(kind: tuple[str, ...], job: ClangJob, compiler: str) -> bool:
    """Return whether tests have shown that burnish's back end makes the compiler's objects of a kind."""
    return (
        compiler == COMPARED
        and (job.value("-triple") or "").startswith("x86_64-")
        and job.language in COMPARED_LANGUAGES
        and job.level in SIZE_LEVELS
        and not any(map(_UNCOMPARED.fullmatch, kind))
    )


def kind_key(kind: tuple[str, ...], job: ClangJob, compiler: str) -> str:
    """Return the key of a kind in the memory, for the compiler with its version."""
    return digest(repr((__version__, compiler, job.value("-triple"), job.language, kind)).encode())
