"""Several environments at a time, in step or as each becomes ready; their compilers are worker processes."""

from pathlib import Path

import gymnasium
import numpy as np

import burnish.envs

gymnasium.register_envs(burnish.envs)

rng = np.random.default_rng(0)


def choose(mask: np.ndarray) -> int:
    return int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0


several = gymnasium.make_vec(
    "burnish/LLVMPasses-v1", num_envs=4, programs=Path(__file__).with_name("hot.c"), max_steps=10
)

# Gymnasium's interface: all wait for the slowest; a finished episode restarts in the next step.
observations, infos = several.reset(seed=0)
for _ in range(20):
    actions = np.array([choose(mask) for mask in infos["mask"]])
    observations, rewards, terminated, truncated, infos = several.step(actions)
print(f"in step: observations {observations.shape}, costs {infos['cost']}")

# Here no environment waits for another, because passes differ a hundredfold in time.
_, infos = several.reset(seed=0)
for number, mask in enumerate(infos["mask"]):
    several.send(number, choose(mask))
made = [0] * several.num_envs
while sum(made) < 100:
    for number, (*_, info) in several.ready():
        made[number] += 1
        several.send(number, choose(info["mask"]))
print(f"when ready: {made} steps")
several.close()
