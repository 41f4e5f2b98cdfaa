"""Several observations at once, a subset of the actions, baselines, a log, and look-ahead in forks."""

import json
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

import burnish.envs

gymnasium.register_envs(burnish.envs)
log = Path(tempfile.mkdtemp()) / "episodes.jsonl"
env = gymnasium.make(
    "burnish/LLVMPasses-v1",
    programs=Path(__file__).with_name("hot.c"),
    observation=("autophase", "trace"),
    actions=["sroa<modify-cfg>", "instcombine<no-verify-fixpoint>", "simplifycfg", "gvn", "dce"],
    baselines=("Oz", "O3"),
    max_steps=4,
    log=log,
)
observation, info = env.reset(seed=0)
print({name: value.shape for name, value in observation.items()}, info["baselines"])

# One step of look-ahead in forks, which share the worker process.
here = env.unwrapped
done = False
while not done:
    rewards = np.full(env.action_space.n, -np.inf)
    for action in np.flatnonzero(info["mask"]):
        twin = here.fork()
        rewards[action] = twin.step(action)[1]
        twin.close()
    _, _, terminated, truncated, info = env.step(int(rewards.argmax()))
    done = terminated or truncated
print(here.commandline())
env.close()

episode = json.loads(log.read_text())
print(episode["program"], episode["start"], "->", episode["costs"], episode["ended"])
