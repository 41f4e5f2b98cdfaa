#include "debug_info.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr StringLiteral FLAGS[] = {"CodeView", "DWARF64", "Debug Info Version", "Dwarf Version"};

void drop_flags(llvm::Module &module) {
  NamedMDNode *flags = module.getModuleFlagsMetadata();
  if (!flags)
    return;
  SmallVector<MDNode *> kept;
  for (MDNode *flag : flags->operands())
    if (auto *name = dyn_cast<MDString>(flag->getOperand(1)); !name || !is_contained(FLAGS, name->getString()))
      kept.push_back(flag);
  flags->clearOperands();
  for (MDNode *flag : kept)
    flags->addOperand(flag);
}

} // namespace

bool has_debug_info(const Module &module) { return !module.ir().debug_compile_units().empty(); }

void drop_debug_info(Module &module) {
  module.changed();
  StripDebugInfo(module.ir());
  drop_flags(module.ir());
}

} // namespace burnish
