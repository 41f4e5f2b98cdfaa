#include "texts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace burnish {
namespace {

using Text = SmallString<64>;

void append_number(Text &text, uint64_t number) {
  char digits[20];
  size_t size = 0;
  do
    digits[size++] = char('0' + number % 10);
  while (number /= 10);
  while (size)
    text.push_back(digits[--size]);
}

// Widths and lengths that are not powers of two are rare and varied, so they share a letter.
void append_size(Text &text, uint64_t size, uint64_t most, char otherwise) {
  if (isPowerOf2_64(size) && size <= most)
    append_number(text, size);
  else
    text.push_back(otherwise);
}

void append_type(Text &text, const Type *type) {
  switch (type->getTypeID()) {
  case Type::VoidTyID: text += "void"; break;
  case Type::HalfTyID: text += "half"; break;
  case Type::BFloatTyID: text += "bfloat"; break;
  case Type::FloatTyID: text += "float"; break;
  case Type::DoubleTyID: text += "double"; break;
  case Type::X86_FP80TyID: text += "x86_fp80"; break;
  case Type::FP128TyID: text += "fp128"; break;
  case Type::LabelTyID: text += "label"; break;
  case Type::MetadataTyID: text += "metadata"; break;
  case Type::TokenTyID: text += "token"; break;
  case Type::FunctionTyID: text += "function"; break;
  case Type::PointerTyID: text += "ptr"; break;
  case Type::StructTyID: text += "struct"; break;
  case Type::IntegerTyID:
    text.push_back('i');
    append_size(text, type->getIntegerBitWidth(), 128, 'N');
    break;
  case Type::ArrayTyID:
    text.push_back('[');
    if (type->getArrayElementType()->isArrayTy())
      text += "array";
    else
      append_type(text, type->getArrayElementType());
    text.push_back(']');
    break;
  case Type::FixedVectorTyID:
    text.push_back('<');
    append_size(text, cast<FixedVectorType>(type)->getNumElements(), 64, 'n');
    text += " x ";
    append_type(text, cast<VectorType>(type)->getElementType());
    text.push_back('>');
    break;
  case Type::ScalableVectorTyID:
    text += "<vscale x ";
    append_type(text, cast<VectorType>(type)->getElementType());
    text.push_back('>');
    break;
  default: text += "type"; break; // target-specific types
  }
}

// Small numbers, powers of two and the masks below these are written exactly; of others only the number of bits.
void append_integer(Text &text, const APInt &value) {
  if (value.getBitWidth() == 1) {
    text += value.isZero() ? "false" : "true";
    return;
  }
  APInt magnitude = value.abs(); // of the least number: itself, taken as unsigned
  bool small = magnitude.ule(64), power = magnitude.isPowerOf2(), mask = magnitude.isMask();
  if (value.isNegative())
    text.push_back('-');
  if (small) {
    append_number(text, magnitude.getZExtValue());
  } else {
    text += power ? "2^" : mask ? "mask " : "~2^";
    append_number(text, mask && !power ? magnitude.getActiveBits() : magnitude.logBase2());
  }
}

void append_float(Text &text, const APFloat &value) {
  for (const char *known : {"0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "10.0", "100.0"}) {
    APFloat number(value.getSemantics(), known);
    if (value.bitwiseIsEqual(number)) {
      text += known;
      return;
    }
  }
  text += value.isInfinity() ? "infinity" : value.isNaN() ? "nan" : "number";
}

void append_access(Text &text, bool atomic, bool is_volatile) {
  if (atomic)
    text += " atomic";
  if (is_volatile)
    text += " volatile";
}

StringRef global_kind(const GlobalValue &global) {
  if (auto *variable = dyn_cast<GlobalVariable>(&global))
    return variable->isConstant() ? "constant " : "global ";
  return isa<Function>(global) ? "function" : "alias";
}

} // namespace

int64_t Texts::fixed(StringRef text) {
  auto [entry, added] = numbers_.try_emplace(text, int64_t(unique_.size()));
  if (added)
    unique_.push_back(text.str());
  return entry->second;
}

StringRef Texts::type_text(const Type *type) {
  auto [entry, added] = types_.try_emplace(type);
  if (added) {
    Text text;
    append_type(text, type);
    entry->second = text.str().str();
  }
  return entry->second;
}

int64_t Texts::type(const Type *type) { return fixed(type_text(type)); }

void Texts::append_call(const Instruction &instruction) {
  auto &call = cast<CallBase>(instruction);
  auto *callee = dyn_cast<Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  text_.push_back(' ');
  if (callee && callee->isIntrinsic()) {
    text_ += Intrinsic::getBaseName(callee->getIntrinsicID());
    return;
  }
  if (call.isInlineAsm())
    text_ += "asm ";
  else if (!callee)
    text_ += "indirect ";
  text_ += type_text(call.getType());
}

int64_t Texts::instruction(const Instruction &instruction) {
  text_ = instruction.getOpcodeName();
  auto with = [this](const Type *type) {
    text_.push_back(' ');
    text_ += type_text(type);
  };
  if (isa<CallBase>(instruction)) {
    append_call(instruction);
  } else if (auto *compare = dyn_cast<CmpInst>(&instruction)) {
    text_.push_back(' ');
    text_ += CmpInst::getPredicateName(compare->getPredicate());
    with(compare->getOperand(0)->getType());
  } else if (auto *cast = dyn_cast<CastInst>(&instruction)) {
    with(cast->getSrcTy());
    text_ += " to";
    with(cast->getDestTy());
  } else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    append_access(text_, load->isAtomic(), load->isVolatile());
    with(load->getType());
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    append_access(text_, store->isAtomic(), store->isVolatile());
    with(store->getValueOperand()->getType());
  } else if (auto *address = dyn_cast<GetElementPtrInst>(&instruction)) {
    with(address->getSourceElementType());
  } else if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
    with(alloca->getAllocatedType());
  } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
    text_.push_back(' ');
    text_ += AtomicRMWInst::getOperationName(update->getOperation());
    with(update->getType());
  } else if (instruction.getOpcode() == Instruction::CondBr) {
    text_ += " i1";
  } else if (isa<ExtractValueInst, ExtractElementInst, SwitchInst>(instruction)) {
    with(instruction.getOperand(0)->getType());
  } else if (isa<ReturnInst>(instruction)) {
    with(instruction.getNumOperands() ? instruction.getOperand(0)->getType() : instruction.getType());
  } else if (!instruction.getType()->isVoidTy()) {
    with(instruction.getType());
  }
  return fixed(text_);
}

int64_t Texts::constant(const Constant &constant) {
  text_.clear();
  if (auto *global = dyn_cast<GlobalValue>(&constant)) {
    text_ += global_kind(*global);
    if (isa<GlobalVariable>(global))
      text_ += type_text(global->getValueType());
    return fixed(text_);
  }
  text_ += type_text(constant.getType());
  text_.push_back(' ');
  if (auto *integer = dyn_cast<ConstantInt>(&constant))
    append_integer(text_, integer->getValue());
  else if (auto *number = dyn_cast<ConstantFP>(&constant))
    append_float(text_, number->getValueAPF());
  else if (auto *expression = dyn_cast<ConstantExpr>(&constant))
    text_ += expression->getOpcodeName();
  else if (isa<PoisonValue>(constant))
    text_ += "poison";
  else if (isa<UndefValue>(constant))
    text_ += "undef";
  else if (isa<ConstantPointerNull>(constant))
    text_ += "null";
  else if (constant.isNullValue())
    text_ += "zero";
  else if (isa<BlockAddress>(constant))
    text_ += "blockaddress";
  else if (constant.getType()->isVectorTy() && constant.getSplatValue())
    text_ += "splat";
  else
    text_ += "constant";
  return fixed(text_);
}

int64_t Texts::declaration(const Function &function) {
  if (!library_)
    library_.emplace(function.getParent()->getTargetTriple());
  LibFunc known;
  text_ = "declare";
  if (library_->getLibFunc(function, known)) {
    text_.push_back(' ');
    text_ += function.getName();
  }
  return fixed(text_);
}

} // namespace burnish
