"""PPO by TorchRL, which chooses a pass and its site: the program or one of three functions.

The mask of legal actions comes with each state as info["mask"]; TorchRL reads it beside the observation.
"""

from pathlib import Path

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import Binary, Composite
from torchrl.envs import ActionMask, GymWrapper, RewardSum, TransformedEnv, default_info_dict_reader
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import burnish.envs

gymnasium.register_envs(burnish.envs)
torch.manual_seed(0)
torch.set_num_threads(1)  # the networks are small, and the compiler needs a core
made = gymnasium.make(
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
legal = Composite(mask=Binary(int(made.action_space.n), dtype=torch.bool))
wrapped = GymWrapper(made, device="cpu", categorical_action_encoding=True)
wrapped.set_info_dict_reader(default_info_dict_reader(["mask"], spec=legal))
env = TransformedEnv(wrapped).append_transform(ActionMask(mask_key="mask")).append_transform(RewardSum())

(features,) = made.observation_space.sample().shape
logits = nn.Sequential(nn.Linear(features, 64), nn.Tanh(), nn.Linear(64, legal["mask"].shape[0]))
value = nn.Sequential(nn.Linear(features, 64), nn.Tanh(), nn.Linear(64, 1))
actor = ProbabilisticActor(
    TensorDictModule(logits, in_keys=["observation"], out_keys=["logits"]),
    in_keys=["logits", "mask"],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
critic = ValueOperator(value, in_keys=["observation"])
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01)
optimizer = torch.optim.Adam(loss.parameters(), lr=2e-3)

collector = Collector(env, actor, frames_per_batch=240, total_frames=960)
for number, batch in enumerate(collector, 1):
    for _ in range(8):
        advantage(batch)
        for part in batch.reshape(-1)[torch.randperm(batch.numel())].split(60):
            found = loss(part)
            optimizer.zero_grad()
            (found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]).backward()
            optimizer.step()
    ended = batch["next", "done"].squeeze(-1)
    mean = batch["next", "episode_reward"].squeeze(-1)[ended].mean()
    print(f"batch {number}: {batch.numel()} steps, return over -Oz {mean:.3f}", flush=True)
collector.shutdown()
