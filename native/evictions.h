// The register allocator's evictions as decisions: LLVM's features of each, in process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class Pass;
}

namespace burnish {

// llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp, RA_EVICT_FEATURES_LIST: a row has eviction_slots values of each feature
// except the last, `progress`, which has one. The slots are the registers in allocation order, then the live range.
inline constexpr int eviction_slots = 33;
std::vector<std::string> eviction_feature_names();
int eviction_row_size(); // 20 * 33 + 1

// A question: a live range needs a register.
struct Eviction {
  const std::string &function;
  std::span<const float> row;
  int llvms; // the slot that LLVM's heuristic takes; negative if the row's `mask` does not allow it
};

// A policy that answers the questions.
class EvictionPolicy {
public:
  virtual ~EvictionPolicy() = default;
  // Returns the slot to evict, among those that the row's `mask` allows. The last slot evicts nothing: the live range
  // itself has to wait. A negative number leaves the decision to LLVM's heuristic.
  virtual int decide(const Eviction &asked) = 0;

  // Without an allowed slot there is no question. Then LLVM's heuristic decides; or, if true, nothing is evicted, as in
  // a stock LLVM with a model.
  bool like_stock = false;
};

// Returns a pass to add before the register allocator. Throws FatalError if the layout of LLVM's advisor is not the one
// that this code was written for.
llvm::Pass *create_eviction_pass(EvictionPolicy &policy);

} // namespace burnish
