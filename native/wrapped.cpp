#include "wrapped.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace burnish {
namespace {

// Returns the module's reference to a name that a linker has to find; null: there is no such reference.
GlobalValue *undefined(llvm::Module &ir, const std::string &name) {
  auto value = ir.getNamedValue(name);
  return value && value->isDeclarationForLinker() ? value : nullptr;
}

void refer(llvm::Module &ir, GlobalValue *from, const std::string &name) {
  if (auto to = ir.getNamedValue(name)) {
    from->replaceAllUsesWith(to);
    from->eraseFromParent();
    return;
  }
  if (auto function = dyn_cast<Function>(from)) // a body for inlining is not the wrapper's
    function->deleteBody();
  else if (auto variable = dyn_cast<GlobalVariable>(from))
    variable->setInitializer(nullptr), variable->setLinkage(GlobalValue::ExternalLinkage);
  from->setName(name);
}

} // namespace

void refer_to_wrappers(Module &unit, const std::vector<std::string> &names) {
  unit.changed();
  for (const auto &name : names)
    if (auto value = undefined(unit.ir(), name))
      refer(unit.ir(), value, "__wrap_" + name);
}

void refer_to_wrapped(Module &module, const std::vector<std::string> &names) {
  module.changed();
  auto &ir = module.ir();
  TargetLibraryInfoImpl libraries(Triple(ir.getTargetTriple()));
  for (const auto &name : names) {
    auto real = "__real_" + name;
    if (auto value = undefined(ir, name)) {
      refer(ir, value, real);
    } else if (ir.getNamedValue(name)) {
      LibFunc function;
      if (StringRef(name).starts_with("__") || libraries.getLibFunc(name, function))
        throw InputError("--wrap=" + name + ": a unit defines this function, and a compiler may add calls of it");
      if (auto use = undefined(ir, real))
        refer(ir, use, name);
    }
  }
}

} // namespace burnish
