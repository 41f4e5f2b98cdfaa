"""MaskablePPO of sb3-contrib chooses a pass and where to run it: the program or one of three functions."""

from pathlib import Path

import gymnasium
import torch
from sb3_contrib import MaskablePPO

import burnish.envs  # noqa: F401 - registers the environments
from burnish import load_task

torch.set_num_threads(1)  # the network is small; the compiler wants a core
env = gymnasium.make(
    "burnish/LLVMPasses-v0",
    programs=Path(__file__).with_name("hot.c"),
    observation="opcode-counts-normalized",
    reward="over-Oz",  # a return of 1 is as good as -Oz
    actions=[name for name in load_task("llvm_passes").actions if not name.startswith("clang<")],
    sites=3,
    max_steps=12,
)
agent = MaskablePPO("MlpPolicy", env, n_steps=240, batch_size=60, gamma=1.0, seed=0, device="cpu")
agent.learn(480)

observation, info = env.reset()
total, done = 0.0, False
while not done:
    masks = env.get_wrapper_attr("action_masks")()
    action, _ = agent.predict(observation, action_masks=masks, deterministic=True)
    observation, reward, terminated, truncated, info = env.step(int(action))
    total += reward
    done = terminated or truncated
print(f"{info['cost']:.0f} instructions, {total:.2f} of what -Oz gains:")
print("\n".join(env.unwrapped.trace))
env.close()
