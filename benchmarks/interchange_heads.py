"""Three ways in which a policy can choose a permutation of loops, learned from the same measured times.

    python benchmarks/interchange_heads.py [--table FILE] [--iterations 60] [--seeds 5] [--heads levels,best]

MLIR-RL has three: a list of candidates, level pointers, and a normal distribution whose integer part is the
permutation's rank in the factorial number system. Here each permutation of each small program is timed,
without any other action; `--table` keeps these times. Then three heads on equal perceptrons learn by PPO
(clip 0.2, 4 epochs, 64 programs an iteration) from the logarithms of the speed-ups:

    enumerated  one of the exchanges of iterators at a distance of 1, 2 or 3, or none
    levels      the exchanges of burnish's setting `interchange = "levels"`, one after the other, or none
    continuous  one number from N(m, s): m from the network, s learned within [1/e, e], both in ranks

A line of JSON is printed for each head and number of loops: the geometric mean over programs and seeds of the
speed-ups of the most probable permutations, on the shapes of training and on others; "best" is the fastest.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.core.program import Program
from burnish.learning.agents.ppo import normalized, policy_loss
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.session import open_program

Order = tuple[int, ...]
Floats = NDArray[np.float32]

TRAIN = {
    3: ("32x32x32", "64x64x64", "16x128x64", "128x16x64", "96x64x32", "64x32x128"),
    4: ("2x32x32x32", "4x16x64x32", "8x32x16x64", "4x64x32x16"),
    5: ("2x4x16x32x16", "4x2x32x16x32"),
}
HELD = {
    3: ("48x48x48", "128x64x16", "32x96x64"),
    4: ("2x64x16x32", "8x16x32x32"),
    5: ("2x2x32x32x16",),
}
MOST = 5  # loops
CANDIDATES = [(0, 0), *((i, i + d) for d in (1, 2, 3) for i in range(MOST - d))]  # MLIR-RL's, and none
EXCHANGES = [(0, 0), *((i, j) for i in range(MOST) for j in range(i + 1, MOST))]
PROGRAMS = 64  # in an iteration
EPOCHS, CLIP, RATE, ENTROPY = 4, 0.2, 1e-3, 0.01  # MLIR-RL's
WIDTH = 64


@dataclass(frozen=True)
class Nest:
    """A program with one product, and each permutation of its loops."""

    name: str
    loops: int
    seconds: dict[Order, float]
    observed: dict[Order, Floats]

    def gain(self, order: Order) -> float:
        """Return the logarithm of the speed-up."""
        return math.log(self.seconds[tuple(range(self.loops))] / self.seconds[order])


def program_of(loops: int, shape: str) -> Program:
    """Return a product of matrices, of batches of them, or of two levels of batches."""
    if loops < MOST:
        family = "matmul" if loops == 3 else "batch-matmul"
        return TASK.source().load(f"{family}:{shape}").program
    b, g, m, n, k = map(int, shape.split("x"))
    left, right, out = (f"tensor<{b}x{g}x{rows}x{columns}xf32>" for rows, columns in ((m, k), (k, n), (m, n)))
    maps = ", ".join(f"affine_map<(b, g, m, n, k) -> (b, g, {at})>" for at in ("m, k", "k, n", "m, n"))
    kinds = ", ".join([*['"parallel"'] * 4, '"reduction"'])
    text = f"""func.func @main(%x: {left}, %y: {right}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
  %filled = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins(%x, %y : {left}, {right}) outs(%filled : {out}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }} -> {out}
  return %r : {out}
}}
"""
    return Program(f"products:{shape}", TASK.language, text.encode())


def exchanges_to(order: Order) -> Iterator[tuple[int, int]]:
    """Yield the exchanges, level by level, that lead to a permutation."""
    now = list(range(len(order)))
    for level, wanted in enumerate(order):
        at = now.index(wanted)
        if at != level:
            yield level, at
            now[level], now[at] = now[at], now[level]


def measured(loops: int, shape: str, known: dict[str, float]) -> Nest:
    """Return a program with the times of its permutations: `known` ones, or new ones, which are added."""
    program = program_of(loops, shape)
    seconds, observed = {}, {}
    for order in permutations(range(loops)):
        session = open_program(program)
        site = session.cursor
        session.replay(f"{site}: interchange({i}, {j})" for i, j in exchanges_to(order))
        observed[order] = np.asarray(session.observe("op"), dtype=np.float32)
        key = f"{program.name} {''.join(map(str, order))}"
        if key not in known:
            known[key] = min(session.measure("seconds") for _ in range(2))
        seconds[order] = known[key]
    print(
        f"{program.name}: best {max(seconds.values()) / min(seconds.values()):.2f} of worst", file=sys.stderr
    )
    return Nest(program.name, loops, seconds, observed)


def exchanged(order: Order, pair: tuple[int, int]) -> Order:
    """Return a permutation after an exchange."""
    now, (i, j) = list(order), pair
    now[i], now[j] = now[j], now[i]
    return tuple(now)


def unranked(rank: int, loops: int) -> Order:
    """Return the permutation of a rank in lexicographic order, by the factorial number system."""
    left, found = list(range(loops)), []
    for place in range(loops - 1, -1, -1):
        digit, rank = divmod(rank, math.factorial(place))
        found.append(left.pop(digit))
    return tuple(found)


@dataclass(frozen=True)
class Choices:
    """The choices of one step of some episodes."""

    rows: Floats  # [B, F]
    masks: NDArray[np.bool_]  # [B, k]; of `continuous`, [B, 0]
    chosen: NDArray[np.int64]  # [B]
    log_probs: Floats  # [B]
    episodes: NDArray[np.int64]  # [B]: the number of each choice's episode


class Agent(nn.Module):
    """A head on a perceptron, and a critic on another one."""

    def __init__(self, head: str, features: int) -> None:
        super().__init__()
        self.head = head
        self.texts = {"enumerated": CANDIDATES, "levels": EXCHANGES, "continuous": [(0, 0)]}[head]
        self.actor, self.critic = (
            nn.Sequential(
                *(nn.Linear(features, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()),
                nn.Linear(WIDTH, outputs),
            )
            for outputs in (len(self.texts), 1)
        )
        self.log_deviation = nn.Parameter(torch.zeros(1))

    def distribution(self, rows: Tensor, masks: Tensor) -> torch.distributions.Distribution:
        """Return the distribution of the choices for B states."""
        found = self.actor(rows)
        if self.head == "continuous":
            return torch.distributions.Normal(found[:, 0], self.log_deviation.clamp(-1, 1).exp())
        return torch.distributions.Categorical(logits=found.masked_fill(~masks, -1e9))

    def log_prob(self, distribution: torch.distributions.Distribution, chosen: Tensor) -> Tensor:
        """Return the log-probabilities of choices; of a rank, by the mass of [rank, rank + 1)."""
        if self.head == "continuous":
            return (distribution.cdf(chosen + 1) - distribution.cdf(chosen) + 1e-8).log()
        found: Tensor = distribution.log_prob(chosen)
        return found

    def mask(self, loops: int, level: int) -> list[bool]:
        """Return the mask of legal choices: all exchanges of its loops, inward of a level."""
        if self.head == "continuous":
            return []
        return [j < loops and (i > level or (i, j) == (0, 0)) for i, j in self.texts]

    def play(self, nests: Sequence[Nest], greedy: bool) -> tuple[list[Order], list[Choices]]:
        """Return the permutation of each program, and the choices that led to it."""
        orders = [tuple(range(nest.loops)) for nest in nests]
        levels, alive, steps = [-1] * len(nests), list(range(len(nests))), []
        while alive:
            rows = np.stack([nests[e].observed[orders[e]] for e in alive])
            masks = np.array([self.mask(nests[e].loops, levels[e]) for e in alive], dtype=bool)
            with torch.no_grad():
                of_all = self.distribution(torch.from_numpy(rows), torch.from_numpy(masks))
                chosen = of_all.mode if greedy else of_all.sample()
                if self.head == "continuous":
                    most = torch.tensor([math.factorial(nests[e].loops) - 1 for e in alive])
                    chosen = chosen.long().clamp(torch.zeros_like(most), most)
                log_probs = self.log_prob(of_all, chosen)
            steps.append(
                Choices(rows, masks, chosen.numpy(), log_probs.numpy(), np.array(alive, dtype=np.int64))
            )
            goes_on = []
            for e, choice in zip(alive, chosen.tolist(), strict=True):
                if self.head == "continuous":
                    orders[e] = unranked(choice, nests[e].loops)
                    continue
                pair = self.texts[choice]
                orders[e], levels[e] = exchanged(orders[e], pair), pair[0]
                if self.head == "levels" and choice and levels[e] < nests[e].loops - 2:
                    goes_on.append(e)
            alive = goes_on
        return orders, steps


def learn(head: str, nests: Sequence[Nest], iterations: int, seed: int) -> Agent:
    """Train a head by PPO; each step of an episode has the episode's gain as return."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    agent = Agent(head, len(next(iter(nests[0].observed.values()))))
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    for _ in range(iterations):
        drawn = [nests[i] for i in rng.integers(len(nests), size=PROGRAMS)]
        orders, steps = agent.play(drawn, greedy=False)
        gains = np.array(
            [nest.gain(order) for nest, order in zip(drawn, orders, strict=True)], dtype=np.float32
        )
        rows, masks, chosen, before, episodes = (
            torch.from_numpy(np.concatenate([getattr(step, name) for step in steps]))
            for name in ("rows", "masks", "chosen", "log_probs", "episodes")
        )
        returns = torch.from_numpy(gains)[episodes]
        advantages = normalized(returns - agent.critic(rows).squeeze(-1).detach())
        for _ in range(EPOCHS):
            for part in torch.split(torch.randperm(len(rows)), PROGRAMS):
                of_all = agent.distribution(rows[part], masks[part])
                loss = policy_loss(agent.log_prob(of_all, chosen[part]), before[part], advantages[part], CLIP)
                loss = loss - ENTROPY * of_all.entropy().mean()
                loss = loss + 0.5 * (agent.critic(rows[part]).squeeze(-1) - returns[part]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return agent


def main() -> None:
    """Measure the table, train each head with each seed, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--heads", default="enumerated,levels,continuous,best")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = json.loads(options.table.read_text()) if options.table and options.table.exists() else {}
    parts = {}
    for name, shapes in (("train", TRAIN), ("held", HELD)):
        parts[name] = [measured(loops, shape, known) for loops, some in shapes.items() for shape in some]
        if options.table:
            options.table.write_text(json.dumps(known, indent=0) + "\n")
    for head in options.heads.split(","):
        gains: dict[tuple[int, str], list[float]] = {}
        for seed in range(options.seeds if head != "best" else 1):
            agent = None if head == "best" else learn(head, parts["train"], options.iterations, seed)
            for name, nests in parts.items():
                orders = agent.play(nests, greedy=True)[0] if agent else [None] * len(nests)
                for nest, order in zip(nests, orders, strict=True):
                    gain = nest.gain(order) if order else max(map(nest.gain, nest.seconds))
                    gains.setdefault((nest.loops, name), []).append(gain)
        for loops in TRAIN:
            ratios = {name: round(math.exp(float(np.mean(gains[loops, name]))), 3) for name in parts}
            trained = {"iterations": options.iterations, "seeds": options.seeds if head != "best" else 1}
            row = {"head": head, **trained, "loops": loops, **ratios}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
