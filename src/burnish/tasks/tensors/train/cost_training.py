"""The training of a model of schedules: measure schedules of many programs, then fit the model.

Measurements are written to files in the run's folder, program by program. So a run that was killed and is
resumed measures only the missing programs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.decoding import decode
from burnish.core.errors import CompilerCrash, InputError
from burnish.files import LineFile
from burnish.learning.training.chosen_programs import Chosen
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining
from burnish.learning.training.validation import NOTHING_YET, SCORE
from burnish.policies.find import find_guide
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel, Floats, SchedulePolicy
from burnish.tasks.tensors.train.fitting import LearningConfig, MeasuredProgram, fit, pair_accuracy, regret
from burnish.tasks.tensors.train.measuring import ROW, Key, line_of, one_machine, read_rows
from burnish.workers.executor import IN_TURN, Executor, Shard, name_of

FEWEST = 6  # schedules; a program with fewer is not learned from


@dataclass(frozen=True)
class ScheduleCostsPlan:
    """Settings for measuring and fitting."""

    schedules: int = 48  # to measure for each program
    operations: float = 5e9  # larger nests have half as many schedules; larger linalg programs are left out
    narrow: float = 0.25  # share of nests also measured with 32-byte vectors, if the machine's are wider
    seconds: float = 60.0  # time limit for one nest
    guide: str = "shipped"  # policy that proposes some of the schedules: "shipped", "none", or a file
    measured: tuple[str, ...] = ()  # files of earlier measurements, which are used and not repeated
    fit: LearningConfig = field(default_factory=LearningConfig)


@dataclass(frozen=True)
class Subject:
    """The kind of programs whose schedules are learned.

    Attributes:
        language: The language of the programs.
        known: The columns of the features.
        kind: The kind of the policy's file.
        row: The dataclass of a measurement; it has `seconds`, `machine`, and `key`, a Key.
        wanted: Yields the keys to measure.
        measure: An importable function that measures schedules of a program from a seed; a model proposes
            some of them. It raises CompilerCrash if measuring takes too long, or if the compiler fails.
        features: Returns the features of all measurements of a program.
        fit: Fits a model to measured programs.
        model: The class of the model.
    """

    language: str
    known: tuple[str, ...]
    kind: str
    row: type[Any]
    wanted: Callable[[Chosen, ScheduleCostsPlan], Iterator[Key]]
    measure: Callable[[Key, ScheduleCostsPlan, int, CostModel | None], Iterable[Any]]
    features: Callable[[Sequence[Any]], tuple[Floats, ...]]
    fit: Callable[..., Any] = fit
    model: type[Any] = CostModel


def measured_on(
    measure: Callable[[Key, ScheduleCostsPlan, int, CostModel | None], Iterable[Any]],
    key: Key,
    machine: str,
    *more: Any,
) -> tuple[list[str], str]:
    """Measure a program's schedules: a line for each one, and the failure of the program or "".

    Raises:
        InputError: this machine is of another kind than the table's.
    """
    one_machine({machine, host().cpu})
    try:
        return [line_of(row) for row in measure(key, *more)], ""
    except CompilerCrash as error:
        return [], str(error)


class ScheduleCostsTraining(ConfiguredTraining):
    """A Training of a cost model: each iteration measures a program, the last one fits."""

    ends = True

    def __init__(
        self,
        config: Config,
        folder: Path,
        note: Callable[[str], None],
        subject: Subject,
        do: Executor = IN_TURN,
    ) -> None:
        """Choose the programs; `do` measures them, a shard each.

        Raises:
            InputError: the configuration does not fit.
        """
        super().__init__(config)
        self.folder, self.note, self.do = folder, note, do
        self.plan = self.plan_of(ScheduleCostsPlan)
        self.subject = subject
        if self.task.language != self.subject.language:
            expected = f"a task of programs in {self.subject.language!r}"
            raise InputError(f"{config.name}: task: {self.task.name}: expected {expected}")
        self.choose_programs()
        self.guide = self._guide()
        self._before = self._rows_of_plan()
        self.model: Any = None
        self._held: list[MeasuredProgram] = []
        self._metrics: dict[str, float] = {SCORE: NOTHING_YET}
        self._stages = self._run()

    def iterate(self) -> Mapping[str, float]:
        """See Training."""
        return next(self._stages)

    def validate(self) -> Mapping[str, float]:
        """Return the metrics of the fit; the score is the speed of the model's choice over the fastest's."""
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state: measurements are in files, and the fit is one iteration."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        assert self.model
        return {item.name: getattr(self.model, item.name) for item in fields(self.model)}

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training."""
        path = folder / "policy.npz"
        self.subject.model(**policy).save(path)
        return path, {
            "kind": self.subject.kind,
            "task": self.task.id,
            "toolchain": dict(self.task.checks.toolchain()),
            "machine": host().cpu,
            "objective": self.objective,
            "bytes": path.stat().st_size,
            "programs": [part.describe() for part in self.programs.parts],
            "validation_programs": [part.describe() for part in self.validation.parts],
        }

    def close(self) -> None:
        """See Training."""
        self._stages.close()

    def _run(self) -> Generator[Mapping[str, float], None, None]:
        measured: list[MeasuredProgram] = []
        yield from self._measure("measured", self.programs, measured)
        yield from self._measure("validation", self.validation, self._held)
        seen = {
            key
            for programs in (self.programs, self.validation)
            for key in self.subject.wanted(programs, self.plan)
        }
        others = self._by_key(one for one in self._before if one.key not in seen)
        measured += map(self._learned, others.values())
        self.note(f"fitting {sum(len(nest.seconds) for nest in measured)} schedules")
        self.model = self.subject.fit(
            measured,
            self.plan.fit,
            self.config.run.seed,
            task=self.task.id,
            objective=self.objective,
            vector_bytes=host().vector_bytes,
            known=self.subject.known,
            kind=self.subject.kind,
        )
        shares = regret(self.model, self._held)
        self._metrics = {
            SCORE: float(np.exp(np.log(shares).mean())),
            "validation/worst-tenth": float(np.quantile(shares, 0.1)),
            "validation/pairs": pair_accuracy(self.model, self._held),
            "validation/schedules": sum(len(nest.seconds) for nest in self._held),
        }
        yield {"schedules": sum(len(nest.seconds) for nest in measured), "finished": 1.0}

    def _measure(
        self, name: str, programs: Chosen, found: list[MeasuredProgram]
    ) -> Iterator[Mapping[str, float]]:
        """Measure the programs that a file lacks, one per iteration; add all measurements to `found`."""
        path, subject = self.folder / f"{name}.jsonl", self.subject
        rows = [*self._before, *read_rows(path, subject.row)]
        both = (read_rows(self.folder / f"{part}.jsonl", subject.row) for part in ("measured", "validation"))
        machine = one_machine({row.machine for part in both for row in part}) or host().cpu
        known, wanted = self._by_key(rows), dict.fromkeys(subject.wanted(programs, self.plan))
        missing = {self._name(key): key for key in wanted if key not in known}
        more = machine, self.plan, self.config.run.seed, self.guide
        shards = [Shard(at, measured_on, (subject.measure, key, *more)) for at, key in missing.items()]
        with closing(LineFile(path, keep=True)) as file:
            for number, (at, (lines, failure)) in enumerate(self.do(shards), 1):
                key = missing[at]
                if failure:
                    self.note(f"left out: {key[0].splitlines()[-1]}: {failure}")
                for line in lines:
                    file.append(line)
                known[key] = [decode(subject.row, line, ROW) for line in lines]
                self.note(f"{name}: {number} of {len(shards)} programs")
                yield {name: number, f"{name}/schedules": len(lines)}
        found += [self._learned(known[key]) for key in wanted if len(known[key]) >= FEWEST]
        yield {name: len(found)}

    def _name(self, key: Key) -> str:
        plan = self.plan
        effort = plan.schedules, plan.operations, plan.seconds, plan.guide, self.config.run.seed
        return name_of("schedules", self.task.id, dict(self.task.options), self.objective, key, effort)

    def _learned(self, rows: Sequence[Any]) -> MeasuredProgram:
        return MeasuredProgram(self.subject.features(rows), np.array([row.seconds for row in rows]))

    def _rows_of_plan(self) -> list[Any]:
        rows = []
        for name in self.plan.measured:
            if not (path := Path(name)).is_file():
                raise InputError(f"algorithm.measured: {name}: there is no such file")
            rows += read_rows(path, self.subject.row)
        return rows

    def _by_key(self, rows: Iterable[Any]) -> dict[Key, list[Any]]:
        known: dict[Key, list[Any]] = {}
        for row in rows:
            known.setdefault(row.key, []).append(row)
        for same in known.values():
            one_machine({row.machine for row in same})  # other programs' may be of other machines
        return known

    def _guide(self) -> CostModel | None:
        found = find_guide(self.plan.guide, self.task, self.objective)
        if found is None:
            return None
        if not isinstance(found[0], SchedulePolicy) or not isinstance(found[0].model, CostModel):
            raise InputError(f"algorithm.guide: {self.plan.guide} is not a cost model")
        return found[0].model
