"""The file of -fstack-usage, such as main.su, for objects by burnish's own back end.

LLVM writes the lines to a section of the object: STACK_USAGE in native/codegen.h. The objects of clang's own
back end have none, so they stay clang's with this option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from burnish.cc.jobs import ClangJob
from burnish.cc.linked import ELF
from burnish.files import write_atomically

OPTION = "-stack-usage-file"
_WITH_LINE = re.compile(r":\d+$")  # LLVM knows the place by debug information


def without_option(job: ClangJob) -> ClangJob:
    """Return a job without the option."""
    words = list(job.command)
    if OPTION in words:
        at = words.index(OPTION)
        del words[at : at + 2]
    return ClangJob(tuple(words))


def path_of(job: ClangJob) -> Path | None:
    """Return the file that the option names; None without the option."""
    name = job.value(OPTION)
    return Path(job.value("-working-directory") or "", name) if name else None


def write(job: ClangJob, code: bytes, places: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write a job's file for the object `code`, if it has the option.

    Functions that are not in `places` are placed by debug information, or in the source as a whole.

    Raises:
        OSError, InputError: the file cannot be written.
    """
    if not (path := path_of(job)) or not code.startswith(ELF):
        return
    from burnish import _native  # loads LLVM

    sections = _native.elf_sections(code)
    contents = [section.content for section in sections if section.name == _native.STACK_USAGE]
    if not contents:
        return
    lines = []
    for line in contents[0].decode(errors="surrogateescape").splitlines():
        function, _, usage = line.partition("\t")
        place, _, name = function.rpartition(":")
        default = place if _WITH_LINE.search(place) else job.source
        lines.append(f"{places.get(name, default)}:{name}\t{usage}\n")
    write_atomically(path, os.fsencode("".join(lines)))


def rewrite(job: ClangJob, code: bytes) -> None:
    """Write a job's file again for the object `code`; a function in the file keeps its place there.

    Raises:
        OSError, InputError: the file cannot be read or written.
    """
    write(job, code, _places_of(job))


def _places_of(job: ClangJob) -> dict[str, str]:
    """Return the place of each function, such as main.c:12:5, as another compiler wrote it to the file."""
    path = path_of(job)
    if not path or not path.exists():
        return {}
    text = path.read_bytes().decode(errors="surrogateescape")
    places = (line.partition("\t")[0].rpartition(":") for line in text.splitlines())
    return {name: place for place, _, name in places}
