"""Evolution strategies: gradient ascent on the mean return of policies with perturbed parameters.

The gradient of E F(x + sigma e), e normal, is E F(x + sigma e) e / sigma (Salimans et al. 2017). It is
estimated from pairs of opposite perturbations, and from ranks, so that no single return outweighs the others.
`shaping = "ars"` is augmented random search (Mania et al. 2018): only the best pairs are used, in units of
the deviation of their returns. Only returns of whole episodes count: there is neither discount nor critic.

All parameters are perturbed by the same sigma, so features should be standardized. With raw counts and six
LLVM passes, a policy learned to repeat the best single pass in every state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents import optimizers
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import check_ranges, first_program, generator, seeded_torch
from burnish.learning.agents.policy import Policy, as_mask
from burnish.learning.agents.rollout import Act, Episode, Notes, draw, play, summary


@dataclass(frozen=True)
class EvolutionConfig:
    """The keys of [algorithm] in a training configuration."""

    pairs: int = 16  # of opposite perturbations in an iteration
    episodes: int = 1  # of each perturbed policy in each environment; all policies play the same programs
    sigma: float = 0.05  # standard deviation of the perturbations
    shaping: Literal["ranks", "returns", "ars"] = "ranks"
    top: int | None = None  # ars: number of pairs that a step uses; None: all
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 0.02
    momentum: float = 0.9  # of sgd; the first beta of adam
    weight_decay: float = 0.0  # every step multiplies parameters by 1 - learning_rate * weight_decay
    sample: bool = False  # draw actions instead of taking the most probable ones

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        whole = dict.fromkeys(("pairs", "episodes"), (1, math.inf))
        rest = dict.fromkeys(("learning_rate", "weight_decay"), (0.0, math.inf))
        check_ranges(
            self, **whole, **rest, sigma=(1e-9, math.inf), momentum=(0.0, 0.999), top=(1, self.pairs)
        )
        if self.shaping not in ("ranks", "returns", "ars"):
            raise InputError(f"shaping: expected 'ranks', 'returns' or 'ars', not {self.shaping!r}")
        if self.optimizer not in ("adam", "sgd"):
            raise InputError(f"optimizer: expected 'adam' or 'sgd', not {self.optimizer!r}")


def centred_ranks(fitness: Tensor) -> Tensor:
    """Return the ranks of float32[N], from -1/2 for the least to 1/2; equal values share their mean rank.

    If all values are equal, all ranks are 0, so nothing is learned from a plateau.
    """
    below = (fitness[:, None] > fitness[None, :]).sum(dim=1)
    equal = (fitness[:, None] == fitness[None, :]).sum(dim=1)
    ranks = below + (equal - 1) / 2
    return ranks / max(1, len(fitness) - 1) - 0.5


def gradient(noise: Tensor, plus: Tensor, minus: Tensor, sigma: float) -> Tensor:
    """Estimate the gradient of the mean of F: sum_i (F(x + sigma e_i) - F(x - sigma e_i)) e_i / (2 P sigma).

    Args:
        noise: e, float32[P, d].
        plus: F(x + sigma e), float32[P].
        minus: F(x - sigma e), float32[P].
        sigma: Standard deviation of the perturbations.
    """
    return (plus - minus) @ noise / (2 * len(noise) * sigma)


def ars_direction(noise: Tensor, plus: Tensor, minus: Tensor, top: int) -> Tensor:
    """Return augmented random search's step: sum_i (F+_i - F-_i) e_i / (top deviation), over the `top` pairs.

    The `top` pairs have the largest max(F+, F-), and the deviation is that of their returns. The step is 0 if
    these returns are all equal.
    """
    best = torch.maximum(plus, minus).argsort(descending=True, stable=True)[:top]
    plus, minus, noise = plus[best], minus[best], noise[best]
    deviation = torch.cat([plus, minus]).std(correction=0)
    if deviation == 0:
        return torch.zeros_like(noise[0])
    return (plus - minus) @ noise / (top * deviation)


SAVED = Saved("evolution", ("policy", "centre", "optimizer"))


class Evolution:
    """A learner: see burnish.learning.agents.learner.Learner."""

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: EvolutionConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make the policy; if it has a critic, that is not trained."""
        self.envs = envs
        self.config = config = config or EvolutionConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        self.policy.eval()
        self._acting = [
            item for name, item in self.policy.named_parameters() if not name.startswith("critic")
        ]
        self.centre = nn.Parameter(nn.utils.parameters_to_vector(self._acting).detach().clone())
        self.optimizer: torch.optim.Optimizer
        if config.optimizer == "adam":
            betas = (config.momentum, 0.999)
            self.optimizer = optimizers.Adam([self.centre], lr=config.learning_rate, betas=betas)
        else:
            self.optimizer = optimizers.SGD([self.centre], lr=config.learning_rate, momentum=config.momentum)
        self.iterations = self.steps = self.episodes = 0

    def iterate(self) -> dict[str, float]:
        """Play with each perturbed policy, and take a step.

        "return" and "length" are means over the perturbed policies' episodes.
        """
        config = self.config
        self.iterations += 1
        played: list[Episode] = []
        noise = self._noise()
        fitness = torch.zeros(2, config.pairs)
        for pair, direction in enumerate(noise):
            for row, sign in enumerate((1, -1)):
                self._act_as(self.centre.detach() + sign * config.sigma * direction)
                found = self._play()
                fitness[row, pair] = float(np.mean([sum(episode.rewards) for episode in found]))
                played += found
        ascent = self.direction(noise, *fitness.to(noise.device))
        self.centre.grad = -ascent
        self.centre.data.mul_(1 - config.learning_rate * config.weight_decay)
        self.optimizer.step()
        self._act_as(self.centre.detach())
        self.steps += sum(map(len, played))
        self.episodes += len(played)
        return {
            **SAVED.counted(self),
            **summary(played),
            "return/best": fitness.max().item(),
            "return/deviation": fitness.std(correction=0).item(),
            "gradient_norm": ascent.norm().item(),
            "parameter_norm": self.centre.detach().norm().item(),
        }

    def direction(self, noise: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
        """Return the ascent direction of the parameters, by `shaping`: float32[d]; see `gradient`."""
        if self.config.shaping == "ars":
            return ars_direction(noise, plus, minus, self.config.top or len(noise))
        if self.config.shaping == "ranks":
            plus, minus = centred_ranks(torch.cat([plus, minus])).chunk(2)
        return gradient(noise, plus, minus, self.config.sigma)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        return SAVED.state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)

    def _noise(self) -> Tensor:
        """Return this iteration's perturbations, each used with both signs: float32[pairs, d]."""
        rng = generator(self.seed, self.iterations, 0)
        drawn = rng.standard_normal((self.config.pairs, len(self.centre)), dtype=np.float32)
        return torch.from_numpy(drawn).to(self.centre.device)

    def _act_as(self, parameters: Tensor) -> None:
        nn.utils.vector_to_parameters(parameters, self._acting)

    def _play(self) -> list[Episode]:
        """Play with the current parameters; an iteration repeats the same programs and random numbers."""
        count = self.envs.num_envs * self.config.episodes
        first = first_program(self.seed, (self.iterations - 1) * count)
        found: list[Episode] = []
        act = self._actor()
        for _ in range(self.config.episodes):
            found += play(self.envs, act, steps=1, seed=first + len(found), together=self.envs.num_envs)
        return found

    def _actor(self) -> Act:
        """Return an actor that takes the most probable actions, or draws actions if `sample`."""
        rngs = [generator(self.seed, self.iterations, 1 + i) for i in range(self.envs.num_envs)]

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            nothing = np.zeros((len(numbers), 0))
            if not self.config.sample:
                return self.policy.act(observations, masks).cpu().numpy(), nothing
            with torch.no_grad():
                batch = self.policy.collate(observations)
                log_probs = self.policy.log_probs(batch, as_mask(masks, self.policy.encoder.device))
            uniform = np.array([rngs[i].random() for i in numbers])
            return draw(log_probs.cpu().numpy(), uniform), nothing

        return act
