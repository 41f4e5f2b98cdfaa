"""Improving one object: front end, optimizer, code generation, and the comparison with clang's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.cc import processes
from burnish.cc.copies import GroupChange, change_of_groups
from burnish.cc.guard import guarded
from burnish.cc.jobs import ClangJob
from burnish.cc.requests import (
    Generated,
    KeptReference,
    MachineCode,
    Optimized,
    Optimizer,
    OptimizeRequest,
)

LOAD = 20  # times its processor time that a step may take by the wall

_GLOBAL, _WEAK = 1, 2  # bindings of symbols: STB_*


@dataclass(frozen=True)
class Deadlines:
    """How long a step may take by the wall: generous, since only what hangs shall meet it."""

    step_seconds: float
    search_seconds: float


@dataclass(frozen=True)
class ObjectSizes:
    """Bytes of an object in a linked, stripped program."""

    loaded_bytes: int  # code, constants, data, unwind tables and relocations
    text_bytes: int  # machine code
    constant_bytes: int  # machine code and read-only data, unwind tables not among it


@dataclass(frozen=True)
class Improved:
    """An object that is smaller than clang's."""

    object: Path
    sizes: ObjectSizes
    trace: tuple[str, ...]
    evaluations: int
    crashes: int  # of the compiler while it was searched
    saved_in_groups: Mapping[str, int] = field(default_factory=dict)  # see burnish.cc.copies


def limits(clang_seconds: float, search_seconds: float) -> Deadlines:
    """Return how long burnish waits, from the processor time of clang's command and of the search."""
    step = max(60.0, LOAD * clang_seconds)
    return Deadlines(step, step + LOAD * search_seconds)


def object_sizes(path: Path, job: ClangJob) -> ObjectSizes:
    """Return what an object of a job comes to in a linked program.

    Raises:
        ValueError: it is no object.
    """
    from burnish import _native

    sizes = _native.object_sizes(path.read_bytes(), job.position_independent)
    return ObjectSizes(sizes.loaded_bytes, sizes.text_bytes, sizes.text_bytes + sizes.read_only_bytes)


def improve(
    job: ClangJob,
    reference: Path,
    request: OptimizeRequest,
    optimizer: Optimizer,
    waits: Deadlines,
    workspace: Path,
) -> Improved:
    """Make a smaller object than `reference`, which clang made by the job.

    Smaller means strictly less of the objective. Whatever that is, no object loads more bytes than clang's,
    nor has more of them in code and read-only data together, which is what caches see at run time. Inline
    functions that it does without count as loaded, since a linker may keep another object's copies.

    Raises:
        KeptReference: clang's object is to stay; the message says why.
    """
    work = Work(job.silenced(), reference, waits, workspace)
    processes.run_quietly(front_end(work.job, work.front).command, waits.step_seconds)
    passes, code = request.divided() if request.code_share else (request, None)
    found = by_passes(work, passes, optimizer)
    if code:
        found = by_code_generation(work, code, found)
    try:
        after, groups = _smaller(work, found, request.objective)
    except KeptReference as why:
        raise KeptReference(str(why), found.evaluations, found.crashes) from None
    return Improved(work.better, after, found.trace, found.evaluations, found.crashes, groups.saved)


@dataclass(frozen=True)
class Work:
    """One compilation that is made again, and its files."""

    job: ClangJob  # silenced
    reference: Path  # clang's object
    waits: Deadlines
    workspace: Path

    @property
    def front(self) -> Path:
        """Bitcode before any pass."""
        return self.workspace / "front.bc"

    @property
    def back(self) -> Path:
        """Bitcode after the passes."""
        return self.workspace / "back.bc"

    @property
    def better(self) -> Path:
        """The object."""
        return self.workspace / "better.o"


@dataclass(frozen=True)
class Remade:
    """What is in a work's files."""

    trace: tuple[str, ...]
    evaluations: int
    why: str = ""  # it is clang's own
    run_time: Mapping[str, float] = field(default_factory=dict)  # see Optimized
    crashes: int = 0  # of the compiler


def _smaller(work: Work, found: Remade, objective: str) -> tuple[ObjectSizes, GroupChange]:
    """Return the sizes of what was found and its groups, compared with clang's object; see improve.

    Raises:
        KeptReference: clang's object is to stay. The counts of the search are in `found`.
    """
    if found.why:
        raise KeptReference(found.why)
    _same_symbols(work.reference, work.better)
    before, after = object_sizes(work.reference, work.job), object_sizes(work.better, work.job)
    if after.loaded_bytes > before.loaded_bytes:
        raise KeptReference("what was found loads more bytes")
    groups = change_of_groups(work.reference.read_bytes(), work.better.read_bytes())
    if after.loaded_bytes + groups.elsewhere > before.loaded_bytes:
        raise KeptReference("what was found loads more bytes beside objects with the same inline functions")
    if after.constant_bytes > before.constant_bytes:
        raise KeptReference("what was found has more bytes of code and read-only data")
    match objective:
        case "ir-instructions":
            _fewer_instructions(work)
        case "text-bytes" if after.text_bytes >= before.text_bytes:
            raise KeptReference("nothing smaller was found")
        case "loaded-bytes" if after.loaded_bytes == before.loaded_bytes:
            raise KeptReference("nothing smaller was found")
    return after, groups


def by_passes(work: Work, request: OptimizeRequest, optimizer: Optimizer) -> Remade:
    """Write the module after burnish's passes and clang's object of it; clang's own where none is smaller."""
    bitcode = work.front.read_bytes()
    forked = request.forked()
    try:
        found = guarded(
            lambda: _made(optimizer(bitcode, forked)),
            deadline_seconds=work.waits.search_seconds,
            workspace=work.workspace,
        )
    except KeptReference as error:
        return Remade((), error.evaluations, str(error), crashes=error.crashes)
    work.back.write_bytes(found.bitcode)
    try:
        processes.run_quietly(
            code_generation(work.job, work.back, work.better).command, work.waits.step_seconds
        )
    except KeptReference as error:
        return Remade((), found.evaluations, str(error), crashes=found.crashes)
    return Remade(found.trace, found.evaluations, run_time=found.run_time, crashes=found.crashes)


def by_code_generation(work: Work, request: OptimizeRequest, before: Remade) -> Remade:
    """Write a smaller object of the module, of clang's own where passes found none."""
    try:
        if before.why:
            processes.run_quietly(clang_bitcode(work.job, work.back).command, work.waits.step_seconds)
            work.better.write_bytes(work.reference.read_bytes())
        generated = Generated(
            work.back.read_bytes(),
            work.front.read_bytes(),
            work.better.read_bytes(),
            work.job.command,
            own=work.reference.read_bytes(),
            run_time=before.run_time,
        )
        forked = request.forked()
        code = guarded(
            lambda: machine_code(generated, forked),
            deadline_seconds=work.waits.search_seconds,
            workspace=work.workspace,
        )
    except KeptReference as error:
        why = f"{before.why}; {error}" if before.why else ""
        evaluations, crashes = before.evaluations + error.evaluations, before.crashes + error.crashes
        return replace(before, why=why, evaluations=evaluations, crashes=crashes)
    work.better.write_bytes(code.content)
    evaluations, crashes = before.evaluations + code.evaluations, before.crashes + code.crashes
    return Remade((*before.trace, *code.trace), evaluations, crashes=crashes)


def machine_code(generated: Generated, request: OptimizeRequest) -> MachineCode:
    """Decide the code of functions: burnish.cc.machine_code, which is imported in a guarded process."""
    from burnish.cc.machine_code import decide

    return decide(generated, request)


def front_end(job: ClangJob, output: Path) -> ClangJob:
    """Return the job that stops before the passes: source to bitcode.

    At -O0 clang forbids every later pass to touch a function (optnone); then there would be nothing to do.
    """
    no_passes = ["-disable-llvm-passes", *(["-disable-O0-optnone"] if job.level == "O0" else [])]
    return _instead(job, ["-emit-llvm-bc", "-emit-llvm-uselists"], output, no_passes)


def clang_bitcode(job: ClangJob, output: Path) -> ClangJob:
    """Return the job that stops after clang's own passes: source to bitcode."""
    return _instead(job, ["-emit-llvm-bc", "-emit-llvm-uselists"], output, [])


def code_generation(job: ClangJob, bitcode: Path, output: Path) -> ClangJob:
    """Return the job that starts after the passes: bitcode to object, by the options of the source's job."""
    made = _instead(job, ["-emit-obj"], output, ["-disable-llvm-passes"])
    # The verifier is for clang to leave out, which knows its own IR.
    command = [argument for argument in made.command if argument != "-disable-llvm-verifier"]
    language = len(command) - 1 - command[::-1].index("-x")
    return ClangJob((*command[:language], "-x", "ir", str(bitcode)))


def _instead(job: ClangJob, action: list[str], output: Path, more: list[str]) -> ClangJob:
    at = job.command.index("-emit-obj")
    return ClangJob((*job.command[:at], *action, *more, *job.command[at + 1 :])).with_output(output)


def _made(found: Optimized) -> Optimized:
    from burnish.cc.groups import in_groups  # in a guarded process, as all that loads LLVM

    if not isinstance(found, Optimized):
        raise TypeError(f"expected Optimized from the optimizer, got {type(found).__name__}")
    return replace(found, bitcode=in_groups(found.bitcode))


def offered_symbols(elf: bytes) -> frozenset[tuple[str, bool, int]]:
    """Return (name, weak, visibility) of what other objects may rely on in a little-endian ELF object.

    That is each definition that is not local, except weak ones in a COMDAT group: inline functions and
    templates, which every object that uses one brings along. (ELF specification, chapter 4.)

    Raises:
        ValueError: it is not such an object.
    """
    from burnish import _native

    return frozenset(
        (symbol.name, symbol.binding == _WEAK, symbol.visibility)
        for symbol in _native.elf_symbols(elf)
        if symbol.is_defined
        and (symbol.binding == _GLOBAL or (symbol.binding == _WEAK and symbol.group is None))
    )


def _same_symbols(reference: Path, better: Path) -> None:
    """Raise KeptReference where another object could miss something, or find something new."""
    change = offered_symbols(reference.read_bytes()) ^ offered_symbols(better.read_bytes())
    if change:
        name, _, _ = min(change)
        raise KeptReference(f"the symbol {name!r} would not be as clang defines it ({len(change)} such)")


def _fewer_instructions(work: Work) -> None:
    """Raise KeptReference where clang's own passes leave as few."""
    own = work.workspace / "clang.bc"
    processes.run_quietly(clang_bitcode(work.job, own).command, work.waits.step_seconds)

    def count() -> tuple[int, int]:
        from burnish import _native

        before, after = (_native.Module(path.read_bytes(), path.name) for path in (own, work.back))
        return before.instruction_count(), after.instruction_count()

    before, after = guarded(count, deadline_seconds=work.waits.step_seconds, workspace=work.workspace)
    if after >= before:
        raise KeptReference(f"nothing smaller was found: {after:,} IR instructions, clang's has {before:,}")
