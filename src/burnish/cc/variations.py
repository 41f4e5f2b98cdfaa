"""After a short search: variations of passes and decisions, other ones at each function.

One compilation tries a variation at every function, as burnish.search.each_site does with decisions alone.
The passes of a function come before all decisions, whatever the order in which they were found.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from itertools import chain

import numpy as np

from burnish.cc.prior_variants import variants_of
from burnish.cc.repeating import BEGIN, split_code
from burnish.cc.requests import Request
from burnish.cc.short_search import FunctionSearch, ShortSearch
from burnish.core.errors import CompilerCrash
from burnish.core.session import Session
from burnish.core.trace import Trace, of_program, of_sites, split_entry
from burnish.llvm.targets import machine_of
from burnish.search.each_site import each_site
from burnish.search.space import NOT_TRIED, Evaluation, SearchSpace
from burnish.tasks.llvm_codegen.actions import ACTIONS as DECISIONS
from burnish.tasks.llvm_codegen.prior_gains import prior_gains

OF_VARIANT = 0.05  # the gain of a pass for each variant that has it, in the unit of the gains of decisions
LONGEST = 64  # entries at all functions in a trace that each_site writes


def vary_functions(front: Session, trace: Trace, objective: str, request: Request) -> ShortSearch:
    """Vary what a short search found at each function while there is time.

    Args:
        front: A staged session before all passes.
        trace: The result of the short search, with the level's own passes.
        objective: What is minimised, with limits.
        request: The time or the evaluations, and the seed.
    """
    passes, decisions = split_code(of_program(trace))
    root = front.fork()
    root.replay(passes)
    functions = _Functions(FunctionSearch(root, objective, decisions), of_sites(trace), request)
    try:
        functions.vary()
    except CompilerCrash:
        functions.search.crashes += 1
    search = functions.search
    return ShortSearch(search.best_session(), search.cost, search.evaluations, search.crashes)


class _Functions:
    """The functions of a program, in the traces that each_site writes: passes and decisions mixed."""

    def __init__(self, search: FunctionSearch, begun: Trace, request: Request) -> None:
        self.search, self.request = search, request
        self.seconds = 0.0  # of the last compilation
        self.begun = tuple(text for text in begun if split_entry(text)[0] in search.sites)
        machine = machine_of(search.code.opened.module.triple)
        variants = variants_of(machine).of_functions
        counts = Counter(chain.from_iterable(dict.fromkeys(split_code(variant)[0]) for variant in variants))
        self.gains = {text: OF_VARIANT * count for text, count in counts.items()}
        self.gains |= dict(prior_gains(machine).gains)
        self.actions = (*counts, *DECISIONS)

    def vary(self) -> None:
        """Try variations until there is no time for one more and for the joined object."""
        rng = np.random.default_rng(self.request.options.seed)
        begun = self._evaluated(self.begun, trial=False)
        space = SearchSpace(
            self.actions,
            self.actions,
            tuple(self.search.sites),
            (begun,),
            LONGEST,
            prior_gains=self.gains,
            independent_sites=True,
        )
        proposals = each_site(space, rng)
        batch = next(proposals)
        with suppress(StopIteration):
            while True:
                batch = proposals.send([self._evaluated(trace, trial=batch.trial) for trace in batch.traces])

    def _has_time(self, *, trial: bool) -> bool:
        most, left = self.request.evaluations, self.request.seconds_left()
        after = 1 + trial  # evaluations: a trial leaves one for the joined object
        return left >= after * self.seconds and (most is None or self.search.evaluations + after <= most)

    def _evaluated(self, trace: Trace, *, trial: bool) -> Evaluation:
        """Compile after a trace; functions that are too slow have no costs."""
        if not self._has_time(trial=trial):
            return Evaluation(trace, math.inf, error=NOT_TRIED)
        before, search = self.request.seconds_left(), self.search
        chosen = self._in_order(trace)
        code = (search.joined if trial else search.together)(chosen) or search.code
        if math.isfinite(before):
            self.seconds = before - self.request.seconds_left()
        free, grown = (code.site_costs(name) for name in (search.unlimited, "code-growth"))
        fast = [name for name in search.sites if name in free and search.is_fast(name, code)]
        costs = {name: free[name] + grown.get(name, 0.0) for name in fast}
        return Evaluation(trace, search.cost, trace, site_costs=costs, unpriced=free, room=search.room(code))

    def _in_order(self, trace: Trace) -> dict[str, Trace]:
        """Return each function's entries: passes, the begin of code generation, decisions."""
        mixed: dict[str, list[str]] = {}
        for text in trace:
            site, action = split_entry(text)
            mixed.setdefault(site, []).append(action)
        decisions = {*DECISIONS}
        return {
            site: (
                *(text for text in actions if text not in decisions),
                BEGIN,
                *(text for text in actions if text in decisions),
            )
            for site, actions in mixed.items()
        }
