#include "evictions.h"

#include "module.h"

#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/IR/Module.h"

#include <array>

using namespace llvm;

// llvm/lib/CodeGen/AllocationOrder.h, which is private: hints, then the class's order without them.
namespace llvm {
class AllocationOrder {
  SmallVector<MCPhysReg, 16> hints;
  ArrayRef<MCPhysReg> order;
  int limit = 0; // 0 where nothing but hints is allowed

public:
  // The registers, in this order.
  SmallVector<MCPhysReg, 32> registers() const {
    SmallVector<MCPhysReg, 32> all(hints.begin(), hints.end());
    for (MCPhysReg each : order.take_front(limit))
      if (!is_contained(hints, each))
        all.push_back(each);
    return all;
  }
};
} // namespace llvm

namespace burnish {
namespace {

struct Feature {
  const char *name;
  bool is_float;
};

constexpr std::array<Feature, 21> FEATURES{{{"mask", false},
                                            {"is_free", false},
                                            {"nr_urgent", true},
                                            {"nr_broken_hints", true},
                                            {"is_hint", false},
                                            {"is_local", false},
                                            {"nr_rematerializable", true},
                                            {"nr_defs_and_uses", true},
                                            {"weighed_reads_by_max", true},
                                            {"weighed_writes_by_max", true},
                                            {"weighed_read_writes_by_max", true},
                                            {"weighed_indvars_by_max", true},
                                            {"hint_weights_by_max", true},
                                            {"start_bb_freq_by_max", true},
                                            {"end_bb_freq_by_max", true},
                                            {"hottest_bb_freq_by_max", true},
                                            {"liverange_size", true},
                                            {"use_def_density", true},
                                            {"max_stage", false},
                                            {"min_stage", false},
                                            {"progress", true}}};

constexpr size_t LAST = FEATURES.size() - 1; // progress, which is one number

TensorSpec specification(size_t feature) {
  auto [name, is_float] = FEATURES[feature];
  std::vector<int64_t> shape{1, eviction_slots};
  if (feature == LAST)
    shape = {1};
  return is_float ? TensorSpec::createSpec<float>(name, shape) : TensorSpec::createSpec<int64_t>(name, shape);
}

// The model runner for LLVM's advisor: LLVM fills in the features, and the policy chooses.
class Asking final : public MLModelRunner {
public:
  Asking(LLVMContext &context, EvictionPolicy &policy)
      : MLModelRunner(context, Kind::Interactive, FEATURES.size()), unasked(!policy.like_stock), policy(policy) {
    for (size_t i = 0; i < FEATURES.size(); ++i)
      setUpBufferForTensor(i, specification(i), nullptr);
  }

  const bool unasked; // whether the heuristic decides if there is no question
  std::string function;
  int llvms = -1;         // the heuristic's slot
  bool heuristic = false; // whether it decides the last question

private:
  EvictionPolicy &policy;
  int64_t slot = 0;

  void *evaluateUntyped() override {
    std::vector<float> row;
    row.reserve(eviction_row_size());
    for (size_t i = 0; i < FEATURES.size(); ++i)
      for (int at = 0; at < (i == LAST ? 1 : eviction_slots); ++at)
        row.push_back(FEATURES[i].is_float ? getTensor<float>(i)[at] : static_cast<float>(getTensor<int64_t>(i)[at]));
    const int64_t *mask = getTensor<int64_t>(0);
    slot = policy.decide({function, row, llvms >= 0 && mask[llvms] ? llvms : -1});
    heuristic = slot < 0;
    for (int first = 0; heuristic && slot < 0; ++first) // LLVM still needs an allowed slot
      slot = mask[first] ? first : slot;
    if (slot >= eviction_slots || !mask[slot])
      throw FatalError("the eviction policy chose slot " + std::to_string(slot) + " in '" + function +
                       "', which is not among those that its mask allows");
    return &slot;
  }
};

// LLVM's advisor with the features, and LLVM's heuristic for decisions that the policy leaves to it.
class Advisor final : public RegAllocEvictionAdvisor {
public:
  Advisor(const MachineFunction &function, const RAGreedy &allocator, Asking &asking,
          std::unique_ptr<RegAllocEvictionAdvisor> model)
      : RegAllocEvictionAdvisor(function, allocator), asking(asking), model(std::move(model)),
        heuristic(std::make_unique<DefaultEvictionAdvisor>(function, allocator)) {}

private:
  Asking &asking;
  std::unique_ptr<RegAllocEvictionAdvisor> model, heuristic;

  MCRegister tryFindEvictionCandidate(const LiveInterval &range, const AllocationOrder &order, uint8_t limit,
                                      const SmallVirtRegSet &fixed) const override {
    asking.function = MF.getName().str();
    asking.heuristic = asking.unasked; // without a choice there is no question
    MCRegister llvms = heuristic->tryFindEvictionCandidate(range, order, limit, fixed);
    asking.llvms = slot_of(llvms, order);
    MCRegister chosen = model->tryFindEvictionCandidate(range, order, limit, fixed);
    return asking.heuristic ? llvms : chosen;
  }

  // MLEvictAdvisor numbers registers in allocation order; a register class has fewer registers than there are slots.
  static int slot_of(MCRegister chosen, const AllocationOrder &order) {
    if (!chosen)
      return eviction_slots - 1;
    auto registers = order.registers();
    auto slot = llvm::find(registers, chosen.id()) - registers.begin();
    return slot < std::min<ptrdiff_t>(registers.size(), eviction_slots - 1) ? int(slot) : -1;
  }

  bool canEvictHintInterference(const LiveInterval &range, MCRegister hint,
                                const SmallVirtRegSet &fixed) const override {
    return heuristic->canEvictHintInterference(range, hint, fixed);
  }
};

// The layout of LLVM's ReleaseModeEvictionAdvisorProvider, which is private to its file.
struct Mirror : RegAllocEvictionAdvisorProvider {
  std::vector<TensorSpec> features;
  std::unique_ptr<MLModelRunner> runner;
};

class Provider final : public RegAllocEvictionAdvisorProvider {
public:
  Provider(LLVMContext &context, EvictionPolicy &policy)
      : RegAllocEvictionAdvisorProvider(AdvisorMode::Release, context),
        model(createReleaseModeAdvisorProvider(context)) {
    auto &mirror = static_cast<Mirror &>(*model);
    if (mirror.features.size() != FEATURES.size() || mirror.runner)
      throw FatalError("LLVM's eviction advisor is laid out otherwise than in LLVM 23.1: there is no list of " +
                       std::to_string(FEATURES.size()) + " features where it was");
    for (size_t i = 0; i < FEATURES.size(); ++i)
      if (mirror.features[i].name() != FEATURES[i].name)
        throw FatalError("feature " + std::to_string(i) + " of LLVM's eviction advisor is '" +
                         mirror.features[i].name() + "'; expected '" + FEATURES[i].name + "', as in LLVM 23.1");
    auto runner = std::make_unique<Asking>(context, policy);
    asking = runner.get();
    mirror.runner = std::move(runner);
  }

  std::unique_ptr<RegAllocEvictionAdvisor> getAdvisor(const MachineFunction &function, const RAGreedy &allocator,
                                                      MachineBlockFrequencyInfo *frequencies,
                                                      MachineLoopInfo *loops) override {
    return std::make_unique<Advisor>(function, allocator, *asking,
                                     model->getAdvisor(function, allocator, frequencies, loops));
  }

private:
  std::unique_ptr<RegAllocEvictionAdvisorProvider> model;
  Asking *asking;
};

class Evictions final : public RegAllocEvictionAdvisorAnalysisLegacy {
public:
  explicit Evictions(EvictionPolicy &policy)
      : RegAllocEvictionAdvisorAnalysisLegacy(AdvisorMode::Release), policy(policy) {}

private:
  EvictionPolicy &policy;

  bool doInitialization(llvm::Module &module) override {
    RegAllocEvictionAdvisorAnalysisLegacy::Provider = std::make_unique<burnish::Provider>(module.getContext(), policy);
    return false;
  }
};

} // namespace

std::vector<std::string> eviction_feature_names() {
  std::vector<std::string> names;
  for (const Feature &feature : FEATURES)
    names.emplace_back(feature.name);
  return names;
}

int eviction_row_size() { return LAST * eviction_slots + 1; }

Pass *create_eviction_pass(EvictionPolicy &policy) { return new Evictions(policy); }

} // namespace burnish
