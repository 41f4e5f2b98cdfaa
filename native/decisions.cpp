#include "decisions.h"

#include "block_counts.h"
#include "codegen.h"
#include "flat_frequencies.h"
#include "llvm_options.h"
#include "machine_time.h"
#include "mixing.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Target/CGPassBuilderOption.h"
#include "llvm/Target/TargetMachine.h"

#include <cmath>
#include <mutex>

using namespace llvm;

// llvm/lib/CodeGen/RegAllocScore.h, which is private; the functions are not.
namespace llvm {
class RegAllocScore final {
  double CopyCounts = 0, LoadCounts = 0, StoreCounts = 0;
  double CheapRematCounts = 0, LoadStoreCounts = 0, ExpensiveRematCounts = 0;

public:
  double getScore() const;
};
RegAllocScore calculateRegAllocScore(const MachineFunction &, function_ref<double(const MachineBasicBlock &)>,
                                     function_ref<bool(const MachineInstr &)> rematerializable);
} // namespace llvm

namespace burnish {
namespace {

constexpr uint32_t CLASS_BITS = 0xff000000, SIZE_BITS = 0x00ffffff; // of DefaultPriorityAdvisor's priorities

class Priorities final : public RegAllocPriorityAdvisor {
public:
  Priorities(const MachineFunction &function, const RAGreedy &allocator, SlotIndexes &indexes,
             const FunctionDecisions &decisions, const std::vector<OrderWeights> &orders)
      : RegAllocPriorityAdvisor(function, allocator, &indexes),
        llvm(std::make_unique<DefaultPriorityAdvisor>(function, allocator, &indexes)), decisions(decisions),
        orders(orders) {}

  unsigned getPriority(const LiveInterval &range) const override {
    const RegAllocPriorityAdvisor &stock = *llvm; // in DefaultPriorityAdvisor it is private
    unsigned priority = stock.getPriority(range);
    if (decisions.priority == Priority::llvm)
      return priority;
    if (decisions.priority == Priority::linear)
      return (priority & CLASS_BITS) | linear(orders.at(decisions.seed), range, priority & SIZE_BITS);
    uint32_t chance = mixed(mixed(decisions.seed) ^ range.reg().virtRegIndex()) >> 40; // 24 bits
    uint64_t size = priority & SIZE_BITS;
    uint64_t place = decisions.priority == Priority::random ? chance : (size * ((1 << 23) + chance)) >> 24;
    return (priority & CLASS_BITS) | std::min<uint64_t>(place, SIZE_BITS);
  }

private:
  std::unique_ptr<RegAllocPriorityAdvisor> llvm;
  const FunctionDecisions &decisions;
  const std::vector<OrderWeights> &orders;

  // Returns the weighted sum of the features, as a number of 24 bits; the sum of the weights' magnitudes is its scale.
  uint32_t linear(const OrderWeights &weights, const LiveInterval &range, uint32_t place) const {
    double uses = std::distance(MRI->use_nodbg_begin(range.reg()), MRI->use_nodbg_end());
    OrderWeights features{double(place), double(range.getSize()), 1000.0 * range.weight(), uses};
    double sum = 0, scale = 0;
    for (size_t i = 0; i < order_features; ++i) {
      sum += weights[i] * std::min(std::log2(1 + features[i]), 32.0); // the weight of a range without spill is infinite
      scale += std::abs(weights[i]);
    }
    constexpr double middle = SIZE_BITS / 2;
    return scale > 0 ? uint32_t(middle + sum / (32 * scale) * middle) : place;
  }
};

const FunctionDecisions &decisions_of(const Decisions &decisions, StringRef function) {
  auto found = decisions.functions.find(function.str());
  return found == decisions.functions.end() ? decisions.others : found->second;
}

// Returns whether the decisions for a function are of a kind.
bool decides(const Decisions &decisions, function_ref<bool(const FunctionDecisions &)> kind) {
  return kind(decisions.others) || llvm::any_of(decisions.functions, [&](auto &item) { return kind(item.second); });
}

bool sets_options(const Decisions &decisions) {
  return decides(decisions, [](const FunctionDecisions &one) { return !one.options.empty(); });
}

class PriorityProvider final : public RegAllocPriorityAdvisorProvider {
public:
  explicit PriorityProvider(const Decisions &decisions)
      : RegAllocPriorityAdvisorProvider(AdvisorMode::Release), decisions(decisions) {}

  std::unique_ptr<RegAllocPriorityAdvisor> getAdvisor(const MachineFunction &function, const RAGreedy &allocator,
                                                      SlotIndexes &indexes) override {
    return std::make_unique<Priorities>(function, allocator, indexes, decisions_of(decisions, function.getName()),
                                        decisions.orders);
  }

private:
  const Decisions &decisions;
};

struct PriorityPass final : RegAllocPriorityAdvisorAnalysisLegacy {
  explicit PriorityPass(const Decisions &decisions) : RegAllocPriorityAdvisorAnalysisLegacy(AdvisorMode::Release) {
    Provider = std::make_unique<PriorityProvider>(decisions);
  }
};

constexpr char OUTLINER[] = "machine-outliner";

// Function passes give the function's name when they ask; loop passes do not.
class Gate final : public OptPassGate {
public:
  explicit Gate(const Decisions &decisions) : decisions(decisions) {}

  bool isEnabled() const override { return true; }

  bool shouldRunPass(StringRef pass, StringRef unit) const override {
    asked.insert(pass.str());
    if (pass == OUTLINER) // of the whole module; see Generation::begin
      return true;
    if (unit.consume_front("function (") && unit.consume_back(")"))
      function = unit.str();
    else if (unit != "loop")
      return !decisions.others.skipped.count(pass.str()); // of the whole module
    return !decisions_of(decisions, function).skipped.count(pass.str());
  }

  const Decisions &decisions;
  mutable std::string function;
  mutable std::set<std::string> asked;
};

// A pass before loop passes, which stores their function.
struct Naming final : FunctionPass {
  static char ID;
  explicit Naming(Gate &gate) : FunctionPass(ID), gate(gate) {}
  bool runOnFunction(Function &function) override {
    gate.function = function.getName().str();
    return false;
  }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  Gate &gate;
};
char Naming::ID;

// An option under which LLVM's x86 back end calls itself without end for the last bytes of a copy, if these take two
// stores; not in functions for size (emitConstantSizeRepmov in X86SelectionDAGInfo.cpp).
constexpr char ONE_STORE[] = "max-store-memcpy=1";

// Sets LLVM's options for the passes behind it, as a function's decisions say.
struct Setting final : FunctionPass {
  static char ID;
  Setting(LlvmOptions &options, const Decisions &decisions)
      : FunctionPass(ID), options(options), decisions(decisions) {}
  bool runOnFunction(Function &function) override {
    std::set<std::string> chosen = decisions_of(decisions, function.getName()).options;
    if (function.getParent()->getTargetTriple().isX86() && !function.hasMinSize())
      chosen.erase(ONE_STORE);
    options.set(chosen);
    return false;
  }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  LlvmOptions &options;
  const Decisions &decisions;
};
char Setting::ID;

using Costs = std::vector<std::pair<std::string, double>>;

using Frequency = function_ref<double(const MachineBasicBlock &)>;
using Weigh = double (*)(const MachineFunction &, Frequency, const MachineModuleInfo &);

// Computes a function's scores at its place in the pipeline: by static block frequencies, and by counted executions if
// there are counts.
struct Weighing final : MachineFunctionPass {
  static char ID;
  Weighing(Weigh weigh, Costs &costs, const BlockCounts *counts, Costs &counted)
      : MachineFunctionPass(ID), weigh(weigh), costs(costs), counts(counts), counted(counted) {}
  bool runOnMachineFunction(MachineFunction &function) override {
    const auto &frequencies = getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    const MachineModuleInfo &machine = getAnalysis<MachineModuleInfoWrapperPass>().getMMI();
    auto of_call = [&](const MachineBasicBlock &block) { return frequencies.getBlockFreqRelativeToEntryBlock(&block); };
    costs.emplace_back(function.getName().str(), weigh(function, of_call, machine));
    if (!counts)
      return false;
    std::vector<double> executed = counts->of(function, frequencies);
    auto of_run = [&](const MachineBasicBlock &block) { return executed[block.getNumber()]; };
    counted.emplace_back(function.getName().str(), weigh(function, of_run, machine));
    return false;
  }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    usage.addRequired<MachineModuleInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  Weigh weigh;
  Costs &costs;
  const BlockCounts *counts;
  Costs &counted;
};
char Weighing::ID;

double allocation_score(const MachineFunction &function, Frequency frequency, const MachineModuleInfo &) {
  const TargetInstrInfo &target = *function.getSubtarget().getInstrInfo();
  auto cheap = [&](const MachineInstr &instruction) { return target.isReMaterializable(instruction); };
  return calculateRegAllocScore(function, frequency, cheap).getScore();
}

double executed(const MachineFunction &function, Frequency frequency, const MachineModuleInfo &machine) {
  double sum = 0;
  for (const MachineBasicBlock &block : function) {
    double once = 0;
    for (const MachineInstr &instruction : block)
      if (!instruction.isMetaInstruction())
        once += 1 + outlined_instructions(instruction, machine);
    sum += frequency(block) * once;
  }
  return sum;
}

// Counts computed gotos at the end of code generation. Tail duplication gives each block that ends in one its own jump,
// by which the processor predicts the next block.
struct CountingGotos final : MachineFunctionPass {
  static char ID;
  explicit CountingGotos(std::vector<std::pair<std::string, int64_t>> &found) : MachineFunctionPass(ID), found(found) {}
  bool runOnMachineFunction(MachineFunction &function) override {
    if (int64_t places = llvm::count_if(function, is_computed_goto))
      found.emplace_back(function.getName().str(), places);
    return false;
  }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  std::vector<std::pair<std::string, int64_t>> &found;
};
char CountingGotos::ID;

// Inserts our passes between the target's.
class Generation final : public CodegenHook, legacy::PassManagerBase {
public:
  Generation(const Decisions &decisions, const GenerationRequest &request, Generated &generated)
      : decisions(decisions), request(request), generated(generated), gate(decisions),
        flat([&](StringRef function) { return decisions_of(decisions, function).flat; }) {
    gated = request.gate || decides(decisions, [](const FunctionDecisions &one) { return !one.skipped.empty(); });
    orders = decides(decisions, [](const FunctionDecisions &one) { return one.priority != Priority::llvm; });
    flattens = decides(decisions, [](const FunctionDecisions &one) { return one.flat; });
    sets = sets_options(decisions);
  }

  legacy::PassManagerBase &begin(llvm::Module &copy, TargetMachine &target, legacy::PassManagerBase &given) override {
    passes = &given;
    if (request.counts)
      counts.emplace(copy, *request.counts);
    for (Function &function : copy)
      if (!function.isDeclaration() && decisions_of(decisions, function.getName()).skipped.count(OUTLINER))
        function.addFnAttr(Attribute::NoOutline);
    if (gated)
      copy.getContext().setOptPassGate(gate);
    if (orders)
      passes->add(new PriorityPass(decisions));
    if (request.policy)
      passes->add(create_eviction_pass(*request.policy));
    if (decisions.outline != Outline::none) {
      target.setMachineOutliner(true);
      target.setSupportsDefaultOutlining(true);
    }
    return *this;
  }

  std::vector<MachineTime> times;

  std::vector<std::string> asked() const { return {gate.asked.begin(), gate.asked.end()}; }

private:
  const Decisions &decisions;
  const GenerationRequest &request;
  Generated &generated;
  Gate gate;
  FlatFrequencies flat;
  LlvmOptions options;
  std::optional<BlockCounts> counts;
  bool gated, orders, flattens, sets, after_loops = false, after_module = true;
  legacy::PassManagerBase *passes = nullptr;

  void add(Pass *pass) override {
    bool loops = pass->getPassKind() == PT_Loop;
    if (gated && loops && !after_loops) // consecutive loop passes share their loops
      passes->add(new Naming(gate));
    after_loops = loops;
    bool of_module = pass->getPassKind() == PT_Module || pass->getPassKind() == PT_CallGraphSCC;
    if (sets && after_module && !of_module) // consecutive passes of functions run function by function
      passes->add(new Setting(options, decisions));
    after_module = of_module;
    AnalysisID id = pass->getPassID();
    bool outlines = decisions.outline != Outline::none && pass->getPassName() == "Machine Outliner";
    if (outlines) {
      delete pass; // on x86 it would apply to no function
      if (decisions.outline == Outline::seldom)
        passes->add(create_often_executed_pass());
      pass = createMachineOutlinerPass(RunOutliner::AlwaysOutline);
    }
    if (request.scores && pass->getPassName() == "Free MachineFunction") {
      weigh(executed, generated.executed, generated.counted_executed);
      passes->add(create_machine_time_pass(times));
      passes->add(new CountingGotos(generated.computed_gotos));
    }
    if (flattens && id == &RAGreedyLegacyID)
      passes->add(flat.create_flattening_pass());
    passes->add(pass); // which may destroy it
    if (outlines)
      passes->add(create_tableless_pass());
    if (flattens && id == &VirtRegRewriterID)
      passes->add(flat.create_restoring_pass());
    if (request.scores && id == &VirtRegRewriterID)
      weigh(allocation_score, generated.allocation_scores, generated.counted_scores);
  }

  void weigh(Weigh how, Costs &costs, Costs &counted) {
    passes->add(new Weighing(how, costs, counts ? &*counts : nullptr, counted));
  }
};

} // namespace

std::vector<std::string> order_feature_names() { return {"llvms_place", "li_size", "weight", "uses"}; }

Generated generate(const Module &module, const BackEnd &back_end, const Decisions &decisions,
                   const GenerationRequest &request) {
  std::unique_lock<std::shared_mutex> alone(llvm_options_mutex(), std::defer_lock);
  std::shared_lock<std::shared_mutex> together(llvm_options_mutex(), std::defer_lock);
  sets_options(decisions) ? alone.lock() : together.lock();
  Generated generated;
  Generation generation(decisions, request, generated);
  generated.object = emit_object(module, back_end, &generation);
  generated.optional = generation.asked();
  merge_outlined(generation.times);
  generated.calls = with_calls(generation.times);
  generated.counted_times = counted_times(generation.times);
  return generated;
}

} // namespace burnish
