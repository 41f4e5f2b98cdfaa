"""MaskablePPO of sb3-contrib, which chooses a pass and its site: the program or one of three functions."""

from pathlib import Path

import gymnasium
import torch
from sb3_contrib import MaskablePPO

import burnish.envs

gymnasium.register_envs(burnish.envs)
torch.set_num_threads(1)  # the network is small, and the compiler needs a core
env = gymnasium.make(
    "burnish/LLVMPasses-v1",
    programs=Path(__file__).with_name("hot.c"),
    observation="opcode-counts-normalized",
    reward="over-Oz",  # a return of 1 is as good as -Oz
    actions=[
        "sroa<modify-cfg>",
        "instcombine<no-verify-fixpoint>",
        "simplifycfg",
        "early-cse<memssa>",
        "gvn",
        "loop-rotate<header-duplication>",
        "licm<allowspeculation>",
        "inline",  # a pass over the whole program: illegal at a function
        "globaldce",
    ],
    sites=3,
    max_steps=8,
)
agent = MaskablePPO(
    "MlpPolicy", env, n_steps=240, batch_size=60, learning_rate=2e-3, gamma=1.0, seed=0, device="cpu"
)
agent.learn(960)

observation, info = env.reset()
start, total, done = info["cost"], 0.0, False
while not done:
    masks = env.get_wrapper_attr("action_masks")()
    action, _ = agent.predict(observation, action_masks=masks)
    observation, reward, terminated, truncated, info = env.step(int(action))
    total += float(reward)
    done = terminated or truncated
print(f"{start:.0f} -> {info['cost']:.0f} instructions, {total:.2f} of what -Oz gains:")
print("\n".join(env.unwrapped.trace))
env.close()
