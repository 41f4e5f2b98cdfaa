#include "machine_time.h"

#include "outlined.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/IR/Function.h"

#include <algorithm>

using namespace llvm;

namespace burnish {
namespace {

constexpr double UNKNOWN = 20; // instructions of what is called elsewhere, or indirectly, or recursively

// LLVM's own guesses (a pointer is not null, two values differ: 3 to 5 of 8) are above this. What is below somebody
// has said: __builtin_expect, cold functions, exceptions, what ends in an abort, a profile.
constexpr double RARE = 1.0 / 16;

// How often blocks are executed where no loop is taken for one that is seldom entered. A dozen comparisons in a row, each
// of which may return, are guessed to be passed once in 4,096 calls, and a loop after them weighs nothing: so it is in
// bzip2's mainGtU, whose loop makes most of the program's comparisons. Which guess is wrong is not known. So a loop is
// entered at least once for each time that what is around it begins, the function or the next outer loop; less often
// only by what is rare for a reason.
class Frequencies {
public:
  Frequencies(MachineFunction &function, const MachineBlockFrequencyInfo &guessed,
              const MachineBranchProbabilityInfo &branches)
      : guessed(guessed), branches(branches), dominators(function), loops(dominators) {
    for (const MachineLoop *loop : loops)
      find(*loop, 1, 1);
  }

  bool has_loops() const { return !loops.empty(); }

  // For each time that the function is entered.
  double of(const MachineBasicBlock &block) const {
    const MachineLoop *loop = loops.getLoopFor(&block);
    return guess(block) * (loop ? factors.lookup(loop) : 1);
  }

private:
  const MachineBlockFrequencyInfo &guessed;
  const MachineBranchProbabilityInfo &branches;
  MachineDominatorTree dominators;
  MachineLoopInfo loops;
  DenseMap<const MachineLoop *, double> factors; // by which the blocks of a loop are executed more often than guessed

  double guess(const MachineBasicBlock &block) const { return guessed.getBlockFreqRelativeToEntryBlock(&block); }

  double taken(const MachineBasicBlock &from, const MachineBasicBlock &to) const {
    BranchProbability edge = branches.getEdgeProbability(&from, &to);
    return double(edge.getNumerator()) / edge.getDenominator();
  }

  void find(const MachineLoop &loop, double around, double factor) {
    double entered = 0;
    for (const MachineBasicBlock *from : loop.getHeader()->predecessors())
      if (!loop.contains(from))
        entered += guess(*from) * taken(*from, *loop.getHeader());
    double least = around * reached(loop);
    if (entered > 0 && entered < least)
      factor *= least / entered;
    factors[&loop] = factor;
    for (const MachineLoop *inner : loop)
      find(*inner, guess(*loop.getHeader()), factor);
  }

  // How likely a loop is reached from where what is around it begins, by what is rare for a reason alone.
  double reached(const MachineLoop &loop) const {
    const MachineLoop *outer = loop.getParentLoop();
    double product = 1;
    for (const auto *node = dominators.getNode(loop.getHeader()); node->getIDom(); node = node->getIDom()) {
      const MachineBasicBlock *block = node->getBlock(), *from = node->getIDom()->getBlock();
      if (outer && block == outer->getHeader())
        break;
      bool is_branch = block->pred_size() == 1 && loops.getLoopFor(from) == loops.getLoopFor(block);
      double share = is_branch && from->isSuccessor(block) ? taken(*from, *block) : 1;
      product *= share < RARE ? share : 1;
    }
    return product;
  }
};

struct MachineTimes final : MachineFunctionPass {
  static char ID;
  explicit MachineTimes(std::vector<MachineTime> &found) : MachineFunctionPass(ID), found(found) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    const auto &guessed = getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    const auto &branches = getAnalysis<MachineBranchProbabilityInfoWrapperPass>().getMBPI();
    Frequencies times(function, guessed, branches);
    TargetSchedModel model;
    model.init(&function.getSubtarget());
    MachineTime made;
    made.name = function.getName().str();
    made.loops = times.has_loops();
    for (const MachineBasicBlock &block : function) {
      double often = times.of(block), once = 0;
      for (const MachineInstr &instruction : block) {
        if (instruction.isMetaInstruction())
          continue;
        once += std::max(1.0, model.computeReciprocalThroughput(&instruction)); // that of a division is 25
        if (!instruction.isCall())
          continue;
        once += instruction.isReturn() ? 0 : CALL_AND_RETURN; // a last call is a jump
        made.calls.emplace_back(callee(instruction), often);
      }
      made.own += often * once;
    }
    found.push_back(std::move(made));
    return false;
  }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    usage.addRequired<MachineBranchProbabilityInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

private:
  std::vector<MachineTime> &found;

  static std::string callee(const MachineInstr &call) {
    for (const MachineOperand &operand : call.operands())
      if (const auto *function = operand.isGlobal() ? dyn_cast<Function>(operand.getGlobal()) : nullptr)
        return function->getName().str();
    return "";
  }
};
char MachineTimes::ID;

struct Node {
  const MachineTime *function = nullptr; // null: the root, which calls all
  std::vector<Node *> callees;
  double time = 0;
  bool repeats = false, is_known = false;
};

} // namespace
} // namespace burnish

template <> struct llvm::GraphTraits<burnish::Node *> {
  using NodeRef = burnish::Node *;
  using ChildIteratorType = std::vector<burnish::Node *>::iterator;
  static NodeRef getEntryNode(NodeRef root) { return root; }
  static ChildIteratorType child_begin(NodeRef node) { return node->callees.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->callees.end(); }
};

namespace burnish {

MachineFunctionPass *create_machine_time_pass(std::vector<MachineTime> &found) { return new MachineTimes(found); }

std::vector<std::tuple<std::string, double, bool>> with_calls(const std::vector<MachineTime> &functions) {
  Node root;
  StringMap<Node> nodes;
  for (const MachineTime &function : functions) {
    nodes[function.name].function = &function;
    root.callees.push_back(&nodes[function.name]);
  }
  for (Node *node : root.callees)
    for (const auto &[name, times] : node->function->calls)
      if (auto callee = nodes.find(name); callee != nodes.end())
        node->callees.push_back(&callee->second);
  for (auto component = scc_begin(&root); !component.isAtEnd(); ++component) { // callees come first
    for (Node *node : *component) {
      if (!node->function)
        continue;
      node->time = node->function->own;
      for (const auto &[name, times] : node->function->calls) {
        auto callee = nodes.find(name); // of a recursive call the time is not known yet
        bool is_known = callee != nodes.end() && callee->second.is_known;
        node->time += times * (is_known ? callee->second.time : UNKNOWN);
      }
    }
    bool repeats = component.hasCycle() || llvm::any_of(*component, [](const Node *node) {
      return (node->function && node->function->loops) ||
             llvm::any_of(node->callees, [](const Node *callee) { return callee->repeats; });
    });
    for (Node *node : *component) {
      node->repeats = repeats;
      node->is_known = true;
    }
  }
  std::vector<std::tuple<std::string, double, bool>> found;
  for (const Node *node : root.callees)
    found.emplace_back(node->function->name, node->time, node->repeats);
  return found;
}

} // namespace burnish
