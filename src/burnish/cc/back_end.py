"""burnish's back end in place of clang's: with the same options, and only if it writes the same code."""

from __future__ import annotations

from burnish import _native
from burnish.cc.jobs import ClangJob

_NEVER = ("-mllvm", "-split-dwarf-file")
"""Options that change code generation for the whole process, or write more than the object."""

_LINES_ONLY = ("line-directives-only", "line-tables-only")


def back_end_of(job: ClangJob) -> _native.BackEnd | None:
    """Return the options of a `clang -cc1` line for the back end; None if burnish's cannot have them.

    Whether these options are complete is checked by comparing the objects of both for the same bitcode.
    """
    given = frozenset(job.command)
    if any(option in given for option in _NEVER):
        return None
    back_end = _native.BackEnd()
    back_end.level = job.level
    back_end.cpu = job.value("-target-cpu") or "x86-64"
    back_end.function_sections = "-ffunction-sections" in given
    back_end.data_sections = "-fdata-sections" in given
    back_end.unique_section_names = "-fno-unique-section-names" not in given
    back_end.address_significance = "-faddrsig" in given
    back_end.debugger = _text(job, "-debugger-tuning=")
    debug = _text(job, "-debug-info-kind=")
    back_end.call_site_info = debug not in ("", *_LINES_ONLY) and job.level != "O0"
    return back_end


def _text(job: ClangJob, option: str) -> str:
    """Return the text after the option's last appearance; "" if there is no such option."""
    found = [word.removeprefix(option) for word in job.command if word.startswith(option)]
    return found[-1] if found else ""
