"""The training of a cost model of schedules: measure sketches of many nests, then fit.

What was measured is in files of the run's folder, nest by nest: a run that was killed measures only what is
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from burnish.core.errors import CompilerCrash, InputError
from burnish.core.worker import Limits, Worker
from burnish.files import LineFile
from burnish.loops.cost_model import CostModel
from burnish.loops.fitting import LearningConfig, MeasuredNest, fit, pair_accuracy, regret
from burnish.loops.measuring import Measurement, measure, read_measurements
from burnish.loops.proposals import SchedulePolicy
from burnish.policies.find import find_adviser
from burnish.tasks.loop_nests.features import Featurizer
from burnish.tasks.loop_nests.kernel import host
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import simplified
from burnish.training.chosen_programs import Chosen, choose
from burnish.training.config import Config
from burnish.training.learning import task_of
from burnish.training.tables import from_table
from burnish.training.validation import NOTHING_YET, SCORE

NARROW_BYTES = 32
FEWEST = 6  # schedules of a nest, to learn from


@dataclass(frozen=True)
class ScheduleCostsPlan:
    """How much is measured, and how it is fitted."""

    schedules: int = 48  # of each nest
    operations: float = 5e9  # of a nest, from which on half as many are measured
    narrow: float = 0.25  # of the nests are also measured with vectors half as wide, where there are such
    seconds: float = 60.0  # for one nest
    guide: str = "shipped"  # the policy that proposes some of the schedules: "none", or a file
    measured: tuple[str, ...] = ()  # files of what was measured before: it is learned from, not done again
    fit: LearningConfig = field(default_factory=LearningConfig)


class ScheduleCostsTraining:
    """A Training (burnish.training.loop); an iteration measures a nest, and the last one fits."""

    ends = True

    def __init__(self, config: Config, folder: Path, note: Callable[[str], None]) -> None:
        """Choose the nests.

        Raises:
            InputError: the configuration does not fit.
        """
        self.config, self.folder, self.note = config, folder, note
        torch.set_num_threads(config.run.threads)
        table = {name: value for name, value in config.algorithm.items() if name != "name"}
        self.plan = from_table(ScheduleCostsPlan, table, f"{config.name}: algorithm")
        self.task = task_of(config)
        if self.task.language != "nest":
            raise InputError(f"{config.name}: task: {self.task.name}: schedules are those of loop_nests")
        self.reference = self.task.reference
        self.objective = self.task.objective(config.objective).name
        self.programs = choose(config.programs, "programs", self.task)
        self.validation = choose(config.validation, "validation", self.task)
        self.guide = self._guide()
        self._before = [one for name in self.plan.measured for one in read_measurements(_existing(name))]
        self.model: CostModel | None = None
        self._held: list[MeasuredNest] = []
        self._metrics: dict[str, float] = {SCORE: NOTHING_YET}
        self._stages = self._run()

    def iterate(self) -> Mapping[str, float]:
        """See Training."""
        return next(self._stages)

    def validate(self) -> Mapping[str, float]:
        """Return the speed of what the model chooses among a nest's schedules, over that of the fastest."""
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: what was measured is in files, and the fit is one iteration."""
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
        CostModel(**policy).save(path)
        return path, {
            "kind": "schedule-costs",
            "task": self.task.id,
            "toolchain": dict(self.task.toolchain()),
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
        measured: list[MeasuredNest] = []
        yield from self._measure("measured", self.programs, measured)
        yield from self._measure("validation", self.validation, self._held)
        seen = {key for nests in (self.programs, self.validation) for key in self._wanted(nests)}
        others = by_nest(one for one in self._before if (one.nest, one.vector_bytes) not in seen)
        measured += map(measured_of, others.values())
        self.note(f"fitting {sum(len(nest.seconds) for nest in measured)} schedules")
        self.model = fit(
            measured,
            self.plan.fit,
            seed=self.config.run.seed,
            task=self.task.id,
            objective=self.objective,
            vector_bytes=host().vector_bytes,
        )
        shares = regret(self.model, self._held)
        self._metrics = {
            SCORE: float(np.exp(np.log(shares).mean())),
            "validation/worst-tenth": float(np.quantile(shares, 0.1)),
            "validation/pairs": pair_accuracy(self.model, self._held),
            "validation/schedules": sum(len(nest.seconds) for nest in self._held),
        }
        yield {"schedules": sum(len(nest.seconds) for nest in measured), "finished": 1.0}

    def _measure(self, name: str, nests: Chosen, found: list[MeasuredNest]) -> Iterator[Mapping[str, float]]:
        """Measure what a file does not have yet, a nest an iteration; `found` has all of it then."""
        path = self.folder / f"{name}.jsonl"
        known = by_nest([*self._before, *read_measurements(path)])
        with closing(LineFile(path, keep=True)) as file, closing(Worker(self._limits)) as worker:
            for number, (text, vector_bytes) in enumerate(self._wanted(nests)):
                key = text, vector_bytes
                if key not in known:
                    self.note(f"{name}: {number} of {len(nests)} nests")
                    known[key] = self._measured(worker, *key)
                    for row in known[key]:
                        file.append(row.to_json())
                    yield {name: number, f"{name}/schedules": len(known[key])}
                if len(known[key]) >= FEWEST:
                    found.append(measured_of(known[key]))
        yield {name: len(found)}

    def _guide(self) -> CostModel | None:
        found = find_adviser(self.plan.guide, self.task, self.objective)
        if found is None:
            return None
        if not isinstance(found[0], SchedulePolicy):
            raise InputError(f"{self.config.name}: algorithm.guide: {self.plan.guide} is no model of costs")
        return found[0].model

    @property
    def _limits(self) -> Limits:
        return Limits(deadline_seconds=self.plan.seconds)

    def _wanted(self, nests: Chosen) -> Iterator[tuple[str, int]]:
        wide = host().vector_bytes
        every = round(1 / self.plan.narrow) if self.plan.narrow else 0
        for number, program in enumerate(nests):
            text = str(simplified(parse(program.content.decode()))[1])
            yield text, wide
            if wide > NARROW_BYTES and every and number % every == 0:
                yield text, NARROW_BYTES

    def _measured(self, worker: Worker, text: str, vector_bytes: int) -> list[Measurement]:
        """Measure a nest; nothing comes of one that takes too long."""
        heavy = parse(text).flops > self.plan.operations
        count = self.plan.schedules // 2 if heavy else self.plan.schedules
        try:
            rows: list[Measurement] = worker.call(
                measure, text, vector_bytes, count, self.config.run.seed, self.guide
            )
        except CompilerCrash as error:
            self.note(f"left out: {text.splitlines()[-1]}: {error}")
            return []
        return rows


def _existing(name: str) -> Path:
    if not (path := Path(name)).is_file():
        raise InputError(f"algorithm.measured: {name}: there is no such file")
    return path


def by_nest(measurements: Iterable[Measurement]) -> dict[tuple[str, int], list[Measurement]]:
    """Return measurements by their nests and the bytes of their vectors."""
    known: dict[tuple[str, int], list[Measurement]] = {}
    for one in measurements:
        known.setdefault((one.nest, one.vector_bytes), []).append(one)
    return known


def measured_of(rows: Sequence[Measurement]) -> MeasuredNest:
    """Return the features and times of what was measured of a nest."""
    nest = parse(rows[0].nest)
    featurize = Featurizer(nest, rows[0].vector_bytes)
    features = tuple(featurize.of_sketch(row.sketch) for row in rows)
    return MeasuredNest(rows[0].nest, features, np.array([row.seconds for row in rows]))
