"""The part of a search that runs in worker processes: it applies traces, each shared prefix once.

Its PrefixTree is a cache of a program's recent states, by the traces that lead to them.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from burnish.core.errors import IllegalAction
from burnish.core.guide import State
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Part, Session, first_places
from burnish.core.session import places as places_after
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM, Trace, draw_of, entry, split_entry
from burnish.core.walk import act_entry
from burnish.search.space import Ask, Evaluation, Trial

STATES = 256  # most states that a worker keeps
FORK_SECONDS = 0.6  # time to fork all kept states, at most: so a worker keeps fewer states of large programs
FEWEST = 4  # states that a worker may keep however long forks take
PAYING_FORKS = 3.0  # a state is kept if reaching it took more than so many times as long as a fork
NONE, COST, LEGAL = range(3)  # stored parts of the best state on the way; each includes those before

NOTHING = Evaluation((), math.inf)
KNOWN = 4096  # isolated sites for which a worker process caches the costs of states


class PolicyInputs(NamedTuple):
    """The parts of a state that a policy reads."""

    observations: tuple[str, ...] = ()
    places: int | None = None  # number of sites in slots, as in an environment; None: no policy


NO_POLICY = PolicyInputs()


@dataclass
class _Walker:
    """A session that is being moved along a trace, and the best state so far."""

    session: Session
    path: Trace = ()  # every applied entry
    trimmed: Trace = ()  # the same without entries that changed nothing
    best: Evaluation = NOTHING
    illegal: int = 0  # number of illegal entries, which were skipped
    sites: tuple[str, ...] = (WHOLE_PROGRAM,)  # and the sites in slots, by slot

    def fork(self) -> _Walker:
        return replace(self, session=self.session.fork())

    def apply(self, text: str, places: int | None) -> bool:
        """Apply an entry, unless it is illegal here; return whether it may have changed the state."""
        if opened := draw_of(text):
            draw, wanted = opened
            legal = legal_entries(self.session, self.sites, by_cursor=places is not None)
            legal = [text for text in legal if split_entry(text)[1] == wanted] or legal
            if not legal:
                return False
            text = legal[draw % len(legal)]
        try:
            changed, text = act_entry(self.session, text)
        except IllegalAction:
            self.illegal += 1
            return False
        if places:
            self.sites = places_after(self.session, self.sites, places)[0]
        self.path += (text,)
        if changed:
            self.trimmed += (text,)
        return changed

    def measure(self, objective: str, ask: Ask, *, guided: bool) -> Evaluation:
        legal = self.session.alternatives() if Ask.OTHERWISE in ask else ()
        if Ask.LEGAL in ask and not legal:
            legal = tuple(legal_entries(self.session, self.sites, by_cursor=guided))
        cost, digest = self.session.measure(objective), self.session.digest() if Ask.DIGEST in ask else ""
        return Evaluation(self.trimmed, cost, self.path, digest=digest, legal=legal)

    def look(self, names: Sequence[str]) -> State:
        session, sites = self.session, (self.session.question(), *self.sites[1:])
        return State(tuple(session.observe(name) for name in names), session.mask(self.sites), sites)


class PrefixTree:
    """A cache of states that took long to reach: a trace is applied from its longest cached prefix.

    The evaluation of a trace does not depend on the cached prefixes.
    """

    def __init__(self, root: Session) -> None:
        self._root = _Walker(root)
        self._kept: Recent[tuple[Trace, int], _Walker] = Recent(STATES, lambda state: state.session.close())
        self._fork_seconds = 0.0  # of the last fork
        self._lowest = math.inf  # the lowest cost of all states so far

    def evaluate(
        self, trace: Trace, objective: Objective, ask: Ask, inputs: PolicyInputs = NO_POLICY, *, keep: int
    ) -> Iterator[tuple[Evaluation, bool]]:
        """Apply a trace in a fork and measure every state if that is cheap, else the last one.

        Entries that are illegal in their state are left out, such as those at a site that no longer exists.

        The state after `keep` entries is kept, because the next trace shares them.

        Yields:
            States that are cheaper than all before, with False; then the trace's evaluation, with True.
        """
        every = objective.dense and not ask.at_end
        best = (LEGAL if Ask.LEGAL in ask else COST) if every else NONE
        places = inputs.places
        measure = partial(_Walker.measure, objective=objective.name, ask=ask, guided=places is not None)
        if places and len(self._root.sites) == 1:
            self._root.sites = first_places(self._root.session, places)
        predicts = Ask.PREDICTION in ask  # the state is kept: the next trace may begin there
        start, state = self._longest_prefix(trace, best)
        state = self._fork(state)
        since = time.perf_counter()
        if every and start == 0:
            state.best = measure(state)
        for position, text in enumerate(trace[start:], start):
            pays = time.perf_counter() - since > PAYING_FORKS * self._fork_seconds
            if position > start and (position == keep or pays):
                state = self._keep(trace[:position], best, state)
                since = time.perf_counter()
            if state.apply(text, places) and every:
                measured = measure(state)
                if measured.cost < state.best.cost:
                    state.best = measured
                if measured.cost < self._lowest:
                    self._lowest = measured.cost
                    yield measured, False
        if not every:
            measured = measure(state)
            looked = state.look(inputs.observations) if predicts and inputs.observations else None
            state.best = replace(measured, state=looked)
            if Ask.SITE_COSTS in ask:
                state.best = replace(
                    state.best,
                    site_costs=state.session.site_costs(objective.name),
                    unpriced=state.session.site_costs(objective.name, False),
                    room=state.session.room(objective.name),
                )
        pays = time.perf_counter() - since > PAYING_FORKS * self._fork_seconds
        if start < len(trace) and (predicts or pays):
            self._put(trace, best, state)
        else:
            state.session.close()
        yield replace(state.best, illegal=state.illegal), True

    def reach(self, trace: Trace) -> Session:
        """Return a session in the state after a trace; the caller closes it."""
        start, state = self._longest_prefix(trace, NONE)
        state = self._fork(state)
        for text in trace[start:]:
            state.apply(text, 0)
        return state.session

    def _fork(self, state: _Walker) -> _Walker:
        begin = time.perf_counter()
        copy = state.fork()
        self._fork_seconds = time.perf_counter() - begin
        return copy

    def _longest_prefix(self, trace: Trace, best: int) -> tuple[int, _Walker]:
        """Return the longest cached prefix, by length, and its state, which may store more than `best`."""
        for length in range(len(trace), 0, -1):
            prefix = trace[:length]
            for known in range(best, LEGAL + 1):
                if state := self._kept.get((prefix, known)):
                    return length, state
        return 0, self._root

    def _keep(self, prefix: Trace, best: int, state: _Walker) -> _Walker:
        """Cache a state, and return a fork to continue with."""
        copy = self._fork(state)
        self._put(prefix, best, state)
        return copy

    def _put(self, prefix: Trace, best: int, state: _Walker) -> None:
        self._kept.most = max(FEWEST, min(STATES, int(FORK_SECONDS / self._fork_seconds)))
        self._kept.put((prefix, best), state)


def legal_entries(session: Session, sites: Sequence[str] = (), *, by_cursor: bool = False) -> list[str]:
    """Return the legal entries: actions on the whole program and at `sites`.

    If no action is legal on the whole program, return actions at all sites instead. Also do this if the
    compiler asks, because questions may be answered in any order, or if actions apply at a cursor. An entry
    that names its site does not need the cursor. With `by_cursor`, return whole-program actions even if they
    apply at a cursor, for policies trained that way. `sites` are the whole program and the sites in slots.
    """

    def legal_at(site: str) -> list[str]:
        return [entry(session.actions[i], site) for i in np.flatnonzero(session.legal(site))]

    named = session.question() or (session.has_cursor and not by_cursor)
    whole = [] if named else legal_at(WHOLE_PROGRAM)
    return whole + [text for site in (sites[1:] if whole else session.sites()) for text in legal_at(site)]


T = TypeVar("T")


_costs: Recent[tuple[str, str, str], dict[str, float]] = Recent(KNOWN)  # of this process; costs by digest
_trees: dict[tuple[str, str], PrefixTree] = {}  # of this process: at most one, of its last program


def evaluate_traces(
    opener: Opener,
    program: Program,
    objective: Objective,
    traces: Sequence[Trace],
    ask: Ask,
    inputs: PolicyInputs,
    early: bool,
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate traces, one after the other; yield each evaluation with True.

    With `early`, also yield states that are cheaper than all before, as soon as they are reached, with False.
    """
    tree = _tree(opener, program)
    for trace, following in zip(traces, [*traces[1:], ()], strict=True):
        shared = _shared(trace, following)
        for evaluation, whole in tree.evaluate(trace, objective, ask, inputs, keep=shared):
            if whole or early:
                yield evaluation, whole


def evaluate_at_site(
    part: Part, objective: Objective, begin: float | None, trials: Sequence[Trial]
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate suffixes at one isolated site: this takes milliseconds if the whole program takes seconds.

    Many suffixes change nothing or lead to the same state, so each state is measured only once. Each
    evaluation is yielded with True; its `site_costs` holds the cost of the site.

    `part` is in the state after the common trace, where the site's cost is `begin`, if known.
    """
    root = part.open(part.program)
    key = (part.program.digest, repr(part.open), objective.name)
    if (costs := _costs.get(key)) is None:
        _costs.put(key, costs := {})
    digest = root.digest()
    if digest not in costs:
        costs[digest] = root.measure(objective.name, part.site) if begin is None else begin
    begin = costs[digest]
    for _, suffix in trials:
        session = root.fork()
        changing: Trace = ()
        for action in suffix:
            with suppress(IllegalAction):
                if session.apply(session.index(action), part.site):
                    changing += (action,)
        digest = session.digest()
        if digest not in costs:
            costs[digest] = session.measure(objective.name, part.site)
        session.close()
        yield Evaluation(changing, costs[digest] - begin, site_costs={part.site: costs[digest]}), True
    root.close()


def look_at(opener: Opener, program: Program, trace: Trace, look: Callable[[Session], T]) -> T:
    """Verify the state after a trace, and return the result of `look` for it."""
    session = _tree(opener, program).reach(trace)
    session.verify()
    seen = look(session)
    session.close()
    return seen


def take_parts(
    opener: Opener, program: Program, objective: Objective, trace: Trace
) -> Iterator[tuple[Part, str]]:
    """Yield each site that can be isolated after a trace, with its identity."""
    session = _tree(opener, program).reach(trace)
    identities = session.identities()
    for site in session.sites():
        if part := session.part(site, objective.name):
            yield part, identities.get(site, "")
    session.close()


def _tree(opener: Opener, program: Program) -> PrefixTree:
    key = (program.key, repr(opener))
    if key not in _trees:
        _trees.clear()
        _trees[key] = PrefixTree(opener(program))
    return _trees[key]


def _shared(first: Trace, second: Trace) -> int:
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
