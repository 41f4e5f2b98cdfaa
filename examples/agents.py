"""An agent that imitates a search on three kernels, and is then tested on an unseen one.

All learners are created and used like this one; PPO(envs, make_policy, PPOConfig(), seed=0) needs no
demonstrations.
"""

import torch

from burnish import Budget, Env, Problem, Program, Sandbox, load_task
from burnish.core.reduce import shorten
from burnish.core.walk import cost_after
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.cloning import Cloning, CloningConfig
from burnish.learning.agents.demonstrations import Demonstration
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.llvm.corpora.references import resolve_one
from burnish.search import search

torch.set_num_threads(1)  # the network is small, and the compilers need the cores
task = load_task("llvm_passes")
kernels = [resolve_one(f"kernels:{name}") for name in ("fft", "quicksort", "huffman")]
unseen = resolve_one("kernels:mergesort")


def demonstration_of(program: Program) -> Demonstration:
    found = search(Problem(task, program), Budget(evaluations=80), method="genetic", seed=0)
    root = Sandbox(task.open, program)
    # remove passes that do not change the cost
    trace, cost = shorten(found.trace, lambda part: cost_after(root, part, "ir-instructions"))
    root.shutdown()
    return Demonstration(program, trace, cost, reference=cost)


def show(policy: Policy) -> None:
    """Print the instructions of -Oz divided by the fewest instructions in an episode."""
    env = envs.envs[0]
    for program in (*kernels, unseen):
        seen, info = env.reset(options={"program": program})
        reference, costs = info["baselines"]["Oz"], []
        over = False
        while not over:
            seen, _, terminated, over, info = env.step(int(policy.act([seen], info["mask"][None])))
            over |= terminated
            costs.append(info["cost"])
        print(f"  {program.name:18} {reference / min(costs):.3f} times fewer than -Oz")


demonstrations = [demonstration_of(kernel) for kernel in kernels]
steps = max(len(demonstration.trace) for demonstration in demonstrations)
envs = VectorEnv(lambda: Env(task, kernels, observation="autophase", baselines=["Oz"], max_steps=steps), 2)

config = CloningConfig(learning_rate=3e-3, batch_size=16, validation_share=0)
learner = Cloning(
    envs,
    lambda: Policy(MLP(MLPConfig((128,)), 56), task.actions),
    config,
    seed=0,
    demonstrations=demonstrations,
)
while learner.epochs < 150:
    metrics = learner.iterate()
print(f"cloning, {metrics['accuracy/train']:.0%} of what the search chose:")
show(learner.policy)
envs.close()
