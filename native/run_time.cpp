#include "run_time.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <cmath>

using namespace llvm;

namespace burnish {
namespace {

constexpr double CALL = 4;     // call, ret, and lost overlap in the processor; each argument adds a move
constexpr double UNKNOWN = 20; // an external, indirect or recursive callee
constexpr double FRAME = 1;    // a frame pointer, in addition to other pushes
constexpr unsigned TABLE = 4;  // least number of cases for a jump table

class Estimate {
public:
  Estimate(llvm::Module &module, TargetOf target) : target(target) {
    CallGraph calls(module);
    for (auto component = scc_begin(&calls); !component.isAtEnd(); ++component) { // callees come first
      DenseMap<const Function *, double> found; // not visible within the component: a recursive call is UNKNOWN
      for (CallGraphNode *node : *component)
        if (Function *function = node->getFunction(); function && !function->isDeclaration())
          found[function] = of(*function);
      costs.insert(found.begin(), found.end());
    }
    for (Function &function : module) // those that are not reached from outside
      if (!function.isDeclaration() && !costs.count(&function))
        costs[&function] = of(function);
  }

  DenseMap<const Function *, double> costs;

private:
  TargetOf target;

  double of(Function &function) const {
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    BranchProbabilityInfo probabilities(function, loops, nullptr, &dominators);
    BlockFrequencyInfo frequencies(function, probabilities, loops);
    const TargetTransformInfo &costs = target(function);
    double entry = std::max<uint64_t>(1, frequencies.getEntryFreq().getFrequency());
    double sum = function.getFnAttribute("frame-pointer").getValueAsString() == "all" ? FRAME : 0;
    for (const BasicBlock &block : function) {
      double once = 0;
      for (const Instruction &instruction : block)
        once += of(instruction, costs);
      sum += once * frequencies.getBlockFreq(&block).getFrequency() / entry;
    }
    return sum;
  }

  double of(const Instruction &instruction, const TargetTransformInfo &target) const {
    if (const auto *choice = dyn_cast<SwitchInst>(&instruction))
      return of(*choice);
    const auto *call = dyn_cast<CallBase>(&instruction);
    if (!call || isa<IntrinsicInst>(call)) {
      auto cost = target.getInstructionCost(&instruction, TargetTransformInfo::TCK_RecipThroughput);
      return cost.isValid() ? std::clamp<double>(cost.getValue(), 0, UNKNOWN) : UNKNOWN;
    }
    const Function *callee = call->getCalledFunction();
    auto known = callee ? costs.find(callee) : costs.end();
    return call_time(call->arg_size()) + (known == costs.end() ? UNKNOWN : known->second);
  }

  // A range check and a load, or the comparisons of a balanced tree, as native/attributes.h requires.
  static double of(const SwitchInst &choice) {
    double comparisons = std::ceil(std::log2(choice.getNumCases() + 1));
    bool has_table =
        choice.getNumCases() >= TABLE && !choice.getFunction()->getFnAttribute("no-jump-tables").getValueAsBool();
    return has_table ? std::min(2.0, comparisons) : comparisons;
  }
};

} // namespace

double call_time(size_t arguments) { return CALL + arguments; }

DenseMap<const Function *, double> expected_run_time(llvm::Module &module, TargetOf target) {
  return Estimate(module, target).costs;
}

std::vector<std::pair<std::string, double>> expected_run_time(const Module &module) {
  TargetMachine *target = module.find_target();
  std::optional<TargetTransformInfo> current;
  auto costs = expected_run_time(module.ir(), [&](Function &function) -> const TargetTransformInfo & {
    return current.emplace(target ? target->getTargetTransformInfo(function)
                                  : TargetTransformInfo(function.getDataLayout()));
  });
  std::vector<std::pair<std::string, double>> found;
  for (const Function &function : module.ir())
    if (!function.isDeclaration())
      found.emplace_back(function.getName().str(), costs.lookup(&function));
  return found;
}

} // namespace burnish
