"""One link: from the linker's own program to a smaller one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.link_requests import constant_bytes, level_request, search_request
from burnish.cc.link.merging import Link, Merged, merge
from burnish.cc.link.module_candidates import by_code_generation, by_functions, by_level, by_search
from burnish.cc.link.relinking import link_module, object_of, write_side_files
from burnish.cc.linked import Linked, read_linked
from burnish.cc.requests import DEFAULT_OBJECTIVE, Generated, KeptReference, Optimized, OptimizeRequest
from burnish.cc.too_small import too_small
from burnish.core.errors import BurnishError, InputError
from burnish.files import write_atomically

TRIALS_TO_BEGIN = 2.0  # a search's reference, and what it begins with, in compilations of the module
TRIALS_OF_FUNCTIONS = 1.0  # likewise: code generation with and without one attribute, and of what was chosen


@dataclass(frozen=True)
class LinkOutcome:
    """What became of a link."""

    before: Linked | None = None  # None: nobody looked at it
    after: Linked | None = None  # None: the linker's own program stands
    reason: str = ""  # why it does, or why a search did not help
    units: int = 0  # in the module
    level: str = ""
    trace: tuple[str, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0


def look(job: LinkJob) -> LinkOutcome:
    """Return what stands of a link, and why it is to stand; "" where it need not."""
    try:
        before = read_linked(job.output)
    except InputError as error:
        return LinkOutcome(reason=str(error))
    return LinkOutcome(before, reason=job.why_not or too_small(before.of_kind("code"), program=True) or "")


def improve_link(link: Link, outcome: LinkOutcome) -> LinkOutcome:
    """Replace the program by a smaller one, of one module.

    Args:
        link: Of the program.
        outcome: So far: see look.
    """
    clock = link.compiled.clock
    start = clock.now()
    try:
        merged = merge(link)
        outcome = replace(outcome, units=len(merged.units), level=merged.level)
        outcome = _Trials(link, merged, outcome).run()
    except (KeptReference, BurnishError, OSError) as why:
        outcome = replace(outcome, reason=str(why))
    except Exception as error:  # burnish's boundary to a build, which never fails because of it
        outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
    return replace(outcome, seconds=clock.now() - start)


@dataclass
class _Trials:
    """The candidates of one link, and the best of them."""

    link: Link
    merged: Merged
    outcome: LinkOutcome
    best: Path | None = None
    module: Optimized | None = None  # of the best one
    level: Optimized | None = None  # the module after the level's own passes
    level_seconds: float = 0.0  # that the level's own passes, their code and its link took
    own: bytes | None = None  # that object
    run_time: Mapping[str, float] = field(default_factory=dict)  # by those passes; see Optimized
    paths: list[Path] = field(default_factory=list)

    def run(self) -> LinkOutcome:
        """Try the level's own passes, attributes for each function, a search and other code; write the best.

        Raises:
            KeptReference: what is best does not link a second time.
        """
        level = self.by_level()
        assert self.outcome.before
        with search_request(self.link, self.merged, self.outcome.before, level) as request:
            if request is None:
                self.outcome = replace(self.outcome, reason="the build's budget is used up")
            else:
                passes, code = request.divided() if request.code_share else (request, None)
                if not self.is_late(passes, TRIALS_OF_FUNCTIONS):
                    passes = self.by_functions(passes)
                if not self.is_late(passes, TRIALS_TO_BEGIN if code and self.best else 0.0):
                    self.by_search(passes)
                if code and not self.is_late(code, 0.0):
                    self.by_code_generation(code)
        if not self.best:
            return replace(self.outcome, reason=self.outcome.reason or "nothing smaller was found")
        write_side_files(self.link, self.merged, self.best)
        write_atomically(self.link.program, self.best.read_bytes())
        return self.outcome

    def by_level(self) -> Linked | None:
        """Try the level's own passes."""
        clock = self.link.compiled.clock
        start = clock.now()
        try:
            found = by_level(self.merged.module, level_request(self.link, self.merged))
            self.level = found
            linked = self.linked(found)
            self.own, self.run_time = object_of(self.paths[-1]).read_bytes(), found.run_time
            self.level_seconds = clock.now() - start
            return linked
        except (KeptReference, BurnishError) as why:
            self.outcome = replace(self.outcome, reason=str(why))
            return None

    def by_functions(self, request: OptimizeRequest) -> OptimizeRequest:
        """Try attributes for each function; return the request of a search that begins with what helped."""
        if request.remembered or request.objective != DEFAULT_OBJECTIVE or not self.level:
            return request
        try:
            found = by_functions(self.merged.module, self.level, request)
            linked = self.linked(found)
        except (KeptReference, BurnishError) as why:
            self.outcome = replace(self.outcome, reason=str(why))
            return request
        return replace(request, begin=found.trace) if linked is self.outcome.after else request

    def by_search(self, request: OptimizeRequest) -> None:
        """Try what a search finds."""
        try:
            found = by_search(self.merged.module, request, self.link.optimizer)
            self.outcome = replace(self.outcome, evaluations=found.evaluations)
            self.linked(found)
        except (KeptReference, BurnishError) as why:
            self._unimproved(why)

    def by_code_generation(self, request: OptimizeRequest) -> None:
        """Try to decide the code of the best module's functions."""
        if not self.best or not self.module:
            return
        try:
            generated = Generated(
                self.module.bitcode,
                self.merged.module.bitcode,
                object_of(self.best).read_bytes(),
                self.merged.pattern.command,
                own=self.own,
                run_time=self.module.run_time or self.run_time,
            )
            code = by_code_generation(self.merged.module, generated, request)
            self.outcome = replace(self.outcome, evaluations=self.outcome.evaluations + code.evaluations)
            self.linked(replace(self.module, trace=(*self.module.trace, *code.trace)), code.content)
        except (KeptReference, BurnishError) as why:
            self._unimproved(why)

    def _unimproved(self, why: Exception) -> None:
        """Keep why a search did not help, and its evaluations."""
        evaluations = self.outcome.evaluations + getattr(why, "evaluations", 0)
        self.outcome = replace(self.outcome, reason=str(why), evaluations=evaluations)

    def is_late(self, request: OptimizeRequest, trials: float) -> bool:
        """Whether there is no time left for so many compilations of the module."""
        if request.until is None:
            return False
        return request.until - request.clock.now() <= trials * self.level_seconds

    def linked(self, found: Optimized, code: bytes | None = None) -> Linked:
        """Link a candidate, with clang's code or other, and keep it where it is better than the best."""
        path = self.link.workspace / f"program-{len(self.paths)}"
        self.paths.append(path)
        linked = link_module(self.link, self.merged, found, path, code)
        if self.is_better(linked):
            self.outcome = replace(self.outcome, after=linked, trace=found.trace)
            self.best, self.module = path, found
        return linked

    def is_better(self, linked: Linked) -> bool:
        """Whether a program is smaller than the best, and in nothing larger than the linker's own."""
        before = self.outcome.before
        assert before
        if linked.loaded_bytes > before.loaded_bytes or constant_bytes(linked) > constant_bytes(before):
            return False
        best = self.outcome.after or before
        if self.link.options.objective == "text-bytes":
            return linked.of_kind("code") < best.of_kind("code")
        return linked.loaded_bytes < best.loaded_bytes
