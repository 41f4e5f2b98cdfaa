"""An object of the build log, compiled again with other options and the same decisions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath

from burnish.cc.build_log import Record
from burnish.cc.improve import clang_bitcode, code_generation, front_end, in_groups
from burnish.cc.jobs import ClangJob, make_plan
from burnish.cc.outcomes import level_of_passes
from burnish.core.errors import BurnishError, InputError

# Takes the words of a clang -cc1 line, and returns the changed words.
Change = Callable[[tuple[str, ...]], tuple[str, ...]]


def remake(record: Record, change: Change, output: Path) -> None:
    """Compile a record's source with changed options to another object, with the same decisions of burnish.

    Raises:
        InputError: the source does not compile any more, or the passes do not apply to it.
    """
    job = ClangJob(change(compilation(record).command)).silenced()
    if record.action != "optimized":
        _run(job.with_output(output), record)
        return
    from burnish.cc.machine_code import Generated, repeat, split_code  # a slow import

    front, back = output.with_suffix(".front.bc"), output.with_suffix(".back.bc")
    _run(front_end(job, front), record)
    passes, code = split_code(record.trace)
    if passes:
        back.write_bytes(in_groups(_replayed(front.read_bytes(), record, passes)))
    else:
        _run(clang_bitcode(job, back), record)
    _run(code_generation(job, back, output), record)
    if code:
        generated = Generated(back.read_bytes(), front.read_bytes(), output.read_bytes(), job.command)
        output.write_bytes(repeat(generated, level_of_passes(record.level), code))


def compilation(record: Record) -> ClangJob:
    """Return the job that compiled a record's source; if its whole command was logged, ask clang for the job.

    Raises:
        InputError: an assembler made the object, or clang does not plan the job any more.
    """
    if not record.level:
        raise InputError(f"{record.source}: the output of an assembler is not compiled again")
    if record.command[1:2] == ("-cc1",):
        return ClangJob(record.command)
    clang, *arguments = record.command
    plan = make_plan(Path(clang), arguments, Path(record.directory))
    for job in plan.compilations if plan else ():
        if job.source == record.source:
            return job
    raise InputError(f"{record.source}: clang no longer accepts its command: build it again")


def _replayed(bitcode: bytes, record: Record, trace: tuple[str, ...]) -> bytes:
    from burnish.core.program import Program
    from burnish.tasks.llvm_inlining.inlined import open_answered, split_answers
    from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task
    from burnish.workers.sandbox import Sandbox

    options = Options(level=level_of_passes(record.level))
    answers, passes = split_answers(trace)
    opener = partial(open_answered, options=options, answers=answers) if answers else make_task(options).open
    session = Sandbox(opener, Program(PurePath(record.source).name, LANGUAGE, bitcode))
    try:
        session.replay(passes)
        session.verify()
        content = session.observe("bitcode")
    except BurnishError as error:
        raise InputError(f"{record.source}: its passes cannot be repeated: {error}") from None
    finally:
        session.shutdown()
    assert isinstance(content, bytes)
    return content


def _run(job: ClangJob, record: Record) -> None:
    done = subprocess.run(
        job.command,
        cwd=record.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = next(
            (line for line in done.stderr.splitlines() if "error:" in line), f"code {done.returncode}"
        )
        raise InputError(f"{record.source}: compiling it again fails: {said}")
