"""Training by the credit of single answers: try decisions of many modules the other way, then fit.

An iteration reverses decisions of LLVM's heuristic in one module. After all modules, further iterations fit a
policy, some epochs each. The tried decisions are in a file of the run's folder, module by module. So a run
that was killed and is resumed tries only the missing modules.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.files import LineFile, read_json_lines
from burnish.learning.agents.learner import seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining
from burnish.learning.training.export_best import export
from burnish.learning.training.standardize import standardize
from burnish.learning.training.validation import NOTHING_YET, SCORE, Played, hold_out, measure, play_all
from burnish.policies.choose import Actor
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining.observations import FEATURES, INLINING_FEATURES
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Trying, decide
from burnish.tasks.llvm_inlining.train.answer_fitting import Fitting, FittingConfig, judged

DECISIONS = "decisions.jsonl"


@dataclass(frozen=True)
class AnswerValuesPlan:
    """Settings for trying and fitting."""

    answers: int = 60  # of each module to try the other way, drawn with the seed
    seconds: float = 60.0  # time limit for one module
    tried: tuple[str, ...] = ()  # files of earlier decisions, which are used and not tried again
    rounds: int = 8  # number of validations during the fit
    fit: FittingConfig = field(default_factory=FittingConfig)


class AnswerValuesTraining(ConfiguredTraining):
    """A Training of answers to LLVM's inliner, by the effect of single answers."""

    ends = True

    def __init__(self, config: Config, folder: Path, note: Callable[[str], None]) -> None:
        """Choose the modules, and measure the validation modules.

        Raises:
            InputError: the configuration does not fit.
        """
        super().__init__(config, of_task="llvm_inlining")
        self.folder, self.note = folder, note
        self.plan = self.plan_of(AnswerValuesPlan)
        self.choose_programs()
        self.space = ActionSpace(self.task, None, 0)
        self.held, self.left_out = hold_out(
            self.task, self.validation, self.objective, limits=self.limits, actions=self.space
        )
        self.before: list[Decisions] = []
        for name in self.plan.tried:
            if not Path(name).exists():
                raise InputError(f"{config.name}: algorithm.tried: {name}: there is no such file")
            self.before += read_json_lines(Path(name), Decisions.from_json, appended=True)
        self.done = 0  # number of finished modules
        self.steps = 0  # number of tried answers
        self.fitting: Fitting | None = None
        self.metrics: dict[str, float] = {SCORE: NOTHING_YET}

    def iterate(self) -> Mapping[str, float]:
        """Try the next module's decisions, or fit for some epochs."""
        if self.done < len(self.programs):
            found = self._try_next()
            self.done += 1
            count = int(found.tried.sum()) if found else 0
            self.steps += count
            gain = float((found.changes < 0).sum()) if found else 0.0
            return {"steps": self.steps, "modules": self.done, "answers": count, "answers/better": gain}
        fitting = self._fitting()
        epochs = -(-self.plan.fit.epochs // self.plan.rounds)
        losses = fitting.fit(epochs)
        over = float(fitting.epochs >= self.plan.fit.epochs)
        self.metrics = {}  # the old metrics are of the policy before this fit
        return {"steps": self.steps, "epochs": fitting.epochs, "finished": over, **losses}

    def validate(self) -> Mapping[str, float]:
        """Return the policy's metrics on the validation programs, if there is a policy."""
        if self.fitting is None:
            return {SCORE: NOTHING_YET}
        if not self.metrics:
            self.metrics = measure(self.play(self.fitting.policy))
        return self.metrics

    def play(self, actor: Actor) -> list[Played]:
        """Return episodes of the validation programs."""
        return play_all(actor, self.held, self.env, self.config.environment.count)

    def env(self, programs: Sequence[Program]) -> Env:
        """Return an environment for some programs."""
        return Env(
            self.task,
            programs,
            observation=INLINING_FEATURES,
            objective=self.objective,
            order="cycle",
            limits=self.limits,
        )

    def state_dict(self) -> dict[str, Any]:
        """See Training; the tried decisions are in the run's folder."""
        fitted = None if self.fitting is None else self.fitting.state_dict()
        return {"done": self.done, "steps": self.steps, "fitting": fitted}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        self.done, self.steps = state["done"], state["steps"]
        if state["fitting"] is not None:
            self._fitting().load_state_dict(state["fitting"])

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        assert self.fitting
        return copy.deepcopy(self.fitting.policy.state_dict())

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training; the exported file is played on the validation programs, for results on its card."""
        assert self.fitting
        actor = copy.deepcopy(self.fitting.policy)
        actor.load_state_dict(policy)
        described = {
            **self.described(),
            "observation": INLINING_FEATURES,
            "columns": list(FEATURES),
            "reward": "log",
            "sites": 0,
            "max_steps": None,
            "validation": [part.describe() for part in self.validation.parts],
            "left_out": self.left_out,
            "answers": self.steps + sum(int(one.tried.sum()) for one in self.before),
        }
        path, found = export(actor, self.task.actions, folder, described, self.play)
        return path, {**described, "actions": list(self.task.actions), **found}

    def _try_next(self) -> Decisions | None:
        """Return the next module's decisions, from a file if they are there; None if the module fails."""
        program = self.programs[self.done]
        for found in [*self.before, *self._tried()]:
            if (found.digest, found.objective) == (program.digest, self.objective):
                return found
        self.note(f"trying answers: {program.name}, {self.done + 1} of {len(self.programs)}")
        plan, workers = self.plan, self.config.environment.count
        trying = Trying(plan.answers, plan.seconds, workers, self.config.run.seed)
        try:
            found = decide(Problem(self.task, program, self.objective, limits=self.limits), trying=trying)
        except (CompilerCrash, ProgramError):
            return None  # nothing to learn from
        with closing(LineFile(self.folder / DECISIONS, keep=True)) as file:
            file.append(found.to_json())
        return found

    def _tried(self) -> list[Decisions]:
        return read_json_lines(self.folder / DECISIONS, Decisions.from_json, appended=True)

    def _fitting(self) -> Fitting:
        """Return the fit of a policy to all tried decisions; the first call makes it."""
        if self.fitting is None:
            found = {one.digest: one for one in [*self.before, *self._tried()]}
            held = {item.program.digest for item in self.held}
            data = judged([one for digest, one in found.items() if digest not in held], self.plan.fit.margin)
            with seeded_torch(self.config.run.seed, 0):
                encoder = build_encoder(self.config.network, self.task, INLINING_FEATURES)
                standardize(encoder, list(data.features))
                policy = Policy(encoder, self.task.actions, critic="none")
            self.fitting = Fitting(policy, data, self.plan.fit, seed=self.config.run.seed)
        return self.fitting
