"""PPO by RLlib on the pass-ordering environment: two actors, each with its own compiler.

RLlib's actors hold the environments. The compiler of each environment runs in a worker process, which
imports neither ray nor torch. Every pass applies to the whole program, so masks are not necessary. For
actions at functions (`sites=`) see RLlib's own example of action masking.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

HOT = Path(__file__).resolve().parent.parent / "hot.c"


def make(config: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment; the import of burnish.envs registers the id in the current process."""
    import burnish.envs

    gymnasium.register_envs(burnish.envs)
    return gymnasium.make("burnish/LLVMPasses-v1", **config)


def main() -> None:
    """Train for a few iterations and print their returns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--programs", nargs="+", default=[str(HOT)], help="C, C++, .ll or .bc files")
    options = parser.parse_args()
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    register_env("llvm-passes", make)
    config = (
        PPOConfig()
        .environment(
            "llvm-passes",
            env_config={
                "programs": options.programs,
                "observation": "opcode-counts-normalized",
                "objective": "ir-instructions",
                "reward": "over-Oz",  # a return of 1 is as good as -Oz
                "max_steps": 15,
            },
        )
        .env_runners(num_env_runners=2)
        .training(train_batch_size=600, minibatch_size=150, num_epochs=8, lr=1e-3, gamma=1.0)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    for number in range(1, options.iterations + 1):
        sampled = algorithm.train()["env_runners"]
        mean, best = sampled["episode_return_mean"], sampled["episode_return_max"]
        steps = sampled["num_env_steps_sampled_lifetime"]
        print(
            f"iteration {number}: {steps:.0f} steps, return over -Oz {mean:.3f}, best {best:.3f}", flush=True
        )
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
