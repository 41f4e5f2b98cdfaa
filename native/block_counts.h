// Execution counts of a program's blocks.
#pragma once

#include "module.h"

#include "llvm/IR/ValueHandle.h"

#include <memory>
#include <vector>

namespace llvm {
class MachineBasicBlock;
class MachineBlockFrequencyInfo;
class MachineFunction;
} // namespace llvm

namespace burnish {

// Returns a copy of a module whose program counts the executions of its blocks. When the program returns from main or
// calls exit, it appends a record to the file `path`: a uint64 for each block of each function with a body, in their
// order. Throws InputError if the module defines functions of the C library that the copy needs.
std::unique_ptr<Module> counting(const Module &module, const std::string &path);

// Returns the number of counters in a record: all blocks of a module.
size_t count_blocks(const Module &module);

// The counts of a machine function's blocks; they remain valid while passes change the IR blocks.
class BlockCounts {
public:
  // `counts`: a record that an equal module from `counting` has written. Throws InputError if it is of another module.
  BlockCounts(llvm::Module &module, const std::vector<uint64_t> &counts);

  // Returns the counts by number of machine block. The count of a block is that of its IR block, times the ratio of
  // LLVM's block frequencies if there are several. A block without an IR block gets its count from a neighbour in the
  // same way, or from the function's calls.
  std::vector<double> of(const llvm::MachineFunction &function,
                         const llvm::MachineBlockFrequencyInfo &frequencies) const;

private:
  std::vector<llvm::WeakVH> blocks;
  std::vector<uint64_t> counts;
};

} // namespace burnish
