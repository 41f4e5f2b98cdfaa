"""Which objects are too small to gain anything: most of what a configure script compiles."""

from __future__ import annotations

# Below that a search finds a few bytes at most, and functions are aligned to 16. Launcher and driver agree on
# these (native/launcher/main.cpp).
LEAST_TEXT_BYTES = 128
START_FILES_TEXT_BYTES = 384  # of the C library and of the compiler, in every program; 294 with glibc 2.36


def too_small(text_bytes: int | None, *, program: bool = False) -> str | None:
    """Return why an object or a whole program is left as clang made it; None where it is large enough."""
    least = LEAST_TEXT_BYTES + (START_FILES_TEXT_BYTES if program else 0)
    if text_bytes is None or text_bytes >= least:
        return None
    # without the object's own number, so that equal reasons are equal texts
    what = "the whole program" if program else "the object"
    return f"{what} has less than {least} bytes of code: too few to gain"
