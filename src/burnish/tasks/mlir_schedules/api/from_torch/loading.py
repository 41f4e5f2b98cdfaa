"""Loading of torch modules by name, 'FILE.py:NAME' or 'package.module:NAME', and inputs by their shapes."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.api.from_torch.importing import found_torch

if TYPE_CHECKING:
    from torch import Tensor, nn

SHAPE = re.compile(r"([1-9]\d*(?:x[1-9]\d*)*)(?:x(f32|i64|i32))?")
FORM = "FILE.py:NAME or package.module:NAME"


def load_module(where: str) -> tuple[nn.Module, list[Tensor]]:
    """Return a module in evaluation mode, and its example inputs if the name provides them.

    The name is that of a module, or of a function without arguments. Such a function returns a module, or a
    tuple of a module and its example inputs.

    Raises:
        InputError: there is no such file, or the name is not a module or such a function.
        MissingTool: torch is not installed.
    """
    torch = found_torch()
    place, colon, name = where.rpartition(":")
    if not colon or not place or not name:
        raise InputError(f"{where}: expected {FORM}")
    found = _python_module(place)
    if not hasattr(found, name):
        raise UnknownName.among(f"name in {place}", name, [one for one in vars(found) if one[0] != "_"])
    value = getattr(found, name)
    if not isinstance(value, torch.nn.Module) and callable(value):
        value = _called(value, where)
    module, *inputs = value if isinstance(value, tuple) else (value,)
    if len(inputs) == 1 and isinstance(inputs[0], tuple | list):
        inputs = list(inputs[0])
    if not isinstance(module, torch.nn.Module):
        kind = type(module).__name__
        raise InputError(f"{where} is a {kind}; expected a torch.nn.Module, or a function that returns one")
    return module.eval(), inputs


def _called(function: Any, where: str) -> Any:
    """Call a function, which must not take arguments, and return its result."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise InputError(
            f"{where}: {error}; expected a module, or a function without arguments that returns one"
        ) from None
    except ValueError:  # a signature is not available
        pass
    return function()


def drawn_inputs(shapes: Sequence[str]) -> list[Tensor]:
    """Return random tensors of shapes such as '1x3x224x224'; '1x128xi64' gives zeros, which index anything.

    Raises:
        InputError: a text is not a shape.
        MissingTool: torch is not installed.
    """
    torch = found_torch()
    found = []
    for text in shapes:
        matched = SHAPE.fullmatch(text)
        if not matched:
            raise InputError(f"the input {text!r}: expected a shape such as 1x3x224x224, or 1x128xi64")
        shape = [int(extent) for extent in matched[1].split("x")]
        whole = {"i64": torch.int64, "i32": torch.int32}.get(matched[2])
        found.append(torch.zeros(shape, dtype=whole) if whole else torch.randn(shape))
    return found


def _python_module(place: str) -> Any:
    """Import a module from a file, or by its name."""
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = Path(place)
        if not path.is_file():
            raise InputError(f"{place}: there is no such file")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec and spec.loader
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    except (ImportError, SyntaxError) as error:
        raise InputError(f"{place} cannot be imported: {error}; expected {FORM}") from None
    return found
