"""A scripted agent in a text environment: it chooses actions by their texts in the first message."""

import re
from pathlib import Path

import gymnasium

import burnish.envs

gymnasium.register_envs(burnish.envs)
env = gymnasium.make(
    "burnish/LLVMPassesText-v1", programs=Path(__file__).with_name("hot.c"), characters=1000, max_steps=30
)
message, info = env.reset(seed=0)
print(message.partition("\n\nState")[0], "\n")
start, total = info["cost"], 0.0
listed = re.findall(r"^- (\S+): (.*)$", message, flags=re.MULTILINE)
wanted = ("into registers", "redundant", "fewer or simpler", "Merge blocks", "without an effect")
plan = [name for words in wanted for name, text in listed if words in text]
for name in [*plan, "stop"]:
    message, reward, terminated, truncated, info = env.step(f"Its text is promising.\nAction: {name}")
    gained = float(reward)
    total += gained
    if gained > 0:
        print(" ".join(message.splitlines()[:2]))
    if terminated or truncated:
        break
print(f"{start:.0f} -> {info['cost']:.0f} instructions; the rewards add up to {total:.3f}")
env.close()
