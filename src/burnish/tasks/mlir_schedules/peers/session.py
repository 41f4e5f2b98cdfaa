"""A linalg program computed by torch in place of a schedule, timed as a session of its own."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from burnish.core.errors import BurnishError, CompileError, InputError, UnknownName
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.tasks.mlir_schedules.bindings import first_line
from burnish.tasks.mlir_schedules.kernel import Trial
from burnish.tasks.mlir_schedules.peers.way import Call, Way
from burnish.tasks.mlir_schedules.programs import program as program_of
from burnish.tasks.mlir_schedules.reference.inputs import inputs_of
from burnish.tasks.tensors.session import TimedSession

if TYPE_CHECKING:
    from torch import Tensor

    from burnish.tasks.mlir_schedules.peers.torch_forms import Prepare

SAMPLES = 10  # timed samples; the least counts
BATCH_SECONDS = 1e-3  # of calls in one sample
FAILURES = (BurnishError, RuntimeError, ValueError, TypeError, OSError)  # errors that torch's compilers raise


class PeerSession(TimedSession):
    """A program computed by another library in the fastest of several ways; nothing is to be decided."""

    def __init__(self, name: str, program: Program, reopen: Callable[[], PeerSession], calls: list[Call]):
        """Take the ways, called once and checked.

        name: of the library and its mode, such as "torch.compile".
        """
        super().__init__((), reopen, program)
        self.name = name
        self._call = min(calls, key=partial(least_seconds, samples=3)) if len(calls) > 1 else calls[0]

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return an empty mask."""
        return np.zeros(0, dtype=bool)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Raise IllegalAction."""
        self.check_legal(action, site)
        return False

    def observe(self, space: str) -> Observed:
        """Raise UnknownName."""
        raise UnknownName.among("observation", space, ())

    def digest(self) -> str:
        """Return the peer's name and the program's digest."""
        return f"{self.name}:{self.program.digest}"

    def state(self) -> str:
        """Return the digest."""
        return self.digest()

    def seconds(self, again: bool = False) -> float:
        """Return the least CPU time of a call from Python, of all threads of the process."""
        return least_seconds(self._call)


def open_torch(mode: str, program: Program, original: str = "") -> PeerSession:
    """Open a program in torch, on one thread.

    Args:
        mode: "eager", "compile" or "jit".
        program: A program of a family, or one that was imported from a module.
        original: The module that the program was imported from, as `burnish import-torch` takes it.

    Raises:
        InputError: torch has no way to compute the program, or each fails or gives other results.
        MissingTool: torch is not installed.
    """
    from burnish.tasks.mlir_schedules.api.from_torch.importing import found_torch

    torch = found_torch()
    torch.set_num_threads(1)
    from burnish.tasks.mlir_schedules.peers.torch_forms import family_ways, module_ways

    name = "torch" if mode == "eager" else f"torch.{mode}"
    prepare = PREPARATIONS[mode]
    text = program.content.decode()
    if original:
        module, trial, count = _module_of(program, original)
        ways = module_ways(module, trial.inputs[:count], prepare)
    else:
        trial = Trial(text)
        ways = family_ways(program.name, trial.inputs, trial.outputs[0], prepare)
    kept = [way for way in ways if mode == "eager" or not way.into]
    reopen = partial(open_torch, mode, program, original)
    return PeerSession(name, program, reopen, _checked(name, program, kept, trial))


def least_seconds(call: Call, samples: int = SAMPLES) -> float:
    """Return the least CPU time of a call after a warm-up, in seconds, of all threads of the process."""
    once = min(_batch_seconds(call, 1) for _ in range(3))
    calls = max(1, round(BATCH_SECONDS / max(once, 1e-7)))
    return min(_batch_seconds(call, calls) for _ in range(samples))


def eager(function: Any, given: Sequence[Tensor]) -> Any:
    """Return the function itself, which torch computes op by op."""
    return function


def compiled(function: Any, given: Sequence[Tensor]) -> Any:
    """Return a function compiled by torch.compile for static shapes, with a module's weights as constants."""
    import torch

    torch.compiler.reset()  # because it limits the number of compiled programs
    return torch.compile(function, dynamic=False, options={"freezing": True, "compile_threads": 1})


def traced(function: Any, given: Sequence[Tensor]) -> Any:
    """Return a function traced by TorchScript; a module's weights are frozen, too."""
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        if isinstance(function, torch.nn.Module):
            return torch.jit.optimize_for_inference(torch.jit.trace(function.eval(), tuple(given)))
        return torch.jit.trace(function, tuple(given))


PREPARATIONS: dict[str, Prepare] = {"eager": eager, "compile": compiled, "jit": traced}


def _checked(name: str, program: Program, ways: Sequence[Way], trial: Trial) -> list[Call]:
    """Return a call of each way that gives the program's results.

    Raises:
        InputError: there is no way.
        CompileError: each way fails, or gives other results.
    """
    calls, failures = list[Call](), list[str]()
    for way in ways:
        try:
            call = way.make()
            found = call()
            trial.compare(
                [way.result(one) for one in (found if isinstance(found, tuple | list) else [found])]
            )
        except FAILURES as error:
            failures.append(f"{way.name}: {first_line(str(error)) or type(error).__name__}")
        else:
            calls.append(call)
    if not ways:
        raise InputError(
            f"{program.name}: {name} has no form of this program; expected a program of a family, such as "
            "matmul:64x64x64, or --original FILE.py:NAME, the module that the program was imported from"
        )
    if not calls:
        raise CompileError(f"{program.name}: {name} cannot compute this program: {'; '.join(failures)}")
    return calls


def _module_of(program: Program, original: str) -> tuple[Any, Trial, int]:
    """Return the module of a program, a trial with its weights, and the number of its inputs.

    Raises:
        InputError: the program was not imported from this module.
    """
    import torch

    from burnish.tasks.mlir_schedules.api.from_torch import importing
    from burnish.tasks.mlir_schedules.api.from_torch.loading import load_module

    module, _ = load_module(original)
    text = program.content.decode()
    given = inputs_of(text)
    why = ""
    layouts: tuple[importing.Layout, ...] = ("nhwc", "nchw")
    for fold, layout in itertools.product((True, False), layouts):
        count = len(given) - importing.weight_count(module, fold=fold)
        if count < 1:
            continue
        try:
            imported = importing.import_module(
                module, [torch.from_numpy(array) for array in given[:count]], layout=layout, fold=fold
            )
        except InputError as error:
            why = why or str(error)
            continue
        if program_of(imported.text, program.name).digest == program.digest:
            return module, Trial(text, [*given[:count], *imported.weights(module)]), count
        why = "their programs differ"
    raise InputError(f"{program.name} was not imported from {original}: {why or 'it has too many weights'}")


def _batch_seconds(call: Call, calls: int) -> float:
    start = time.process_time()
    for _ in itertools.repeat(None, calls):
        call()
    return (time.process_time() - start) / calls
