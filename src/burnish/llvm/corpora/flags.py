"""Clang's -cc1 options of single modules: changed on request, and without those of one build alone.

Options are changed as in ml-compiler-opt (compiler_opt/rl/corpus.py): a name matches all that begin with it.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool

# Options of -cc1 about one file or one machine's folders; a module compiles without these. The first
# ones have their value in the next word, the second ones are texts with which an option begins.
BUILD_WITH_VALUE = frozenset(
    "-o -main-file-name -x -dumpdir -dependency-file -MT -header-include-file -split-dwarf-file "
    "-split-dwarf-output -serialize-diagnostic-file -stack-usage-file -opt-record-file -resource-dir "
    "-isysroot -internal-isystem -internal-externc-isystem -isystem -iquote -idirafter -include -include-pch "
    "-imacros -I -D -U".split()
)
BUILD = (
    *("-fdebug-compilation-dir=", "-fcoverage-compilation-dir="),
    *("-coverage-data-file=", "-coverage-notes-file=", "-fmodules-cache-path="),
    *("-fdebug-prefix-map=", "-fmacro-prefix-map=", "-ffile-prefix-map="),
    *("-fembed-bitcode", "-fthinlto-index=", "-sys-header-deps", "-I", "-D", "-U"),
)
EMBEDS = "-lto-embed-bitcode"
DASHED_VALUES = ("-mllvm", "-Xclang", "-target-feature")  # options whose value may begin with a dash


@dataclass(frozen=True)
class FlagChanges:
    """Changes to the options of every module; a name matches all options that begin with it.

    An option without '=' is changed together with the next word, if that is its value.
    """

    added: tuple[str, ...] = ()  # at the end
    deleted: tuple[str, ...] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)  # name -> new value


UNCHANGED = FlagChanges()


def changed_options(options: Iterable[str], changes: FlagChanges) -> Iterator[str]:
    """Yield options without the deleted ones, and with new values of the replaced ones."""
    words = [*options]
    while words:
        word = words.pop(0)
        name = next((name for name in changes.replaced if word.startswith(name)), None)
        deleted = word.startswith(changes.deleted or ("\0",))
        if not deleted and name is None:
            yield word
            continue
        has_value = "=" not in word and words and (word in DASHED_VALUES or not words[0].startswith("-"))
        if has_value:
            words.pop(0)
        if name is not None and not deleted:
            yield from (word, changes.replaced[name]) if has_value else (f"{name}={changes.replaced[name]}",)


def with_changes(options: Iterable[str], changes: FlagChanges) -> tuple[str, ...]:
    """Return changed options, the added ones last."""
    return (*changed_options(options, changes), *changes.added)


def without_build(options: Iterable[str]) -> Iterator[str]:
    """Yield -cc1 options without those that name files or folders of one build."""
    words = [*options]
    while words:
        word = words.pop(0)
        if word in BUILD_WITH_VALUE or (word == "-mllvm" and words[:1] and words[0].startswith(EMBEDS)):
            words[:1] = []
        elif word != "-" and not word.startswith(BUILD):
            yield word


def cc1_options(arguments: Sequence[str] = ("-Oz",)) -> tuple[str, ...]:
    """Return clang's -cc1 options for some driver arguments, without options of one build."""
    command = [str(find_tool("clang")), "-###", *arguments, "-c", "-x", "ir", "-", "-o", "module.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [words for line in done.stderr.splitlines() if '"-cc1"' in line for words in [shlex.split(line)]]
    if done.returncode or not lines:
        raise InputError(f"{shlex.join(arguments)}: clang rejects these options: {done.stderr.strip()}")
    return tuple(without_build(lines[0][1:]))
