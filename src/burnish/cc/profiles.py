"""Profiles of earlier runs that a compilation is told to use: their counts in its module before any search.

clang's front end reads the profiles of its own counters (-fprofile-instr-generate). Those of LLVM's counters
(-fprofile-generate) and of samples are read by a pass within clang's pipeline, so burnish runs the pipeline
up to that pass (native/counts.h). The module after it is the start of each search, and the rest of the
pipeline leads to clang's own result.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from burnish.cc.jobs import ClangJob

# With a profile these levels imply an objective: cold functions become smaller, all others stay clang's.
SPEED_LEVELS = frozenset({"O1", "O2", "O3", "Ofast"})

Kind = Literal["clang", "llvm", "samples"]

_KIND, _PATH = "-fprofile-instrument-use=", "-fprofile-instrument-use-path="
_SAMPLES = "-fprofile-sample-use="
_DISCRIMINATORS, _INFERS = "-fdebug-info-for-profiling", "-sample-profile-use-profi"


@dataclass(frozen=True)
class Profile:
    """A profile that a compilation uses."""

    kind: Kind  # clang: of counters of the front end; llvm: of counters of LLVM's passes
    path: Path
    discriminators: bool = False  # -fdebug-info-for-profiling
    infers: bool = False  # -mllvm -sample-profile-use-profi: counts of blocks without samples

    def counted(self, bitcode: bytes, level: str) -> bytes:
        """Return the front end's module with the profile's counts; loads LLVM.

        `level` is that of the passes: "O1" ... "O3", "Os" or "Oz".

        Raises:
            burnish._native.FatalError: the profile cannot be read.
        """
        from burnish import _native

        if self.kind == "clang":
            return bitcode
        module = _native.Module(bitcode, "program")
        samples, path = self.kind == "samples", str(self.path)
        return module.with_counts(level, path, samples, self.discriminators, self.infers).bitcode()


def profile_of(job: ClangJob) -> Profile | None:
    """Return the profile that a compilation uses, if it is of a kind that burnish takes."""
    return without_profile(job)[0]


def without_profile(job: ClangJob) -> tuple[Profile | None, ClangJob]:
    """Return the profile that a compilation uses, and the job without the profile's options.

    If burnish does not take a profile of that kind, the result is None and the whole job.
    """
    found = {
        name: word.removeprefix(name)
        for word in job.command
        for name in (_KIND, _PATH, _SAMPLES)
        if word.startswith(name)
    }
    kind: Kind
    match found:
        case {"-fprofile-instrument-use=": "clang" | "llvm" as of, "-fprofile-instrument-use-path=": path}:
            kind = "clang" if of == "clang" else "llvm"
        case {"-fprofile-sample-use=": path}:
            kind = "samples"
        case _:
            return None, job
    if len(found) != (1 if kind == "samples" else 2):
        return None, job
    folder = job.value("-working-directory") or ""
    discriminators = _DISCRIMINATORS in job.command and kind != "clang"
    infers = kind == "samples" and _INFERS in job.command
    taken = {_DISCRIMINATORS} if discriminators else set()
    words = [
        word for word in job.command if word not in taken and not word.startswith((_KIND, _PATH, _SAMPLES))
    ]
    if infers:
        at = words.index(_INFERS)
        del words[at - 1 : at + 1]
    return Profile(kind, Path(folder, path), discriminators, infers), ClangJob(tuple(words))
