"""The training of policies of evictions: "eviction-cloning", "eviction-ppo", "eviction-evolution".

All begin with cloning, or with the policy of `start_from`: first LLVM's own choices in all modules are
imitated. Reinforcement learning
then runs whole compiles, some modules per iteration, with a reward for each function. Evolution does the
same, but perturbs the weights instead of the choices.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.learning.agents import optimizers
from burnish.learning.agents.evolution import centred_ranks, gradient
from burnish.learning.agents.export import export_policy, to_arrays
from burnish.learning.agents.learner import generator, seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining
from burnish.learning.training.start import load_start
from burnish.learning.training.tables import from_table
from burnish.learning.training.validation import SCORE
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.columns import COLUMNS
from burnish.tasks.llvm_codegen.objectives import SPILL_COST
from burnish.tasks.llvm_codegen.policy.allocating import (
    AllocatedModule,
    Compilers,
    allocate,
    allocated,
    costs_under,
    joined,
)
from burnish.tasks.llvm_codegen.policy.scorer import ACTIONS, INPUTS, IS_LLVMS
from burnish.tasks.llvm_codegen.session import CodegenOptions
from burnish.tasks.llvm_codegen.train.eviction_learners import (
    EvictionCloningConfig,
    EvictionPPOConfig,
    advantages,
    agreement,
    clone,
    improve,
    rewards,
)


@dataclass(frozen=True)
class EvictionEvolutionConfig:
    """Settings for perturbing all weights; all pairs run on the same modules: see agents.evolution."""

    modules: int = 8
    pairs: int = 8
    sigma: float = 0.02
    learning_rate: float = 0.01


@dataclass(frozen=True)
class EvictionPlan:
    """The keys of [algorithm]: settings for cloning, and for the improvement after it."""

    cloning: EvictionCloningConfig = field(default_factory=EvictionCloningConfig)
    ppo: EvictionPPOConfig = field(default_factory=EvictionPPOConfig)
    evolution: EvictionEvolutionConfig = field(default_factory=EvictionEvolutionConfig)
    fewest_decisions: int = 8  # modules with fewer, or more than `most_decisions`, are not used
    most_decisions: int = 20_000
    sees_llvms: bool = True  # whether the slot of LLVM's heuristic is an input, as only burnish has it


KINDS = ("eviction-cloning", "eviction-ppo", "eviction-evolution")


class EvictionTraining(ConfiguredTraining):
    """A Training of the register allocator's evictions: cloning, PPO or evolution."""

    starts = True

    def __init__(self, config: Config, folder: Path, note: Callable[[str], None]) -> None:
        """Compile all modules under LLVM's heuristic.

        Raises:
            InputError: the configuration does not fit.
        """
        super().__init__(config, of_task="llvm_codegen")
        self.kind = config.algorithm["name"]
        self.plan = self.plan_of(EvictionPlan)
        if self.objective != SPILL_COST:
            raise InputError(f"{config.name}: objective: {self.objective}: expected {SPILL_COST}")
        self.options = CodegenOptions(**self.task.options)
        self.choose_programs()
        self.compilers = Compilers(config.environment.count, self.limits)
        note(f"compiling {len(self.programs)} programs and {len(self.validation)} of validation")
        plan = self.plan
        self.modules = [
            one
            for one in self._allocated(self.programs)
            if plan.fewest_decisions <= len(one.llvms.choices) <= plan.most_decisions
        ]
        self.held = list(self._allocated(self.validation))
        if not self.modules or not self.held:
            self.compilers.close()
            raise InputError(f"{config.name}: in no module of programs, or of validation, LLVM evicts enough")
        self.inputs = INPUTS if plan.sees_llvms else INPUTS[: INPUTS.index(IS_LLVMS)]
        self.taught = joined([one.llvms.choices for one in self.modules]).seen(len(self.inputs))
        self.iterations = self.compiles = 0
        with seeded_torch(config.run.seed, 0):
            encoder = MLP(from_table(MLPConfig, _layers(config), f"{config.name}: network"), len(self.inputs))
            encoder.standardize(list(self.taught.inputs))
            self.policy = Policy(encoder, ACTIONS, critic="none")
        if config.start_from:
            load_start(self.policy, config.start_from, config.start_temperature)
        self.cloned = 0 if config.start_from else plan.cloning.epochs  # iterations of cloning
        rate = plan.ppo.learning_rate if self.kind == "eviction-ppo" else plan.cloning.learning_rate
        self.cloner = optimizers.Adam(self.policy.parameters(), lr=plan.cloning.learning_rate)
        self.optimizer = optimizers.Adam(self.policy.parameters(), lr=rate)
        self.centre = nn.Parameter(nn.utils.parameters_to_vector(self.policy.parameters()).detach().clone())
        self.climber = optimizers.Adam([self.centre], lr=plan.evolution.learning_rate)

    def iterate(self) -> Mapping[str, float]:
        """Run one epoch of cloning; after all of its epochs, run compiles and improve the policy."""
        self.iterations += 1
        rng = generator(self.config.run.seed, self.iterations, 0)
        if self.iterations <= self.cloned:
            order = rng.permutation(len(self.taught))
            found = clone(self.policy, self.cloner, self.taught, self.plan.cloning, order)
            with torch.no_grad():
                self.centre.copy_(nn.utils.parameters_to_vector(self.policy.parameters()))
            return {"steps": self.compiles, **found}
        if self.kind == "eviction-cloning":
            return {"steps": self.compiles, "finished": 1.0}
        found = self._play(rng) if self.kind == "eviction-ppo" else self._perturb(rng)
        return {"steps": self.compiles, "agreement": agreement(self.policy, self.taught), **found}

    def _play(self, rng: np.random.Generator) -> dict[str, float]:
        plan, seed = self.plan.ppo, self.config.run.seed
        played = self._next(plan.modules)
        seeds = rng.integers(2**62, size=(len(played), plan.samples)).tolist()
        actor = self._actor()
        calls = [(one, actor, drawn) for one, row in zip(played, seeds, strict=True) for drawn in row]
        found = list(self.compilers.each(allocate, calls))
        self.compiles += len(calls)
        whole = [found[i : i + plan.samples] for i in range(0, len(found), plan.samples)]
        kept = [i for i, some in enumerate(whole) if None not in some]
        if not kept:
            return {"reward": math.nan}
        llvms = [played[i].llvms.costs for i in kept]
        choices, gains, reward = advantages([whole[i] for i in kept], llvms, plan.most_reward)
        choices = choices.seen(len(self.inputs))
        with seeded_torch(seed, self.iterations):
            return {"reward": reward, **improve(self.policy, self.optimizer, (choices, gains), plan, rng)}

    def _perturb(self, rng: np.random.Generator) -> dict[str, float]:
        plan = self.plan.evolution
        drawn = rng.standard_normal((plan.pairs, len(self.centre)), dtype=np.float32)
        noise = torch.from_numpy(drawn)
        played = self._next(plan.modules)
        centre = self.centre.detach()
        around = [centre + sign * plan.sigma * one for sign in (1, -1) for one in noise]
        actors = [self._arrays_of(weights) for weights in around]
        fitness = torch.tensor(self._rewards(played, actors))
        plus, minus = centred_ranks(fitness).chunk(2)
        self.centre.grad = -gradient(noise, plus, minus, plan.sigma)
        self.climber.step()
        self._arrays_of(self.centre.detach())
        return {"reward": float(fitness.mean()), "reward/deviation": float(fitness.std())}

    def _rewards(self, played: Sequence[AllocatedModule], actors: Sequence[ArraysPolicy]) -> list[float]:
        """Return each actor's reward: the mean over a module's functions, then over modules."""
        sums = np.zeros(len(actors))
        most = self.plan.ppo.most_reward
        found = self.compilers.each(costs_under, [(one, actors) for one in played])
        for one, rows in zip(played, found, strict=True):
            for number, costs in enumerate(rows or ()):
                sums[number] += float(np.mean(list(rewards(costs, one.llvms.costs, most).values())))
        self.compiles += len(played) * len(actors)
        return [float(value) for value in sums / len(played)]

    def _arrays_of(self, weights: torch.Tensor) -> ArraysPolicy:
        nn.utils.vector_to_parameters(weights, self.policy.parameters())
        return self._actor()

    def _actor(self) -> ArraysPolicy:
        return replace(to_arrays(self.policy), card={COLUMNS: list(self.inputs)})

    def _next(self, count: int) -> list[AllocatedModule]:
        turn = self.iterations - self.cloned
        rng = generator(self.config.run.seed, turn, 7)
        numbers = rng.permutation(len(self.modules))[:count]
        return [self.modules[int(i)] for i in numbers]

    def validate(self) -> Mapping[str, float]:
        """Return LLVM's spill cost over the policy's: the geometric mean over modules, and for the sums."""
        found = self.compilers.each(costs_under, [(one, [self._actor()]) for one in self.held])
        llvms, costs = [], []
        for one, rows in zip(self.held, found, strict=True):
            if rows:
                llvms.append(max(1.0, sum(one.llvms.costs.values())))
                costs.append(max(1.0, sum(rows[0].values())))
        ratios = np.array(llvms) / np.array(costs)
        return {
            SCORE: float(np.exp(np.log(ratios).mean())),
            "validation/total": sum(llvms) / sum(costs),
            "validation/worst": float(ratios.min()),
            "validation/best": float(ratios.max()),
            "validation/modules": float(len(ratios)),
        }

    def state_dict(self) -> dict[str, Any]:
        """See Training."""
        parts = ("policy", "cloner", "optimizer", "climber")
        counted = {"iterations": self.iterations, "compiles": self.compiles}
        return (
            {name: getattr(self, name).state_dict() for name in parts}
            | counted
            | {"centre": self.centre.data}
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        for name in ("policy", "cloner", "optimizer", "climber"):
            getattr(self, name).load_state_dict(state[name])
        self.centre.data.copy_(state["centre"])
        self.iterations, self.compiles = state["iterations"], state["compiles"]

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        return copy.deepcopy(self.policy.state_dict())

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training."""
        actor = copy.deepcopy(self.policy)
        actor.load_state_dict(policy)
        described = {
            "kind": "evictions",
            **self.described(),
            COLUMNS: list(self.inputs),
        }
        path = export_policy(actor, folder, described)
        return path, {
            **described,
            "bytes": path.stat().st_size,
            "modules": len(self.modules),
            "decisions": len(self.taught),
            "validation_programs": [part.describe() for part in self.validation.parts],
        }

    def close(self) -> None:
        """See Training."""
        self.compilers.close()

    def _allocated(self, programs: Sequence[Program]) -> Iterator[AllocatedModule]:
        for found in self.compilers.each(allocated, [(one, self.options) for one in programs]):
            if found is not None:
                yield found


def _layers(config: Config) -> dict[str, Any]:
    table = dict(config.network)
    if (kind := table.pop("kind", "mlp")) != "mlp":
        raise InputError(f"{config.name}: network.kind: {kind!r}: slots are scored by a perceptron: 'mlp'")
    return {"hidden": [64, 32], **table}
