"""Training by the credit of single answers: try decisions of many modules the other way, then fit.

An iteration reverses decisions of LLVM's heuristic in one module. After all modules, further iterations fit a
policy, some epochs each. In a second pass over the modules, the decisions of that policy are reversed: where
its answers lead, the credit of an answer may differ. The tried decisions are in a file of the run's folder,
module by module. So a run that was killed and is resumed tries only the missing modules.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.trace import Trace, split_entry
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.files import LineFile, read_json_lines
from burnish.learning.agents.export import export_policy
from burnish.learning.agents.learner import seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.mlp import MLP
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining
from burnish.learning.training.export_best import export
from burnish.learning.training.start import load_start
from burnish.learning.training.validation import NOTHING_YET, SCORE, Played, hold_out, measure, play_all
from burnish.llvm.corpora.store import Corpus
from burnish.policies.answer import answers_of
from burnish.policies.choose import Actor
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining.observations import (
    INLINED,
    INLINING_FEATURES,
    QUESTION_SITES,
    QUESTIONS,
    WOULD,
)
from burnish.tasks.llvm_inlining.policy.decisions import (
    WITH_VECTORS,
    Decisions,
    Observed,
    Trying,
    decide,
    observations_of,
    rows_of,
    sees_vectors,
)
from burnish.tasks.llvm_inlining.train.answer_fitting import (
    Fitting,
    FittingConfig,
    begin,
    fit_member,
    judged,
    undecided,
)
from burnish.tasks.llvm_inlining.train.votes import vote, voting_widths
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker

DECISIONS = "decisions.jsonl"


@dataclass(frozen=True)
class AnswerValuesPlan:
    """Settings for trying and fitting."""

    answers: int = 60  # of each module to try the other way, drawn with the seed
    seconds: float = 60.0  # time limit for one module
    tried: tuple[str, ...] = ()  # files of earlier decisions, which are used and not tried again
    passes: int = 1  # over the modules; all but the first try the answers of the policy so far
    rounds: int = 8  # number of validations during the fit of a pass
    fit: FittingConfig = field(default_factory=FittingConfig)


class AnswerValuesTraining(ConfiguredTraining):
    """A Training of answers to LLVM's inliner, by the effect of single answers."""

    ends = True
    starts = True

    def __init__(self, config: Config, folder: Path, note: Callable[[str], None]) -> None:
        """Choose the modules, and measure the validation modules.

        Raises:
            InputError: the configuration does not fit.
        """
        super().__init__(config, of_task="llvm_inlining")
        self.folder, self.note = folder, note
        self.plan = self.plan_of(AnswerValuesPlan)
        self.observation: Observed = config.environment.observation or INLINING_FEATURES
        observations_of(np.zeros((0, WITH_VECTORS)), self.observation)  # all that a policy here can observe
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
        known = {program.digest for program in self.programs} if sees_vectors(self.observation) else set()
        if lost := [one.program for one in self.before if known and one.digest not in known]:
            raise InputError(
                f"{config.name}: algorithm.tried: {lost[0]} is not a training program, so the vectors of its "
                "questions are unknown; add the program, or observe only inlining-features"
            )
        self.done = 0  # number of finished modules, of all passes
        self.fits = 0  # number of finished fits: one ends each pass
        self.steps = 0  # number of tried answers
        self.policy: Policy | None = None  # None before the first fit, without `start_from`
        self.fitting: Fitting | None = None
        self.members: list[Policy] = []  # of the vote, those that are fitted
        self.votes = 0  # number of mean votes that were tried
        self.used: list[Decisions] | None = None  # to fit to, while a pass fits
        sources = (part.programs for part in self.validation.parts)
        corpora = (source.programs for source in sources if isinstance(source, Corpus))
        self.packages = {row.package for rows in corpora for row in rows}  # that validate
        self._new_policy()  # an error here costs no compile
        if config.start_from and self.plan.fit.members:
            raise InputError(
                f"{config.name}: start_from: members of a vote begin anew; to fit the start itself, set "
                "algorithm.fit.members=0 and network.hidden to its widths"
            )
        if config.start_from:
            self.policy = self._new_policy()
            load_start(self.policy, config.start_from, config.start_temperature)
        self.is_new = self.policy is not None  # whether the policy was not validated yet

    def iterate(self) -> Mapping[str, float]:
        """Try the next module's decisions, or fit for some epochs."""
        if self.done < (self.fits + 1) * len(self.programs):
            found = self._try_next()
            self.done += 1
            count = int(found.tried.sum()) if found else 0
            self.steps += count
            gain = float((found.changes < 0).sum()) if found else 0.0
            return {"steps": self.steps, "modules": self.done, "answers": count, "answers/better": gain}
        if self.plan.fit.members:
            return self._vote()
        fitting = self._fitting()
        losses = fitting.fit(-(-self.plan.fit.epochs // self.plan.rounds))
        self.is_new = True
        metrics = {"steps": self.steps, "epochs": fitting.epochs, **losses}
        if fitting.epochs >= self.plan.fit.epochs:
            self._end_pass()
        return metrics | {"finished": float(self.fits == self.plan.passes)}

    def validate(self) -> Mapping[str, float]:
        """Return the metrics of a new policy on the validation programs."""
        if self.policy is None or not self.is_new:
            return {SCORE: NOTHING_YET}
        self.is_new = False
        return measure(self.play(self.policy))

    def play(self, actor: Actor) -> list[Played]:
        """Return episodes of the validation programs."""
        return play_all(actor, self.held, self.env, self.config.environment.count)

    def env(self, programs: Sequence[Program]) -> Env:
        """Return an environment for some programs."""
        return Env(
            self.task,
            programs,
            observation=self.observation,
            objective=self.objective,
            order="cycle",
            limits=self.limits,
        )

    def state_dict(self) -> dict[str, Any]:
        """See Training; the tried decisions are in the run's folder."""
        fitting = None if self.fitting is None else self.fitting.state_dict()
        policy = None if self.policy is None else self.policy.state_dict()
        counted = {"done": self.done, "fits": self.fits, "steps": self.steps, "votes": self.votes}
        members = [member.state_dict() for member in self.members]
        return counted | {"policy": policy, "fitting": fitting, "members": members}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        self.done, self.fits, self.steps = state["done"], state["fits"], state["steps"]
        self.is_new = False
        self.votes = state["votes"]
        for weights in state["members"]:
            self.members.append(self._new(self.config.network, 0))
            self.members[-1].load_state_dict(weights)
        if state["policy"] is not None:
            self.policy = self.policy or self._new_policy()
            self.policy.load_state_dict(state["policy"])
        if state["fitting"] is not None:
            self._fitting().load_state_dict(state["fitting"])

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        assert self.policy
        return copy.deepcopy(self.policy.state_dict())

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training; the exported file is played on the validation programs, for results on its card."""
        assert self.policy
        actor = copy.deepcopy(self.policy)
        actor.load_state_dict(policy)
        described = self.describe()
        path, found = export(actor, self.task.actions, folder, described, self.play)
        return path, {**described, "actions": list(self.task.actions), **found}

    def describe(self) -> dict[str, Any]:
        """Return a policy's description for its card, without its actions and results."""
        seen = self.observation
        columns = self.task.observation(seen).columns if isinstance(seen, str) else ()
        return {
            **self.described(),
            "observation": seen if isinstance(seen, str) else list(seen),
            **({"columns": list(columns)} if columns else {}),
            "reward": "log",
            "sites": 0,
            "max_steps": None,
            "validation": [part.describe() for part in self.validation.parts],
            "left_out": self.left_out,
            "answers": self.steps + sum(int(one.tried.sum()) for one in self.before),
        }

    def _try_next(self) -> Decisions | None:
        """Return the next module's decisions, from a file if they are there; None if the module fails."""
        number = self.done % len(self.programs)
        program = self.programs[number]
        self.note(f"trying answers: {program.name}, {number + 1} of {len(self.programs)}")
        problem = Problem(self.task, program, self.objective, limits=self.limits)
        plan, workers = self.plan, self.config.environment.count
        try:
            trace = self._answers(problem) if self.fits else ()
            for found in [*self.before, *self._tried()]:
                if (found.digest, found.objective, found.trace) == (program.digest, self.objective, trace):
                    return found
            found = decide(problem, trace, Trying(plan.answers, plan.seconds, workers, self.config.run.seed))
        except (CompilerCrash, ProgramError):
            return None  # nothing to learn from
        with closing(LineFile(self.folder / DECISIONS, keep=True)) as file:
            file.append(found.to_json())
        return found

    def _answers(self, problem: Problem) -> Trace:
        """Return the policy's answers in a module that are not the heuristic's."""
        assert self.policy
        with tempfile.TemporaryDirectory() as folder, closing(Worker(self.limits)) as worker:
            file = export_policy(self.policy, Path(folder), self.describe())
            session = problem.open(worker)
            answers = session.answer(answers_of(file, self.task))
            rows = np.asarray(session.observe(QUESTIONS), dtype=np.int64)
            sites = str(session.observe(QUESTION_SITES)).split("\n")
            session.close()
        own = {site for site, row in zip(sites, rows, strict=False) if row[WOULD] != row[INLINED]}
        return tuple(text for text in answers if split_entry(text)[0] in own)

    def _tried(self) -> list[Decisions]:
        return read_json_lines(self.folder / DECISIONS, Decisions.from_json, appended=True)

    def _new_policy(self) -> Policy:
        network = dict(self.config.network)
        if members := self.plan.fit.members:
            layers = self._new(network, 0).encoder
            if not isinstance(layers, MLP):
                raise InputError(f"network: perceptrons vote, not {network['kind']!r}")
            if INLINING_FEATURES not in (self.observation, self.observation[0]):
                raise InputError(f"environment.observation: a vote needs {INLINING_FEATURES!r} first")
            seeing = sees_vectors(self.observation)
            network["hidden"] = voting_widths(members, layers.config, sees_vectors=seeing)
        return self._new(network, self.config.run.seed)

    def _new(self, network: Mapping[str, Any], seed: int) -> Policy:
        with seeded_torch(seed, 0):
            encoder = build_encoder(network, self.task, self.observation)
            return Policy(encoder, self.task.actions, critic="none")

    def _fitting(self) -> Fitting:
        """Return the fit of the policy to all tried decisions; the first call of a pass makes it."""
        if self.fitting is None:
            used = self._used()
            plan, seed = self.plan.fit, self.config.run.seed
            if self.policy is None:
                asked = np.concatenate([one.rows for one in used if not one.trace])
                self.policy = self._new_policy()
                begin(self.policy, asked, self.observation, seed=seed)
                if plan.warm_epochs:
                    start = undecided(asked, plan.margin)
                    Fitting(self.policy, start, plan, self.observation, seed=seed).fit(plan.warm_epochs)
            data = judged(used, plan.margin)
            self.fitting = Fitting(self.policy, data, plan, self.observation, seed=seed)
        return self.fitting

    def _used(self) -> list[Decisions]:
        """Return the decisions of modules that do not validate, nor their packages, with what is observed.

        Raises:
            InputError: no answer was tried in them.
        """
        if self.used is None:
            tables = {(one.digest, one.trace): one for one in [*self.before, *self._tried()]}
            digests = {item.program.digest for item in self.held}
            self.used = [
                self._seen(one)
                for one in tables.values()
                if one.digest not in digests and one.program.partition("/")[0] not in self.packages
            ]
            judged(self.used, 0.0)  # an error if no answer was tried
        return self.used

    def _vote(self) -> Mapping[str, float]:
        """Fit the next member; when all are there, make the policy their vote with the next mean needed."""
        plan = self.plan.fit
        if (number := len(self.members)) < plan.members:
            self.note(f"fitting network {number + 1} of {plan.members} to the tried answers")
            seed = self.config.run.seed * plan.members + number  # no two runs share one
            member = self._new(self.config.network, seed)
            losses = fit_member(member, self._used(), plan, self.observation, seed=seed)
            self.members.append(member)
            return {"steps": self.steps, "members": len(self.members), **losses}
        self.policy = self.policy or self._new_policy()
        needed = plan.needed[self.votes]
        vote(self.policy, self.members, full=plan.full_vote, needed=needed)
        self.votes += 1
        self.is_new = True
        if self.votes == len(plan.needed):
            self._end_pass()
        return {"steps": self.steps, "needed": needed, "finished": float(self.fits == self.plan.passes)}

    def _end_pass(self) -> None:
        self.fits += 1
        self.fitting = self.used = None
        self.members, self.votes = [], 0

    def _seen(self, table: Decisions) -> Decisions:
        """Return a table; if the policy observes vectors, compile once more for those of its questions."""
        if not sees_vectors(self.observation):
            return table
        program = next(program for program in self.programs if program.digest == table.digest)
        self.note(f"computing vectors: {table.program}")
        with closing(Worker(self.limits)) as worker:
            session = Sandbox(self.task.open, program, worker=worker)
            session.replay(table.trace)
            rows = rows_of(session, self.observation)
            places = {site: i for i, site in enumerate(str(session.observe(QUESTION_SITES)).split("\n"))}
            session.close()
        return replace(table, rows=rows[[places[site] for site in table.sites]])
