#include "savings.h"

#include "../run_time.h"

#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish::outlining {

namespace {

constexpr unsigned RESULTS = 3;  // values that x86-64 returns in registers
constexpr int CAUTION_BYTES = 4; // additional saving per call for each step of call_cost above 1
constexpr double UNLIKELY = 8;   // so many times less often than the mean case of a switch: an unlikely case

// Returns an upper bound of a block's frequency. Without a profile, each case of a switch gets the frequency of the
// switch, because a few of an interpreter's hundred instructions run all the time, and it is unknown which. A case
// that LLVM considers far less likely than the others stays unlikely.
double frequency(const BasicBlock &block, const BlockFrequencyInfo &frequencies, const DominatorTree &dominators) {
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

// Whether fewer instructions may be left, at best.
bool is_worth_a_plan(const Region &region) {
  int places = region.starts.size(), length = region.length;
  return places > 1 && places * (length - 1) > length + 1;
}

} // namespace

Savings::Savings(llvm::Module &module, ModuleAnalysisManager &analyses, const Outline::Options &options,
                 const Text &text)
    : module(module), functions(analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager()),
      options(options), call_cost(options.call_cost), profile(analyses.getResult<ProfileSummaryAnalysis>(module)),
      text(text) {}

bool Savings::is_hot(const BasicBlock &block) {
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

std::optional<Plan> Savings::evaluate(Region &region) {
  std::vector<unsigned> left;
  for (unsigned start : region.starts)
    if ((left.empty() || left.back() + region.length <= start) && is_free(start, region.length))
      left.push_back(start);
  region.starts = std::move(left);
  if (!is_worth_a_plan(region))
    return std::nullopt;
  Plan plan = make_plan(text, region);
  if (options.max_slowdown && leave_fast(region, plan)) {
    if (!is_worth_a_plan(region))
      return std::nullopt;
    plan = make_plan(text, region);
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

void Savings::spend(unsigned start, const Plan &plan) {
  if (options.max_slowdown)
    time_left(*text.at(start).getFunction()) -= time_of_call(start, plan);
}

// Returns the time by which a call of a function may still grow, relative to its time before any outlining.
double &Savings::time_left(Function &function) {
  if (run_times.empty())
    run_times = expected_run_time(
        module, [&](Function &each) -> const auto & { return functions.getResult<TargetIRAnalysis>(each); });
  return times_left.try_emplace(&function, run_times.lookup(&function) * *options.max_slowdown / 100).first->second;
}

// Returns the time that a call at a place adds to a call of its function.
double Savings::time_of_call(unsigned start, const Plan &plan) {
  BasicBlock &block = *text.at(start).getParent();
  auto &frequencies = functions.getResult<BlockFrequencyAnalysis>(*block.getParent());
  double of_entry = std::max<double>(1, frequencies.getEntryFreq().getFrequency());
  return frequencies.getBlockFreq(&block).getFrequency() / of_entry * call_time(plan.parameters.size());
}

// Removes the places at which a call would slow down its function too much; returns whether there were any.
bool Savings::leave_fast(Region &region, const Plan &plan) {
  DenseMap<Function *, double> more;
  auto is_slow = [&](unsigned start) {
    Function *function = text.at(start).getFunction();
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
int Savings::branches_left(const Region &region) const {
  return count_if(region.starts, [&](unsigned start) {
    BasicBlock *exit = exit_of(text, start, region.length);
    return exit != text.at(start + region.length - 1).getParent() &&
           any_of(predecessors(exit), [&](const BasicBlock *predecessor) {
             return offset_of(text, predecessor->getTerminator(), start, region.length) < 0;
           });
  });
}

bool Savings::is_free(unsigned start, unsigned length) const {
  return all_of(seq(start, start + length), [&](unsigned place) { return text.instructions[place]; });
}

// Returns the saved machine instructions, by the target's cost model; a call counts only its arguments.
int Savings::size_saved(const Region &region, const Plan &plan) const {
  const auto &target = functions.getResult<TargetIRAnalysis>(*text.at(region.starts[0]).getFunction());
  InstructionCost body = 0;
  bool calls = false;
  for (unsigned offset = 0; offset < region.length; offset++) {
    Instruction &instruction = text.at(region.starts[0] + offset);
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
int Savings::bytes_saved(const Region &region, const Plan &plan) {
  const Function &any = *text.at(region.starts[0]).getFunction();
  const auto &target = functions.getResult<TargetIRAnalysis>(const_cast<Function &>(any));
  int whole = 0;
  for (unsigned offset = 0; offset < region.length; offset++)
    whole += estimated_bytes(text.at(region.starts[0] + offset), target);
  int places = region.starts.size();
  int saved = places * (whole - (call_cost - 1) * CAUTION_BYTES) - function_bytes(region, plan, whole);
  for (unsigned start : region.starts)
    saved -= call_bytes(start, region.length, plan);
  std::map<const Function *, int> registers; // that each would have to save for its calls
  for (unsigned start : region.starts) {
    if (is_last(start, region.length, plan))
      continue;
    const Function *function = text.at(start).getFunction();
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

int Savings::function_bytes(const Region &region, const Plan &plan, int whole) const {
  const Function &any = *text.at(region.starts[0]).getFunction();
  Unwinding unwinds = unwinding(text, region, plan);
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
int Savings::registers_within(const Region &region, const Plan &plan) const {
  unsigned start = region.starts[0], length = region.length;
  std::vector<unsigned> last_use(length), last_of_parameter(plan.parameters.size());
  size_t slot = 0;
  for (unsigned offset = 0; offset < length; offset++)
    for (const Use &use : values_of(text.at(start + offset))) {
      int operand = plan.operands[slot++];
      if (operand == Plan::WITHIN)
        last_use[offset_of(text, use.get(), start, length)] = offset;
      else if (operand >= 0)
        last_of_parameter[operand] = offset;
    }
  for (unsigned offset : plan.results)
    last_use[offset] = length;
  int most = 0;
  for (unsigned call = 0; call < length; call++) {
    if (!is_real_call(text.at(start + call)))
      continue;
    int count = count_if(last_of_parameter, [&](unsigned last) { return last > call; });
    for (unsigned offset = 0; offset < call; offset++)
      count += last_use[offset] > call;
    most = std::max(most, count);
  }
  return std::min(most, SAVED_REGISTERS);
}

// Returns the bytes of the call, its arguments and the moves of its results.
int Savings::call_bytes(unsigned start, unsigned length, const Plan &plan) {
  int bytes = 5 + 2 * int(plan.results.size());
  std::vector<bool> seen(plan.parameters.size());
  size_t slot = 0;
  each_operand(text, start, length, [&](const Use &use, int) {
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
bool Savings::is_last(unsigned start, unsigned length, const Plan &plan) {
  Instruction &last = text.at(start + length - 1);
  const auto *end =
      dyn_cast<ReturnInst>(last.isTerminator() ? &exit_of(text, start, length)->front() : last.getNextNode());
  if (!end || liveness(*end->getFunction()).memory)
    return false;
  const Value *returned = end->getReturnValue();
  return !returned || (plan.results.size() == 1 && returned == &text.at(start + plan.results[0]));
}

// Returns the values that are in registers before a region and are used after it.
Live Savings::live_across(unsigned start, unsigned length, const Plan &plan) {
  const Instruction &last = text.at(start + length - 1);
  const Liveness &known = liveness(*last.getFunction());
  Live live =
      last.isTerminator() ? known.before.lookup(&exit_of(text, start, length)->front()) : known.after.lookup(&last);
  for (unsigned offset : plan.results) {
    const Instruction &result = text.at(start + offset);
    if (!is_used_outside(text, start, offset, length))
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

const Liveness &Savings::liveness(const Function &function) {
  auto &known = known_liveness[&function];
  if (!known)
    known = std::make_unique<Liveness>(function);
  return *known;
}

} // namespace burnish::outlining
