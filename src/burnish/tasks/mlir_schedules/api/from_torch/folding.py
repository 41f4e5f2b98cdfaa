"""Folding of batch norms into the convolutions before them: in evaluation mode both are linear."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch import fx, nn


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
