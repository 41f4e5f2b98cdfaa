"""Programs inside their results: replaying then takes neither the source nor the same front end."""

from __future__ import annotations

import base64
import binascii
import lzma
from collections.abc import Mapping

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result

PROGRAM = ""  # the key of the program itself; the others are baselines whose code the front end makes anew


def bundled(program: Program, variants: Mapping[str, Program]) -> dict[str, str]:
    """Return what Result.bundle holds: contents, compressed (.xz) and in base64.

    Args:
        program: The result's.
        variants: The program as the front end makes it for a baseline, where that differs.
    """
    programs = {PROGRAM: program, **variants}
    return {
        name: base64.b64encode(lzma.compress(item.content, preset=6)).decode()
        for name, item in programs.items()
    }


def unbundled(result: Result, language: str, variant: str = PROGRAM) -> Program | None:
    """Return a result's own program, or a variant of it, without its runs; None where there is none.

    Raises:
        InputError: it is damaged.
    """
    text = result.bundle.get(variant)
    if text is None:
        return None
    try:
        content = lzma.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, lzma.LZMAError) as error:
        raise InputError(
            f"{result.program}: the program in the result is damaged: {error}; write it again with --bundle"
        ) from None
    return Program(result.program, language, content)
