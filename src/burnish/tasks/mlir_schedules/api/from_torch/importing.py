"""Import of torch modules as programs, by torch-mlir; weights become arguments."""

from __future__ import annotations

import copy
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError, MissingTool, install
from burnish.tasks.mlir_schedules.api.from_torch.layout import channels_last
from burnish.tasks.mlir_schedules.bindings import bindings

if TYPE_CHECKING:
    from torch import fx, nn

INSTALL = install("train,mlir")
TRANSPOSED = (1, 0)

Layout = Literal["nhwc", "nchw"]


@dataclass(frozen=True)
class Imported:
    """A program, and the parameters of a module that it takes after the inputs."""

    text: str
    parameters: tuple[str, ...]  # names, buffers included
    axes: Mapping[str, tuple[int, ...]]  # the order of axes, for parameters that it takes transposed
    folded: bool = False  # batch norms are folded into the convolutions before them

    def weights(self, module: nn.Module) -> list[NDArray[Any]]:
        """Return a module's parameters as arguments of the program, in its order and contiguous."""
        state = _state(fold_batch_norms(module) if self.folded else module)
        found = {name: state[name].numpy() for name in self.parameters}
        found |= {name: found[name].transpose(axes) for name, axes in self.axes.items()}
        return [np.ascontiguousarray(found[name]) for name in self.parameters]


def import_module(
    module: nn.Module,
    example_inputs: Sequence[Any],
    name: str = "main",
    *,
    layout: Layout = "nhwc",
    fold: bool = True,
) -> Imported:
    """Return the program of a module in evaluation mode, for inputs of the examples' shapes.

    Args:
        module: The module to import.
        example_inputs: Tensors of torch.float32, int64 or int32.
        name: The function's name.
        layout: The layout between convolutions and pools; the program still takes and returns torch's NCHW.
        fold: Whether to fold batch norms into the convolutions before them.

    Raises:
        InputError: the module has operations, shapes or elements that programs do not have.
        MissingTool: torch or MLIR is not installed.
    """
    _check(module, example_inputs)
    import torch

    kind = type(module).__name__
    if fold:
        module = fold_batch_norms(module)
    state = _state(module)
    layers = [path for path, part in module.named_modules() if isinstance(part, torch.nn.Linear)]
    turned = frozenset(f"{path}.weight".lstrip(".") for path in layers) & set(state)
    values = [value.t().contiguous() if key in turned else value for key, value in state.items()]
    plain = _functional(module, tuple(state), turned, len(example_inputs))
    try:
        text = cleaned(_exported(plain, (*example_inputs, *values), name))
    except InputError as error:
        raise InputError(f"{kind} cannot be imported: {error}") from None
    axes: dict[str, tuple[int, ...]] = dict.fromkeys(sorted(turned), TRANSPOSED)
    names = tuple(state)
    if layout == "nhwc":
        images = channels_last(text, len(example_inputs))
        text = images.text
        axes |= {names[place - len(example_inputs)]: order for place, order in images.permuted.items()}
    return Imported(text, names, axes, fold)


def weight_count(module: nn.Module, *, fold: bool = True) -> int:
    """Return the number of weights that a module's program takes; fold: see `import_module`."""
    return len(_state(fold_batch_norms(module) if fold else module))


def found_torch() -> Any:
    """Return torch.

    Raises:
        MissingTool: torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingTool(f"torch is not installed: {INSTALL}") from None
    return torch


def _check(module: nn.Module, example_inputs: Sequence[Any]) -> None:
    """Refuse a module or inputs that cannot be imported; see `import_module`."""
    torch = found_torch()
    bindings("ir")
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"{type(module).__name__}: expected a torch.nn.Module, such as nn.Linear(8, 4)")
    if isinstance(example_inputs, torch.Tensor) or not isinstance(example_inputs, Sequence):
        raise InputError(
            f"the example inputs are a {type(example_inputs).__name__}; expected a list of tensors, one for "
            "each input: [torch.randn(1, 8)]"
        )
    if module.training:
        raise InputError(f"{type(module).__name__} is in training mode; expected module.eval()")
    for place, value in enumerate(example_inputs):
        if str(getattr(value, "dtype", "")) not in DTYPES:
            found = getattr(value, "dtype", type(value).__name__)
            raise InputError(f"input {place} is {found}; expected a tensor of {', '.join(DTYPES)}")


def _exported(module: nn.Module, inputs: Sequence[Any], name: str) -> Any:
    """Return torch-mlir's module, linalg on tensors, or refuse a module that torch cannot trace."""
    import torch
    from torch_mlir import fx
    from torch_mlir.compiler_utils import TorchMlirCompilerError
    from torch_mlir.extras.fx_importer import FxImporter

    from burnish.tasks.mlir_schedules.api.from_torch.decompositions import decompositions

    said: list[str] = []

    def listen(diagnostic: Any) -> bool:
        said.append(str(diagnostic.message).partition(": %")[0].splitlines()[0])
        return True

    context = bindings("ir").Context()
    bindings("dialects.torch").register_dialect(context)
    listener = context.attach_diagnostic_handler(listen)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return fx.export_and_import(
                module,
                *inputs,
                output_type="linalg-on-tensors",
                func_name=name,
                decomposition_table=decompositions(),
                fx_importer=FxImporter(context=context),
            )
    except TorchMlirCompilerError as error:
        raise InputError(said[0] if said else str(error)) from None
    except (RuntimeError, ValueError, TypeError, AssertionError, NotImplementedError) as error:
        raise InputError(next(iter(str(error).splitlines()), type(error).__name__)) from None
    finally:
        listener.detach()


def _state(module: nn.Module) -> dict[str, Any]:
    """Return parameters and buffers by name; the counters of batch norms, which are scalars, are left out."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: value.detach() for name, value in named if value.is_floating_point() or value.dim()}


def _functional(module: nn.Module, names: tuple[str, ...], turned: frozenset[str], inputs: int) -> nn.Module:
    """Return a module without parameters; it takes the parameters of `module` after the inputs."""
    from torch import nn
    from torch.func import functional_call

    class Functional(nn.Module):
        def forward(self, *values: Any) -> Any:
            pairs = zip(names, values[inputs:], strict=True)
            state = {name: value.t() if name in turned else value for name, value in pairs}
            return functional_call(module, state, values[:inputs])

    return Functional()


def fold_batch_norms(module: nn.Module) -> nn.Module:
    """Return a module with each batch norm folded that is the only user of a convolution's result.

    The module comes back unchanged if it has nothing to fold, or if torch.fx cannot trace it because its
    operations depend on values or shapes.
    """
    import torch
    from torch import fx, nn

    kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
    if not any(isinstance(part, kinds) for part in module.modules()):
        return module
    try:
        traced = fx.symbolic_trace(copy.deepcopy(module))
    except (fx.proxy.TraceError, TypeError, ValueError, RuntimeError, AttributeError, NotImplementedError):
        return module
    calls = Counter(node.target for node in traced.graph.nodes if node.op == "call_module")
    with torch.no_grad():
        for node in list(traced.graph.nodes):
            _fold(traced, node, calls)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced.eval()


def _fold(traced: fx.GraphModule, node: fx.Node, calls: Counter[Any]) -> None:
    """Fold a node that is a batch norm after a convolution that only it reads and that is called once."""
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    before = node.args[0] if node.args else None
    pairs = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))
    if node.op != "call_module" or getattr(before, "op", "") != "call_module":
        return
    maker = cast("fx.Node", before)
    if len(maker.users) > 1 or calls[maker.target] > 1:
        return
    norm, convolution = (traced.get_submodule(str(one.target)) for one in (node, maker))
    fits = any(type(convolution) is one and type(norm) is other for one, other in pairs)
    if not fits or cast(Any, norm).running_mean is None:
        return
    path, _, name = str(maker.target).rpartition(".")
    setattr(traced.get_submodule(path), name, fuse_conv_bn_eval(cast(Any, convolution), cast(Any, norm)))
    node.replace_all_uses_with(maker)
    traced.graph.erase_node(node)


SIMPLER = "canonicalize,cse"
FLAT = "func.func(linalg-fold-unit-extent-dims),canonicalize,cse"
FUSED = "func.func(linalg-fuse-elementwise-ops),canonicalize"
ELEMENT = "f32"
ELEMENTS = (ELEMENT, "i64", "i32")  # of tensors
DTYPES = ("torch.float32", "torch.int64", "torch.int32")  # of inputs
DIALECTS = ("linalg.", "tensor.", "arith.", "math.", "func.")
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
WINDOW = re.compile(r"^linalg\.(depthwise_)?conv_|^linalg\.pooling_")
BARRIER = "import.barrier"


def cleaned(module: Any) -> str:
    """Return the text of an exported module as a program.

    Chains of elementwise operations become one operation each, unless a value would be computed more often.
    Axes of extent 1 are removed, except in modules with images: windows need all four axes, and the ops after
    them can be computed tile by tile only if they have the same axes.

    Raises:
        InputError: the result has an operation, a type or a constant that programs do not have.
    """
    ir = bindings("ir")
    with module.context as context, ir.Location.unknown():
        for operation in _operations(module):
            if operation.name == "cf.assert":
                operation.erase()
            elif operation.name == "arith.truncf":
                _round(operation)
        _run(module, SIMPLER)
        context.allow_unregistered_dialects = True
        _copy_masks(module)
        _put_barriers(module)
        _run(module, FUSED)
        for operation in _operations(module):
            if operation.name == BARRIER:
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
        context.allow_unregistered_dialects = False
        _run(module, SIMPLER)
        if not any(WINDOW.search(operation.name) for operation in _operations(module)):
            _run(module, FLAT)
        for operation in _operations(module):
            _check_operation(operation)
        return str(module)


def _run(module: Any, pipeline: str) -> None:
    bindings("passmanager").PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def _operations(module: Any) -> list[Any]:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return bindings("ir").WalkResult.ADVANCE

    module.operation.walk(visit, bindings("ir").WalkOrder.PRE_ORDER)
    return found


def _round(operation: Any) -> None:
    """Round a constant to a smaller type; MLIR itself does so only if the value stays exact."""
    ir = bindings("ir")
    maker, kind = operation.operands[0].owner, operation.results[0].type
    if getattr(maker, "name", "") == "arith.constant" and not hasattr(kind, "shape"):
        value = ir.FloatAttr.get(kind, maker.attributes["value"].value)
        with ir.InsertionPoint(operation):
            rounded = ir.Operation.create("arith.constant", results=[kind], attributes={"value": value})
        operation.results[0].replace_all_uses_with(rounded.result)
        operation.erase()


def _copy_masks(module: Any) -> None:
    """Copy indices and masks for each use, so that they can be fused into each user."""
    for operation in reversed(_operations(module)):
        if operation.name.startswith(("linalg.", "tensor.")) and any(map(_is_mask, operation.results)):
            for use in list(operation.results[0].uses)[1:]:
                user, number = use.owner, use.operand_number
                user.operands[number] = operation.clone(bindings("ir").InsertionPoint(operation)).results[0]


def _put_barriers(module: Any) -> None:
    """Separate a value that is computed once from users that would compute it again for each use."""
    ir = bindings("ir")
    for operation in _operations(module):
        if not operation.name.startswith(("linalg.", "tensor.")) or operation.name.endswith(".yield"):
            continue
        for number, operand in enumerate(list(operation.operands)):
            if _is_apart(operation, number, operand):
                with ir.InsertionPoint(operation):
                    barrier = ir.Operation.create(BARRIER, results=[operand.type], operands=[operand])
                operation.operands[number] = barrier.result


def _is_apart(operation: Any, number: int, operand: Any) -> bool:
    """Return whether the producer of an operand must not be fused into an operation."""
    if not getattr(operand.owner, "name", "").startswith(("linalg.", *RESHAPES)) or _is_mask(operand):
        return False
    if operation.name != "linalg.generic" or operand.owner.name != "linalg.generic":
        return True
    indexing = operation.attributes["indexing_maps"][number].value
    return not indexing.is_permutation


def _is_mask(value: Any) -> bool:
    return hasattr(value.type, "shape") and str(value.type.element_type) != ELEMENT


def _check_operation(operation: Any) -> None:
    """Refuse an operation, the type of one of its values, or a constant that programs do not have."""
    if operation.name != "builtin.module" and not operation.name.startswith(DIALECTS):
        known = ", ".join(dialect.rstrip(".") for dialect in DIALECTS)
        raise InputError(f"the module needs {operation.name}; programs can have operations of {known}")
    line = str(operation).strip().splitlines()[0][:120]
    dense = bindings("ir").DenseElementsAttr | bindings("ir").FloatAttr | bindings("ir").IntegerAttr
    if operation.name == "arith.constant" and not isinstance(operation.attributes["value"], dense):
        raise InputError(
            f"there is a constant in '{line}'; expected a parameter or a buffer of floats, which "
            "becomes an argument"
        )
    for value in (*operation.operands, *operation.results):
        kind = value.type
        if hasattr(kind, "shape") and (not kind.has_static_shape or str(kind.element_type) not in ELEMENTS):
            raise InputError(
                f"{kind} in '{line}'; expected tensors of {', '.join(ELEMENTS)}, of static shapes"
            )
