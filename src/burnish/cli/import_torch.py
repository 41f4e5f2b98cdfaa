"""burnish import-torch: a module of torch as a program, and its weights as arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError
from burnish.files import write_atomically
from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module
from burnish.tasks.mlir_schedules.api.from_torch.loading import drawn_inputs, load_module
from burnish.tasks.mlir_schedules.programs import program


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    if options.output.suffix != ".mlir":
        raise InputError(f"-o {options.output}: expected a name that ends in .mlir")
    if options.weights and options.weights.suffix != ".npz":
        raise InputError(f"--weights {options.weights}: expected a name that ends in .npz")
    module, examples = load_module(options.module)
    inputs = drawn_inputs(options.inputs) if options.inputs else examples
    if not inputs:
        raise InputError(f"{options.module} has no example inputs; expected --inputs 1x3x224x224")
    imported = import_module(module, inputs, layout=options.layout, fold=not options.keep_batch_norms)
    content = program(imported.text, options.output.name).content
    write_atomically(options.output, content)
    counts = Counter(re.findall(r"= linalg\.(?!index\b)(\w+)", content.decode()))
    print(f"{options.output}: {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    weights: dict[str, Any] = dict(zip(imported.parameters, imported.weights(module), strict=True))
    total = sum(array.size for array in weights.values())
    print(f"arguments: {_count(len(inputs), 'input')}, {_count(len(weights), 'weight')} of {total:,} numbers")
    if options.weights:
        arrays = BytesIO()
        np.savez(arrays, **weights)
        write_atomically(options.weights, arrays.getvalue())
        print(f"{options.weights}: the weights by name, in the order in which the program takes them")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish import-torch",
        description="Write a module of torch, in evaluation mode and for inputs of certain shapes, as a "
        "program of linalg operations on tensors, which `burnish optimize` takes. Weights are arguments that "
        "come after the inputs; convolutions take theirs with the channels last.",
        epilog="burnish import-torch model.py:resnet --inputs 1x3x224x224 -o resnet.mlir --weights "
        "resnet.npz && burnish optimize resnet.mlir --budget 10m -o resnet.so",
    )
    add = parser.add_argument
    add(
        "module",
        help="FILE.py:NAME or package.module:NAME, a torch.nn.Module, or a function that returns one, or one "
        "and its example inputs",
    )
    add("-o", "--output", type=Path, required=True, help="output file: FILE.mlir")
    add(
        "--inputs",
        nargs="+",
        metavar="SHAPE",
        help="one of each input, of float32: 1x3x224x224; 1x128xi64 has whole numbers, such as tokens",
    )
    add("--weights", type=Path, metavar="FILE.npz", help="output file for the arrays of its weights")
    add(
        "--layout",
        choices=("nhwc", "nchw"),
        default="nhwc",
        help="layout of images inside the program; default: nhwc",
    )
    add("--keep-batch-norms", action="store_true", help="do not fold them into convolutions")
    return parser


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
