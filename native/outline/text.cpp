#include "text.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace burnish::outlining {

namespace {

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

} // namespace

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

Text::Text(llvm::Module &module, FunctionAnalysisManager &analyses) {
  for (Function &function : module) {
    if (!may_outline_from(function))
      continue;
    auto blocks = linear_order(function, analyses.getResult<LoopAnalysis>(function));
    if (blocks.size() == function.size()) // all can be reached
      add(blocks, attributes_number(function));
  }
}

std::optional<unsigned> Text::place(const Value *value) const {
  const auto *instruction = dyn_cast<Instruction>(value);
  auto found = instruction ? places.find(instruction) : places.end();
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

void Text::erase(unsigned place) {
  places.erase(instructions[place]);
  instructions[place] = nullptr;
}

unsigned Text::attributes_number(Function &function) {
  auto set = AttributeSet::get(function.getContext(), shared_attributes(function));
  return numbers.try_emplace(set, numbers.size()).first->second;
}

void Text::add(const std::vector<BasicBlock *> &blocks, unsigned attributes) {
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

unsigned Text::letter(const Instruction &instruction, unsigned attributes, SmallVector<int> around) {
  size_t hash = hash_combine(operation_hash(instruction), attributes, hash_combine_range(around));
  auto [begin, end] = known.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const Letter &letter = found->second;
    if (letter.attributes == attributes && letter.neighbours == around && same_operation(instruction, *letter.example))
      return letter.number;
  }
  known.emplace(hash, Letter{&instruction, attributes, count, std::move(around)});
  return count++;
}

} // namespace burnish::outlining
