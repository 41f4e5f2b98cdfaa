"""Programs as graphs, ProGraML's, of control flow and of calls, and as sequences of tokens.

`program_graph` follows ProGraML (Cummins et al. 2021, arXiv:2003.10536). Nodes are instructions, variables
(arguments and results of instructions), constants (each once in a module) and, on request, types. Edges are

- control: from an instruction to one that may execute next; position = number of the successor;
- data: from a variable or constant to the instruction that uses it, position = number of the operand; and
  from an instruction to its result. A case value of a switch has the position of the control edge it chooses;
- call: from a call to the callee's first instruction, and from the callee's ends to the call;
- type: from a type to the nodes of that type, and from a part to the whole, position = number of the part.

Node 0, `[external]`, is everything outside the module. It has call edges to and from functions that are
visible outside or whose address is taken, functions without a body, and calls through pointers.

The differences from ProGraML add information: control edges have positions; there are indirect calls;
functions that only their own module can call have no edge from outside; function pointers are constants;
constant expressions have data edges from their operands; a function ends where control leaves it, not at
`unreachable`. Intrinsics are instructions, not functions. Debug information is left out.

**Texts** are the words of the vocabulary, few on purpose: no names, no layouts, no lengths of arrays.
An instruction is its opcode and a type, with the details that passes look at: `add i32`, `icmp slt i64`,
`load volatile i8`, `zext i8 to i32`, `getelementptr struct`, `call llvm.memcpy`, `call void`,
`call indirect ptr`. A variable is its type: `i32`, `ptr`, `[i8]`, `struct`, `<4 x float>`; a width or length
that is not a power of two becomes `iN`, `<n x float>`. A constant is its type and, if it is small, its value:
`i32 -1`, `i64 2^12`, `i32 mask 16` (2^16 - 1); `i64 ~2^40` gives the magnitude only; `ptr null`,
`double 1.0`, `global [i8]`, `constant struct`, `function`. A function without a body is `declare`, with its
name if LLVM knows the function: `declare malloc`.

Functions are numbered in module order from 1, without intrinsics; 0 is outside. Blocks are numbered in
module order from 0. These numbers are the rows of `call_graph` and `block_graph`; -1: neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import MissingTool, ProgramError, install
from burnish.core.objective import GraphArrays
from burnish.core.program import Program
from burnish.llvm.representations.vocabulary import FUNCTION, SIZE, Vocabulary, shipped_vocabulary

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from torch_geometric.data import Data

KINDS: Final = ("instruction", "variable", "constant", "type")
FUNCTION_KINDS: Final = ("external", "defined", "declared")
FLOWS: Final = ("control", "data", "call", "type")
TOKENS: Final = SIZE  # the numbers in the column "token" are smaller
PROGRAM_COLUMNS: Final = ("kind", "token", "function", "block")
BLOCK_COLUMNS: Final = ("function", "instructions", "phis", "loads", "stores", "calls", "loop_depth")
CALL_COLUMNS: Final = ("kind", "instructions", "blocks", "local")


@dataclass(frozen=True, eq=False)
class ProgramGraph:
    """A directed multigraph of a program."""

    nodes: NDArray[np.int64]  # [N, len(columns)]
    edges: NDArray[np.int64]  # [E, 4]: source, target, flow (index into FLOWS), and edge_column
    columns: tuple[str, ...]
    texts: Sequence[str] = ()  # distinct texts of nodes
    text_of: NDArray[np.int64] | None = None  # [N]: indices into texts; None if nodes have no text
    edge_column: str = "position"

    @property
    def arrays(self) -> GraphArrays:
        """The value of a graph observation."""
        return GraphArrays(self.nodes, self.edges)

    def node_texts(self) -> list[str]:
        """Return a text for each node."""
        return [] if self.text_of is None else [self.texts[i] for i in self.text_of.tolist()]

    def to_networkx(self) -> MultiDiGraph[int]:
        """Return a networkx graph; columns, `text` and `flow` are attributes of nodes and edges."""
        from burnish.envs.graphs import to_networkx  # late: Gymnasium is not loaded by workers

        return to_networkx(self.arrays, self.columns, FLOWS, self.edge_column, self.node_texts())

    def to_torch_geometric(self) -> Data:
        """Return `x` int64[N, columns], `edge_index` int64[2, E], `edge_attr` int64[E, 2].

        The columns of `edge_attr` are flow and `edge_column`.
        """
        try:
            import torch
            from torch_geometric.data import Data
        except ImportError:
            raise MissingTool(f"torch-geometric is not installed; {install('train')}") from None
        edges = torch.from_numpy(self.edges)
        return Data(
            x=torch.from_numpy(self.nodes), edge_index=edges[:, :2].T.contiguous(), edge_attr=edges[:, 2:]
        )


def program_graph(
    program: Program | _native.Module, *, types: bool = False, vocabulary: Vocabulary | None = None
) -> ProgramGraph:
    """Return the ProGraML graph: nodes int64[N, 4] with PROGRAM_COLUMNS; `kind` is an index into KINDS.

    `types` adds nodes for types. The vocabulary maps texts to token numbers; by default it is the shipped
    one.
    """
    nodes, edges, texts = module_of(program).program_graph(types)
    text_of: NDArray[np.int64] = nodes[:, 1].copy()
    nodes[:, 1] = (vocabulary or shipped_vocabulary()).lookup(texts)[text_of]
    return ProgramGraph(nodes, edges, PROGRAM_COLUMNS, texts, text_of)


def block_graph(program: Program | _native.Module) -> ProgramGraph:
    """Return the control flow graph of all functions: nodes int64[B, 7], blocks with BLOCK_COLUMNS.

    Edges have the flow control and the number of the successor. `calls` excludes calls to intrinsics.
    """
    nodes, edges, _ = module_of(program).block_graph()
    return ProgramGraph(nodes, edges, BLOCK_COLUMNS)


def call_graph(program: Program | _native.Module) -> ProgramGraph:
    """Return the call graph: nodes int64[F + 1, 4], outside and the functions, with CALL_COLUMNS.

    `kind` is an index into FUNCTION_KINDS; `local` is 1 if the name is not visible outside. An edge is a pair
    of functions with the number of its `calls` in the module. A defined function that outside code may
    call has an edge from node 0 with 0 calls. A function that calls through pointers has an edge to node 0.
    The texts are the functions' names.
    """
    nodes, edges, names = module_of(program).call_graph()
    return ProgramGraph(nodes, edges, CALL_COLUMNS, names, np.arange(len(names)), "calls")


def tokens(program: Program | _native.Module, *, vocabulary: Vocabulary | None = None) -> NDArray[np.int64]:
    """Return int64[functions + instructions]: in module order, a function's marker, then its instructions.

    The tokens' texts are those of the program graph's instruction nodes.
    """
    numbers, texts = module_of(program).instruction_sequence()
    return (vocabulary or shipped_vocabulary()).lookup(texts)[numbers]


def by_function(
    sequence: NDArray[np.int64], *, vocabulary: Vocabulary | None = None
) -> list[NDArray[np.int64]]:
    """Split a sequence from `tokens` into one per function with a body, in module order."""
    marker = (vocabulary or shipped_vocabulary()).lookup([FUNCTION])[0]
    return np.split(sequence, np.flatnonzero(sequence == marker)[1:]) if len(sequence) else []


def module_of(program: Program | _native.Module) -> _native.Module:
    """Return an open module as it is, or open a program as a module."""
    if isinstance(program, _native.Module):
        return program
    try:
        return _native.Module(program.content, program.name)
    except _native.InputError as error:
        raise ProgramError(f"{program.name}: {error}") from None
