#include "library_calls.h"

#include "attributes.h"

#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>
#include <vector>

using namespace llvm;

namespace burnish {
namespace {

constexpr unsigned WORD_BITS = 32;

// Little-endian code of ARM; a part's address, alignment and place in the value.
struct Part {
  Value *address;
  Align alignment;
  unsigned bits, shift;
};

std::vector<Part> parts_of(IRBuilder<> &builder, Value *address, Align alignment, unsigned bits) {
  unsigned each = std::min<unsigned>(WORD_BITS, 8 * alignment.value());
  std::vector<Part> parts;
  for (unsigned shift = 0; shift < bits; shift += each)
    parts.push_back(
        {builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), address, shift / 8), alignment, each, shift});
  return parts;
}

void split(LoadInst &load, unsigned bits) {
  IRBuilder<> builder(&load);
  Type *whole = builder.getIntNTy(bits);
  Value *value = ConstantInt::get(whole, 0);
  for (const Part &part : parts_of(builder, load.getPointerOperand(), load.getAlign(), bits)) {
    Value *loaded =
        builder.CreateAlignedLoad(builder.getIntNTy(part.bits), part.address, part.alignment, load.isVolatile());
    value = builder.CreateOr(value, builder.CreateShl(builder.CreateZExt(loaded, whole), part.shift));
  }
  load.replaceAllUsesWith(builder.CreateBitOrPointerCast(value, load.getType()));
  load.eraseFromParent();
}

void split(StoreInst &store, unsigned bits) {
  IRBuilder<> builder(&store);
  Value *value = builder.CreateBitOrPointerCast(store.getValueOperand(), builder.getIntNTy(bits));
  for (const Part &part : parts_of(builder, store.getPointerOperand(), store.getAlign(), bits))
    builder.CreateAlignedStore(builder.CreateTrunc(builder.CreateLShr(value, part.shift), builder.getIntNTy(part.bits)),
                               part.address, part.alignment, store.isVolatile());
  store.eraseFromParent();
}

// Returns the bits of an access that LLVM would call a function for; 0 for others.
unsigned bits_of(Type *type, Align alignment, const DataLayout &layout) {
  if (type->isAggregateType() || type->isVectorTy() || alignment.value() * 8 >= WORD_BITS)
    return 0;
  uint64_t bits = layout.getTypeSizeInBits(type);
  return bits == WORD_BITS || bits == 2 * WORD_BITS ? bits : 0;
}

void split_unaligned(llvm::Module &module, TargetMachine &target) {
  const Triple &triple = target.getTargetTriple();
  if (!(triple.isARM() || triple.isThumb()) || !module.getModuleFlag(GNU_EABI))
    return;
  const DataLayout &layout = module.getDataLayout();
  for (Function &function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute("no-builtins"))
      continue;
    const TargetLowering &lowering = *target.getSubtargetImpl(function)->getTargetLowering();
    if (lowering.allowsMisalignedMemoryAccesses(MVT::i32, 0, Align(1), MachineMemOperand::MOLoad))
      continue;
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *load = dyn_cast<LoadInst>(&instruction); load && !load->isAtomic()) {
        if (unsigned bits = bits_of(load->getType(), load->getAlign(), layout))
          split(*load, bits);
      } else if (auto *store = dyn_cast<StoreInst>(&instruction); store && !store->isAtomic()) {
        if (unsigned bits = bits_of(store->getValueOperand()->getType(), store->getAlign(), layout))
          split(*store, bits);
      }
  }
}

// Returns whether forbid_builtins has named a function of the compiler's library.
bool forbids_library(const Function &function) {
  return llvm::any_of(function.getAttributes().getFnAttrs(), [](const Attribute &attribute) {
    return attribute.isStringAttribute() && attribute.getKindAsString().starts_with("no-builtin-__");
  });
}

// Returns whether LLVM may call a function for an operation with `minsize`, and computes it inline without.
bool is_called(const Instruction &instruction, unsigned widest) {
  const auto *operation = dyn_cast<BinaryOperator>(&instruction);
  if (!operation)
    return false;
  return operation->isShift() ? operation->getType()->getScalarSizeInBits() > widest
                              : operation->isIntDivRem() && isa<Constant>(operation->getOperand(1));
}

} // namespace

void avoid_library_calls(llvm::Module &module, TargetMachine &target) {
  split_unaligned(module, target);
  unsigned widest = module.getDataLayout().getLargestLegalIntTypeSizeInBits();
  for (Function &function : module)
    if (function.hasMinSize() && forbids_library(function) &&
        llvm::any_of(instructions(function), [&](const Instruction &one) { return is_called(one, widest); }))
      function.removeFnAttr(Attribute::MinSize);
}

} // namespace burnish
