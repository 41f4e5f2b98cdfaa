#include "machine_time.h"

#include "outlined.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringMap.h"
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

constexpr double TURNS = 4; // of a loop each time that it is entered
// LLVM's own guesses (a pointer is not null, two values differ: 3 to 5 of 8) are above this. What is below somebody
// has said: __builtin_expect, cold functions, exceptions, what ends in an abort, a profile.
constexpr double RARE = 1.0 / 16;

// How often blocks are executed, by the static probabilities of branches, where all loops are alike.
//
// LLVM's own guess (BlockFrequencyInfo) multiplies what is known least. A loop with one more exit turns 2 times in
// place of 32, and one after a dozen comparisons that may return is entered once in 4,096 calls: so is that in bzip2's
// mainGtU, which makes most of the program's comparisons. What changes a loop's exits, or what is before it, would
// hide what becomes of the loop. So here a loop turns TURNS times; that it may be left in its midst is no reason to execute
// less of its body; and it is entered at least once for each time that what is around it begins, the function or
// the next outer loop, or less often only by what is rare for a reason.
class Frequencies {
public:
  Frequencies(MachineFunction &function, const MachineBranchProbabilityInfo &branches)
      : branches(branches), dominators(function), loops(dominators), order(&function) {
    flows[&function.front()] = 1;
    run(nullptr, 1);
  }

  bool has_loops() const { return !loops.empty(); }

  // For each time that the function is entered.
  double of(const MachineBasicBlock &block) const { return flows.lookup(&block); }

private:
  using Block = const MachineBasicBlock *;
  using Flows = std::vector<std::pair<Block, double>>;
  const MachineBranchProbabilityInfo &branches;
  MachineDominatorTree dominators;
  MachineLoopInfo loops;
  ReversePostOrderTraversal<MachineFunction *> order;
  DenseMap<Block, double> flows;

  double taken(Block from, Block to) const {
    BranchProbability edge = branches.getEdgeProbability(from, to);
    return double(edge.getNumerator()) / edge.getDenominator();
  }

  // Takes what comes to each block of a loop (null: of the function) on to the next; returns what leaves the loop.
  // `around` is how often a turn begins.
  Flows run(const MachineLoop *loop, double around) {
    Flows leaving;
    auto pass = [&](Block to, double times) {
      if (loop && !loop->contains(to))
        leaving.emplace_back(to, times);
      else if (!loop || to != loop->getHeader())
        flows[to] += times;
    };
    for (Block block : order) {
      const MachineLoop *inner = loops.getLoopFor(block);
      double times = flows.lookup(block);
      if (inner == loop) {
        double stays = 0;
        for (Block to : block->successors())
          stays += !loop || loop->contains(to) ? taken(block, to) : 0;
        for (Block to : block->successors())
          pass(to, times * taken(block, to) / (stays > 0 && (!loop || loop->contains(to)) ? stays : 1));
      } else if (inner && inner->getHeader() == block && inner->getParentLoop() == loop) {
        double turns = TURNS * std::max(times, around * reached(*inner)), sum = 0;
        flows[block] = turns;
        Flows ways = run(inner, turns);
        for (auto [to, share] : ways)
          sum += share;
        for (auto [to, share] : ways)
          pass(to, times * share / sum); // as much as came in
      }
    }
    return leaving;
  }

  // How likely a loop is reached from where what is around it begins, by what is rare for a reason alone.
  double reached(const MachineLoop &loop) const {
    const MachineLoop *outer = loop.getParentLoop();
    double product = 1;
    for (const auto *node = dominators.getNode(loop.getHeader()); node->getIDom(); node = node->getIDom()) {
      Block block = node->getBlock(), from = node->getIDom()->getBlock();
      if (outer && block == outer->getHeader())
        break;
      bool is_branch = block->pred_size() == 1 && from->isSuccessor(block);
      bool leaves_loop = loops.getLoopFor(from) && !loops.getLoopFor(from)->contains(block);
      double share = is_branch && !leaves_loop ? taken(from, block) : 1;
      product *= share < RARE ? share : 1;
    }
    return product;
  }
};

struct MachineTimes final : MachineFunctionPass {
  static char ID;
  explicit MachineTimes(std::vector<MachineTime> &found) : MachineFunctionPass(ID), found(found) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    const auto &branches = getAnalysis<MachineBranchProbabilityInfoWrapperPass>().getMBPI();
    Frequencies times(function, branches);
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
