// How often the blocks of a program are executed.
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

// A copy of a module whose program counts its blocks: where it ends by returning from main or by exit, it adds a
// record to the file `path`: a uint64 for each block of each function with a body, in their order. Throws InputError
// where the module has functions of its own named as those of the C library that this needs.
std::unique_ptr<Module> counting(const Module &module, const std::string &path);

// All blocks of a module, for counting: how many there are.
size_t count_blocks(const Module &module);

// What a machine function's blocks were counted, while passes change the blocks that they come from.
class BlockCounts {
public:
  // `counts` as `counting` writes them of a module like this one. Throws InputError where they are of another one.
  BlockCounts(llvm::Module &module, const std::vector<uint64_t> &counts);

  // By number of machine block. A block that code generation made of another one is executed as often as that, times
  // what LLVM expects of the two; of one that comes from none, so of a neighbour; else of a call of the function.
  std::vector<double> of(const llvm::MachineFunction &function,
                         const llvm::MachineBlockFrequencyInfo &frequencies) const;

private:
  std::vector<llvm::WeakVH> blocks;
  std::vector<uint64_t> counts;
};

} // namespace burnish
