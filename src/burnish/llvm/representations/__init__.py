"""Representations of programs: graphs, token sequences and vectors."""

from burnish.llvm.representations.graph import (
    ProgramGraph,
    block_graph,
    by_function,
    call_graph,
    program_graph,
    tokens,
)
from burnish.llvm.representations.ir2vec import (
    function_vectors,
    instruction_vectors,
    load_seed_vectors,
    program_vector,
    shipped_seed_vectors,
)
from burnish.llvm.representations.vocabulary import (
    Vocabulary,
    load_vocabulary,
    most_frequent,
    shipped_vocabulary,
)

__all__ = [
    "ProgramGraph",
    "Vocabulary",
    "block_graph",
    "by_function",
    "call_graph",
    "function_vectors",
    "instruction_vectors",
    "load_seed_vectors",
    "load_vocabulary",
    "most_frequent",
    "program_graph",
    "program_vector",
    "shipped_seed_vectors",
    "shipped_vocabulary",
    "tokens",
]
