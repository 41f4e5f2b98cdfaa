#include "part.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr uint64_t LARGEST_SHARED = 4096; // bytes of a constant that is copied although it is not emitted

class Part final : ValueMaterializer {
public:
  Part(const Function &source) : source(source), whole(*source.getParent()), part("program", source.getContext()) {
    part.setTargetTriple(whole.getTargetTriple());
    part.setDataLayout(whole.getDataLayout());
    if (const NamedMDNode *flags = whole.getModuleFlagsMetadata())
      for (unsigned i = 0; i < flags->getNumOperands(); ++i)
        part.getOrInsertModuleFlagsMetadata()->addOperand(flags->getOperand(i));
    copy_body();
    while (!initialized.empty()) {
      auto [from, to] = initialized.pop_back_val();
      to->setInitializer(MapValue(from->getInitializer(), values, RF_None, nullptr, this));
    }
  }

  std::string bitcode() const {
    SmallVector<char, 0> bytes;
    raw_svector_ostream stream(bytes);
    WriteBitcodeToFile(part, stream, /*ShouldPreserveUseListOrder=*/true);
    return std::string(bytes.data(), bytes.size());
  }

private:
  const Function &source;
  const llvm::Module &whole;
  llvm::Module part;
  ValueToValueMapTy values;
  SmallVector<std::pair<const GlobalVariable *, GlobalVariable *>> initialized;

  void copy_body() {
    auto *body = Function::Create(source.getFunctionType(), source.getLinkage(), source.getAddressSpace(),
                                  source.getName(), &part);
    if (const Comdat *comdat = source.getComdat()) {
      Comdat *copy = part.getOrInsertComdat(comdat->getName());
      copy->setSelectionKind(comdat->getSelectionKind());
      body->setComdat(copy);
    }
    values[&source] = body;
    for (auto [from, to] : zip(source.args(), body->args()))
      values[&from] = &to;
    SmallVector<ReturnInst *> returns;
    CloneFunctionInto(body, &source, values, CloneFunctionChangeType::DifferentModule, returns, "", nullptr, nullptr,
                      this);
  }

  Value *materialize(Value *value) override {
    if (auto *global = dyn_cast<GlobalValue>(value); global && global->getParent() == &whole)
      return copy(*global);
    return nullptr;
  }

  GlobalValue *copy(const GlobalValue &global) {
    if (const auto *variable = dyn_cast<GlobalVariable>(&global))
      return copy(*variable);
    GlobalValue *declared;
    if (auto *type = dyn_cast<FunctionType>(global.getValueType())) {
      auto *function =
          Function::Create(type, GlobalValue::ExternalLinkage, global.getAddressSpace(), global.getName(), &part);
      if (const auto *original = dyn_cast<Function>(&global)) {
        function->setAttributes(original->getAttributes());
        function->setCallingConv(original->getCallingConv());
        function->setUnnamedAddr(original->getUnnamedAddr());
        if (original->hasLocalLinkage()) // its name may be that of a function of the C library
          function->addFnAttr(Attribute::NoBuiltin);
      }
      declared = function;
    } else {
      declared = new GlobalVariable(part, global.getValueType(), false, GlobalValue::ExternalLinkage, nullptr,
                                    global.getName(), nullptr, global.getThreadLocalMode(), global.getAddressSpace());
    }
    return reach(global, *declared);
  }

  GlobalVariable *copy(const GlobalVariable &variable) {
    bool known = variable.isConstant() && variable.hasDefinitiveInitializer() && !holds_labels(variable);
    bool own = known && variable.hasLocalLinkage() && used_here_alone(variable);
    if (!own && known)
      known = whole.getDataLayout().getTypeAllocSize(variable.getValueType()).getKnownMinValue() <= LARGEST_SHARED;
    auto linkage = own                                 ? variable.getLinkage()
                   : known                             ? GlobalValue::AvailableExternallyLinkage
                   : variable.hasExternalWeakLinkage() ? GlobalValue::ExternalWeakLinkage
                                                       : GlobalValue::ExternalLinkage;
    auto *made =
        new GlobalVariable(part, variable.getValueType(), variable.isConstant(), linkage, nullptr, variable.getName(),
                           nullptr, variable.getThreadLocalMode(), variable.getAddressSpace());
    if (known)
      initialized.emplace_back(&variable, made);
    made->setUnnamedAddr(variable.getUnnamedAddr());
    made->setAlignment(variable.getAlign());
    if (variable.hasSection())
      made->setSection(variable.getSection());
    if (auto model = variable.getCodeModel())
      made->setCodeModel(*model);
    reach(variable, *made);
    return made;
  }

  // Addresses are computed as in the whole module: a local symbol there is not addressed through the GOT here.
  static GlobalValue *reach(const GlobalValue &from, GlobalValue &to) {
    if (to.hasLocalLinkage())
      return &to;
    if (from.hasExternalWeakLinkage())
      to.setLinkage(GlobalValue::ExternalWeakLinkage);
    to.setVisibility(from.hasLocalLinkage() ? GlobalValue::HiddenVisibility : from.getVisibility());
    to.setDSOLocal(from.hasLocalLinkage() || from.isDSOLocal());
    return &to;
  }

  // Returns whether an initializer has labels of another function, which cannot be copied.
  bool holds_labels(const GlobalVariable &variable) const {
    SmallVector<const Constant *> open{variable.getInitializer()};
    SmallPtrSet<const Constant *, 16> seen;
    while (!open.empty()) {
      const Constant *constant = open.pop_back_val();
      if (const auto *label = dyn_cast<BlockAddress>(constant); label && label->getFunction() != &source)
        return true;
      if (isa<GlobalValue, BlockAddress>(constant) || !seen.insert(constant).second)
        continue;
      for (const Value *operand : constant->operand_values())
        open.push_back(cast<Constant>(operand));
    }
    return false;
  }

  bool used_here_alone(const GlobalVariable &variable) const {
    SmallVector<const User *> open(variable.users());
    SmallPtrSet<const User *, 16> seen;
    while (!open.empty()) {
      const User *user = open.pop_back_val();
      if (!seen.insert(user).second)
        continue;
      if (const auto *instruction = dyn_cast<Instruction>(user)) {
        const Function *function = instruction->getFunction(); // the copy's operands may not be mapped yet
        if (function != &source && function->getParent() != &part)
          return false;
      } else if (isa<GlobalValue>(user)) {
        return false;
      } else {
        open.append(user->user_begin(), user->user_end());
      }
    }
    return true;
  }
};

} // namespace

std::string part_bitcode(const Module &module, const std::string &name) {
  const Function *function = module.without_debug_info().getFunction(name);
  if (!function || function->isDeclaration())
    throw PipelineError("no function '" + name + "' with a body");
  return Part(*function).bitcode();
}

} // namespace burnish
