"""What a program looks like: graphs, sequences of tokens, vectors."""

from burnish.representations.graph import ProgramGraph, block_graph, call_graph, program_graph
from burnish.representations.tokens import by_function, tokens
from burnish.representations.vocabulary import Vocabulary, load_vocabulary, most_frequent, shipped_vocabulary

__all__ = [
    "ProgramGraph",
    "Vocabulary",
    "block_graph",
    "by_function",
    "call_graph",
    "load_vocabulary",
    "most_frequent",
    "program_graph",
    "shipped_vocabulary",
    "tokens",
]
