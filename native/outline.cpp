#include "outline.h"

#include "machine_bytes.h"
#include "run_time.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SuffixTree.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

using namespace llvm;

namespace burnish {
namespace {

constexpr unsigned LONGEST = 256; // instructions of a region
constexpr unsigned RESULTS = 3;   // values that x86-64 returns in registers
constexpr int CAUTION_BYTES = 4;  // additional saving per call for each step of call_cost above 1
constexpr size_t WORK = 256;      // limit per instruction of the module, so that time stays linear
constexpr double UNLIKELY = 8;    // so many times less often than the mean case of a switch: an unlikely case

// Attributes that an outlined function takes from its original functions, which must have the same ones.
constexpr Attribute::AttrKind SHARED[] = {
    Attribute::MinSize,          Attribute::OptimizeForSize,    Attribute::UWTable,
    Attribute::StrictFP,         Attribute::NoImplicitFloat,    Attribute::NoRedZone,
    Attribute::SanitizeAddress,  Attribute::SanitizeHWAddress,  Attribute::SanitizeMemory,
    Attribute::SanitizeMemTag,   Attribute::SanitizeThread,     Attribute::SanitizeType,
    Attribute::SanitizeRealtime, Attribute::SafeStack,          Attribute::ShadowCallStack,
    Attribute::StackProtect,     Attribute::StackProtectReq,    Attribute::StackProtectStrong,
    Attribute::NoCfCheck,        Attribute::NullPointerIsValid, Attribute::SpeculativeLoadHardening,
    Attribute::DenormalFPEnv,
};

AttrBuilder shared_attributes(const Function &function) {
  AttrBuilder attributes(function.getContext());
  for (auto kind : SHARED)
    if (function.hasFnAttribute(kind))
      attributes.addAttribute(function.getFnAttribute(kind));
  for (const Attribute &attribute : function.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute())
      attributes.addAttribute(attribute);
  return attributes;
}

// Attributes that add calls which the IR does not show: an apparent leaf function may need an unwind table.
constexpr Attribute::AttrKind SANITIZERS[] = {
    Attribute::SanitizeAddress, Attribute::SanitizeHWAddress, Attribute::SanitizeMemory,   Attribute::SanitizeMemTag,
    Attribute::SanitizeThread,  Attribute::SanitizeType,      Attribute::SanitizeRealtime,
};
constexpr StringLiteral INSTRUMENTATION[] = {
    "fentry-call",
    "function-instrument",
    "instrument-function-entry",
    "instrument-function-entry-inlined",
    "patchable-function-entry",
    "split-stack",
};

bool may_get_calls(const Function &function) {
  auto has = [&](auto kind) { return function.hasFnAttribute(kind); };
  return any_of(SANITIZERS, has) || any_of(INSTRUMENTATION, has);
}

// Returns whether the back end turns a last call into a jump, whatever is optimized before: all arguments are in
// registers, and the callee cannot be inlined.
bool may_be_jump(const Instruction &instruction) {
  const auto *call = dyn_cast<CallInst>(&instruction);
  if (!call || call->isNoTailCall() || call->getCallingConv() != CallingConv::C ||
      call->getFunctionType()->isVarArg() || call->hasStructRetAttr() || call->arg_size() > 6 ||
      call->getFunction()->getFnAttribute("disable-tail-calls").getValueAsBool())
    return false;
  const Function *callee = call->getCalledFunction();
  if (!callee || !(callee->isDeclaration() || callee->hasFnAttribute(Attribute::NoInline)))
    return false;
  return all_of(seq(call->arg_size()), [&](unsigned i) {
    Type *type = call->getArgOperand(i)->getType();
    return !call->isByValArgument(i) && (type->isPointerTy() || type->isIntegerTy(32) || type->isIntegerTy(64));
  });
}

// Code in its own section may have to stay there, so it is not outlined; the machine outliner does the same.
bool may_outline_from(const Function &function) {
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() && !function.hasSection() &&
         !function.hasOptNone() && !function.hasFnAttribute(Attribute::Naked) &&
         !function.hasFnAttribute(Attribute::NoOutline) && !function.isPresplitCoroutine() && !function.hasGC() &&
         function.getCallingConv() != CallingConv::X86_INTR;
}

// Returns whether a call does the same in another function.
bool may_outline_call(const CallInst &call) {
  if (call.hasOperandBundles())
    return false;
  if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
    return isa<MemIntrinsic, WithOverflowInst, SaturatingInst>(intrinsic) ||
           isTriviallyVectorizable(intrinsic->getIntrinsicID());
  if (call.isInlineAsm() || call.isMustTailCall() || call.canReturnTwice() || call.isConvergent() ||
      call.cannotDuplicate() || call.cannotMerge())
    return false;
  for (unsigned i = 0; i < call.arg_size(); i++)
    for (auto kind :
         {Attribute::InAlloca, Attribute::Preallocated, Attribute::SwiftError, Attribute::SwiftAsync, Attribute::Nest})
      if (call.paramHasAttr(i, kind))
        return false;
  return true;
}

bool is_plain(Type *type) { return type->isVoidTy() || (type->isFirstClassType() && type->isSized()); }

bool may_outline(const Instruction &instruction) {
  if (instruction.isTerminator())
    return isa<UncondBrInst, CondBrInst, SwitchInst, UnreachableInst>(instruction);
  if (instruction.isEHPad() || isa<AllocaInst, VAArgInst>(instruction) || !is_plain(instruction.getType()))
    return false;
  if (const auto *call = dyn_cast<CallInst>(&instruction); call && !may_outline_call(*call))
    return false;
  return all_of(instruction.operands(), [](const Use &use) {
    return (is_plain(use->getType()) || isa<MetadataAsValue>(use.get())) && !use->isSwiftError();
  });
}

// Operands that are part of the operation: a callee, an immediate argument, the index of a structure's field.
bool is_fixed(const Use &use) {
  if (isa<MetadataAsValue>(use.get()))
    return true;
  auto *user = cast<Instruction>(use.getUser());
  if (const auto *call = dyn_cast<CallBase>(user); call && call->isCallee(&use))
    return isa<Constant>(use.get());
  return isa<Constant>(use.get()) && !canReplaceOperandWithVariable(user, use.getOperandNo());
}

// The operands that are values: a branch has its blocks among the others.
auto values_of(const Instruction &instruction) {
  return make_filter_range(instruction.operands(), [](const Use &use) { return !isa<BasicBlock>(use.get()); });
}

// Where a terminator goes and where a phi's values come from, in blocks from its own.
SmallVector<int> neighbours(const Instruction &instruction, const DenseMap<const BasicBlock *, int> &order) {
  SmallVector<int> found;
  int own = order.lookup(instruction.getParent());
  if (const auto *phi = dyn_cast<PHINode>(&instruction))
    for (const BasicBlock *block : phi->blocks())
      found.push_back(order.lookup(block) - own);
  else if (instruction.isTerminator())
    for (const BasicBlock *block : successors(&instruction))
      found.push_back(order.lookup(block) - own);
  return found;
}

bool same_cases(const Instruction &one, const Instruction &other) {
  const auto *first = dyn_cast<SwitchInst>(&one), *second = dyn_cast<SwitchInst>(&other);
  if (!first)
    return true;
  return all_of(zip(first->cases(), second->cases()),
                [](auto pair) { return std::get<0>(pair).getCaseValue() == std::get<1>(pair).getCaseValue(); });
}

bool same_operation(const Instruction &one, const Instruction &other) {
  if (one.getOpcode() != other.getOpcode() || one.getNumOperands() != other.getNumOperands())
    return false;
  if (one.isTerminator() ? one.getNumSuccessors() != other.getNumSuccessors() || !same_cases(one, other)
                         : !one.isSameOperationAs(&other))
    return false;
  for (auto [a, b] : zip(one.operands(), other.operands()))
    if (a->getType() != b->getType() || is_fixed(a) != is_fixed(b) || (is_fixed(a) && a.get() != b.get()))
      return false;
  return true;
}

hash_code operation_hash(const Instruction &instruction) {
  hash_code hash = hash_combine(instruction.getOpcode(), instruction.getType(), instruction.getNumOperands());
  for (const Use &use : instruction.operands())
    hash = hash_combine(hash, is_fixed(use) ? static_cast<const void *>(use.get()) : use->getType());
  return hash;
}

// Returns blocks in reverse post-order with contiguous loops: exits of a loop come after it, dead ends at their branch.
std::vector<BasicBlock *> linear_order(Function &function, const LoopInfo &loops) {
  std::vector<BasicBlock *> order;
  DenseSet<const BasicBlock *> seen;
  std::vector<std::pair<BasicBlock *, SmallVector<BasicBlock *>>> stack;
  auto soon = [&](const BasicBlock *block) {
    return isa<UnreachableInst>(block->getTerminator()) ? UINT_MAX : loops.getLoopDepth(block);
  };
  auto enter = [&](BasicBlock *block) {
    SmallVector<BasicBlock *> next(successors(block));
    llvm::stable_sort(next, [&](auto *a, auto *b) { return soon(a) > soon(b); });
    seen.insert(block);
    stack.emplace_back(block, std::move(next)); // the last is visited first, and so comes last
  };
  enter(&function.getEntryBlock());
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    if (next.empty()) {
      order.push_back(block);
      stack.pop_back();
    } else if (auto *successor = next.pop_back_val(); !seen.count(successor)) {
      enter(successor);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// All code of a module as one text. A letter stands for an operation in functions with the same attributes. An
// instruction that cannot be outlined is a unique letter.
class Text {
public:
  Text(llvm::Module &module, FunctionAnalysisManager &analyses) {
    for (Function &function : module) {
      if (!may_outline_from(function))
        continue;
      auto blocks = linear_order(function, analyses.getResult<LoopAnalysis>(function));
      if (blocks.size() == function.size()) // all can be reached
        add(blocks, attributes_number(function));
    }
  }

  std::vector<unsigned> letters;
  std::vector<Instruction *> instructions; // null where it cannot be outlined, or was

  std::optional<unsigned> place(const Value *value) const {
    const auto *instruction = dyn_cast<Instruction>(value);
    auto found = instruction ? places.find(instruction) : places.end();
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }

  void erase(unsigned place) {
    places.erase(instructions[place]);
    instructions[place] = nullptr;
  }

private:
  struct Letter {
    const Instruction *example;
    unsigned attributes, number;
    SmallVector<int> neighbours;
  };
  DenseMap<const Instruction *, unsigned> places;
  DenseMap<AttributeSet, unsigned> numbers;
  std::unordered_multimap<size_t, Letter> known;
  unsigned next_unique = unsigned(-3); // DenseMap keeps the two above for itself
  unsigned count = 0;

  unsigned attributes_number(Function &function) {
    auto set = AttributeSet::get(function.getContext(), shared_attributes(function));
    return numbers.try_emplace(set, numbers.size()).first->second;
  }

  void add(const std::vector<BasicBlock *> &blocks, unsigned attributes) {
    DenseMap<const BasicBlock *, int> order;
    for (BasicBlock *block : blocks)
      order.try_emplace(block, order.size());
    for (BasicBlock *block : blocks) {
      for (Instruction &instruction : *block) {
        bool may = may_outline(instruction) && !(block->hasAddressTaken() && &instruction == &block->front());
        places[&instruction] = letters.size();
        letters.push_back(may ? letter(instruction, attributes, neighbours(instruction, order)) : next_unique--);
        instructions.push_back(may ? &instruction : nullptr);
      }
    }
    letters.push_back(next_unique--); // so that no region continues in the next function
    instructions.push_back(nullptr);
  }

  unsigned letter(const Instruction &instruction, unsigned attributes, SmallVector<int> around) {
    size_t hash = hash_combine(operation_hash(instruction), attributes, hash_combine_range(around));
    auto [begin, end] = known.equal_range(hash);
    for (auto found = begin; found != end; ++found) {
      const Letter &letter = found->second;
      if (letter.attributes == attributes && letter.neighbours == around &&
          same_operation(instruction, *letter.example))
        return letter.number;
    }
    known.emplace(hash, Letter{&instruction, attributes, count, std::move(around)});
    return count++;
  }
};

// Places with the same operations on corresponding operands. Control enters each place only at its first instruction,
// and leaves it only after its last.
struct Region {
  unsigned length = 0;
  std::vector<unsigned> starts;
  int saved = 0;

  bool operator<(const Region &other) const { // the best is the last
    if (saved != other.saved)
      return saved < other.saved;
    return std::tie(length, starts) > std::tie(other.length, other.starts);
  }
};

// The parameters and results of a region's function.
struct Plan {
  static constexpr int WITHIN = -1, CONSTANT = -2;
  std::vector<int> operands; // of each operand in order: a parameter's index, WITHIN or CONSTANT
  std::vector<Type *> parameters;
  std::vector<unsigned> results; // offsets of the instructions that are used outside
};

class Outliner {
public:
  Outliner(llvm::Module &module, ModuleAnalysisManager &analyses, const Outline::Options &options)
      : module(module), functions(analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager()),
        options(options), call_cost(options.call_cost), profile(analyses.getResult<ProfileSummaryAnalysis>(module)),
        text(module, functions) {}

  // Outlines the region that saves most first.
  bool run() {
    find();
    bool changed = false;
    while (!queue.empty()) {
      Region region = queue.top();
      queue.pop();
      int before = region.saved;
      auto plan = evaluate(region);
      if (!plan)
        continue;
      if (region.saved < before) { // other regions took some of its places
        queue.push(std::move(region));
        continue;
      }
      Function *function = make_function(region, *plan);
      for (unsigned start : region.starts) {
        if (options.max_slowdown)
          time_left(*at(start).getFunction()) -= time_of_call(start, *plan);
        replace(start, region.length, *plan, function);
      }
      changed = true;
    }
    return changed;
  }

private:
  llvm::Module &module;
  FunctionAnalysisManager &functions;
  const Outline::Options options;
  const int call_cost;
  const ProfileSummaryInfo &profile;
  DenseMap<const BasicBlock *, bool> known_hot;  // as it was before anything was outlined
  DenseMap<const Function *, double> run_times;  // before any outlining, in the units of run_time.h
  DenseMap<const Function *, double> times_left; // for calls to come
  Text text;
  std::priority_queue<Region> queue;
  DenseMap<const Function *, std::unique_ptr<Liveness>> known_liveness;

  Instruction &at(unsigned place) const { return *text.instructions[place]; }

  void find() {
    if (text.letters.size() < 2)
      return;
    size_t work = WORK * text.letters.size();
    SuffixTree tree(text.letters, /*OutlinerLeafDescendants=*/true);
    for (auto &repeated : tree) {
      std::map<unsigned, std::vector<unsigned>> by_length;
      for (unsigned start : repeated.StartIndices)
        if (unsigned length = closed_length(start, std::min(repeated.Length, LONGEST)); length > 1)
          by_length[length].push_back(start);
      for (auto &[length, starts] : by_length) {
        size_t cost = size_t(length) * starts.size();
        if (cost > work)
          return;
        work -= cost;
        llvm::erase_if(starts, [&](unsigned start) { return is_hot(*at(start).getParent()); });
        llvm::sort(starts);
        for (auto &[flow, same] : by_flow(starts, length)) {
          Region region{length, std::move(same)};
          if (evaluate(region))
            queue.push(std::move(region));
        }
      }
    }
  }

  // Returns whether a call in a block would run often. A loop that is outlined as a whole is called from its outside.
  bool is_hot(const BasicBlock &block) {
    if (!options.max_frequency)
      return false;
    auto [known, added] = known_hot.try_emplace(&block, false);
    if (added) {
      auto &function = const_cast<Function &>(*block.getParent());
      auto &frequencies = functions.getResult<BlockFrequencyAnalysis>(function);
      auto &dominators = functions.getResult<DominatorTreeAnalysis>(function);
      double of_entry = frequencies.getEntryFreq().getFrequency();
      known->second = frequency(block, frequencies, dominators) > double(*options.max_frequency) * of_entry ||
                      (profile.hasProfileSummary() && profile.isHotBlock(&block, &frequencies));
    }
    return known->second;
  }

  // Returns an upper bound of a block's frequency. Without a profile, each case of a switch gets the frequency of the
  // switch, because a few of an interpreter's hundred instructions run all the time, and it is unknown which. A case
  // that LLVM considers far less likely than the others stays unlikely.
  static double frequency(const BasicBlock &block, const BlockFrequencyInfo &frequencies,
                          const DominatorTree &dominators) {
    auto of = [&](const BasicBlock &other) { return double(frequencies.getBlockFreq(&other).getFrequency()); };
    double factor = 1;
    if (!block.getParent()->hasProfileData())
      for (auto *node = dominators.getNode(&block); node && node->getIDom(); node = node->getIDom()) {
        const Instruction &end = *node->getIDom()->getBlock()->getTerminator();
        double share = of(*node->getBlock()) / std::max(1.0, of(*end.getParent()));
        bool is_likely = share * end.getNumSuccessors() * UNLIKELY > 1;
        if ((isa<SwitchInst>(end) || isa<IndirectBrInst>(end)) && share < 1 && is_likely)
          factor /= share;
      }
    return factor * of(block);
  }

  // Returns the length of the longest region that begins at `start`, has no other entry and has one exit; 0 if there is
  // none. The exit is the next instruction in the same block, or a block without phis.
  unsigned closed_length(unsigned start, unsigned longest) const {
    unsigned closed = 0, from = start, to = start; // the last place that control comes from, and goes to
    const BasicBlock *exit = nullptr;              // the block at `to`
    for (unsigned place = start; place < start + longest; place++) {
      Instruction &instruction = at(place);
      bool is_phi = isa<PHINode>(instruction);
      if (place == start ? is_phi : &instruction == &instruction.getParent()->front()) {
        auto last = last_way_in(instruction.getParent(), start);
        if (!last)
          break;
        from = std::max(from, *last);
      }
      if (!instruction.isTerminator()) {
        if (from <= place && to <= place && !is_phi)
          closed = place + 1 - start;
        continue;
      }
      for (BasicBlock *successor : successors(&instruction)) {
        auto target = text.place(&successor->front());
        if (!target || *target <= start)
          return closed;
        if (*target >= to) {
          to = *target;
          exit = successor;
        }
      }
      if (from <= place && to == place + 1 && !isa<PHINode>(exit->front()))
        closed = place + 1 - start;
    }
    return closed;
  }

  // Returns the place of the last branch to a block, if all branches to it are at `start` or later.
  std::optional<unsigned> last_way_in(const BasicBlock *block, unsigned start) const {
    std::optional<unsigned> last;
    for (const BasicBlock *predecessor : predecessors(block)) {
      auto place = text.place(predecessor->getTerminator());
      if (!place || *place < start)
        return std::nullopt;
      last = std::max(last.value_or(0), *place);
    }
    return last;
  }

  // Visits all operands in order, with the offset of the region's instruction that defines the operand, or -1.
  template <class Visit> void each_operand(unsigned start, unsigned length, Visit visit) const {
    for (unsigned offset = 0; offset < length; offset++)
      for (const Use &use : values_of(at(start + offset)))
        visit(use, offset_of(use.get(), start, length));
  }

  int offset_of(const Value *value, unsigned start, unsigned length) const {
    auto place = text.place(value);
    return place && *place >= start && *place < start + length ? int(*place - start) : -1;
  }

  using Groups = MapVector<std::vector<int>, std::vector<unsigned>, std::map<std::vector<int>, unsigned>>;

  Groups by_flow(const std::vector<unsigned> &starts, unsigned length) const {
    Groups groups;
    for (unsigned start : starts) {
      std::vector<int> flow;
      each_operand(start, length, [&](const Use &, int offset) { flow.push_back(offset); });
      groups[flow].push_back(start);
    }
    return groups;
  }

  // Whether fewer instructions may be left, at best.
  static bool is_worth_a_plan(const Region &region) {
    int places = region.starts.size(), length = region.length;
    return places > 1 && places * (length - 1) > length + 1;
  }

  // Keeps the places that are still free, and stores what outlining them saves; returns no plan if it saves nothing.
  std::optional<Plan> evaluate(Region &region) {
    std::vector<unsigned> left;
    for (unsigned start : region.starts)
      if ((left.empty() || left.back() + region.length <= start) && is_free(start, region.length))
        left.push_back(start);
    region.starts = std::move(left);
    if (!is_worth_a_plan(region))
      return std::nullopt;
    Plan plan = make_plan(region);
    if (options.max_slowdown && leave_fast(region, plan)) {
      if (!is_worth_a_plan(region))
        return std::nullopt;
      plan = make_plan(region);
    }
    if (plan.results.size() > RESULTS)
      return std::nullopt;
    int places = region.starts.size(), length = region.length;
    int parts = plan.results.size() > 1 ? plan.results.size() : 0; // extractvalue at each place, insertvalue once
    int instructions = places * (length - 1 - parts) - branches_left(region) - (length + parts + 1);
    int size = call_cost ? bytes_saved(region, plan) : size_saved(region, plan);
    region.saved = call_cost ? size : instructions + size;
    return instructions > 0 && size > 0 ? std::optional(std::move(plan)) : std::nullopt;
  }

  // Returns the time by which a call of a function may still grow, relative to its time before any outlining.
  double &time_left(Function &function) {
    if (run_times.empty())
      run_times = expected_run_time(
          module, [&](Function &each) -> const auto & { return functions.getResult<TargetIRAnalysis>(each); });
    return times_left.try_emplace(&function, run_times.lookup(&function) * *options.max_slowdown / 100).first->second;
  }

  // Returns the time that a call at a place adds to a call of its function.
  double time_of_call(unsigned start, const Plan &plan) {
    BasicBlock &block = *at(start).getParent();
    auto &frequencies = functions.getResult<BlockFrequencyAnalysis>(*block.getParent());
    double of_entry = std::max<double>(1, frequencies.getEntryFreq().getFrequency());
    return frequencies.getBlockFreq(&block).getFrequency() / of_entry * call_time(plan.parameters.size());
  }

  // Removes the places at which a call would slow down its function too much; returns whether there were any.
  bool leave_fast(Region &region, const Plan &plan) {
    DenseMap<Function *, double> more;
    auto is_slow = [&](unsigned start) {
      Function *function = at(start).getFunction();
      double call = time_of_call(start, plan);
      if (more[function] + call > time_left(*function))
        return true;
      more[function] += call;
      return false;
    };
    size_t before = region.starts.size();
    llvm::erase_if(region.starts, is_slow);
    return region.starts.size() < before;
  }

  // Where the exit is reached from elsewhere too, a branch to it stays.
  int branches_left(const Region &region) const {
    return count_if(region.starts, [&](unsigned start) {
      BasicBlock *exit = exit_of(start, region.length);
      return exit != at(start + region.length - 1).getParent() &&
             any_of(predecessors(exit), [&](const BasicBlock *predecessor) {
               return offset_of(predecessor->getTerminator(), start, region.length) < 0;
             });
    });
  }

  bool is_free(unsigned start, unsigned length) const {
    return all_of(seq(start, start + length), [&](unsigned place) { return text.instructions[place]; });
  }

  // Returns the saved machine instructions, by the target's cost model; a call counts only its arguments.
  int size_saved(const Region &region, const Plan &plan) const {
    const auto &target = functions.getResult<TargetIRAnalysis>(*at(region.starts[0]).getFunction());
    InstructionCost body = 0;
    bool calls = false;
    for (unsigned offset = 0; offset < region.length; offset++) {
      Instruction &instruction = at(region.starts[0] + offset);
      body += target.getInstructionCost(&instruction, TargetTransformInfo::TCK_CodeSize);
      calls |= isa<CallInst>(instruction) && !isa<IntrinsicInst>(instruction);
    }
    if (!body.isValid())
      return 0;
    int places = region.starts.size(), whole = body.getValue(), arguments = plan.parameters.size();
    int call = arguments + std::max(0, arguments - 6) * 2; // beyond six they go through the stack
    int function = whole + 1 + (calls ? 2 : 0);            // ret; the stack's alignment
    return places * (whole - call) - function;
  }

  // Returns the saved bytes that are loaded: the code and its entries in .eh_frame.
  int bytes_saved(const Region &region, const Plan &plan) {
    const Function &any = *at(region.starts[0]).getFunction();
    const auto &target = functions.getResult<TargetIRAnalysis>(const_cast<Function &>(any));
    int whole = 0;
    for (unsigned offset = 0; offset < region.length; offset++)
      whole += estimated_bytes(at(region.starts[0] + offset), target);
    int places = region.starts.size();
    int saved = places * (whole - (call_cost - 1) * CAUTION_BYTES) - function_bytes(region, plan, whole);
    for (unsigned start : region.starts)
      saved -= call_bytes(start, region.length, plan);
    std::map<const Function *, int> registers; // that each would have to save for its calls
    for (unsigned start : region.starts) {
      if (is_last(start, region.length, plan))
        continue;
      const Function *function = at(start).getFunction();
      Live across = live_across(start, region.length, plan);
      int general = std::min(across.general, SAVED_REGISTERS);
      int more = general - liveness(*function).saved;
      int &most = registers[function];
      most = std::max(most, more);
      int spilled = std::min(across.fresh_general, std::max(0, across.general - SAVED_REGISTERS));
      saved -= SPILL_BYTES * (spilled + across.fresh_floating);
    }
    for (auto [function, more] : registers) {
      int table = function->hasFnAttribute(Attribute::UWTable) ? TABLE_BYTES : 0;
      if (more > 0)
        saved -= more * (PUSH_BYTES + table);
      else if (!liveness(*function).calls)
        saved -= PUSH_BYTES; // the stack's alignment
    }
    return saved;
  }

  int function_bytes(const Region &region, const Plan &plan, int whole) const {
    const Function &any = *at(region.starts[0]).getFunction();
    Unwinding unwinds = unwinding(region, plan);
    int bytes = whole + 1; // ret
    if (unwinds.calls) {
      int registers = registers_within(region, plan);
      bytes += std::max(registers, 1) * PUSH_BYTES + (unwinds.table ? registers * TABLE_BYTES : 0);
    }
    if (unwinds.table)
      bytes += ENTRY_BYTES;
    if (!any.hasOptSize())
      bytes += 8; // of alignment, on average
    return bytes;
  }

  // Returns the largest number of values that the outlined function holds in registers across its calls.
  int registers_within(const Region &region, const Plan &plan) const {
    unsigned start = region.starts[0], length = region.length;
    std::vector<unsigned> last_use(length), last_of_parameter(plan.parameters.size());
    size_t slot = 0;
    for (unsigned offset = 0; offset < length; offset++)
      for (const Use &use : values_of(at(start + offset))) {
        int operand = plan.operands[slot++];
        if (operand == Plan::WITHIN)
          last_use[offset_of(use.get(), start, length)] = offset;
        else if (operand >= 0)
          last_of_parameter[operand] = offset;
      }
    for (unsigned offset : plan.results)
      last_use[offset] = length;
    int most = 0;
    for (unsigned call = 0; call < length; call++) {
      if (!is_real_call(at(start + call)))
        continue;
      int count = count_if(last_of_parameter, [&](unsigned last) { return last > call; });
      for (unsigned offset = 0; offset < call; offset++)
        count += last_use[offset] > call;
      most = std::max(most, count);
    }
    return std::min(most, SAVED_REGISTERS);
  }

  // Returns the bytes of the call, its arguments and the moves of its results.
  int call_bytes(unsigned start, unsigned length, const Plan &plan) {
    int bytes = 5 + 2 * int(plan.results.size());
    std::vector<bool> seen(plan.parameters.size());
    size_t slot = 0;
    each_operand(start, length, [&](const Use &use, int) {
      int operand = plan.operands[slot++];
      if (operand < 0 || seen[operand])
        return;
      seen[operand] = true;
      bytes += argument_bytes(*use);
    });
    int on_stack = std::max(0, int(plan.parameters.size()) - 6);
    bytes += 6 * on_stack;
    return bytes - is_last(start, length, plan); // ret
  }

  // Returns whether the call becomes a jump.
  bool is_last(unsigned start, unsigned length, const Plan &plan) {
    Instruction &last = at(start + length - 1);
    const auto *end = dyn_cast<ReturnInst>(last.isTerminator() ? &exit_of(start, length)->front() : last.getNextNode());
    if (!end || liveness(*end->getFunction()).memory)
      return false;
    const Value *returned = end->getReturnValue();
    return !returned || (plan.results.size() == 1 && returned == &at(start + plan.results[0]));
  }

  // Returns the values that are in registers before a region and are used after it.
  Live live_across(unsigned start, unsigned length, const Plan &plan) {
    const Instruction &last = at(start + length - 1);
    const Liveness &known = liveness(*last.getFunction());
    Live live = last.isTerminator() ? known.before.lookup(&exit_of(start, length)->front()) : known.after.lookup(&last);
    for (unsigned offset : plan.results) {
      const Instruction &result = at(start + offset);
      if (!is_used_outside(start, offset, length))
        continue;
      bool fresh = known.fresh.lookup(&result);
      if (is_floating(result.getType())) {
        live.floating--;
        live.fresh_floating -= fresh;
      } else {
        live.general--;
        live.fresh_general -= fresh;
      }
    }
    return live;
  }

  // Returns the liveness before any outlining.
  const Liveness &liveness(const Function &function) {
    auto &known = known_liveness[&function];
    if (!known)
      known = std::make_unique<Liveness>(function);
    return *known;
  }

  Plan make_plan(const Region &region) const {
    Plan plan;
    std::vector<std::vector<Value *>> columns; // of each operand: what it is at each place
    std::vector<bool> within;
    for (unsigned start : region.starts) {
      size_t slot = 0;
      each_operand(start, region.length, [&](const Use &use, int offset) {
        if (slot == columns.size()) {
          columns.emplace_back();
          within.push_back(offset >= 0);
        }
        columns[slot++].push_back(use.get());
      });
    }
    std::map<std::vector<Value *>, int> known;
    for (size_t slot = 0; slot < columns.size(); slot++) {
      const auto &column = columns[slot];
      if (within[slot]) {
        plan.operands.push_back(Plan::WITHIN);
      } else if (!isa<Instruction, Argument>(column[0]) && llvm::all_equal(column)) {
        plan.operands.push_back(Plan::CONSTANT);
      } else {
        auto [found, added] = known.try_emplace(column, plan.parameters.size());
        if (added)
          plan.parameters.push_back(column[0]->getType());
        plan.operands.push_back(found->second);
      }
    }
    for (unsigned offset = 0; offset < region.length; offset++)
      if (any_of(region.starts, [&](unsigned start) { return is_used_outside(start, offset, region.length); }))
        plan.results.push_back(offset);
    return plan;
  }

  bool is_used_outside(unsigned start, unsigned offset, unsigned length) const {
    return any_of(at(start + offset).users(), [&](const User *user) { return offset_of(user, start, length) < 0; });
  }

  Function *make_function(const Region &region, const Plan &plan) {
    LLVMContext &context = module.getContext();
    unsigned first = region.starts[0];
    std::vector<Type *> types;
    for (unsigned offset : plan.results)
      types.push_back(at(first + offset).getType());
    Type *result = types.empty()       ? Type::getVoidTy(context)
                   : types.size() == 1 ? types[0]
                                       : StructType::get(context, types);
    auto *function = Function::Create(FunctionType::get(result, plan.parameters, /*isVarArg=*/false),
                                      GlobalValue::InternalLinkage, "outlined", module);
    function->addFnAttrs(shared_attributes(*at(first).getFunction()));
    function->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);

    DenseMap<const BasicBlock *, BasicBlock *> blocks;
    std::vector<Instruction *> copies;
    for (unsigned offset = 0; offset < region.length; offset++) {
      Instruction &original = at(first + offset);
      BasicBlock *&block = blocks[original.getParent()];
      if (!block)
        block = BasicBlock::Create(context, "", function);
      Instruction *copy = original.clone();
      copy->insertInto(block, block->end());
      keep_what_all_have(*copy, region, offset);
      copies.push_back(copy);
    }
    BasicBlock *end = copies.back()->getParent(); // or the exit, where that is a block of its own
    size_t slot = 0;
    for (Instruction *copy : copies) {
      for (Use &use : copy->operands()) {
        if (auto *original = dyn_cast<BasicBlock>(use.get())) {
          BasicBlock *&block = blocks[original];
          if (!block)
            block = end = BasicBlock::Create(context, "", function);
          use.set(block);
          continue;
        }
        int operand = plan.operands[slot++];
        if (operand == Plan::WITHIN)
          use.set(copies[offset_of(use.get(), first, region.length)]);
        else if (operand != Plan::CONSTANT)
          use.set(function->getArg(operand));
      }
      if (auto *phi = dyn_cast<PHINode>(copy))
        for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
          phi->setIncomingBlock(i, blocks.lookup(phi->getIncomingBlock(i)));
    }
    IRBuilder<> builder(end);
    if (types.size() > 1) {
      Value *all = PoisonValue::get(result);
      for (unsigned i = 0; i < types.size(); i++)
        all = builder.CreateInsertValue(all, copies[plan.results[i]], i);
      builder.CreateRet(all);
    } else if (types.size() == 1) {
      builder.CreateRet(copies[plan.results[0]]);
    } else {
      builder.CreateRetVoid();
    }
    describe_unwinding(*function, unwinding(region, plan));
    return function;
  }

  // Keeps only flags and metadata that all places have, because others would be wrong at some place.
  void keep_what_all_have(Instruction &copy, const Region &region, unsigned offset) const {
    copy.dropDbgRecords();
    copy.setDebugLoc(DebugLoc());
    for (unsigned start : region.starts)
      copy.andIRFlags(&at(start + offset));
    SmallVector<std::pair<unsigned, MDNode *>> all;
    copy.getAllMetadataOtherThanDebugLoc(all);
    for (auto [kind, node] : all) {
      bool of_value = is_contained({LLVMContext::MD_tbaa, LLVMContext::MD_range, LLVMContext::MD_nonnull,
                                    LLVMContext::MD_noundef, LLVMContext::MD_align, LLVMContext::MD_invariant_load},
                                   kind);
      if (!of_value ||
          any_of(region.starts, [&](unsigned start) { return at(start + offset).getMetadata(kind) != node; }))
        copy.setMetadata(kind, nullptr);
    }
  }

  // The ways in which an outlined function is unwound. It needs a table if there are any.
  struct Unwinding {
    bool throws, calls, table;
  };

  Unwinding unwinding(const Region &region, const Plan &plan) const {
    bool throws = false, calls = false;
    unsigned first = region.starts[0], last = region.length - 1;
    for (unsigned offset = 0; offset <= last; offset++) {
      const Instruction &instruction = at(first + offset);
      throws |= instruction.mayThrow();
      bool returned = plan.results.empty() || (plan.results.size() == 1 && plan.results[0] == last);
      calls |= is_real_call(instruction) && !(offset == last && returned && may_be_jump(instruction));
    }
    throws &= !all_of(region.starts, [&](unsigned start) { return at(start).getFunction()->doesNotThrow(); });
    const Function &function = *at(first).getFunction();
    bool wanted = function.hasFnAttribute(Attribute::UWTable) && (calls || may_get_calls(function));
    return {throws, calls, throws || wanted};
  }

  // An outlined function has no stack memory that callees could point into, so a last call may become a jump.
  void describe_unwinding(Function &function, const Unwinding &unwinding) const {
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction);
          call && call->getTailCallKind() == CallInst::TCK_None &&
          none_of(seq(call->arg_size()), [&](unsigned i) { return call->isByValArgument(i); }))
        call->setTailCall();
    if (!unwinding.throws)
      function.setDoesNotThrow();
    if (!unwinding.table)
      function.removeFnAttr(Attribute::UWTable);
  }

  void replace(unsigned start, unsigned length, const Plan &plan, Function *function) {
    std::vector<Value *> arguments(plan.parameters.size());
    size_t slot = 0;
    each_operand(start, length, [&](const Use &use, int) {
      if (int operand = plan.operands[slot++]; operand >= 0)
        arguments[operand] = use.get();
    });
    IRBuilder<> builder(&at(start));
    builder.SetCurrentDebugLocation(location(start, length));
    CallInst *call = builder.CreateCall(function, arguments);
    if (!liveness(*call->getFunction()).memory)
      call->setTailCall(); // no argument can point into the caller's stack
    for (unsigned i = 0; i < plan.results.size(); i++) {
      Value *result = plan.results.size() > 1 ? builder.CreateExtractValue(call, i) : call;
      at(start + plan.results[i]).replaceAllUsesWith(result);
    }
    erase(start, length);
  }

  // Returns the location of the region's first line, so that a debugger stops at the call. In a function with debug
  // information every call needs a location, because it may be inlined.
  DebugLoc location(unsigned start, unsigned length) const {
    for (unsigned place = start; place < start + length; place++)
      if (DebugLoc found = at(place).getDebugLoc())
        return found;
    DISubprogram *of_caller = at(start).getFunction()->getSubprogram();
    return of_caller ? DebugLoc(DILocation::get(module.getContext(), 0, 0, of_caller)) : DebugLoc();
  }

  // The values of variables in a region of several blocks depend on the path through it. Declared variables stay
  // declared; the others are unknown at the region's end.
  SmallVector<DbgVariableRecord *> take_records(unsigned start, unsigned length) const {
    MapVector<DebugVariable, DbgVariableRecord *> last;
    for (unsigned place = start; place < start + length; place++) {
      for (DbgVariableRecord &record : filterDbgVars(at(place).getDbgRecordRange())) {
        auto [found, added] = last.try_emplace(DebugVariable(&record), nullptr);
        if (!added)
          found->second->deleteRecord();
        found->second = record.clone();
      }
      at(place).dropDbgRecords();
    }
    SmallVector<DbgVariableRecord *> records;
    for (auto &[variable, record] : last) {
      if (!record->isDbgDeclare())
        record->setKillLocation();
      if (record->isDbgAssign())
        record->setKillAddress();
      records.push_back(record);
    }
    return records;
  }

  void erase(unsigned start, unsigned length) {
    BasicBlock *first = at(start).getParent(), *exit = exit_of(start, length);
    // In one block the debug records move to the next instruction; LLVM marks records of erased values.
    auto records = first == exit ? SmallVector<DbgVariableRecord *>() : take_records(start, length);
    DebugLoc end = at(start + length - 1).getDebugLoc();
    SetVector<BasicBlock *> blocks;
    std::vector<Instruction *> erased;
    for (unsigned place = start; place < start + length; place++) {
      erased.push_back(&at(place));
      blocks.insert(at(place).getParent());
      at(place).dropAllReferences();
      text.erase(place);
    }
    for (Instruction *instruction : erased)
      instruction->eraseFromParent();
    if (first == exit)
      return;
    auto *branch = UncondBrInst::Create(exit, first);
    branch->setDebugLoc(end);
    for (DbgVariableRecord *record : records)
      first->insertDbgRecordBefore(record, branch->getIterator());
    for (BasicBlock *block : blocks)
      if (block != first && block != exit)
        block->eraseFromParent();
    MergeBlockIntoPredecessor(exit);
  }

  BasicBlock *exit_of(unsigned start, unsigned length) const {
    Instruction &last = at(start + length - 1);
    if (!last.isTerminator())
      return last.getParent();
    for (unsigned place = start; place < start + length; place++)
      if (at(place).isTerminator())
        for (BasicBlock *successor : successors(&at(place)))
          if (offset_of(&successor->front(), start, length) < 0)
            return successor;
    llvm_unreachable("a region has an exit");
  }
};

} // namespace

PreservedAnalyses Outline::run(llvm::Module &module, ModuleAnalysisManager &analyses) {
  return Outliner(module, analyses, options).run() ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace burnish
