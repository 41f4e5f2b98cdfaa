"""A case's program, its arrays, and its expected output in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError, Miscompiled
from burnish.core.program import Program
from burnish.tasks.mlir_schedules.kernel import Trial
from burnish.tasks.mlir_schedules.programs import MlirSource, program
from burnish.tasks.tensors.arrays import placed
from mlir_schedules.cases import NETWORK, Case


@dataclass(frozen=True)
class Bench:
    """A program with a trial; for a network also its torch module."""

    case: Case
    program: Program
    trial: Trial
    network: Any = None  # a burnish.tasks.mlir_schedules.api.from_torch.networks.Network

    @property
    def text(self) -> str:
        """The program's text."""
        return self.program.content.decode()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the only output."""
        shape: tuple[int, ...] = self.trial.outputs[0].shape
        return shape

    def check(self, found: NDArray[Any], who: str) -> None:
        """Compare an output with the one that NumPy computes in double precision.

        Raises:
            Miscompiled: the outputs differ.
        """
        (expected,), (most,) = self.trial.expected, self.trial.largest_errors
        if found.shape != expected.shape or found.dtype != self.trial.outputs[0].dtype:
            raise Miscompiled(f"{who}: {found.dtype}{found.shape}; expected f32{expected.shape}")
        error = np.abs(found - expected)
        if not error.max(initial=0) <= most:
            raise Miscompiled(f"{who}: elements are off by up to {error.max():.3g}")


def open_bench(case: Case) -> Bench:
    """Return a case's program and arrays; the weights of our networks are random.

    Raises:
        InputError, UnknownName: there is no such program.
        MissingTool: MLIR is not installed, or torch for a network.
    """
    if case.group != NETWORK:
        found = MlirSource().load(case.name).program
        return Bench(case, found, Trial(found.content.decode()))
    from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module

    network = _network(case.name)
    example = network.example()
    imported = import_module(network.module, [example])
    found = program(imported.text, case.name)
    arrays = [example.numpy(), *imported.weights(network.module)]
    return Bench(
        case,
        found,
        Trial(found.content.decode(), [placed(array, place) for place, array in enumerate(arrays)]),
        network,
    )


def _network(name: str) -> Any:
    """Return one of our networks, or a torch module that comes with its only input.

    Raises:
        InputError, UnknownName: there is no such module, or it does not come with exactly one input.
    """
    from burnish.tasks.mlir_schedules.api.from_torch.loading import load_module
    from burnish.tasks.mlir_schedules.api.from_torch.networks import NETWORKS, Network

    if name in NETWORKS:
        return NETWORKS[name]()
    module, inputs = load_module(name)
    if len(inputs) != 1:
        raise InputError(
            f"{name} comes with {len(inputs)} inputs; expected a function that returns a module and one"
        )
    return Network(module, tuple(inputs[0].shape))
