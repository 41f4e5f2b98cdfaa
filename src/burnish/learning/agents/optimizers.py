"""torch's optimizers without torch's compiler, whose import takes two seconds of each process that trains.

torch wraps some functions of optimizers, so that `torch.compile` leaves them out. Their first call
imports `torch._dynamo`. burnish compiles no optimizer, so these classes call the functions themselves.
"""

from __future__ import annotations

import inspect
from typing import TypeVar, cast

import torch
from torch.optim import Optimizer

WRAPPED = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")

Kind = TypeVar("Kind", bound=Optimizer)


def eager(kind: type[Kind]) -> type[Kind]:
    """Return a class of optimizers that takes the same steps, and does not import torch's compiler."""
    functions = {name: inspect.unwrap(getattr(kind, name)) for name in WRAPPED}
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return cast(type[Kind], type(kind.__name__, (kind,), {**functions, "step": step}))


Adam = eager(torch.optim.Adam)
AdamW = eager(torch.optim.AdamW)
SGD = eager(torch.optim.SGD)
