"""Training of sequence values: find sequences, measure them on all programs, learn where each pays.

Four stages, each of which keeps its results, program by program, in files of the run's folder:

1. found.jsonl: strong traces of some programs, found by search (burnish.learning.training.collect);
2. portfolio-OBJECTIVE.jsonl: a portfolio, evolved from these traces on many programs (evolve);
3. table.jsonl, validation.jsonl: costs of that portfolio and of the strongest traces on many programs, large
   ones included (costs); the sequences with the largest marginal gains per time are the policy's portfolio;
4. suffixes-OBJECTIVE.jsonl: suffixes to try at functions after the best of these sequences (suffixes).

Then the network is fitted (network), and the whole policy is written to one small file.

With `algorithm.base`, a known policy gets training programs of another machine. Its sequences are measured on
them; its sequences and its network stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.learning.portfolio.costs import CostTable, TableSetup, fill, fit_time, reached
from burnish.learning.portfolio.evolve import PortfolioSetup, evolve, fit_prior
from burnish.learning.portfolio.network import SequenceValueLearner, SequenceValuesConfig
from burnish.learning.portfolio.portfolio import by_gain_for_time, greedy_cover
from burnish.learning.portfolio.suffixes import SuffixSetup, attributes_first, learn_suffixes
from burnish.learning.training.chosen_programs import Chosen
from burnish.learning.training.collect import WORTH_KEEPING, Found, collect, problems_of
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining
from burnish.learning.training.validation import NOTHING_YET, SCORE
from burnish.policies.find import find_guide
from burnish.policies.sequence_values import MACHINE, WORST, SequenceValues
from burnish.search import Budget
from burnish.workers.executor import Executor, Processes, each_core
from burnish.workers.sandbox import Sandbox

SUFFIX = ".npz"


class SequenceValuesTraining(ConfiguredTraining):
    """A Training of sequence values; an iteration is some programs of a stage, or an epoch."""

    ends = True

    def __init__(
        self, config: Config, folder: Path, note: Callable[[str], None], do: Executor | None = None
    ) -> None:
        """Choose the programs; `do` searches and measures them, by default in `algorithm.jobs` processes.

        Raises:
            InputError: the configuration does not fit the task or the programs.
        """
        super().__init__(config)
        self.folder, self.note = folder, note
        self.plan = self.plan_of(Plan)
        self.state = Path(self.plan.state) if self.plan.state else folder
        self.state.mkdir(parents=True, exist_ok=True)
        names = self.plan.objectives or (self.objective,)
        self.objectives = tuple(self.task.objective(name).name for name in names)
        self.observations = self.plan.observations or (self.task.observation().name,)
        if self.objective not in self.objectives:
            raise InputError(f"{config.name}: algorithm.objectives: {self.objective} is missing")
        self.choose_programs()
        self.do = do or (Processes(self.plan.jobs) if self.plan.jobs else each_core())
        self.together = self.plan.chunk if do or self.plan.jobs != 1 else 1
        self.learner: SequenceValueLearner | None = None
        self._saved: Mapping[str, Any] = {}
        self._policy: SequenceValues | None = None  # complete except for the network's current weights
        self._held: CostTable | None = None
        self._stages = self._run()

    def iterate(self) -> Mapping[str, float]:
        """See Training."""
        return next(self._stages)

    def validate(self) -> Mapping[str, float]:
        """Return the metrics of sequences tried within SHORT times the reference's time."""
        if not (self._policy and self._held):
            return {SCORE: NOTHING_YET}
        policy, held = self._with_network(), self._held
        gains = held.log_ratios(self.objective).clip(min=WORST)
        seconds = held.relative_seconds()
        features, machines = _features_and_machines(held, policy)
        if machines.size:
            policy = policy.for_machine(machines[0])
        alike = np.full(len(policy.gains), 1 / len(policy.gains), dtype=np.float32)
        learned = [policy.weights(row) for row in features]
        expected = [policy.seconds(row) for row in features]
        return {
            SCORE: reached(policy, learned, expected, gains, seconds),
            "validation/without-network": reached(policy, [alike] * len(gains), expected, gains, seconds),
            "validation/all": float(np.exp(gains.max(axis=1).mean())),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the network's state; the earlier stages keep theirs in files."""
        return {"learner": self.learner.state_dict() if self.learner else self._saved}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        self._saved = state["learner"]

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        policy = self._with_network()
        return {item.name: getattr(policy, item.name) for item in fields(policy)}

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training."""
        trained = SequenceValues(**policy)
        path = folder / f"policy{SUFFIX}"
        trained.save(path)
        return path, {
            "kind": "sequence-values",
            "task": trained.task,
            "toolchain": dict(self.task.checks.toolchain()),
            "objective": trained.objective,
            "observations": trained.observations,
            "sequences": len(trained.traces),
            "suffixes": len(trained.suffixes),
            "bytes": path.stat().st_size,
            "programs": [part.describe() for part in self.programs.parts],
            "validation_programs": [part.describe() for part in self.validation.parts],
        }

    def close(self) -> None:
        """See Training."""
        self._stages.close()

    def _run(self) -> Generator[Mapping[str, float], None, None]:
        """Run the stages one after the other, without repeating the work that their files already have."""
        plan = self.plan
        if plan.base:
            yield from self._extended(self._named(plan.base, "base"))
            return
        found: list[Found] = []
        for part in _parts(self.programs, plan.searched, plan.chunk):
            found = collect(
                problems_of(self.task, part, self.objectives),
                self.state / "found.jsonl",
                budget=Budget.parse(plan.search),
                do=self.do,
                together=self.together,
                progress=lambda item, count: self.note(f"searched {count}: {item.program} {item.ratio:.3f}"),
            )
            mine = [math.log(item.ratio) for item in found if item.objective == self.objective]
            yield {"searched": len(found), "searched/ratio": math.exp(np.mean(mine) if mine else 0.0)}
        candidates = yield from self._candidates(found)
        table = yield from self._table("table", self.programs, plan.table, candidates)
        table = table.select(self._portfolio(table))
        self._held = yield from self._table("validation", self.validation, len(self.validation), table.traces)
        gains = table.log_ratios(self.objective).clip(min=WORST)
        actions = self._site_actions()
        left = tuple((action,) for action in actions if action.startswith(plan.left_to_sites))
        suffixes: dict[Trace, float] = {}
        suffix_programs = 0
        for part in _parts(self.programs, plan.suffix_programs, plan.chunk):
            suffixes = learn_suffixes(
                SuffixSetup(self.task, self.objective, self._best(table, gains), actions, left),
                part,
                self.state / f"suffixes-{_file_name(self.objective)}.jsonl",
                seed=self.config.run.seed,
                do=self.do,
                together=self.together,
                progress=lambda name, saved, count: self.note(f"suffixes {count}: {name} -{saved:.2%}"),
            )
            suffix_programs += len(part)
            yield {"suffix_programs": suffix_programs, "suffixes": len(suffixes)}
        prior = fit_prior(
            self.task.actions,
            [(item.trace, math.log(item.ratio)) for item in found if item.objective == self.objective],
        )
        self.learner = SequenceValueLearner(
            table.features.astype(np.float32),
            gains.astype(np.float32),
            [name.split("/")[0] for name in table.programs],
            plan.fit,
            seed=self.config.run.seed,
        )
        if self._saved:
            self.learner.load_state_dict(self._saved)
        arrays: dict[str, Any] = dict(self.learner.arrays())
        self._policy = SequenceValues(
            task=self.task.id,
            objective=self.objective,
            observations=self.observations,
            traces=table.traces,
            suffixes=attributes_first(suffixes, left)[: plan.suffixes],
            prior_actions=prior.actions,
            prior=prior.probabilities.astype(np.float16),
            gains=gains.astype(np.float16),
            time=fit_time(table.features, table.relative_seconds()),
            **arrays,
        )
        while self.learner.epoch < plan.fit.epochs:
            yield self.learner.iterate()
        yield {"epoch": self.learner.epoch, "finished": 1.0}

    def _extended(self, base: SequenceValues) -> Generator[Mapping[str, float], None, None]:
        """Add the programs to a policy; they replace its programs of the same machines."""
        self.observations = (*base.observations, MACHINE)
        table = yield from self._table("table", self.programs, self.plan.table, base.traces)
        self._held = yield from self._table("validation", self.validation, len(self.validation), base.traces)
        features, machines = _features_and_machines(table, base)
        known = (
            base.machines if base.machines.size else np.zeros((len(base.keys), machines.shape[1]), np.uint8)
        )
        kept = ~(known[:, None] == machines[None]).all(axis=2).any(axis=1) | ~known.any(axis=1)
        gains = table.log_ratios(self.objective).clip(min=WORST).astype(np.float16)
        self._policy = replace(
            base,
            keys=np.concatenate([base.keys[kept], base.embedded(features)]),
            gains=np.concatenate([base.gains[kept], gains]),
            machines=np.concatenate([known[kept], machines]),
        )
        yield {"rows": len(self._policy.keys), "finished": 1.0}

    def _table(
        self, name: str, programs: Chosen, count: int, traces: Sequence[Trace]
    ) -> Generator[Mapping[str, float], None, CostTable]:
        setup = TableSetup(self.task, self.objectives, self.observations, self.do)
        for part in _parts(programs, count, self.plan.chunk):
            table = fill(
                setup,
                part,
                traces,
                self.state / f"{name}.jsonl",
                progress=lambda done, total: self.note(f"{name}: {done} of {total} programs"),
            )
            best = table.log_ratios(self.objective).max(axis=1).mean()
            yield {name: len(table.programs), f"{name}/ratio": float(np.exp(best))}
        return table

    def _candidates(self, found: Sequence[Found]) -> Generator[Mapping[str, float], None, tuple[Trace, ...]]:
        """Return the reference, a portfolio, the given sequences, and the strongest of the found traces.

        The given ones are `candidates` and the sequences of `also`. The portfolio evolves from them and from
        the found traces.
        """
        reference = self.task.hints.first_trace
        others = list(self.plan.candidates)
        others += [trace for name in self.plan.also for trace in self._named(name, "also").traces]
        first = [reference, *others, *(item.trace for item in found if item.ratio >= self.plan.worth)]
        chosen: Sequence[Trace] = ()
        setup = PortfolioSetup(
            self.task,
            self.objective,
            count=self.plan.portfolio_programs,
            slowest=self.plan.slowest,
            generations=self.plan.generations,
            seed=self.config.run.seed,
            left_out=self.plan.left_to_sites,
            do=self.do,
        )
        state = self.state / f"portfolio-{_file_name(self.objective)}.jsonl"
        for portfolio in evolve(setup, self.programs, first, state):
            chosen, added = portfolio.chosen(self.plan.size)
            yield {"portfolio": len(portfolio.traces), "portfolio/ratio": math.exp(sum(added))}
        mine = [item for item in found if item.objective == self.objective]
        strongest = sorted(mine, key=lambda item: -item.ratio)[: self.plan.strongest]
        candidates = [reference, *chosen, *others, *(item.trace for item in strongest)]
        return tuple(dict.fromkeys(map(setup.without, candidates)))

    def _named(self, name: str, key: str) -> SequenceValues:
        """Return another sequence-value policy, which a key of [algorithm] names.

        Raises:
            UnknownName, InputError: the name is unknown, or the policy is of another kind.
        """
        guide_for = find_guide(name, self.task, self.objective)
        if not guide_for or not isinstance(guide_for[0], SequenceValues):
            raise InputError(
                f"{self.config.name}: algorithm.{key}: {name} is not a policy of sequence values"
            )
        return guide_for[0]

    def _portfolio(self, table: CostTable) -> list[int]:
        """Return the columns of the reference and of the sequences chosen by gain per time."""
        gains, seconds = table.log_ratios(self.objective), table.relative_seconds()
        order, _ = by_gain_for_time(gains.T, seconds.T, self.plan.size)
        reference = table.traces.index(self.task.hints.first_trace)
        return list(dict.fromkeys([reference, *order]))

    def _best(self, table: CostTable, gains: NDArray[np.float64]) -> tuple[Trace, ...]:
        """Return the reference and at most six sequences, after which suffixes are learned."""
        order, _ = greedy_cover(gains.clip(min=0).T, 6)
        return tuple(dict.fromkeys([table.traces[0], *(table.traces[i] for i in order)]))

    def _site_actions(self) -> tuple[str, ...]:
        """Return the actions that are legal at a site of the first program that has one."""
        for program in self.programs:
            session = Sandbox(self.task.open, program)
            sites = session.sites()
            mask = session.legal(sites[0]) if sites else np.zeros(0, dtype=bool)
            session.shutdown()
            if mask.any():
                return tuple(text for text, legal in zip(self.task.actions, mask, strict=True) if legal)
        return ()

    def _with_network(self) -> SequenceValues:
        assert self._policy
        if not self.learner:  # the network is that of `base`
            return self._policy
        arrays: dict[str, Any] = dict(self.learner.arrays())
        return replace(self._policy, **arrays)


def _parts(programs: Chosen, count: int, chunk: int) -> Iterator[Sequence[Program]]:
    """Yield the first `count` programs in parts of `chunk`; one empty part if there are no programs."""
    most = min(count, len(programs))
    for begin in range(0, most or 1, chunk):
        yield programs[begin : min(begin + chunk, most)]


def _features_and_machines(
    table: CostTable, policy: SequenceValues
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return the features of a table's programs, [P, F], and the observation MACHINE that may follow them."""
    count = len(policy.mean)
    return table.features[:, :count].astype(np.float32), table.features[:, count:].astype(np.uint8)


def _file_name(objective: str) -> str:
    """Return an objective's text as a part of a file name."""
    return re.sub(r"[^\w.^*-]+", "-", objective)


@dataclass(frozen=True)
class Plan:
    """The keys of [algorithm]: the effort of each stage."""

    objectives: tuple[str, ...] = ()
    """Objectives that are searched for by turns, and all measured; by default the policy's own."""
    observations: tuple[str, ...] = ()  # input of the policy; by default the task's first observation
    search: str = "12s"  # budget for each program
    searched: int = 400  # programs to search
    worth: float = WORTH_KEEPING  # least reference / cost of a trace that becomes a candidate
    portfolio_programs: int = 200  # programs that the portfolio evolves on
    slowest: float = 0.15  # seconds; only programs on which the reference takes no longer
    generations: int = 60
    strongest: int = 40  # traces of the search with the largest gains, added to the portfolio
    left_to_sites: tuple[str, ...] = ()  # prefixes of the actions that only suffixes may have
    base: str = ""  # a policy, by name or file, that gets training programs; nothing else of it changes
    candidates: tuple[Trace, ...] = ()  # sequences to begin with
    also: tuple[str, ...] = ()  # policies, by name or file, whose sequences are further candidates
    size: int = 64  # most sequences in the portfolio
    table: int = 300  # programs that the portfolio is applied to
    suffixes: int = 32  # most suffixes that are kept
    suffix_programs: int = 150  # programs that suffixes are learned on
    jobs: int = 0  # programs in parallel; 0: the number of cores
    chunk: int = 16  # programs in an iteration, which all begin with what earlier iterations found
    state: str = (
        ""  # folder of the stages' files, which runs for other objectives may share; by default the run's own
    )
    fit: SequenceValuesConfig = field(default_factory=SequenceValuesConfig)
