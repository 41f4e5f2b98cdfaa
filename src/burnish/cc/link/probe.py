"""The units that a linker takes, and their order: the linker copies their sections to its output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish import _native
from burnish.cc.link.embedding import SECTION
from burnish.cc.link.inputs import LinkedFile
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.unit_records import ProgramUnit, decode_units
from burnish.cc.requests import KeptReference


def taken_units(
    job: LinkJob, files: Sequence[LinkedFile], folder: Path, deadline_seconds: float
) -> list[ProgramUnit]:
    """Return the units of the objects and archive members that a link takes, in the linker's order.

    Raises:
        KeptReference: the command does not link a second time, or its output does not show the units.
    """
    output = folder / "probe"
    inputs = {}
    for file in files:
        copy = folder / f"probed-{file.index}" / file.path.name
        copy.parent.mkdir()
        copy.write_bytes(file.included())
        inputs[file.index] = (copy,)
    job.changed(inputs, output).run(deadline_seconds)
    try:
        found = [one for one in _native.elf_sections(output.read_bytes()) if one.name == SECTION]
        units = [unit for section in found for unit in decode_units(section.content)]
    except (OSError, ValueError) as error:
        raise KeptReference(f"the linker does not report its inputs: {error}") from None
    finally:
        output.unlink(missing_ok=True)
        for (copy,) in inputs.values():
            copy.unlink()
    return units
