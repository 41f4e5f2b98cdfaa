#include "motion.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace burnish {
namespace {

bool may_merge_call(const CallInst &call) {
  if (call.hasOperandBundles())
    return false;
  if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
    return (isa<MemIntrinsic>(intrinsic) && !cast<MemIntrinsic>(intrinsic)->isVolatile()) ||
           isa<WithOverflowInst, SaturatingInst>(intrinsic) || isTriviallyVectorizable(intrinsic->getIntrinsicID());
  return !call.isInlineAsm() && !call.isMustTailCall() && !call.canReturnTwice() && !call.isConvergent() &&
         !call.cannotDuplicate() && !call.cannotMerge();
}

bool is_plain(Type *type) {
  return type->isVoidTy() || (type->isFirstClassType() && type->isSized() && !type->isTokenLikeTy());
}

Align least(Align one, Align other) { return std::min(one, other); }

} // namespace

bool may_move_code(const Function &function) {
  return !function.hasFnAttribute(Attribute::Naked) && !function.isPresplitCoroutine() && !function.hasGC();
}

bool is_entered_apart(const BasicBlock &block) { return block.isEHPad() || isa<IndirectBrInst>(block.getTerminator()); }

bool may_merge(const Instruction &instruction) {
  if (instruction.isTerminator() || instruction.isEHPad() || instruction.isVolatile() || instruction.isAtomic() ||
      isa<PHINode, AllocaInst, VAArgInst>(instruction) || !is_plain(instruction.getType()))
    return false;
  if (const auto *call = dyn_cast<CallInst>(&instruction); call && !may_merge_call(*call))
    return false;
  return all_of(instruction.operands(), [](const Use &use) {
    return (is_plain(use->getType()) || isa<MetadataAsValue>(use.get())) && !use->isSwiftError();
  });
}

bool same_operation(const Instruction &one, const Instruction &other) {
  return one.isSameOperationAs(&other,
                               Instruction::CompareIgnoringAlignment | Instruction::CompareUsingIntersectedAttrs);
}

bool may_swap(const Instruction &first, const Instruction &second, AAResults &aliases) {
  if (first.mayReadOrWriteMemory() && second.mayReadOrWriteMemory() &&
      (first.mayWriteToMemory() || second.mayWriteToMemory())) {
    if (first.isAtomic() || second.isAtomic() || isModOrRefSet(aliases.getModRefInfo(&first, &second)))
      return false;
  }
  // What does not come back keeps what follows from being seen, and from trapping.
  if (!isGuaranteedToTransferExecutionToSuccessor(&first) &&
      (second.mayHaveSideEffects() || !isSafeToSpeculativelyExecute(&second)))
    return false;
  return isGuaranteedToTransferExecutionToSuccessor(&second) || !first.mayHaveSideEffects();
}

void merge_promises(Instruction &kept, Instruction &other) {
  kept.andIRFlags(&other);
  combineMetadataForCSE(&kept, &other, /*DoesKMove=*/true);
  kept.applyMergedLocation(kept.getDebugLoc(), other.getDebugLoc());
  if (auto *load = dyn_cast<LoadInst>(&kept))
    load->setAlignment(least(load->getAlign(), cast<LoadInst>(other).getAlign()));
  if (auto *store = dyn_cast<StoreInst>(&kept))
    store->setAlignment(least(store->getAlign(), cast<StoreInst>(other).getAlign()));
  if (auto *call = dyn_cast<CallBase>(&kept)) {
    bool possible = call->tryIntersectAttributes(cast<CallBase>(&other));
    assert(possible && "same_operation says so");
    (void)possible;
  }
}

void forget_in_debug_records(Instruction &instruction, const DominatorTree &dominators) {
  SmallVector<DbgVariableRecord *> records;
  findDbgUsers(&instruction, records);
  for (DbgVariableRecord *record : records)
    if (!dominators.dominates(&instruction, record->getInstruction()))
      record->setKillLocation();
}

int size_of(const Instruction &instruction, const TargetTransformInfo &target) {
  auto cost = target.getInstructionCost(&instruction, TargetTransformInfo::TCK_CodeSize);
  return cost.isValid() ? int(cost.getValue()) : 1;
}

} // namespace burnish
