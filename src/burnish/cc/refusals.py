"""Compilations and programs that burnish leaves to clang, and the reasons."""

from __future__ import annotations

import itertools

from burnish.cc.jobs import ClangJob
from burnish.cc.profiles import SPEED_LEVELS, without_profile

ASSEMBLY = "assembly has no passes to choose"  # the same text as in native/launcher/main.cpp
# "pcm" is a compiled C++ module
LANGUAGES = frozenset({"c", "c++", "cpp-output", "c++-cpp-output", "ir", "pcm"})
SIZE_LEVELS = frozenset({"Os", "Oz"})
KNOWN_LEVELS = frozenset({"O0", "O1", "O2", "O3", "Os", "Oz", "Og", "Ofast"})

# In smaller objects a search saves a few bytes at most, and functions are aligned to 16 bytes. The launcher
# uses the same numbers (native/launcher/main.cpp).
LEAST_TEXT_BYTES = 128
START_FILES_TEXT_BYTES = 384  # of the C library and of the compiler, in every program; 294 with glibc 2.36

# Options of clang -cc1 for its own passes (clang/lib/CodeGen/BackendUtil.cpp: RunOptimizationPipeline and its
# callbacks), and options that tie an object to one run of these passes. A final * matches any ending. Options
# of the front end, of function attributes and of the code generator are not here, because they also apply to
# burnish's objects.
_REFUSED = {
    "sanitizers are inserted by passes of clang's own": (
        "-fsanitize* -fexperimental-sanitize-metadata* -falloc-token*"
    ),
    "profiles of this kind are used by passes of clang's own": (
        "-fprofile-instrument-use* -fprofile-sample-use* -fprofile-remapping-file* -fmemory-profile* "
        "-fpseudo-probe-for-profiling -fdebug-info-for-profiling -fsample-profile-use-profi"
    ),
    "executions are counted by code that passes of clang's own insert": "-fprofile-*",
    "coverage counters are inserted by passes of clang's own": (
        "-fcoverage-mapping -fcoverage-mcdc -coverage-notes-file* -coverage-data-file*"
    ),
    "calls at function entry and exit are inserted by passes of clang's own": (
        "-finstrument-function* -pg -mfentry -fxray-*"
    ),
    "with link-time optimization the object is not final": (
        "-flto* -ffat-lto-objects -funified-lto -fthinlto-index* -fthin-link-bitcode* "
        "-fwhole-program-vtables -fvirtual-function-elimination -fembed-bitcode*"
    ),
    "plugins and options of other layers change passes in ways that burnish does not see": (
        "-mmlir -load -fpass-plugin* -plugin -add-plugin -plugin-arg-* -fenable-matrix -disable-llvm-passes "
        "-fclangir"
    ),
    "code is added between the front end and the passes": "-mlink-bitcode-file -mlink-builtin-bitcode*",
    "code for another device is embedded in the object": (
        "-fembed-offload-object* -foffload* -fopenmp-targets* -fopenmp-is-target-device "
        "-fopenmp-host-ir-file-path -fcuda-* -fgpu-* -fsycl-* -fopenacc"
    ),
    "modules of headers and their importers may share code": (
        "-fmodules -fmodules-codegen -fmodules-debuginfo -fmodule-map-file* -fimplicit-module-maps "
        "-fprebuilt-implicit-modules -building-pch-with-obj -fpch-codegen -fpch-debuginfo"
    ),
    "a second file describes clang's object": (
        "-split-dwarf-output -split-dwarf-file -stack-usage-file -opt-record-file -save-temps* "
        "-as-secure-log-file"
    ),
    "the option reports on clang's own passes": (
        "-Rpass* -ftime-trace* -ftime-report* -stats-file* -print-stats -fdebug-pass-manager -mdebug-pass "
        "-llvm-verify-each -fverify-debuginfo-preserve*"
    ),
    "burnish's passes may unroll loops": "-fno-unroll-loops",
}
REFUSED = {why: options.split() for why, options in _REFUSED.items()}

# Options of LLVM itself (-mllvm) that only the code generator reads, and clang's code generator gets them. A
# final * matches any ending. Any other option may be for a pass, and burnish's passes would not get it.
CODE_GENERATION = """
    -align-all-* -disable-block-placement -disable-branch-fold -disable-machine-* -disable-post-ra
    -disable-tail-duplicate -dwarf-* -emit-dwarf-* -enable-machine-outliner* -enable-misched
    -enable-post-misched -enable-shrink-wrap* -enable-tail-merge* -generate-arange-section
    -jump-table-density -machine-outliner-* -max-jump-table-size -min-jump-table-entries -misched*
    -no-stack-coloring -no-stack-slot-sharing -optsize-jump-table-density -regalloc* -split-spill-mode
    -tail-dup-* -tail-merge-* -verify-machineinstrs -x86-*
""".split()
NOT_CODE_GENERATION = "it may affect passes, too, and burnish's passes would ignore it"

# Options that the driver gives to cc1 at a level; if one is missing, the user gave the option on the right.
_VECTORIZE = {"-vectorize-loops": "-fno-vectorize", "-vectorize-slp": "-fno-slp-vectorize"}
_EXPECTED = {"Oz": ("-vectorize-slp",), **dict.fromkeys(("O2", "O3", "Os", "Ofast"), tuple(_VECTORIZE))}

_EXACT = {option: why for why, options in REFUSED.items() for option in options if not option.endswith("*")}
_PREFIXES = {
    option[:-1]: why for why, options in REFUSED.items() for option in options if option.endswith("*")
}


def refusal(
    job: ClangJob, *, every_level: bool, profiles: bool = False, for_speed: bool = False
) -> str | None:
    """Return why burnish leaves a compilation to clang; None if it does not.

    Args:
        job: The compilation.
        every_level: True if the user gave an objective, for all levels; else only -Os and -Oz imply one.
        profiles: True if a profile may be used.
        for_speed: True if with a profile the levels for speed imply an objective, too: for cold functions.
    """
    profile, rest = without_profile(job) if profiles else (None, job)
    if job.is_assembler and job.source.endswith((".s", ".S", ".sx")):
        return ASSEMBLY
    if job.is_assembler:
        return "clang makes the object in several steps"
    if job.makes_header:
        return "a precompiled header has no code"
    if job.language not in LANGUAGES:
        return f"the language is {job.language or 'unknown'}, not C or C++"
    if job.source == "-":
        return "the program was read from standard input"
    if job.level not in KNOWN_LEVELS:
        return f"-{job.level} is a level that burnish does not know"
    if profile and job.level == "O0":
        return "-O0: a profile has no effect on the object's size"
    implied = job.level in SIZE_LEVELS or (profile and for_speed and job.level in SPEED_LEVELS)
    if not (every_level or implied):
        return f"-{job.level}: no objective for speed yet; --objective loaded-bytes makes every level smaller"
    return refused_option(rest)


def too_small(text_bytes: int | None, *, program: bool = False) -> str | None:
    """Return why an object or a whole program stays as clang made it; None if it is large enough."""
    least = LEAST_TEXT_BYTES + (START_FILES_TEXT_BYTES if program else 0)
    if text_bytes is None or text_bytes >= least:
        return None
    # The text is without the object's own size, so that equal reasons have equal texts.
    what = "the whole program" if program else "the object"
    return f"{what} has less than {least} bytes of code: too few to gain"


def table() -> str:
    """Return the refused options and the reasons as a table in Markdown, for the documentation."""
    rows = {why: ", ".join(f"`{option}`" for option in options) for why, options in REFUSED.items()}
    program = "; at -Os and -Oz, `-flto` means a [whole program](whole_programs.md)"
    lines = [f"| {row} | {why}{program if 'link-time' in why else ''} |" for why, row in rows.items()]
    known = ", ".join(f"`{option}`" for option in CODE_GENERATION)
    lines.append(f"| `-mllvm OPTION`, but for {known} | {NOT_CODE_GENERATION} |")
    lines += [
        "| `-fno-vectorize`, `-fno-slp-vectorize` | burnish's passes may vectorize |",
        "| levels other than -Os and -Oz, without `--objective` and profile | no objective for speed yet |",
        "| languages other than C, C++ (preprocessed, modules) and LLVM IR | burnish was not tried on them |",
        f"| assembly | {ASSEMBLY} |",
        "| a source of a precompiled header | it has no code |",
        "| a program on standard input | it can be read only once |",
    ]
    return "\n".join(["| option of clang -cc1 | why the object stays clang's |", "|---|---|", *lines]) + "\n"


def refused_option(job: ClangJob) -> str | None:
    """Return the option for which a compilation needs clang's own passes, and why; else None."""
    missing = [option for option in _EXPECTED.get(job.level, ()) if option not in job.command]
    if missing:
        return f"{_VECTORIZE[missing[0]]}: burnish's passes may vectorize"
    for argument, value in itertools.pairwise([*job.command[2:], ""]):
        if argument == "-mllvm" and not _is_code_generation(value):
            return f"-mllvm {value.partition('=')[0]}: {NOT_CODE_GENERATION}"
        why = _EXACT.get(argument)
        if why is None and argument.startswith("-"):
            why = next((why for prefix, why in _PREFIXES.items() if argument.startswith(prefix)), None)
        if why:
            return f"{argument.partition('=')[0]}: {why}"
    return None


def _is_code_generation(option: str) -> bool:
    name = option.partition("=")[0]
    name = f"-{name.lstrip('-')}"
    return any(
        name.startswith(known[:-1]) if known.endswith("*") else name == known for known in CODE_GENERATION
    )
