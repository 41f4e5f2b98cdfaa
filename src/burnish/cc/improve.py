"""Improvement of one object: front end, optimizer, code generation, comparison with clang's object."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.cc.cold_trials import profiled_trials
from burnish.cc.file_budget import STACK_CODE_SHARE
from burnish.cc.foreign import ForeignTrials, in_gnus_place
from burnish.cc.isolation import Guard, load
from burnish.cc.jobs import ClangJob
from burnish.cc.lock import locked_trace
from burnish.cc.object_kind import kind_key, plain_command
from burnish.cc.object_trials import ObjectTrials
from burnish.cc.outcomes import USED_UP, Build, Outcome, kept, sizes_of
from burnish.cc.own_trials import Own, OwnTrials
from burnish.cc.profiles import profile_of
from burnish.cc.recalling import DEPENDENCIES, Recollection, remembers, tolerant
from burnish.cc.refusals import too_small
from burnish.cc.repeating import split_code
from burnish.cc.requests import KeptReference, Request
from burnish.cc.rust_trials import Bitcode, RustTrials, forbidding

# A search ends after this many evaluations in a row without a gain: the least number, and the bytes of code
# for each of them in a large object.
LEAST_PATIENCE, BYTES_OF_PATIENCE = 32, 4


def improve(build: Build, job: ClangJob, reference: Path, workspace: Path) -> Outcome:
    """Try to make a smaller object than `reference`, which clang made by the job.

    Smaller means strictly less of the objective. With every objective, the new object loads at most as many
    bytes as clang's. Its code and read-only data together are not larger either, because caches hold these
    at run time. Inline functions that only clang's object defines still count as loaded, because a linker
    may keep another object's copies.
    """
    return _improved(
        build, job, reference, lambda guard: _trials(build, job.silenced(), reference, guard), workspace
    )


def improve_own(build: Build, job: ClangJob, own: Own, workspace: Path) -> Outcome:
    """Try to make a smaller object than burnish made by a job for another machine; see improve."""
    reference = workspace / "own.o"
    reference.write_bytes(own.code)
    return _improved(
        build,
        job,
        reference,
        lambda guard: OwnTrials(own, job.silenced(), reference, build.optimizer, guard),
        workspace,
    )


def improve_rust(build: Build, job: ClangJob, made: Bitcode, reference: Path, workspace: Path) -> Outcome:
    """Try to make a smaller object than rustc made of some bitcode; see improve.

    The bitcode is remembered, too: to compile it once more would need the variables of cargo.
    """
    clock = build.compiled.clock
    start, content = clock.now(), reference.read_bytes()
    recollection = Recollection.of(build, job, workspace / DEPENDENCIES) if build.effort is None else None
    if recollection:
        with tolerant(recollection.memory):
            unsearched = kept(job, before=sizes_of(reference, job))
            if known := recollection.same_front(made.encode(content), content, unsearched):
                return replace(known, seconds=clock.now() - start)

    searched: list[bytes] = []

    def trials(guard: Guard) -> ForeignTrials:
        found = _with_calls(
            lambda front: RustTrials(made, front, job, reference, build.optimizer, guard),
            lambda not_called: guard.step(lambda: forbidding(made.front, not_called)),
        )
        searched.append(found.module)
        return found

    outcome = _improved(build, job, reference, trials, workspace)
    if recollection and searched:
        with tolerant(recollection.memory):
            recollection.keep_front(made.encode(content), content, searched[0])
    return outcome


def _improved(
    build: Build, job: ClangJob, reference: Path, trials_in: Callable[[Guard], ObjectTrials], workspace: Path
) -> Outcome:
    """Search within the build's budget; `trials_in` makes the trials for a guard."""
    clock = build.compiled.clock
    start = clock.now()
    before = sizes_of(reference, job)
    outcome = kept(job, before=before)
    if why_not := too_small(before.text_bytes if before else None):
        return replace(outcome, reason=why_not)
    with build.budget(build.clang_seconds) as budget:
        if budget is None:
            return replace(outcome, reason=USED_UP)
        began = build.compiled.ended if len(build.plan.compilations) == 1 else start
        request = build.request(job.source, job.level, build.clang_seconds, began, budget)
        if before:
            request = replace(request, patience=max(LEAST_PATIENCE, before.text_bytes // BYTES_OF_PATIENCE))
        guard = build.guard(workspace=workspace)
        load()
        try:
            outcome = _found(build, job, trials_in(guard), request, outcome)
        except KeptReference as why:
            outcome = replace(outcome, reason=str(why))
        except Exception as error:  # burnish's boundary: its errors never make a build fail
            outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
        return replace(outcome, seconds=clock.now() - start)


def _found(
    build: Build, job: ClangJob, trials: ObjectTrials, request: Request, unsearched: Outcome
) -> Outcome:
    """Return the outcome of a lock, of an earlier build, of its trace for the changed module, or of a search.

    Raises:
        KeptReference: there is a lock, by which the object is not smaller.
    """
    trials.objective = request.objective
    if build.options.lock:
        trace = locked_trace(build.options.lock, build.plan.output_with(job), job.source)
        trials.repeat(trace, request)
        return trials.compared(unsearched, request.objective)
    recollection = Recollection.of(build, job, trials.guard.workspace / DEPENDENCIES)
    if not recollection:
        return _searched(trials, request, unsearched)
    with tolerant(recollection.memory):
        if build.effort is None and (known := recollection.same_module(trials.module, unsearched)):
            return recollection.keep(known, trials.module, trials.reference.read_bytes())
    outcome = unsearched
    if build.effort is None and (previous := recollection.previous()):
        trials.repeat(previous, request, checks=False)
        with contextlib.suppress(KeptReference):
            outcome = trials.compared(unsearched, request.objective)
    if not outcome.better:
        outcome = _searched(trials, request, unsearched)
    with tolerant(recollection.memory):
        if (
            trials.makes_clangs
            and not build.is_foreign
            and (plain := plain_command(recollection.key.arguments))
        ):
            recollection.memory.keep_kind(kind_key(plain.kind, job, build.plan.compiler))
        return recollection.keep(outcome, trials.module, trials.reference.read_bytes())
    return outcome


def _trials(build: Build, job: ClangJob, reference: Path, guard: Guard) -> ObjectTrials:
    """Run the front end, and return trials for its module.

    Raises:
        KeptReference: the front end fails, or for another machine, clang's own passes.
    """
    front = guard.workspace / "front.bc"
    with_files = job.with_dependencies(guard.workspace / DEPENDENCIES) if remembers(build.options) else job
    guard.run(with_files.front_end(front).command)
    if not build.is_foreign:
        if profile := profile_of(job):
            return profiled_trials(build, job, profile, front, reference, guard)
        return ObjectTrials(front.read_bytes(), job, reference, build.optimizer, guard)

    return _with_calls(
        lambda module: ForeignTrials(module, job, reference, build.optimizer, guard),
        lambda not_called: guard.step(lambda: in_gnus_place(front.read_bytes(), not_called)),
    )


def _with_calls(
    trials_of: Callable[[bytes], ForeignTrials], module_for: Callable[[Sequence[str]], bytes]
) -> ForeignTrials:
    """Return trials after clang's own passes, which call no functions that the compiler's object does not.

    `module_for` takes functions by which passes must not replace other code.
    """
    trials = trials_of(module_for(()))
    trials.try_own()
    if calls := trials.new_calls():
        trials = trials_of(module_for(calls))
        trials.try_own()
    return trials


def _searched(trials: ObjectTrials, request: Request, outcome: Outcome) -> Outcome:
    """Search, compare the best object with clang's, and return the outcome."""
    request = request.from_now()
    tried = request.begins_with_variants and trials.try_variants(request.for_variants())
    if rest := request.after_variants() if tried else request:
        if trials.is_for_registers and tried and not request.remembered:
            trials.try_variations(_after(trials, rest).for_variations())
        elif not trials.is_for_registers:
            rest = replace(rest, code_share=min(rest.code_share, STACK_CODE_SHARE))
        if tried and trials.best:
            rest = replace(rest, begin=split_code(trials.best.trace)[0])
        rest = _after(trials, rest)
        passes, code = rest.divided()
        trials.try_passes(passes)
        if code:
            trials.try_code(code)
    outcome = replace(outcome, evaluations=trials.evaluations, crashes=trials.crashes)
    try:
        return trials.compared(outcome, request.objective)
    except KeptReference as why:
        return replace(outcome, reason=str(why))


def _after(trials: ObjectTrials, request: Request) -> Request:
    """Return a request without the evaluations that trials have used."""
    if request.evaluations is None:
        return request
    return replace(request, evaluations=max(1, request.evaluations - trials.evaluations))
