"""burnish cc, burnish c++: clang, with smaller objects."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cc import processes
from burnish.cc.command_key import Key
from burnish.cc.file_budget import DEFAULT, FileBudget
from burnish.cc.jobs import ClangJobs, make_plan
from burnish.cc.requests import (
    OBJECTIVES,
    STACK_LIMIT,
    Attempt,
    Compiled,
    DriverOptions,
    KeptReference,
    Optimizer,
    Request,
    default_memory,
)
from burnish.core.clock import PROCESSORS
from burnish.core.errors import BurnishError, InputError, UnknownName
from burnish.llvm.toolchain import find_tool

if TYPE_CHECKING:
    from burnish.cc.outcomes import Outcome

# Takes the options so far and a value; returns the options with that value.
Reader = Callable[[DriverOptions, str], DriverOptions]

HELP = """\
usage: burnish {name} [OPTION]... CLANG-ARGUMENT...

A drop-in compiler: {clang}, whose objects get burnish's passes where clang is told -Os or -Oz.
  make CC="burnish cc" CXX="burnish c++" CFLAGS=-Oz
No object is ever larger than clang's own; whatever burnish cannot make smaller stays as clang
made it. `burnish report` shows the bytes before and after, file by file.

burnish's options come first; what follows the first other argument (or --) is clang's:
  --objective NAME   loaded-bytes (default at -Os and -Oz: code, constants, data, unwind tables, relocations),
                     text-bytes or ir-instructions; given, it holds at every level, each against clang's own
                     result at that level
  --speed-limit P%   how much longer than clang's own the object may be expected to run, by static
                     frequencies or a profile, for fewer loaded bytes (default 5%), or none
  --stack-limit P%   how much more stack than with clang's own a call may take (default 50% for other
                     machines, none for this one), or none
  --ram-limit P%     how much more writable data there may be, or none (default)
  --budget BUDGET    for each file (default 3.7x, times what clang takes for it, all included): 2s of
                     processor time or '100 evaluations' of search (the latter finds the same on every
                     machine), or remembered: what --remember knows, and no search
  --build-budget 60s of search for the whole build instead, all files together: each gets its part by what
                     clang takes for it
  --search NAME      how to search: mixed (default), genetic, beam, ...
  --policy NAME      what guides it: shipped (default), none, or a file of burnish train
  --inline-policy F  a policy for llvm_inlining that answers LLVM's inliner where that pays
  --evict-policy F   a policy of evictions for LLVM's register allocator, in the functions where that pays
  --code-generation  searched (default): in long budgets, passes that functions skip and the order of register
                     allocation are searched, too, where burnish's back end writes what clang's does; or clang
  --remember FILE    the memory of earlier builds, or none: an unchanged file gets its object without a
                     search, a changed one gets what was found before, and a search begins with known
                     functions; an absolute path, as for --report (default, but for budgets in evaluations:
                     {memory}, which all builds share)
  --lock FILE        what burnish lock has written, and no search: the same objects on every machine (absolute
                     path)
  --seed N           of the search (default 0)
  --whole-program    one module of all units that a program or shared library is linked of, in the place of
                     their objects: compile and link with it; the budget is that of all its units, at the link
  --clang PATH       another clang, of LLVM 23 or older, in the place of burnish's own: it compiles first, and
                     its front end reads the sources; all code of burnish is by burnish's own back end
  --alone            leave no server: from the second file on, a Python that has imported everything waits
                     some seconds for the next one
  --report FILE      the build log (default ~/.local/state/burnish/cc.jsonl); give an absolute path to
                     builds that change directories
  --help             this text; burnish {name} -- --help shows clang's

CC=burnish-cc CXX=burnish-c++ is the same, and each command starts sooner.
CC="burnish-cc arm-none-eabi-gcc": a GNU compiler for another machine compiles first, and links; so does gcc,
and clang-14 is --clang clang-14. (The options of burnish, --whole-program too, come before the name.)
The C++ library, unless -stdlib=, -rtlib= or -unwindlib= name another: {libraries}.
"""


def default_optimizer(bitcode: bytes, request: Request) -> Attempt:
    """Search LLVM's passes; imported where it runs, since most calls of a compiler never need it."""
    from burnish.cc.optimizer import optimize

    return optimize(bitcode, request)


def main(arguments: list[str], *, cxx: bool, optimizer: Optimizer = default_optimizer) -> int:
    """Run `burnish cc` or, with `cxx`, `burnish c++`; return its exit code."""
    name, clang = ("c++", "clang++") if cxx else ("cc", "clang")
    try:
        options, rest = parse(arguments)
        if options is None:
            said = [word.partition("=")[2] for word in arguments if word.startswith("--libraries=")]
            libraries = (
                said[0] if said else "the system's libstdc++, or clang's own libc++ where there is none"
            )
            sys.stdout.write(
                HELP.format(name=name, clang=clang, libraries=libraries, memory=default_memory())
            )
            return 0
        return compile_and_improve(rest, options, cxx=cxx, optimizer=optimizer)
    except BurnishError as error:
        sys.stderr.write(f"burnish {name}: {error}\n")
        return 2


def compile_and_improve(
    arguments: Sequence[str], options: DriverOptions, *, cxx: bool, optimizer: Optimizer
) -> int:
    """Run clang, if the launcher has not, then make its objects smaller; return clang's exit code.

    If clang compiles nothing to an object, this process becomes clang and does not return. A signal that
    asks burnish to stop, or that ended clang, ends this process too.

    Raises:
        MissingTool: there is no clang.
        InputError: the user's clang is newer than burnish's LLVM.
    """
    options, key = remembering(options), Key(tuple(arguments), options, cxx)
    if options.compiled and _recalled(replace(key, options=options)):
        return 0
    compiler = options.gnu or options.clang or find_tool("clang++" if cxx else "clang")
    if options.direct:
        return _direct(compiler, replace(key, options=replace(options, direct=False)), optimizer)
    plan = make_plan(compiler, arguments) if not options.gnu else _gnu_plan(options, arguments)
    if plan and options.clang:
        _check_version(options.clang, plan.version)
    compiled, code = options.compiled, 0
    if not compiled and (
        plan is None
        or not (
            plan.compilations or plan.left_alone or plan.is_cross or (options.whole_program and plan.links)
        )
    ):
        processes.replace_by([compiler, *arguments])
    if options.stack_limit is None and plan and plan.is_for_another_machine:
        options = replace(options, stack_limit=STACK_LIMIT)
    if plan and plan.is_cross:
        return _cross(plan, key, options, optimizer)
    try:
        with processes.signals_raise():
            if plan and not compiled:
                before = {path: processes.stamp(path) for path in plan.outputs}
                start = PROCESSORS.now()
                code = processes.run([compiler, *arguments])
                ended = PROCESSORS.now()
                written = {path for path in before if processes.stamp(path) not in (None, before[path])}
                compiled = Compiled(ended - start, ended, frozenset(written))
            if plan and compiled and code == 0:
                _improve(plan, compiled, options, optimizer, key)
    except processes.Interrupted as interrupted:
        code = -interrupted.signum
    return code if code >= 0 else processes.die_of(-code)


def remembering(options: DriverOptions) -> DriverOptions:
    """Return the options, without the memory of all builds if it cannot be used."""
    if not options.memory:
        return options
    from burnish.cc.kept import checked  # most commands compile nothing

    return checked(options)


def _recalled(key: Key) -> bool:
    """Replace the object that clang wrote by an earlier build's, and log it; return whether there is one."""
    from burnish.cc.recalling import unchanged

    with contextlib.suppress(InputError, OSError):  # the object is searched, then
        if found := unchanged(key):
            outcome, output, compiler = found
            log_outcomes(compiler, key.options, [(outcome, output)])
            return True
    return False


def _direct(clang: Path, key: Key, optimizer: Optimizer) -> int:
    """Make an object by clang's front end and burnish's back end; return the exit code, or DECLINED."""
    import tempfile  # most commands do not need these

    from burnish.cc.direct import DECLINED, Direct

    found = None
    try:
        with (
            contextlib.suppress(KeptReference, BurnishError, OSError),
            tempfile.TemporaryDirectory(prefix="burnish-") as workspace,
            processes.signals_raise(),
        ):
            found = Direct(clang, key, optimizer, Path(workspace)).run()
    except processes.Interrupted as interrupted:
        return processes.die_of(interrupted.signum)
    if not found:
        return DECLINED
    outcome, output, compiler = found
    if outcome:
        log_outcomes(compiler, key.options, [(outcome, output)])
    return 0


def _cross(plan: ClangJobs, key: Key, options: DriverOptions, optimizer: Optimizer) -> int:
    """Run a command for another machine by burnish's own back end; return the exit code."""
    from burnish.cc import cross

    code = 0
    try:
        with processes.signals_raise():
            for found in cross.run(plan, key, options, optimizer):
                if isinstance(found, int):
                    code = code or found
                else:
                    _log(plan, options, [found])
    except processes.Interrupted as interrupted:
        code = -interrupted.signum
    return code if code >= 0 else processes.die_of(-code)


def _gnu_plan(options: DriverOptions, arguments: Sequence[str]) -> ClangJobs | None:
    """Return clang's jobs for a GNU compiler's command; None, and a line in the log, if clang has none."""
    from burnish.cc import gnu

    assert options.gnu
    try:
        clang = options.clang or find_tool("clang")
        return gnu.make_plan(options.gnu, clang, arguments, whole_program=options.whole_program)
    except KeptReference as why:
        plan = ClangJobs((), "", gnu=options.gnu.name)
        _log(plan, options, gnu.passed_through([str(options.gnu), *arguments], str(why)))
        return None


def _check_version(clang: Path, version: str) -> None:
    """Raise InputError if burnish's LLVM is too old for the bitcode of a clang."""
    from burnish._native import llvm_version

    own, major = llvm_version(), re.match(r"\d+", version)
    if major and int(major[0]) > int(own.partition(".")[0]):
        raise InputError(
            f"--clang {clang}: its version is {version}, and burnish reads bitcode up to LLVM {own}; "
            "name an older clang, or none"
        )


def _improve(
    plan: ClangJobs, compiled: Compiled, options: DriverOptions, optimizer: Optimizer, key: Key
) -> None:
    """Run the steps after clang, and log their outcomes; errors of the disk or the log are ignored."""
    import tempfile  # most commands do not need these

    from burnish.cc.outcomes import Build

    if options.whole_program:
        from burnish.cc.link.steps import outcomes_of
    else:
        from burnish.cc.objects import outcomes_of
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="burnish-") as workspace:
        build = Build(plan, compiled, options, optimizer, Path(workspace), key)
        _log(plan, options, outcomes_of(build))


def _log(plan: ClangJobs, options: DriverOptions, outcomes: Iterable[tuple[Outcome, Path]]) -> None:
    """Log the outcomes of a command as they come."""
    log_outcomes(plan.compiler, options, outcomes)


def log_outcomes(compiler: str, options: DriverOptions, outcomes: Iterable[tuple[Outcome, Path]]) -> None:
    """Log outcomes as they come; `compiler` is the one that made the first objects."""
    from burnish.cc import build_log

    for outcome, output in outcomes:
        record = outcome.record(output, compiler, options)
        with contextlib.suppress(OSError):
            build_log.append(options.log or build_log.default_log(), record)


def parse(
    arguments: list[str], more: Mapping[str, Reader] = {}, switches: Sequence[str] = ()
) -> tuple[DriverOptions | None, list[str]]:
    """Return burnish's options (None: --help) and clang's arguments.

    Another command than the compilers may have more options: those with a value have readers, and `switches`
    are not read here, only checked for misspellings.

    Raises:
        InputError: an option lacks a value, or has one that is not valid.
        UnknownName: clang's first argument would be a misspelled option of burnish.
    """
    readers = {**_OF_USERS, **_OF_THE_LAUNCHER, **more}
    options = DriverOptions()
    rest = list(arguments)
    while rest:
        name, equals, value = rest[0].partition("=")
        if name == "--help" and not equals:
            return None, []
        if rest[0] == "--":
            del rest[0]
            break
        if rest[0] in ("--launched", "--alone"):
            del rest[0]
            continue
        if rest[0] == "--direct":
            options = replace(options, direct=True)
            del rest[0]
            continue
        if rest[0] == "--whole-program":
            options = replace(options, whole_program=True)
            del rest[0]
            continue
        if name not in readers:
            if (near := meant(name, (*KNOWN, *more, *switches))) == name:
                raise InputError(f"{name} takes no value")
            if near:
                raise UnknownName(f"no option {name}; did you mean {near}? Options for clang come after --")
            break
        del rest[0]
        if not equals:
            if not rest:
                raise InputError(f"{name} needs a value: {name} VALUE or {name}=VALUE")
            value = rest.pop(0)
        options = readers[name](options, value)
        if name not in _OF_A_BUILD:
            options = replace(options, words=(*options.words, f"{name}={value}"))
    if options.lock:
        if options.memory:
            raise InputError("--lock and --remember: expected only one of them")
        return options, rest
    if options.remembers and not options.memory and options.budget.evaluations is None:
        options = replace(options, memory=default_memory())
    if options.budget.remembered and not options.memory:
        raise InputError("--budget remembered: expected a memory, not --remember none")
    if options.build_seconds is not None and options.budget != DEFAULT:
        raise InputError("--budget and --build-budget: expected only one of them")
    return options, rest


def _known(what: str, value: str, names: Collection[str]) -> str:
    """Return a name; raise UnknownName if it is not one of these."""
    if value not in names:
        raise UnknownName.among(what, value, names)
    return value


def _build_budget(options: DriverOptions, value: str) -> DriverOptions:
    seconds = FileBudget.parse(value, "--build-budget").seconds
    if seconds is None:
        raise InputError(f"--build-budget {value}: expected seconds or minutes for the whole build: 60s, 10m")
    return replace(options, build_seconds=seconds)


def _search(options: DriverOptions, value: str) -> DriverOptions:
    from burnish.search import SEARCHES  # late: a slow import

    return replace(options, search=_known("search", value, SEARCHES))


def _policy(options: DriverOptions, value: str) -> DriverOptions:
    from burnish.policies.find import check

    check(value)
    return replace(options, policy=str(Path(value).absolute()) if Path(value).is_file() else value)


def _inline_policy(options: DriverOptions, value: str) -> DriverOptions:
    from burnish.policies.find import path_of

    return replace(options, inline_policy=str(path_of(value).absolute()))


def _evict_policy(options: DriverOptions, value: str) -> DriverOptions:
    if not (file := Path(value)).is_file():
        raise InputError(
            f"--evict-policy {value}: no such file; burnish train regalloc-eviction-ppo makes one"
        )
    return replace(options, evict_policy=str(file.absolute()))


def _code_generation(options: DriverOptions, value: str) -> DriverOptions:
    chosen = _known("code generation", value, ("searched", "clang"))
    return replace(options, decides_code=chosen == "searched")


def _limit(value: str) -> float | None:
    from burnish.core.objective import parse_growth

    return parse_growth(value)


def _seed(options: DriverOptions, value: str) -> DriverOptions:
    if not value.isdecimal():
        raise InputError(f"--seed {value}: expected a whole number, 0 or more")
    return replace(options, seed=int(value))


def _remember(options: DriverOptions, value: str) -> DriverOptions:
    if value == "none":
        return replace(options, memory=None, remembers=False)
    if not (folder := Path(value).absolute().parent).is_dir():
        raise InputError(f"--remember {value}: its folder does not exist; make it first: mkdir -p {folder}")
    return replace(options, memory=Path(value).absolute(), remembers=True)


def _lock(options: DriverOptions, value: str) -> DriverOptions:
    from burnish.cc.lock import read_lock

    file = Path(value).absolute()
    read_lock(file)
    return replace(options, lock=file)


def _compiled(options: DriverOptions, value: str) -> DriverOptions:
    return replace(options, compiled=Compiled(float(value), 0.0, frozenset()))  # before this process began


def _written(options: DriverOptions, value: str) -> DriverOptions:
    assert options.compiled
    written = options.compiled.written | {Path(value)}
    return replace(options, compiled=replace(options.compiled, written=written))


def _report(options: DriverOptions, value: str) -> DriverOptions:
    file = Path(value)
    try:
        file.open("a").close()  # fail here, because later nothing may be printed
    except OSError as error:
        raise InputError(f"--report {value}: {error.strerror}; expected a file that can be written") from None
    return replace(options, log=file.absolute())


# Parsed by hand, not by argparse: clang must get all of its options unchanged, and importing argparse would
# take a tenth of the time of a small compilation.
_OF_USERS: dict[str, Reader] = {
    "--clang": lambda options, value: replace(options, clang=Path(value)),
    "--objective": lambda options, name: replace(options, objective=_known("objective", name, OBJECTIVES)),
    "--code-generation": _code_generation,
    "--speed-limit": lambda options, value: replace(options, speed_limit=_limit(value)),
    "--stack-limit": lambda options, value: replace(options, stack_limit=_limit(value) or math.inf),
    "--ram-limit": lambda options, value: replace(options, ram_limit=_limit(value)),
    "--budget": lambda options, value: replace(options, budget=FileBudget.parse(value)),
    "--build-budget": _build_budget,
    "--search": _search,
    "--policy": _policy,
    "--inline-policy": _inline_policy,
    "--evict-policy": _evict_policy,
    "--remember": _remember,
    "--lock": _lock,
    "--seed": _seed,
    "--report": _report,
}
_OF_THE_LAUNCHER: dict[str, Reader] = {  # native/launcher/main.cpp, words_of
    "--compiled": _compiled,
    "--written": _written,
    "--gnu": lambda options, value: replace(options, gnu=Path(value)),
    "--libraries": lambda options, _: options,  # for --help
    "--caller": lambda options, value: replace(options, caller=int(value)),
}
# Options that the key of an object does not have; see burnish.cc.command_key.
_OF_A_BUILD = (
    "--compiled",
    "--written",
    "--caller",
    "--libraries",
    "--report",
    "--remember",
    "--budget",
    "--build-budget",
)
KNOWN = (*_OF_USERS, "--whole-program", "--alone", "--help")
"""The options for users; native/launcher/misspelled.cpp has the same list."""


def meant(option: str, known: Iterable[str]) -> str:
    """Return the known option that a user misspelled; "" if the option is not near to any of them.

    A third of the letters may be wrong, missing, added or swapped with the next one. No long option of clang
    is as near to an option of burnish. native/launcher/misspelled.cpp has the same rule.

    Args:
        option: The user's option, with its dashes, without a value.
        known: burnish's options, with their dashes.
    """
    if not option.startswith("--"):
        return ""
    near = [(_edits(option, name), name) for name in known]
    near = [(edits, name) for edits, name in near if 3 * edits <= len(name) - len("--")]
    return min(near)[1] if near else ""


def _edits(one: str, other: str) -> int:
    """Return the minimum number of changed, added, removed or swapped letters: optimal string alignment."""
    before: list[int] = []
    last, row = before, list(range(len(other) + 1))
    for i, letter in enumerate(one):
        before, last, row = last, row, [i + 1]
        for j, wanted in enumerate(other):
            edits = min(last[j] + (letter != wanted), last[j + 1] + 1, row[j] + 1)
            if i and j and (letter, one[i - 1]) == (other[j - 1], wanted):
                edits = min(edits, before[j - 1] + 1)
            row.append(edits)
    return row[-1]
