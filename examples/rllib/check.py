"""Check of burnish's environment by Gymnasium, in the version that ray requires."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import burnish.envs

gymnasium.register_envs(burnish.envs)

ID = "burnish/LLVMPasses-v1"
HOT = Path(__file__).resolve().parent.parent / "hot.c"

for observation in ("opcode-counts", "ir", ("autophase", "bitcode")):
    env = gymnasium.make(ID, programs=HOT, observation=observation, max_steps=5, render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_close_check=True)
    env.close()
for mode in (None, "sync", "async"):
    several = gymnasium.make_vec(ID, 2, vectorization_mode=mode, programs=HOT, max_steps=5)
    several.reset(seed=0)
    for _ in range(12):
        several.step(np.zeros(2, dtype=np.int64))
    several.close()
print(f"gymnasium {gymnasium.__version__}: check_env passes; vectors step in all modes")
