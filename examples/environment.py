"""A random agent in the pass-ordering environment: the mask, the reward, the trace."""

from pathlib import Path

import gymnasium
import numpy as np

import burnish.envs

gymnasium.register_envs(burnish.envs)
env = gymnasium.make(
    "burnish/LLVMPasses-v1",
    programs=Path(__file__).with_name("hot.c"),
    observation="autophase",
    objective="ir-instructions",
    max_steps=20,
)
observation, info = env.reset(seed=0)
start, total = info["cost"], 0.0
rng = np.random.default_rng(0)
done = False
while not done:
    action = rng.choice(np.flatnonzero(info["mask"]))
    observation, reward, terminated, truncated, info = env.step(action)
    total += float(reward)
    done = terminated or truncated
print(f"{start:.0f} -> {info['cost']:.0f} IR instructions; the rewards add up to {total:.3f}")
print(" ".join(env.unwrapped.trace))
env.close()
