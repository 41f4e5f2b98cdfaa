"""Search for the variants of functions that short budgets of burnish cc try first: prior_variants.json.

    python benchmarks/function_variants.py --folder CORPUS > variants.json

A variant is some passes after those of -Oz, and decisions on code generation. Each one is tried at all
functions of programs of the train split. Its gain at a function is the mean of what it saves with unwind
tables and without. It counts if the function is expected to be slower by no more than --slowdown. Bytes that
LLVM's machine outliner moves out of a program's functions are subtracted from its gains. Each round keeps
the variants with the largest joint gain, where each function takes its best one, and adds variations of
them. At the end, actions that a variant does not need are removed from it, and the variants to keep are
chosen on more programs. The machine's first traces of whole programs (first_traces.py) stay: where the first
one makes a program smaller, functions are varied after it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
from codegen_suffixes import ORDERED, SINGLE, is_order, programs_of
from numpy.typing import NDArray

from burnish.cc.prior_variants import variants_of
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import SPEED_LIMIT
from burnish.cc.short_search import code_of
from burnish.cc.variants import decisions_everywhere
from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import replay_legal
from burnish.learning.portfolio.portfolio import greedy_cover
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.modules.passes import ACTIONS as PASSES
from burnish.llvm.targets import machine_of
from burnish.tasks.llvm_codegen.actions import ACTIONS as DECISIONS
from burnish.tasks.llvm_codegen.prior_gains import USUAL, prior_gains
from burnish.tasks.llvm_passes_and_codegen import TASK

OF_KNOWN = 4  # sets of decisions with the passes of each of x86's variants
OF_SINGLES = 16  # programs for the gains of single passes
LEAST_BYTES = 24  # size above which a function is considered
BATCH = 24  # new variants in a round
TRIES = 50  # for each of them
PARENTS = 16
CROSSED = 75  # in the last choice, which is on more programs: most variants gain less there
MOST_PASSES = 6  # of a variant: each costs time
NEEDED = 0.997  # share of the joint gain that must remain when actions are removed
LEAST_WORTH = 0.0002  # the least prior gain of an action, also of unknown ones

Floats = NDArray[np.float64]


class Part:
    """Some programs after the level's own passes, in a process of their own."""

    def __init__(self, programs: Iterable[Program], slowdown: float, whole: Trace) -> None:
        self.slowdown = slowdown
        self.sessions: list[Session] = []
        for program in programs:
            try:
                session = TASK.open(program)
                other = session.fork()
                session.replay(("clang<Oz>",))
                if whole:
                    other.replay(whole)
                    session = min(session, other, key=lambda one: one.measure("loaded-bytes"))
                if any(size > LEAST_BYTES for size in session.site_costs("loaded-bytes").values()):
                    self.sessions.append(session)
            except BurnishError as error:
                print(f"{program.name}: left out: {error}", file=sys.stderr)

    def gains(self, variant: Trace) -> list[Floats]:
        """Return float64[functions] for each program: gains in units of its loaded bytes."""
        return [self._gained(session, variant) for session in self.sessions]

    def _gained(self, session: Session, variant: Trace) -> Floats:
        before, other = code_of(self._begun(session)), session.fork()
        loaded, constant = before.site_costs("loaded-bytes"), before.site_costs("code-growth")
        sites = [site for site, size in loaded.items() if size > LEAST_BYTES]
        try:
            passes, decisions = apart(variant)
            replay_legal(other, tuple(passes))
            other = self._begun(other)
            replay_legal(other, tuple(decisions))
            after = code_of(other)
            loaded_now, constant_now = after.site_costs("loaded-bytes"), after.site_costs("code-growth")
            times, times_now = (one.generation().call_costs.own for one in (before, after))
        except BurnishError:
            return np.zeros(len(sites))
        saved = [
            loaded[site] - loaded_now.get(site, loaded[site])
            + constant.get(site, 0.0) - constant_now.get(site, constant.get(site, 0.0))
            if times_now.get(site, 0.0) <= self.slowdown * times.get(site, 0.0)
            else 0.0
            for site in sites
        ]  # fmt: skip
        named = {*session.sites()}
        grown = outside(loaded_now, named) - outside(loaded, named)
        grown += outside(constant_now, named) - outside(constant, named)
        gains = np.array(saved).clip(0)
        gains *= max(0.0, 1 - max(0.0, grown) / max(1.0, float(gains.sum())))
        return gains / 2 / sum(loaded.values())

    def _begun(self, session: Session) -> Session:
        """Return the session at the beginning of code generation, with the decisions on the whole program."""
        begun = session.fork()
        begun.replay((BEGIN,))
        begun.replay(decisions_everywhere(code_of(begun).opened.module))
        return begun


def outside(costs: Mapping[str, float], functions: Container[str]) -> float:
    """Return the bytes outside of some functions: those that LLVM's machine outliner moved there."""
    return sum(size for name, size in costs.items() if name not in functions)


class Measured:
    """The gains of variants at the functions of all programs, measured in several processes."""

    def __init__(self, programs: Sequence[Program], first: Trace, options: argparse.Namespace) -> None:
        given, jobs = (options.slowdown, first), options.jobs
        self._parts = [(list(programs[i::jobs]), *given) for i in range(jobs)]
        self._pools = [ProcessPoolExecutor(1, initializer=_open, initargs=part) for part in self._parts]
        self._known: dict[Trace, Floats] = {}
        lengths = [len(gains) for pool in self._pools for gains in pool.submit(_gains, ()).result()]
        self.programs, self._functions = len(lengths), sum(lengths)

    def gains(self, variants: Iterable[Trace]) -> Floats:
        """Return float64[variants, functions]: gains in units of all programs, each of the same weight."""
        return np.array([self._gained(one) for one in variants]) / self.programs

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools:
            pool.shutdown()

    def _gained(self, variant: Trace) -> Floats:
        if variant not in self._known:
            waiting = [pool.submit(_gains, variant) for pool in self._pools]
            try:
                found = [gains for one in waiting for gains in one.result()]
                self._known[variant] = np.concatenate(found)
            except BrokenProcessPool:
                print(f"LLVM crashes: {variant}", file=sys.stderr)
                self._known[variant] = np.zeros(self._functions)
                self._pools = [ProcessPoolExecutor(1, initializer=_open, initargs=one) for one in self._parts]
        return self._known[variant]


_part: Part | None = None


def _open(programs: list[Program], slowdown: float, whole: Trace) -> None:
    global _part
    _part = Part(programs, slowdown, whole)


def _gains(variant: Trace) -> list[Floats]:
    assert _part
    return _part.gains(variant)


class Variations:
    """Random variations of variants; single actions with larger gains are added more often."""

    def __init__(self, passes: dict[str, float], machine: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.passes, self.worth = [*passes], np.array([max(gain, LEAST_WORTH) for gain in passes.values()])
        prior = prior_gains(machine).gains
        self.decisions = [text for text in SINGLE if text in prior]
        self.decision_worth = np.array([prior[text] for text in self.decisions])
        self.orders = [text for text in ORDERED if text in prior]

    def of(self, parents: Sequence[Trace]) -> Trace:
        """Return another variant: parts of two, or one with up to three actions added, removed or changed."""
        rng = self.rng
        passes, decisions = apart(parents[int(rng.integers(len(parents)))])
        other = apart(parents[int(rng.integers(len(parents)))])
        if rng.random() < 0.3:
            return joined(*((passes, other[1]) if rng.random() < 0.5 else (other[0], decisions)))
        for _ in range(1 + rng.integers(3)):
            edit = rng.random()
            if edit < 0.2 and passes:
                del passes[rng.integers(len(passes))]
            elif edit < 0.6 and len(passes) < MOST_PASSES:
                new = self.passes[rng.choice(len(self.passes), p=self.worth / self.worth.sum())]
                passes.insert(int(rng.integers(len(passes) + 1)), new)
            elif edit < 0.7 and decisions:
                del decisions[rng.integers(len(decisions))]
            elif edit < 0.8 and self.orders:
                decisions = [text for text in decisions if not is_order(text)]
                decisions.append(self.orders[int(rng.integers(len(self.orders)))])
            else:
                worth = self.decision_worth / self.decision_worth.sum()
                decisions.append(self.decisions[rng.choice(len(self.decisions), p=worth)])
        return joined(passes, decisions)


def apart(variant: Trace) -> tuple[list[str], list[str]]:
    """Return the passes and the decisions of a variant."""
    at = variant.index(BEGIN) if BEGIN in variant else len(variant)
    return list(variant[:at]), list(variant[at + 1 :])


def joined(passes: Iterable[str], decisions: Iterable[str]) -> Trace:
    """Return the variant with these passes and decisions, each one once."""
    chosen = {*decisions}
    return (*dict.fromkeys(passes), BEGIN, *(text for text in DECISIONS if text in chosen))


def single_passes(measured: Measured, programs: Sequence[Program]) -> dict[str, float]:
    """Return the gain of each pass that can run at a function, alone."""
    session = TASK.open(programs[0])
    legal = session.legal(session.sites()[0])
    passes = [text for text in PASSES if legal[session.index(text)] and not text.startswith("clang<")]
    return {text: float(measured.gains([(text,)]).sum()) for text in passes}


def evolve(
    measured: Measured, pool: Iterable[Trace], varied: Variations, options: argparse.Namespace
) -> list[Trace]:
    """Return the variants with the largest joint gain, the best first."""
    known = dict.fromkeys(pool)
    for number in range(options.rounds + 1):
        variants = list(known)
        rows, added = greedy_cover(measured.gains(variants), options.size)
        found = ", ".join(f"{100 * gain:.2f}" for gain in np.cumsum(added)[:8])
        print(f"round {number}, {len(variants)} variants: {found} %", file=sys.stderr, flush=True)
        chosen = [variants[row] for row in rows]
        if number < options.rounds:
            for _ in range(TRIES * BATCH):
                if len(known) < len(variants) + BATCH:
                    known[varied.of(chosen[:PARENTS])] = None
    return chosen


def shortened(measured: Measured, variants: list[Trace]) -> list[Trace]:
    """Remove actions that the variants do not need, from the last variant first."""
    least = NEEDED ** (1 / len(variants))
    for i in reversed(range(len(variants))):
        for text in variants[i]:
            without = tuple(one for one in variants[i] if one != text)
            others = [*variants[:i], without, *variants[i + 1 :]]
            if text != BEGIN and _together(measured, others) >= least * _together(measured, variants):
                variants = others
    return list(dict.fromkeys(variants))


def crossed(variants: Sequence[Trace], seed: int) -> list[Trace]:
    """Return the variants, and some with the passes of one and the decisions of another."""
    parts = [apart(variant) for variant in variants]
    others = [joined(passes, decisions) for passes, _ in parts for _, decisions in parts]
    drawn = np.random.default_rng(seed).permutation(len(others))[:CROSSED]
    return [*dict.fromkeys([*variants, *(others[number] for number in drawn)])]


def _together(measured: Measured, variants: list[Trace]) -> float:
    return float(measured.gains(variants).max(axis=0).sum())


def _first(machine: str, passes: dict[str, float]) -> Iterator[Trace]:
    """Yield the variants of the first round: known ones, single actions, and the best passes together."""
    prior = prior_gains(machine)
    yield from ((BEGIN, text) for text in prior.gains if text in SINGLE)
    yield from variants_of(machine).of_functions
    for known in variants_of(USUAL).of_functions:
        yield from (joined(apart(known)[0], decisions) for decisions in prior.suffixes[:OF_KNOWN])
    yield from ((text, BEGIN) for text, gain in passes.items() if gain > 0)
    best = sorted(passes, key=lambda text: -passes[text])
    for decisions in prior.suffixes:
        yield from (joined(best[:count], decisions) for count in (0, 1, 3))


def main() -> None:
    """Search for variants, and print them as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--programs", type=int, default=70)
    parser.add_argument("--most", type=int, default=4000, help="instructions of a program")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--final", type=int, default=240, help="programs of the last choice")
    parser.add_argument("--size", type=int, default=12, help="variants that are kept")
    parser.add_argument("--slowdown", type=float, default=SPEED_LIMIT)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    def chosen_from(count: int) -> list[Program]:
        return programs_of(options.folder or default_folder(), count, options.most, count)

    programs = programs_of(options.folder or default_folder(), options.programs, options.most)
    machine = machine_of(code_of(TASK.open(programs[0])).opened.module.triple)
    whole, of_functions = variants_of(machine)
    first = next(iter(whole), ())
    singly = Measured(programs[:OF_SINGLES], first, options)
    passes = single_passes(singly, programs)
    singly.close()
    best = sorted(passes, key=lambda text: -passes[text])[:12]
    print({text: round(100 * passes[text], 2) for text in best}, file=sys.stderr)
    measured = Measured(programs, first, options)
    found = evolve(measured, _first(machine, passes), Variations(passes, machine, options.seed), options)
    variants = crossed([*shortened(measured, found[: options.size]), *of_functions], options.seed)
    measured.close()
    measured = Measured(chosen_from(options.final), first, options)
    rows, added = greedy_cover(measured.gains(variants), options.size)
    measured.close()
    print([f"{100 * gain:.2f}" for gain in np.cumsum(added)], file=sys.stderr)
    json.dump({machine: [*whole, *(variants[row] for row in rows)]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
