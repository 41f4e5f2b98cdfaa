"""Programs inside their results, so that a replay needs neither the source nor the same front end."""

from __future__ import annotations

import base64
import binascii
import lzma
from collections.abc import Mapping

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result

PROGRAM = ""  # key of the program itself; other keys are baselines for which the front end makes another one


def bundled(program: Program, variants: Mapping[str, Program]) -> dict[str, str]:
    """Return the value of Result.bundle: contents, compressed (.xz) and in base64.

    Args:
        program: The result's program.
        variants: By baseline, the programs for baselines whose front end makes another one.
    """
    programs = {PROGRAM: program, **variants}
    return {
        name: base64.b64encode(lzma.compress(item.content, preset=6)).decode()
        for name, item in programs.items()
    }


def unbundled(result: Result, language: str, variant: str = PROGRAM) -> Program | None:
    """Return a result's own program, or its variant for a baseline, without runs; None if not in the bundle.

    Raises:
        InputError: the bundle is damaged.
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
