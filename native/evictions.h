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

// llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp, RA_EVICT_FEATURES_LIST: a row has eviction_slots values of each but the
// last, `progress`, which has one. The slots are the registers in allocation order, then the live range itself.
inline constexpr int eviction_slots = 33;
std::vector<std::string> eviction_feature_names();
int eviction_row_size(); // 20 * 33 + 1

// A live range wants a register.
struct Eviction {
  const std::string &function;
  std::span<const float> row;
  int llvms; // the slot that LLVM's heuristic takes; below 0 where the row's `mask` does not allow it
};

// Who is asked.
class EvictionPolicy {
public:
  virtual ~EvictionPolicy() = default;
  // Which slot, of those that the row's `mask` allows, is evicted; the last one is "none, the live range itself has to
  // wait". Below 0: what LLVM's heuristic says.
  virtual int decide(const Eviction &asked) = 0;

  // Where there is no row, since none of the slots may be taken, LLVM's heuristic decides; or, as where a stock LLVM
  // has a model, nothing is evicted.
  bool like_stock = false;
};

// A pass to be added before the register allocator is. Throws FatalError where LLVM's advisor is not laid out as this
// was written for.
llvm::Pass *create_eviction_pass(EvictionPolicy &policy);

} // namespace burnish
