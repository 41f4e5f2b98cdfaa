#include "machine_time.h"

#include "outlined.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <utility>

using namespace llvm;

namespace burnish {
namespace {

struct Node {
  std::vector<Node *> next;
  unsigned number = 0;
};

} // namespace
} // namespace burnish

template <> struct llvm::GraphTraits<burnish::Node *> {
  using NodeRef = burnish::Node *;
  using ChildIteratorType = std::vector<burnish::Node *>::iterator;
  static NodeRef getEntryNode(NodeRef root) { return root; }
  static ChildIteratorType child_begin(NodeRef node) { return node->next.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->next.end(); }
};

namespace burnish {
namespace {

constexpr unsigned CASES = 8; // of an interpreter's switch, at least
constexpr double TURNS = 4;   // iterations of a loop each time that it is entered, if LLVM knows no number
// LLVM's own guesses (a pointer is not null, two values differ: 3 to 5 of 8) are above this. Lower probabilities have a
// stated reason: __builtin_expect, cold functions, exceptions, paths to an abort, a profile.
constexpr double RARE = 1.0 / 16;

// The iterations of the IR loops of a function for which LLVM knows a constant number: how often the header executes
// each time that the loop is entered (ScalarEvolution::getSmallConstantTripCount).
class Trips {
public:
  explicit Trips(Function &function) : dominators(function), loops(dominators) {
    TargetLibraryInfoImpl libraries(function.getParent()->getTargetTriple());
    TargetLibraryInfo library(libraries, &function);
    AssumptionCache assumptions(function);
    ScalarEvolution evolution(function, library, assumptions, dominators, loops);
    for (const Loop *loop : loops.getLoopsInPreorder())
      if (unsigned count = evolution.getSmallConstantTripCount(loop))
        counts[loop] = count;
  }

  bool any() const { return !counts.empty(); }

  const Loop *loop_of(const MachineBasicBlock &block) const {
    const BasicBlock *written = block.getBasicBlock();
    return written ? loops.getLoopFor(written) : nullptr;
  }

  unsigned of(const Loop *loop) const { return counts.lookup(loop); } // 0: not known

private:
  DominatorTree dominators;
  LoopInfo loops;
  DenseMap<const Loop *, unsigned> counts;
};

// Execution frequencies of blocks, by the static probabilities of branches, with equal iterations for all loops of
// which LLVM does not know them.
//
// LLVM's own estimate (BlockFrequencyInfo) multiplies its least certain numbers. A loop with one more exit has 2
// iterations in place of 32, and one after a dozen comparisons that may return is entered once in 4,096 calls. This is
// wrong for bzip2's mainGtU, which makes most of the program's comparisons. A change of a loop's exits, or of the code
// before the loop, would hide changes of the loop itself. So here a loop has TURNS iterations, or as many as LLVM knows
// if `trips` are given, and exits in its midst do not reduce the frequency of its body. It is entered at least once
// each time that the function or the next outer loop begins, or less often only by branches that are rare for a stated
// reason.
//
// A loop is a set of blocks that reach each other. An interpreter's loop has many entries, because code generation
// gives each operation its own computed goto to the next one: that goto ends an iteration.
class Frequencies {
public:
  // Without `trips`, no number of iterations is known.
  Frequencies(MachineFunction &function, const MachineBranchProbabilityInfo &branches, const Trips *trips = nullptr)
      : branches(branches), dominators(function), trips(trips) {
    ReversePostOrderTraversal<MachineFunction *> order(&function);
    std::vector<Block> all(order.begin(), order.end());
    for (Block block : all)
      place[block] = place.size();
    flows[all[0]] = 1;
    run(all, all[0], 1, Cut::none);
  }

  unsigned loop_count() const { return loops; }
  unsigned known_loops() const { return known; }
  bool has_switch_in_loop() const { return switches; }

  // For each time that the function is entered.
  double of(const MachineBasicBlock &block) const { return flows.lookup(&block); }

private:
  using Block = const MachineBasicBlock *;
  using Blocks = std::vector<Block>;
  struct Part {
    Blocks blocks;
    bool turns = false;
  };
  using Flows = std::vector<std::pair<Block, double>>;
  const MachineBranchProbabilityInfo &branches;
  MachineDominatorTree dominators;
  DenseMap<Block, unsigned> place;  // in reverse post order
  DenseMap<Block, unsigned> around; // the number of the innermost loop that is being looked at; 0: the function
  DenseMap<Block, double> flows;
  const Trips *trips;
  SmallVector<const Loop *> outer; // IR loops of the loops that are being looked at
  unsigned loops = 0, known = 0;
  bool switches = false;

  // Returns the iterations of the loop with a header, each time that it is entered.
  double turns_of(const Loop *loop) {
    unsigned count = loop && !is_contained(outer, loop) ? trips->of(loop) : 0;
    known += count > 0;
    return count ? count : TURNS;
  }

  double taken(Block from, Block to) const {
    BranchProbability edge = branches.getEdgeProbability(from, to);
    return double(edge.getNumerator()) / edge.getDenominator();
  }

  // The ends of an iteration, in addition to edges back to a loop's header. In a loop with many entries iterations end
  // at computed gotos if there are any, else at all back edges.
  enum class Cut { none, gotos, back };

  // Returns whether an edge stays in a header's loop and does not end an iteration.
  bool goes_on(Block from, Block to, Block header, Cut cut) const {
    return to != header && around.lookup(to) == around.lookup(header) &&
           (cut == Cut::none || !is_computed_goto(*from)) &&
           (cut != Cut::back || place.lookup(to) > place.lookup(from));
  }

  // Returns the loops among some blocks without the edges back to the header, and the other blocks, in topological
  // order.
  std::vector<Part> parts(const Blocks &blocks, Block header, Cut cut) const {
    std::vector<Node> nodes(blocks.size());
    DenseMap<Block, Node *> node_of;
    Node root;
    for (auto [node, block] : zip(nodes, blocks)) {
      node_of[block] = &node;
      root.next.push_back(&node);
      node.number = &node - nodes.data();
    }
    for (auto [node, block] : zip(nodes, blocks))
      for (Block to : block->successors())
        if (goes_on(block, to, header, cut))
          node.next.push_back(node_of.lookup(to));
    std::vector<Part> found;
    for (auto component = scc_begin(&root); !component.isAtEnd(); ++component) {
      if (component->front() == &root)
        continue;
      Part &part = found.emplace_back();
      part.turns = component.hasCycle();
      for (Node *node : *component)
        part.blocks.push_back(blocks[node->number]);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  // Passes the frequency of each block of a loop, or of the function, to its successors; returns what leaves the loop.
  Flows run(const Blocks &blocks, Block header, double turns, Cut cut) {
    unsigned number = around.lookup(header);
    Flows leaving;
    auto pass = [&](Block to, double times) {
      if (around.lookup(to) != number)
        leaving.emplace_back(to, times);
      else if (to != header)
        flows[to] += times;
    };
    for (const Part &each : parts(blocks, header, cut)) {
      const Blocks &part = each.blocks;
      Block first = *llvm::min_element(part, [&](Block a, Block b) { return place.lookup(a) < place.lookup(b); });
      if (!each.turns) {
        double stays = 0;
        for (Block to : first->successors())
          stays += around.lookup(to) == number ? taken(first, to) : 0;
        for (Block to : first->successors())
          if (around.lookup(to) != number)
            leaving.emplace_back(to, flows.lookup(first) * taken(first, to));
          else if (goes_on(first, to, header, cut))
            flows[to] += flows.lookup(first) * taken(first, to) / stays;
        continue;
      }
      bool has_one_way_in = llvm::all_of(part, [&](Block block) { return dominators.dominates(first, block); });
      double entered = 0, left = 0;
      for (Block block : part) {
        entered += flows[block];
        around[block] = loops + 1;
        switches |= block->succ_size() >= CASES;
      }
      ++loops;
      const Loop *loop = trips ? trips->loop_of(*first) : nullptr;
      if (has_one_way_in)
        flows[first] = turns_of(loop) * std::max(entered, turns * reached(first, header));
      bool has_gotos = llvm::any_of(part, [](Block block) { return is_computed_goto(*block); });
      Cut inside = has_one_way_in ? Cut::none : cut == Cut::none && has_gotos ? Cut::gotos : Cut::back;
      if (inside == Cut::gotos)
        for (Block block : part)
          flows[block] *= TURNS;
      outer.push_back(loop);
      Flows ways = run(part, first, flows[first], inside);
      outer.pop_back();
      for (Block block : part)
        around[block] = number;
      for (auto [to, times] : ways)
        left += times;
      for (auto [to, times] : ways)
        pass(to, left > 0 ? entered * times / left : 0); // as much as entered
    }
    return leaving;
  }

  // Returns the probability that a block is reached from a header, by branches that are rare for a stated reason only;
  // exits of loops do not count.
  double reached(Block block, Block header) const {
    double product = 1;
    for (const auto *node = dominators.getNode(block); node->getIDom() && node->getBlock() != header;
         node = node->getIDom()) {
      Block to = node->getBlock(), from = node->getIDom()->getBlock();
      bool is_branch = to->pred_size() == 1 && from->isSuccessor(to);
      double share = is_branch && !turns_again(from, to) ? taken(from, to) : 1;
      product *= share < RARE ? share : 1;
    }
    return product;
  }

  // Returns whether another edge from a block leads back.
  bool turns_again(Block from, Block to) const {
    return llvm::any_of(from->successors(),
                        [&](Block other) { return other != to && place.lookup(other) <= place.lookup(from); });
  }
};

// Execution frequencies of blocks by a profile: LLVM's, which come from its counts, not from guesses.
class Counted {
public:
  Counted(MachineFunction &function, const MachineBranchProbabilityInfo &branches)
      : dominators(function), loops(dominators), frequencies(function, branches, loops) {}

  // For each time that the function is entered.
  double of(const MachineBasicBlock &block) const { return frequencies.getBlockFreqRelativeToEntryBlock(&block); }

private:
  MachineDominatorTree dominators;
  MachineLoopInfo loops;
  MachineBlockFrequencyInfo frequencies;
};

// Names the callees of calls by a register that are direct calls in the IR: for size, ARM keeps the address of a
// function with several calls in a register. The order of calls in the IR is nearly that of the code.
void name_callees(const Function &function, MachineTime &made, ArrayRef<size_t> by_register) {
  StringMap<unsigned> named;
  for (const MachineTime::Call &call : made.calls)
    ++named[call.callee];
  size_t indirect = 0;
  SmallVector<StringRef> missing;
  for (const BasicBlock &block : function)
    for (const Instruction &instruction : block) {
      const auto *call = dyn_cast<CallBase>(&instruction);
      if (!call || call->isInlineAsm())
        continue;
      const Function *callee = call->getCalledFunction();
      if (!callee)
        ++indirect;
      else if (unsigned &left = named[callee->getName()])
        --left;
      else if (!callee->isIntrinsic())
        missing.push_back(callee->getName());
    }
  for (auto [number, name] : zip(drop_end(by_register, std::min(indirect, by_register.size())), missing))
    made.calls[number].callee = name.str();
}

struct MachineTimes final : MachineFunctionPass {
  static char ID;
  explicit MachineTimes(std::vector<MachineTime> &found) : MachineFunctionPass(ID), found(found) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    const auto &branches = getAnalysis<MachineBranchProbabilityInfoWrapperPass>().getMBPI();
    Frequencies times(function, branches);
    std::optional<Trips> trips;
    if (times.loop_count())
      trips.emplace(function.getFunction());
    std::optional<Frequencies> by_trips;
    if (trips && trips->any())
      by_trips.emplace(function, branches, &*trips);
    TargetSchedModel model;
    model.init(&function.getSubtarget());
    MachineTime made;
    made.name = function.getName().str();
    made.known_loops = by_trips ? by_trips->known_loops() : 0;
    made.unknown_loops = times.loop_count() - made.known_loops;
    std::optional<Counted> counted;
    if (auto entries = function.getFunction().getEntryCount()) {
      made.entries = double(*entries);
      if (*entries > 0)
        counted.emplace(function, branches);
    }
    made.interprets = times.has_switch_in_loop();
    made.outlined = function.isOutlined();
    made.frame = function.getFrameInfo().getStackSize() + function.getFrameInfo().getUnsafeStackSize();
    SmallVector<size_t> by_register;
    for (const MachineBasicBlock &block : function) {
      double often = counted ? counted->of(block) : times.of(block), once = 0;
      double with_trips = !counted && by_trips ? by_trips->of(block) : often;
      for (const MachineInstr &instruction : block) {
        if (instruction.isMetaInstruction())
          continue;
        once += busy(model, instruction);
        if (!instruction.isCall())
          continue;
        once += instruction.isReturn() ? 0 : CALL_AND_RETURN; // a last call is a jump
        std::optional<StringRef> callee = called_by_name(instruction);
        if (!callee)
          by_register.push_back(made.calls.size());
        made.calls.push_back({callee.value_or("").str(), often, with_trips, instruction.isReturn()});
      }
      made.own += often * once;
      made.by_trips += with_trips * once;
    }
    if (!by_register.empty())
      name_callees(function.getFunction(), made, by_register);
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

  // Returns the time of an instruction: 1, or more if the processor's model says so; a division has 25. Models do not
  // have all instructions of code for another processor.
  static double busy(const TargetSchedModel &model, const MachineInstr &instruction) {
    bool known = !model.hasInstrSchedModel() || model.resolveSchedClass(&instruction)->isValid();
    return known ? std::max(1.0, model.computeReciprocalThroughput(&instruction)) : 1;
  }

  // Returns the called function, "" for a routine of the compiler's library, or nothing for a call by a register.
  static std::optional<StringRef> called_by_name(const MachineInstr &call) {
    std::optional<StringRef> found;
    for (const MachineOperand &operand : call.operands())
      if (const auto *function = operand.isGlobal() ? dyn_cast<Function>(operand.getGlobal()) : nullptr)
        return function->getName();
      else if (operand.isGlobal() || operand.isSymbol())
        found = "";
    return found;
  }
};
char MachineTimes::ID;

} // namespace

MachineFunctionPass *create_machine_time_pass(std::vector<MachineTime> &found) { return new MachineTimes(found); }

void merge_outlined(std::vector<MachineTime> &functions) {
  StringMap<MachineTime> outlined;
  for (const MachineTime &function : functions)
    if (function.outlined)
      outlined[function.name] = function;
  llvm::erase_if(functions, [](const MachineTime &function) { return function.outlined; });
  for (MachineTime &function : functions) {
    std::vector<MachineTime::Call> calls;
    std::swap(calls, function.calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      MachineTime::Call call = calls[i]; // a copy, because outlined code has further calls, perhaps of outlined code
      auto found = outlined.find(call.callee);
      if (found == outlined.end()) {
        function.calls.push_back(std::move(call));
        continue;
      }
      const MachineTime &code = found->second;
      function.own += call.times * code.own;
      function.by_trips += call.by_trips * code.by_trips;
      for (const auto &inner : code.calls)
        calls.push_back({inner.callee, call.times * inner.times, call.by_trips * inner.by_trips, call.last,
                         call.frame + (inner.last ? 0 : code.frame)});
    }
  }
}

std::vector<std::pair<std::string, double>> counted_times(const std::vector<MachineTime> &functions) {
  if (none_of(functions, [](const MachineTime &one) { return one.entries.has_value(); }))
    return {};
  std::vector<Node> nodes(functions.size());
  StringMap<unsigned> numbers;
  Node root;
  for (unsigned i = 0; i < functions.size(); ++i) {
    numbers[functions[i].name] = nodes[i].number = i;
    root.next.push_back(&nodes[i]);
  }
  auto number_of = [&](const MachineTime::Call &call) -> std::optional<unsigned> {
    auto callee = numbers.find(call.callee);
    return callee == numbers.end() ? std::nullopt : std::optional(callee->second);
  };
  for (unsigned i = 0; i < functions.size(); ++i)
    for (const auto &call : functions[i].calls)
      if (auto callee = number_of(call))
        nodes[i].next.push_back(&nodes[*callee]);
  std::vector<std::vector<unsigned>> components;
  for (auto component = scc_begin(&root); !component.isAtEnd(); ++component)
    if (component->front() != &root) {
      auto &found = components.emplace_back();
      for (Node *node : *component)
        found.push_back(node->number);
    }
  std::vector<double> called(functions.size()), entries(functions.size());
  std::vector<std::pair<std::string, double>> found;
  for (const auto &component : reverse(components)) { // callers come first; calls within a recursion do not count
    for (unsigned i : component)
      entries[i] = std::max(called[i], functions[i].entries.value_or(0));
    for (unsigned i : component) {
      double once = functions[i].own;
      for (const auto &call : functions[i].calls)
        if (auto callee = number_of(call))
          called[*callee] += entries[i] * call.times;
        else
          once += UNKNOWN_CALLEE * call.times;
      found.emplace_back(functions[i].name, entries[i] * once);
    }
  }
  return found;
}

namespace {

std::vector<std::pair<std::string, double>> calls_of(const MachineTime &function, double MachineTime::Call::*often) {
  MapVector<StringRef, double> times;
  for (const auto &call : function.calls)
    times[call.callee] += call.*often;
  return {times.begin(), times.end()};
}

} // namespace

std::vector<CallCost> with_calls(const std::vector<MachineTime> &functions) {
  std::vector<Node> nodes(functions.size());
  StringMap<unsigned> numbers;
  Node root;
  for (unsigned i = 0; i < functions.size(); ++i) {
    numbers[functions[i].name] = nodes[i].number = i;
    root.next.push_back(&nodes[i]);
  }
  for (unsigned i = 0; i < functions.size(); ++i)
    for (const auto &call : functions[i].calls)
      if (auto callee = numbers.find(call.callee); callee != numbers.end())
        nodes[i].next.push_back(&nodes[callee->second]);
  std::vector<bool> repeating(functions.size());
  std::vector<uint64_t> stacks(functions.size());
  std::vector<CallCost> found;
  unsigned recursion = 0;
  for (auto component = scc_begin(&root); !component.isAtEnd(); ++component, ++recursion) { // callees come first
    if (component->front() == &root)
      continue;
    bool repeats = component.hasCycle();
    uint64_t frames = 0, below = 0; // bytes of stack: of these functions, and below them on the deepest path
    for (Node *node : *component) {
      const MachineTime &function = functions[node->number];
      repeats |= function.known_loops || function.unknown_loops ||
                 llvm::any_of(node->next, [&](Node *one) { return repeating[one->number]; });
      uint64_t deepest = function.frame;
      for (const auto &call : function.calls)
        if (auto callee = numbers.find(call.callee); callee != numbers.end()) // within a recursion: 0
          deepest = std::max(deepest, stacks[callee->second] + call.frame + (call.last ? 0 : function.frame));
      frames += function.frame;
      below = std::max(below, deepest - function.frame);
    }
    for (Node *node : *component) {
      const MachineTime &function = functions[node->number];
      repeating[node->number] = repeats;
      stacks[node->number] = frames + below;
      found.push_back({function.name, recursion, function.own, calls_of(function, &MachineTime::Call::times),
                       function.known_loops, function.unknown_loops, function.by_trips,
                       calls_of(function, &MachineTime::Call::by_trips), repeats, frames + below, function.interprets});
    }
  }
  return found;
}

} // namespace burnish
