"""The processes of a distributed training, which torchrun started: who they are, and what they exchange."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from burnish.core.errors import BurnishError

Parameters = Iterable[torch.nn.Parameter]


class LostRank(BurnishError):
    """Another rank has died, did not answer in time, or has other parameters."""


def of_this_process() -> tuple[int, int]:
    """Return this process's rank and the number of ranks, as torchrun sets them: (0, 1) without torchrun."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class Ranks:
    """The ranks of a training. A single rank exchanges nothing.

    Every method except `done` is collective: all ranks call it, in the same order.

    Raises:
        LostRank: another rank has died, or did not answer within the time limit.
    """

    def __init__(self, *, timeout_seconds: float) -> None:
        """Meet the other ranks; the environment has torchrun's variables if there are any.

        Args:
            timeout_seconds: The longest time that a rank waits for the others.
        """
        self.number, self.count = of_this_process()
        self._iteration = 0
        if self.count > 1:
            timeout = timedelta(seconds=timeout_seconds)
            backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
            with _losses():
                store, rank, count = next(rendezvous("env://", timeout=timeout))
                # torchrun keeps its store when it starts all ranks again; they must not read the old keys.
                own = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
                self._store = PrefixStore("played", own)
                of_group = PrefixStore("group", own)
                dist.init_process_group(backend, timeout=timeout, store=of_group, rank=rank, world_size=count)

    def gather(self, item: Any) -> list[Any]:
        """Return the items of all ranks, in their order."""
        if self.count == 1:
            return [item]
        found: list[Any] = [None] * self.count
        with _losses():
            dist.all_gather_object(found, item)
        return found

    def broadcast(self, item: Any) -> Any:
        """Return rank 0's item."""
        if self.count == 1:
            return item
        found = [item]
        with _losses():
            dist.broadcast_object_list(found)
        return found[0]

    def gather_rows(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all ranks: [sum of counts, ...]; `counts` are the numbers of rows of each."""
        if self.count == 1:
            return rows
        most = max(counts)
        padded = rows.new_zeros(most, *rows.shape[1:])
        padded[: len(rows)] = rows
        found = [torch.empty_like(padded) for _ in counts]
        with _losses():
            dist.all_gather(found, padded)
        return torch.cat([part[:count] for part, count in zip(found, counts, strict=True)])

    def sum_gradients(self, parameters: Parameters, measured: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Replace each gradient by the sum of all ranks', and return the sums of the metrics.

        Both are summed in one message. A parameter without a gradient counts as 0.
        """
        if self.count == 1:
            return dict(measured)
        of_all = list(parameters)
        parts = [
            torch.zeros_like(one).flatten() if one.grad is None else one.grad.flatten() for one in of_all
        ]
        flat = torch.cat([*parts, torch.stack(list(measured.values())).to(parts[0])])
        with _losses():
            dist.all_reduce(flat)
        *sums, metrics = flat.split([*(one.numel() for one in of_all), len(measured)])
        for one, summed in zip(of_all, sums, strict=True):
            one.grad = summed.view_as(one).clone()
        return dict(zip(measured, metrics, strict=True))

    def check_equal(self, network: torch.nn.Module) -> None:
        """Compare the digests of all ranks' parameters.

        Raises:
            LostRank: they differ.
        """
        if self.count == 1:
            return
        digest = hashlib.blake2b(digest_size=16)
        for value in network.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        digests = self.gather(digest.hexdigest())
        other = [number for number, one in enumerate(digests) if one != digests[0]]
        if other:
            raise LostRank(f"the parameters of rank {other[0]} differ from those of rank 0")

    def begin(self) -> None:
        """Begin an iteration, in which no rank is done."""
        self._iteration += 1
        if self.count > 1 and self.number == 0:
            self._store.delete_key(self._key(-2))

    def finish(self) -> None:
        """Tell the others that this rank has played all its steps of the iteration; not collective."""
        if self.count > 1:
            with _losses():
                self._store.add(self._key(), 1)

    def done(self) -> float:
        """Return the share of ranks that have finished the iteration's steps; not collective."""
        if self.count == 1:
            return 0.0
        with _losses():
            return self._store.add(self._key(), 0) / self.count

    def close(self) -> None:
        """Leave the group."""
        if self.count > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def _key(self, offset: int = 0) -> str:
        return f"done/{self._iteration + offset}"


@contextmanager
def _losses() -> Iterator[None]:
    """Raise LostRank for any error of torch.distributed; all are RuntimeErrors."""
    try:
        yield
    except RuntimeError as error:
        raise LostRank(f"a rank was lost: {str(error).strip().splitlines()[0]}") from error
