"""Objects that are too small to gain anything: most of those that a configure script compiles."""

from __future__ import annotations

# Below these sizes a search gains a few bytes at most, and functions are aligned to 16. The launcher has the
# same numbers (native/launcher/main.cpp).
LEAST_TEXT_BYTES = 128
START_FILES_TEXT_BYTES = 384  # of the C library's and the compiler's start files; 294 with glibc 2.36


def too_small(text_bytes: int | None, *, program: bool = False) -> str | None:
    """Return why an object or a whole program stays as clang made it; None if it is large enough."""
    least = LEAST_TEXT_BYTES + (START_FILES_TEXT_BYTES if program else 0)
    if text_bytes is None or text_bytes >= least:
        return None
    # without the object's own size, so that equal reasons are equal texts
    what = "the whole program" if program else "the object"
    return f"{what} has less than {least} bytes of code: too few to gain"
