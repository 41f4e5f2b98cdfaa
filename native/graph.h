// Modules as graphs: ProGraML, the graph of basic blocks, the call graph.
#pragma once

#include "module.h"

namespace burnish {

inline constexpr size_t graph_edge_columns = 4; // source, target, flow, position

// Flat rows of nodes and edges; llvm/representations/graph.py names and documents the columns.
struct Graph {
  std::vector<int64_t> nodes;
  std::vector<int64_t> edges;
  std::vector<std::string> texts;
};

enum Flow : int64_t { ControlFlow, DataFlow, CallFlow, TypeFlow };

// ProGraML (Cummins et al. 2021). Columns of nodes: kind, index into texts, function, block.
inline constexpr size_t program_graph_columns = 4;
Graph program_graph(const Module &module, bool types);

// Columns of nodes: function, instructions, phis, loads, stores, calls, loop depth. No texts.
inline constexpr size_t block_graph_columns = 7;
Graph block_graph(const Module &module);

// Columns of nodes: kind, instructions, blocks, local. The texts are the functions' names, the edges' last
// column is the number of call sites.
inline constexpr size_t call_graph_columns = 4;
Graph call_graph(const Module &module);

// Indices into texts, function by function in module order: a marker, then one for each instruction.
struct Sequence {
  std::vector<int64_t> tokens;
  std::vector<std::string> texts;
};
Sequence instruction_sequence(const Module &module);

} // namespace burnish
