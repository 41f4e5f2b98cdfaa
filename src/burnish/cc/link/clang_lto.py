"""clang's own link-time optimization of the same units, for comparison."""

from __future__ import annotations

from pathlib import Path

from burnish.cc import processes
from burnish.cc.jobs import ClangJob
from burnish.cc.link.inputs import linked_files
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.probe import taken_units
from burnish.cc.link.resolve import without_units
from burnish.cc.link.unit_records import ProgramUnit
from burnish.cc.linked import Linked, read_linked
from burnish.llvm.toolchain import find_tool


def link_by_clang_lto(job: LinkJob, folder: Path, deadline_seconds: float) -> Linked:
    """Link with lld as if all units of a link had been compiled with -flto at their own levels.

    Raises:
        KeptReference: the program does not link, or the linker takes no unit.
        InputError: the output is not a program.
    """
    files = linked_files(job.command)
    units = taken_units(job, files, folder, deadline_seconds)
    inputs = without_units(files, units, folder)
    objects = []
    for number, unit in enumerate(units):
        objects.append(folder / f"lto-{number}.o")
        source = objects[-1].with_suffix(".bc")
        source.write_bytes(unit.bitcode)
        processes.run_quietly(_prelink(unit, source, objects[-1]).command, deadline_seconds)
    output = folder / "by-clang-lto"
    words = {**inputs.words, inputs.first: (*objects, *inputs.words[inputs.first])}
    changed = job.changed(words, output).command[1:]
    LinkJob((str(find_tool("ld.lld")), *changed)).run(deadline_seconds)
    return read_linked(output)


def _prelink(unit: ProgramUnit, source: Path, output: Path) -> ClangJob:
    command = list(unit.job.silenced().command)
    at = command.index("-emit-obj")
    command[at : at + 1] = ["-flto=full", "-emit-llvm-bc"]
    language = len(command) - 1 - command[::-1].index("-x")
    return ClangJob((*command[:language], "-x", "ir", str(source))).with_output(output)
