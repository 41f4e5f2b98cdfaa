"""One link: from the linker's own program to a smaller one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.core.errors import BurnishError
from burnish.driver import shares
from burnish.driver.file_budget import FileBudget
from burnish.driver.improve import Deadlines, limits
from burnish.driver.linked import Linked, read_linked
from burnish.driver.outcomes import SYNONYMS
from burnish.driver.requests import (
    DEFAULT_OBJECTIVE,
    DriverOptions,
    Optimized,
    Optimizer,
    OptimizeRequest,
    Unimproved,
)
from burnish.driver.worth import too_small
from burnish.files import write_atomically
from burnish.whole_program import elf
from burnish.whole_program.admission import admitted
from burnish.whole_program.generate import generate, pattern
from burnish.whole_program.inputs import linked_files
from burnish.whole_program.link_job import LinkJob
from burnish.whole_program.module_candidates import candidates
from burnish.whole_program.probe import taken_units
from burnish.whole_program.resolve import Inputs, resolve, without_units
from burnish.whole_program.unit_records import ProgramUnit

# A search ends after so many evaluations without a gain: see burnish.driver.outcomes.
_LEAST_PATIENCE, _BYTES_OF_PATIENCE = 256, 16


@dataclass(frozen=True)
class Link:
    """What every step of one link needs."""

    job: LinkJob
    program: Path  # that the linker made of the objects
    options: DriverOptions
    optimizer: Optimizer
    workspace: Path
    linker_seconds: float  # that the linker took


@dataclass(frozen=True)
class LinkOutcome:
    """What became of a link."""

    before: Linked | None = None  # None: nobody looked at it
    after: Linked | None = None  # None: the linker's own program stands
    reason: str = ""  # why it does, or why there was no search
    units: int = 0  # in the module
    level: str = ""
    trace: tuple[str, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class _Merged:
    """The units of a link as one module."""

    bitcode: bytes
    units: tuple[ProgramUnit, ...]
    inputs: Inputs  # of the link, without them
    level: str
    waits: Deadlines


def improve_link(link: Link) -> LinkOutcome:
    """Replace the program by a smaller one, of one module."""
    start = time.monotonic()
    outcome = LinkOutcome()
    try:
        before = read_linked(link.program)
        outcome = replace(outcome, before=before)
        outcome = _improved(link, outcome, before)
    except (Unimproved, BurnishError, OSError) as why:
        outcome = replace(outcome, reason=str(why))
    except Exception as error:  # burnish's boundary to a build, which never fails because of it
        outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
    return replace(outcome, seconds=time.monotonic() - start)


def _improved(link: Link, outcome: LinkOutcome, before: Linked) -> LinkOutcome:
    if why := link.job.why_not or too_small(before.of_kind("code"), program=True):
        raise Unimproved(why)
    merged = _merged(link)
    outcome = replace(outcome, units=len(merged.units), level=merged.level)
    with _request(link, merged, before) as request:
        if request is None:
            raise Unimproved("the build's budget is used up")
        best, best_path = outcome, None
        every = candidates(merged.bitcode, request, link.optimizer, merged.waits, link.workspace)
        for number, found in enumerate(every):
            path = link.workspace / f"program-{number}"
            try:
                if isinstance(found, Unimproved):
                    raise found
                linked = _linked(link, merged, found, path)
            except (Unimproved, BurnishError) as why:
                best = replace(best, reason=str(why))
                continue
            best = replace(best, evaluations=found.evaluations)
            if linked.loaded_bytes < (best.after or before).loaded_bytes:
                best, best_path = replace(best, after=linked, trace=found.trace), path
    if not best_path:
        return replace(best, reason=best.reason or "nothing smaller was found")
    if link.job.has_side_files:
        _link_job(link, merged, best_path, side_files=True).run(merged.waits.step_seconds)
    write_atomically(link.program, best_path.read_bytes())
    return best


def _merged(link: Link) -> _Merged:
    """Make one module of what the linker took.

    Raises:
        Unimproved: there is too little of it, or it cannot be one.
    """
    step_seconds = limits(link.linker_seconds, 0.0).step_seconds
    files = linked_files(link.job.command)
    if not files:
        raise Unimproved("no object has a unit: they were made without --whole-program, or not for size")
    taken = taken_units(link.job, files, link.workspace, step_seconds)
    units = admitted(taken, link.workspace, step_seconds)
    if not units:
        raise Unimproved("the linker took no unit that can be part of a module")
    inputs = without_units(files, units, link.workspace)
    bitcode = resolve(link.job, inputs, units, link.workspace, step_seconds)
    seconds = sum(unit.seconds for unit in units)
    longest = link.options.build_seconds or link.options.budget.longest_seconds(seconds)
    levels = Counter(unit.job.level for unit in units)
    return _Merged(bitcode, tuple(units), inputs, levels.most_common(1)[0][0], limits(seconds, longest))


@contextmanager
def _request(link: Link, merged: _Merged, before: Linked) -> Iterator[OptimizeRequest | None]:
    """Yield what is asked of the optimizer; None where the build's budget is used up."""
    seconds = sum(unit.seconds for unit in merged.units)
    if link.options.build_seconds is None:
        yield _request_of(link, merged, link.options.budget, before)
        return
    with shares.share(link.options, seconds) as share:
        yield _request_of(link, merged, FileBudget(seconds=share), before) if share else None


def _request_of(link: Link, merged: _Merged, budget: FileBudget, before: Linked) -> OptimizeRequest:
    options = link.options
    seconds = sum(unit.seconds for unit in merged.units)
    return OptimizeRequest(
        name=link.program.name,
        objective=options.objective or DEFAULT_OBJECTIVE,
        speed_limit=options.speed_limit,
        level=SYNONYMS.get(merged.level, merged.level),
        budget_seconds=budget.seconds,
        seed=options.seed,
        search=options.search,
        policy=options.policy,
        memory=options.memory,
        evaluations=budget.evaluations,
        until=budget.until(seconds, time.monotonic()),
        remembered=budget.remembered,
        patience=max(_LEAST_PATIENCE, before.of_kind("code") // _BYTES_OF_PATIENCE),
    )


def _linked(link: Link, merged: _Merged, found: Optimized, path: Path) -> Linked:
    """Generate a module's code and link the program with it.

    Raises:
        Unimproved: that fails, or the program would be another one to its users.
    """
    job = pattern(merged.units, is_shared=link.job.is_shared)
    generate(job, found.bitcode, _module_of(path), merged.waits.step_seconds)
    _link_job(link, merged, path).run(merged.waits.step_seconds)
    _same_symbols(link.program, path)
    return read_linked(path)


def _link_job(link: Link, merged: _Merged, path: Path, *, side_files: bool = False) -> LinkJob:
    inputs = merged.inputs
    words = {**inputs.words, inputs.first: (_module_of(path), *inputs.words[inputs.first])}
    return link.job.changed(words, path, side_files=side_files)


def _module_of(path: Path) -> Path:
    return path.with_suffix(".o")


def _same_symbols(reference: Path, better: Path) -> None:
    """Raise Unimproved where others could miss something in a program, or find something new."""
    old, new = (path.read_bytes() for path in (reference, better))
    offered = [{one.name for one in elf.symbols(file, dynamic=True) if one.is_defined} for file in (old, new)]
    if change := offered[0] ^ offered[1]:
        raise Unimproved(f"the dynamic symbol {_name(change)} would not be as the linker defines it")
    defined = [{one.name for one in elf.symbols(file) if one.is_defined} for file in (old, new)]
    if defined[0] and (more := defined[1] - defined[0]):
        raise Unimproved(f"the symbol {_name(more)} would come from elsewhere")


def _name(names: set[bytes]) -> str:
    return repr(min(names).decode(errors="replace"))
