// Register allocation as if every block of a function executed once.
//
// LLVM's allocator weighs spills, and the copies by which it splits live ranges, by the frequency of their blocks, also
// at -Oz: outside of loops it accepts several copies to save one in a loop. For bytes all of them count alike.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Pass.h"
#include "llvm/Support/BlockFrequency.h"

#include <functional>
#include <vector>

namespace burnish {

// Two passes: one before register allocation, which makes the frequencies of a function equal if `wanted` says so, and
// one behind it, which brings back LLVM's own for the passes that follow. A target may allocate in several steps (x86
// begins with tiles), with the first pass before each.
class FlatFrequencies {
public:
  explicit FlatFrequencies(std::function<bool(llvm::StringRef function)> wanted) : wanted(std::move(wanted)) {}

  llvm::Pass *create_flattening_pass();
  llvm::Pass *create_restoring_pass();

private:
  struct Flattening;
  struct Restoring;

  std::function<bool(llvm::StringRef)> wanted;
  std::vector<llvm::BlockFrequency> before; // by the blocks' numbers; empty: nothing is to be restored
};

} // namespace burnish
