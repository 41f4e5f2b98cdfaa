// Regions that repeat, and the function that each becomes.
#pragma once

#include "text.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <tuple>

namespace burnish::outlining {

// Places with the same operations on corresponding operands. Control enters each place only at its first instruction,
// and leaves it only after its last.
struct Region {
  unsigned length = 0;
  std::vector<unsigned> starts;
  int saved = 0;

  bool operator<(const Region &other) const { // the best is the last
    if (saved != other.saved)
      return saved < other.saved;
    return std::tie(length, starts) > std::tie(other.length, other.starts);
  }
};

// The parameters and results of a region's function.
struct Plan {
  static constexpr int WITHIN = -1, CONSTANT = -2;
  std::vector<int> operands; // of each operand in order: a parameter's index, WITHIN or CONSTANT
  std::vector<llvm::Type *> parameters;
  std::vector<unsigned> results; // offsets of the instructions that are used outside
};

// The ways in which an outlined function is unwound. It needs a table if there are any.
struct Unwinding {
  bool throws, calls, table;
};

// Returns the length of the longest region that begins at `start`, has no other entry and has one exit; 0 if there is
// none. The exit is the next instruction in the same block, or a block without phis.
unsigned closed_length(const Text &text, unsigned start, unsigned longest);

// Returns the block in which a region is left.
llvm::BasicBlock *exit_of(const Text &text, unsigned start, unsigned length);

// Returns the offset of the region's instruction that is a value, or -1.
int offset_of(const Text &text, const llvm::Value *value, unsigned start, unsigned length);

// Visits all operands in order, with the offset of the region's instruction that defines the operand, or -1.
template <class Visit> void each_operand(const Text &text, unsigned start, unsigned length, Visit visit) {
  for (unsigned offset = 0; offset < length; offset++)
    for (const llvm::Use &use : values_of(text.at(start + offset)))
      visit(use, offset_of(text, use.get(), start, length));
}

bool is_used_outside(const Text &text, unsigned start, unsigned offset, unsigned length);

// Groups places by the offsets that define their operands.
using Groups = llvm::MapVector<std::vector<int>, std::vector<unsigned>, std::map<std::vector<int>, unsigned>>;
Groups by_flow(const Text &text, const std::vector<unsigned> &starts, unsigned length);

Plan make_plan(const Text &text, const Region &region);
Unwinding unwinding(const Text &text, const Region &region, const Plan &plan);

} // namespace burnish::outlining
