"""Whole compiles under a policy of evictions, in workers, with their decisions and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import BurnishError, CompilerCrash
from burnish.core.program import Program
from burnish.llvm.modules.module import back_end_of
from burnish.policies.arrays import ArraysPolicy
from burnish.tasks.llvm_codegen.evictions import logged
from burnish.tasks.llvm_codegen.policy.scorer import EvictionScorer, slot_inputs
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from burnish.workers.worker import Limits, PendingCall, Worker

KEPT_MODULES = 8  # parsed modules that a worker keeps


@dataclass(frozen=True, eq=False)
class Choices:
    """A table of N decisions: the inputs for their M slots, and the slots that were chosen."""

    inputs: NDArray[np.float32]  # [M, 42]: see burnish.tasks.llvm_codegen.policy.scorer.INPUTS
    counts: NDArray[np.int64]  # [N]: number of slots of each decision
    taken: NDArray[np.int64]  # [N]: index of the chosen slot, from 0 to counts - 1

    def __len__(self) -> int:
        return len(self.counts)

    def of(self, numbers: NDArray[np.int64]) -> Choices:
        """Return the decisions with these indices."""
        starts = np.cumsum(self.counts) - self.counts
        counts = self.counts[numbers]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return Choices(self.inputs[np.repeat(starts[numbers], counts) + within], counts, self.taken[numbers])

    def seen(self, inputs: int) -> Choices:
        """Return the decisions with only the first inputs."""
        return replace(self, inputs=self.inputs[:, :inputs])


def joined(tables: Sequence[Choices]) -> Choices:
    """Return the concatenation of several tables."""
    parts = [(one.inputs, one.counts, one.taken) for one in tables]
    return Choices(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Allocation:
    """The decisions of one compile, and the costs of each function's allocation."""

    costs: Mapping[str, float]  # spill costs by function
    functions: tuple[str, ...]  # N: the function of each decision
    choices: Choices


@dataclass(frozen=True, eq=False)
class AllocatedModule:
    """A module after its passes, and LLVM's allocation of the functions that have decisions."""

    name: str
    digest: str
    bitcode: bytes = field(repr=False)
    options: CodegenOptions
    llvms: Allocation = field(repr=False)


def allocated(program: Program, options: CodegenOptions) -> AllocatedModule | None:
    """Compile a program under LLVM's heuristic; return None if there are no decisions.

    Raises:
        ProgramError, CompilerCrash: see open_program.
    """
    bitcode = open_program(program, options).opened.module.bitcode()
    made = _generate(bitcode, options, None, None)
    found = _allocation(made, llvms=True)
    return AllocatedModule(program.name, program.digest, bitcode, options, found) if found.functions else None


def allocate(module: AllocatedModule, policy: ArraysPolicy, seed: int | None) -> Allocation:
    """Compile a module under a policy; with a seed, the policy's choices are drawn.

    Raises:
        CompilerCrash: LLVM fails.
    """
    made = _generate(module.bitcode, module.options, EvictionScorer(policy).native, seed)
    return _allocation(made, llvms=False)


def costs_under(module: AllocatedModule, policies: Sequence[ArraysPolicy]) -> list[dict[str, float]]:
    """Return, for each policy, the costs of the functions in which LLVM's heuristic has decisions.

    Raises:
        CompilerCrash: LLVM fails.
    """
    found = []
    for policy in policies:
        native = EvictionScorer(policy).native
        made = _generate(module.bitcode, module.options, native, None, log=False)
        costs = dict(made.allocation_scores)
        found.append({name: costs[name] for name in module.llvms.costs})
    return found


@lru_cache(maxsize=KEPT_MODULES)
def _parsed(bitcode: bytes) -> _native.Module:
    return _native.Module(bitcode)


def _generate(
    bitcode: bytes,
    options: CodegenOptions,
    evict: _native.EvictionNetwork | None,
    seed: int | None,
    log: bool = True,
) -> _native.Generated:
    module = _parsed(bitcode)
    back_end = back_end_of(module, options.pipeline, options.cpu)
    try:
        return _native.generate_code(
            module, back_end, {}, scores=True, evict=evict, seed=seed, log_evictions=log
        )
    except _native.FatalError as error:
        raise CompilerCrash(f"code generation: {error}") from None


def _allocation(made: _native.Generated, llvms: bool) -> Allocation:
    log = logged(made)
    inputs, decision, slot = slot_inputs(log.rows, log.llvms)
    slots = log.llvms if llvms else log.chosen
    counts = np.bincount(decision, minlength=len(log))
    starts = np.cumsum(counts) - counts
    where = np.flatnonzero(slot == slots[decision])
    known = decision[where]  # without decisions for a slot of LLVM's that the mask does not allow
    numbers = np.zeros(len(log), dtype=np.int64)
    numbers[known] = where - starts[known]
    every = Choices(inputs, counts, numbers)
    functions = tuple(log.functions[i] for i in known)
    costs, asked = dict(made.allocation_scores), set(log.functions)
    return Allocation({name: costs[name] for name in asked}, functions, every.of(known))


class Compilers:
    """Worker processes that compile modules in turn."""

    def __init__(self, count: int, limits: Limits) -> None:
        self.workers = [Worker(limits) for _ in range(count)]

    def each(self, function: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the function's result for each tuple of arguments, in order; None if a compile fails."""
        calls: list[tuple[Worker, PendingCall]] = []
        for number, some in enumerate(arguments):
            worker = self.workers[number % len(self.workers)]
            calls.append((worker, worker.begin(function, *some)))
        for worker, call in calls:
            try:
                yield worker.finish(call)
            except BurnishError:
                yield None

    def close(self) -> None:
        """End the worker processes."""
        for worker in self.workers:
            worker.close()
