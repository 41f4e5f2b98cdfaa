#include "machine_bytes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr int PER_COST = 4; // bytes for a unit of the target's cost model, for unlisted instructions

int intrinsic_bytes(const IntrinsicInst &intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memset: return 12;
  case Intrinsic::fmuladd: return 10;
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::abs: return 7;
  default: return 6;
  }
}

int call_bytes(const CallBase &call) {
  if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
    return intrinsic_bytes(*intrinsic);
  int bytes = call.getType()->isVoidTy() || call.use_empty() ? 0 : 2; // moved out of rax
  for (const Use &argument : call.args())
    if (const auto *made = dyn_cast<Instruction>(argument);
        !made || !made->hasOneUse() || made->getParent() != call.getParent()) // else computed in its argument register
      bytes += argument_bytes(*argument);
  return bytes + (call.isIndirectCall() ? 3 : 5);
}

// Returns whether one instruction loads, changes and stores a value at the same address.
bool is_changed_in_place(const Instruction &load) {
  const auto *change = load.hasOneUse() ? dyn_cast<BinaryOperator>(load.user_back()) : nullptr;
  const auto *store = change && change->hasOneUse() ? dyn_cast<StoreInst>(change->user_back()) : nullptr;
  return store && store->getValueOperand() == change &&
         store->getPointerOperand() == cast<LoadInst>(load).getPointerOperand();
}

// Returns whether a load becomes a memory operand of its user.
bool is_folded(const Instruction &load) {
  return load.hasOneUse() && isa<BinaryOperator, CmpInst, CastInst, SelectInst>(load.user_back()) &&
         cast<Instruction>(load.user_back())->getParent() == load.getParent();
}

bool is_zero(const Value &value) { return isa<Constant>(value) && cast<Constant>(value).isNullValue(); }

bool is_wide(const Instruction &instruction) {
  const Type *type = instruction.getType();
  return type->isVectorTy() || type->isIntegerTy(128) || type->isX86_FP80Ty();
}

} // namespace

bool is_real_call(const Instruction &instruction) {
  return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
}

bool is_floating(const Type *type) { return type->isFPOrFPVectorTy() || type->isVectorTy(); }

int argument_bytes(const Value &value) {
  if (const auto *number = dyn_cast<ConstantInt>(&value))
    return number->isZero() ? 2 : number->getValue().isSignedIntN(8) ? 3 : 5;
  if (isa<Constant>(value))
    return isa<GlobalValue>(value) ? 7 : 5;
  if (isa<AllocaInst>(value.stripInBoundsConstantOffsets()) || isa<GEPOperator>(value))
    return 5; // lea
  return is_floating(value.getType()) ? 4 : 3;
}

int estimated_bytes(const Instruction &instruction, const TargetTransformInfo &target) {
  bool constant = instruction.getNumOperands() == 2 && isa<Constant>(instruction.getOperand(1));
  bool floating = is_floating(instruction.getType());
  if (is_wide(instruction) && !isa<PHINode, CallBase>(instruction)) {
    InstructionCost cost = target.getInstructionCost(&instruction, TargetTransformInfo::TCK_CodeSize);
    return cost.isValid() ? std::max(1, int(cost.getValue())) * 6 : 12;
  }
  switch (instruction.getOpcode()) {
  case Instruction::Call:
  case Instruction::Invoke: return call_bytes(cast<CallBase>(instruction));
  case Instruction::PHI: return floating ? 5 : 3;
  case Instruction::Load: return is_changed_in_place(instruction) ? 0 : is_folded(instruction) ? 1 : floating ? 5 : 4;
  case Instruction::Store: return 5;
  case Instruction::GetElementPtr: return cast<GEPOperator>(instruction).hasAllConstantIndices() ? 1 : 4;
  case Instruction::CondBr: return 2;
  case Instruction::UncondBr: return 1;
  case Instruction::Switch: return 3 + 5 * int(cast<SwitchInst>(instruction).getNumCases());
  case Instruction::Unreachable:
  case Instruction::Freeze:
  case Instruction::BitCast:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr:
  case Instruction::ExtractValue:
  case Instruction::InsertValue: return 0;
  case Instruction::Trunc: return 1;
  case Instruction::ZExt:
  case Instruction::SExt: return 3;
  case Instruction::ICmp: return is_zero(*instruction.getOperand(1)) ? 3 : 4;
  case Instruction::Select: return floating ? 9 : 6;
  case Instruction::FCmp: return 8;
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
    if (const auto *load = dyn_cast<LoadInst>(instruction.getOperand(0)); load && is_changed_in_place(*load))
      return 0;
    return constant ? 3 : 4;
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr: return constant ? 3 : 4;
  case Instruction::Mul: return 4;
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem: return 6;
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv: return 6;
  case Instruction::FNeg:
  case Instruction::FPTrunc:
  case Instruction::FPExt:
  case Instruction::FPToSI:
  case Instruction::SIToFP: return 5;
  case Instruction::FPToUI:
  case Instruction::UIToFP: return 8;
  default: {
    InstructionCost cost = target.getInstructionCost(&instruction, TargetTransformInfo::TCK_CodeSize);
    return cost.isValid() ? int(cost.getValue()) * PER_COST : 12;
  }
  }
}

namespace {

// Goes backwards through a function with the set of values that are used later.
class Walk {
public:
  Walk(const Function &function, Liveness &found) : found(found) {
    for (const Argument &argument : function.args())
      number(argument);
    for (const Instruction &instruction : instructions(function))
      if (!isa<AllocaInst>(instruction)) // a stack address, which needs no register
        number(instruction);
    found.memory = any_of(instructions(function), [](const Instruction &one) { return isa<AllocaInst>(one); }) ||
                   any_of(function.args(), [](const Argument &one) { return one.hasPassPointeeByValueCopyAttr(); });
    crossing.resize(values.size());
    find_live_in(function);
    for (const BasicBlock &block : function)
      each(block, [&](const Instruction &instruction) { note_call(instruction); }, [](const Instruction &) {});
    for (const BasicBlock &block : function)
      each(
          block, [&](const Instruction &instruction) { found.after[&instruction] = counted(); },
          [&](const Instruction &instruction) { found.before[&instruction] = counted(); });
    for (const Instruction &instruction : instructions(function))
      if (auto place = numbers.find(&instruction); place != numbers.end())
        found.fresh[&instruction] = !crossing.test(place->second);
  }

private:
  Liveness &found;
  DenseMap<const Value *, unsigned> numbers;
  std::vector<const Value *> values;
  DenseMap<const BasicBlock *, BitVector> live_in;
  BitVector live, crossing;
  Live count; // of `live`

  // An address at a constant distance from another is part of its users.
  static const Value *in_register(const Value *value) {
    return value->getType()->isPointerTy() ? value->stripInBoundsConstantOffsets() : value;
  }

  void number(const Value &value) {
    if (in_register(&value) != &value)
      return;
    if (!value.getType()->isVoidTy() && numbers.try_emplace(&value, values.size()).second)
      values.push_back(&value);
  }

  void add(const Value *value) { change(in_register(value), true); }

  void change(const Value *value, bool to) {
    auto place = numbers.find(value);
    if (place == numbers.end() || live.test(place->second) == to)
      return;
    live[place->second] = to;
    int one = to ? 1 : -1;
    int fresh = crossing.test(place->second) ? 0 : one;
    (is_floating(value->getType()) ? count.floating : count.general) += one;
    (is_floating(value->getType()) ? count.fresh_floating : count.fresh_general) += fresh;
  }

  Live counted() const { return count; }

  void begin(const BasicBlock &block) {
    live = BitVector(values.size());
    count = Live();
    for (const BasicBlock *successor : successors(&block)) {
      if (auto place = live_in.find(successor); place != live_in.end())
        for (unsigned value : place->second.set_bits())
          add(values[value]);
      for (const PHINode &phi : successor->phis())
        add(phi.getIncomingValueForBlock(&block));
    }
  }

  template <class After, class Before> void each(const BasicBlock &block, After after, Before before) {
    begin(block);
    for (const Instruction &instruction : reverse(block)) {
      after(instruction);
      change(&instruction, false);
      if (!isa<PHINode>(instruction) && in_register(&instruction) == &instruction)
        for (const Use &use : instruction.operands())
          add(use.get());
      before(instruction);
    }
  }

  void find_live_in(const Function &function) {
    std::vector<const BasicBlock *> order;
    for (const BasicBlock *block : post_order(&function))
      order.push_back(block);
    for (bool changed = true; changed;) {
      changed = false;
      for (const BasicBlock *block : order) {
        each(*block, [](const Instruction &) {}, [](const Instruction &) {});
        BitVector &known = live_in[block];
        if (known != live) {
          known = live;
          changed = true;
        }
      }
    }
  }

  void note_call(const Instruction &instruction) {
    if (!is_real_call(instruction))
      return;
    if (const auto *call = dyn_cast<CallInst>(&instruction);
        call && call->isTailCall() && isa_and_nonnull<ReturnInst>(call->getNextNode()))
      return; // a jump
    found.calls = true;
    BitVector during = live;
    int general = count.general;
    if (auto place = numbers.find(&instruction); place != numbers.end() && during.test(place->second)) {
      during.reset(place->second); // the result
      general -= !is_floating(instruction.getType());
    }
    found.saved = std::max(found.saved, std::min(general, SAVED_REGISTERS));
    crossing |= during;
  }
};

} // namespace

Liveness::Liveness(const Function &function) { Walk(function, *this); }

} // namespace burnish
