"""A trace of an earlier build once more, on the same or a changed module."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath

from burnish.core.trace import Trace

BEGIN = "begin(llvm_codegen)"  # the entry of a trace after its passes


def split_code(trace: Trace) -> tuple[Trace, Trace]:
    """Return the entries of a trace for passes, and those for code generation."""
    at = trace.index(BEGIN) if BEGIN in trace else len(trace)
    return trace[:at], trace[at + 1 :]


def replayed(bitcode: bytes, name: str, level: str, trace: Trace, *, skip_illegal: bool = False) -> bytes:
    """Return a module's bitcode after the passes of a trace, which run in this process.

    Args:
        bitcode: The front end's module.
        name: Of its source, for messages.
        level: Of the passes.
        trace: Answers for the inliner, if any, and passes.
        skip_illegal: Skip entries that do not apply to this module.

    Raises:
        BurnishError: LLVM fails, or an entry does not apply.
    """
    from burnish.core.program import Program
    from burnish.core.walk import replay_legal
    from burnish.tasks.llvm_inlining.inlined import open_answered, split_answers
    from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task

    options = Options(level=level)
    answers, passes = split_answers(trace)
    opener = partial(open_answered, options=options, answers=answers) if answers else make_task(options).open
    session = opener(Program(PurePath(name).name, LANGUAGE, bitcode))
    if skip_illegal:
        replay_legal(session, passes)
    else:
        session.replay(passes)
    session.verify()
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content
