"""Torch modules that run schedules: imported once, with their weights, for inputs of fixed shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from burnish.core.errors import InputError, Miscompiled
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.evaluation import Strategy, optimize
from burnish.search import Budget
from burnish.search.problem import Problem
from burnish.tasks.mlir_schedules.api.callables import BoundFunction, ScheduledFunction
from burnish.tasks.mlir_schedules.api.from_torch.importing import Imported, import_module
from burnish.tasks.mlir_schedules.programs import program as program_of
from burnish.tasks.mlir_schedules.reference.work import tolerance
from burnish.tasks.tensors.threads import THREADS
from burnish.workers.worker import GIB, Limits

TASK = "mlir_schedules"
BUDGET = Budget(seconds=60.0)
STRATEGY = Strategy()
LIMITS = Limits(deadline_seconds=600.0, memory_bytes=8 * GIB)  # networks are slow before they are scheduled


def optimize_module(
    module: nn.Module,
    example_inputs: Sequence[torch.Tensor],
    *,
    budget: Budget = BUDGET,
    strategy: Strategy = STRATEGY,
    limits: Limits = LIMITS,
    threads: int = 1,
) -> ScheduledModule:
    """Search for a schedule of a module, and return a module that runs it.

    Args:
        module: A module in evaluation mode, on the CPU, with weights of float32; see
            burnish.tasks.mlir_schedules.api.from_torch.importing for what can be imported.
        example_inputs: One tensor for each input; the new module takes inputs of these shapes only.
        budget, strategy: Of the search.
        limits: Limits of the processes in which schedules are compiled and measured.
        threads: The number of threads that share the parallel loops of a call.

    Raises:
        InputError: the module cannot be imported.
        MissingTool: MLIR is not installed.
        Miscompiled: the schedule does not compute the same as torch.
    """
    imported = import_module(module, example_inputs)
    task = load_task(TASK).configured({THREADS.name: str(threads)})
    problem = Problem(task, named(imported, module), limits=limits)
    result = optimize(problem, budget, strategy=strategy)
    trace = () if result.fallback else result.trace
    return ScheduledModule(module, example_inputs, trace, imported=imported, result=result, threads=threads)


def named(imported: Imported, module: nn.Module) -> Program:
    """Return an imported module as a program, named after the module's class."""
    return program_of(imported.text, type(module).__name__)


class ScheduledModule(nn.Module):
    """A module's program with a schedule; it cannot be trained, because its weights are copies.

    Attributes:
        function: The scheduled function, on NumPy arrays.
        result: The search's result; None if there was no search.
        shapes, dtypes: The shapes and dtypes of the inputs.
    """

    def __init__(
        self,
        module: nn.Module,
        example_inputs: Sequence[torch.Tensor],
        trace: Sequence[str] = (),
        *,
        imported: Imported | None = None,
        result: Result | None = None,
        threads: int = 1,
    ) -> None:
        """Compile a module with a schedule, and compare it with torch on the examples.

        Args:
            module, example_inputs: See `optimize_module`.
            trace: The schedule; without actions, MLIR's naive code runs.
            imported: The module's program, if it is imported already.
            result: The result of the search that found the schedule.
            threads: The number of threads that share the parallel loops of a call.

        Raises:
            InputError, IllegalAction: the module cannot be imported, or the schedule does not fit.
            Miscompiled: a result differs from NumPy's or from torch's.
        """
        super().__init__()
        imported = imported or import_module(module, example_inputs)
        self.result = result
        self.shapes = [tuple(value.shape) for value in example_inputs]
        self.dtypes = [value.dtype for value in example_inputs]
        self.function = ScheduledFunction(named(imported, module), trace, threads=threads)
        self._bound: BoundFunction = self.function.bind(*imported.weights(module))
        with torch.no_grad():
            expected = module(*example_inputs)
        self._compare(self(*example_inputs), expected)
        self.eval()

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Return the same as the original module: a tensor, or a tuple of tensors, without gradients.

        Raises:
            InputError: an input is not of the shape of the example, not of its dtype, or not on the
                CPU; or an index is out of range.
        """
        if len(inputs) != len(self.shapes):
            raise InputError(f"{len(inputs)} inputs; expected {len(self.shapes)}, as when it was optimized")
        expected = zip(inputs, self.shapes, self.dtypes, strict=True)
        for number, (value, shape, dtype) in enumerate(expected):
            if value.shape != shape:
                raise InputError(
                    f"input {number} has the shape {tuple(value.shape)}; this module was optimized for "
                    f"{shape}: optimize the module for the new shape, too"
                )
            if value.dtype != dtype or value.device.type != "cpu":
                found = f"{value.dtype} on {value.device}"
                raise InputError(f"input {number} is {found}; expected {dtype} on the CPU")
        results = self._bound(*(value.detach().numpy() for value in inputs))
        if isinstance(results, tuple):
            return tuple(map(torch.from_numpy, results))
        return torch.from_numpy(results)

    def extra_repr(self) -> str:
        """Return the text that torch prints for the module."""
        return repr(self.function)

    def _compare(self, found: Any, expected: Any) -> None:
        """Compare results with torch's."""
        allowed = max(tolerance(self.function.program.content.decode()), 1e-5)
        for number, (one, other) in enumerate(zip(_arrays(found), _arrays(expected), strict=True)):
            error = np.abs(one - other).max() / (1 + np.abs(other).max())
            if one.shape != other.shape or not error <= allowed:
                raise Miscompiled(
                    f"result {number} is off by {error:.3g} of its largest value from torch's; "
                    f"expected at most {allowed:.3g}"
                )


def _arrays(results: Any) -> list[NDArray[np.float32]]:
    return [one.numpy() for one in (results if isinstance(results, tuple | list) else (results,))]
