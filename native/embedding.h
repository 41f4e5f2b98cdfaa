// IR2Vec (VenkataKeerthy et al. 2020): vectors of instructions and functions from trained seed vectors.
//
// Entities, their classes and the vocabulary's file are LLVM's own (llvm/Analysis/IR2Vec.h). The flow-aware sums are
// not, because LLVM adds definitions without the paper's weight, so that its sums double with every operation (3e37
// for one function of BLAKE2).
#pragma once

#include "passes.h"

#include <utility>

namespace burnish {

class SeedVectors {
public:
  // Throws InputError: LLVM cannot read the vocabulary, JSON with Opcodes, Types and Arguments.
  explicit SeedVectors(const std::string &path);

  size_t dimension() const { return dimension_; }
  // float32[instructions, dimension], in module order.
  std::vector<float> instructions(const Module &module, bool flow_aware) const;
  // float32[functions with a body, dimension]: sums over the reachable instructions.
  std::vector<float> functions(const Module &module, bool flow_aware) const;

  // Registers this vocabulary as that of LLVM's own symbolic vectors, in place of a file named by an option.
  void provide(llvm::ModuleAnalysisManager &analyses) const;

private:
  size_t dimension_;
  std::vector<float> entities_; // [entities, dimension], with the weights of opcodes, types and operands
};

// Returns the vocabulary's section ("Opcodes", "Types", "Arguments") and the key of every entity.
std::vector<std::pair<std::string, std::string>> ir2vec_entities();

} // namespace burnish
