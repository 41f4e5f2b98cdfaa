#include "region.h"

#include "../machine_bytes.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace burnish::outlining {

namespace {

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

// Returns the place of the last branch to a block, if all branches to it are at `start` or later.
std::optional<unsigned> last_way_in(const Text &text, const BasicBlock *block, unsigned start) {
  std::optional<unsigned> last;
  for (const BasicBlock *predecessor : predecessors(block)) {
    auto place = text.place(predecessor->getTerminator());
    if (!place || *place < start)
      return std::nullopt;
    last = std::max(last.value_or(0), *place);
  }
  return last;
}

} // namespace

unsigned closed_length(const Text &text, unsigned start, unsigned longest) {
  unsigned closed = 0, from = start, to = start; // the last place that control comes from, and goes to
  const BasicBlock *exit = nullptr;              // the block at `to`
  for (unsigned place = start; place < start + longest; place++) {
    Instruction &instruction = text.at(place);
    bool is_phi = isa<PHINode>(instruction);
    if (place == start ? is_phi : &instruction == &instruction.getParent()->front()) {
      auto last = last_way_in(text, instruction.getParent(), start);
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

BasicBlock *exit_of(const Text &text, unsigned start, unsigned length) {
  Instruction &last = text.at(start + length - 1);
  if (!last.isTerminator())
    return last.getParent();
  for (unsigned place = start; place < start + length; place++)
    if (text.at(place).isTerminator())
      for (BasicBlock *successor : successors(&text.at(place)))
        if (offset_of(text, &successor->front(), start, length) < 0)
          return successor;
  llvm_unreachable("a region has an exit");
}

int offset_of(const Text &text, const Value *value, unsigned start, unsigned length) {
  auto place = text.place(value);
  return place && *place >= start && *place < start + length ? int(*place - start) : -1;
}

bool is_used_outside(const Text &text, unsigned start, unsigned offset, unsigned length) {
  return any_of(text.at(start + offset).users(),
                [&](const User *user) { return offset_of(text, user, start, length) < 0; });
}

Groups by_flow(const Text &text, const std::vector<unsigned> &starts, unsigned length) {
  Groups groups;
  for (unsigned start : starts) {
    std::vector<int> flow;
    each_operand(text, start, length, [&](const Use &, int offset) { flow.push_back(offset); });
    groups[flow].push_back(start);
  }
  return groups;
}

Plan make_plan(const Text &text, const Region &region) {
  Plan plan;
  std::vector<std::vector<Value *>> columns; // of each operand: what it is at each place
  std::vector<bool> within;
  for (unsigned start : region.starts) {
    size_t slot = 0;
    each_operand(text, start, region.length, [&](const Use &use, int offset) {
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
    if (any_of(region.starts, [&](unsigned start) { return is_used_outside(text, start, offset, region.length); }))
      plan.results.push_back(offset);
  return plan;
}

Unwinding unwinding(const Text &text, const Region &region, const Plan &plan) {
  bool throws = false, calls = false;
  unsigned first = region.starts[0], last = region.length - 1;
  for (unsigned offset = 0; offset <= last; offset++) {
    const Instruction &instruction = text.at(first + offset);
    throws |= instruction.mayThrow();
    bool returned = plan.results.empty() || (plan.results.size() == 1 && plan.results[0] == last);
    calls |= is_real_call(instruction) && !(offset == last && returned && may_be_jump(instruction));
  }
  throws &= !all_of(region.starts, [&](unsigned start) { return text.at(start).getFunction()->doesNotThrow(); });
  const Function &function = *text.at(first).getFunction();
  bool wanted = function.hasFnAttribute(Attribute::UWTable) && (calls || may_get_calls(function));
  return {throws, calls, throws || wanted};
}

} // namespace burnish::outlining
