#include "assembly.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

bool in_symbols(char c) { return isAlnum(c) || c == '_' || c == '.' || c == '$'; }

// Returns whether a word of the text is the name of a global. Suffixes such as @PLT are not part of a word.
bool names_global(StringRef text, const llvm::Module &module) {
  while (!text.empty()) {
    text = text.drop_until(in_symbols);
    StringRef word = text.take_while(in_symbols);
    text = text.drop_front(word.size());
    // in LLVM's assembly text $$ is a $, and $0 is an operand
    if (!word.empty() && module.getNamedValue(word.ltrim('$')))
      return true;
  }
  return false;
}

} // namespace

bool assembly_names_symbols(const Module &module) {
  const llvm::Module &ir = module.ir();
  if (!ir.getModuleInlineAsm().empty())
    return true;
  for (const Function &function : ir)
    for (const Instruction &instruction : instructions(function))
      if (const auto *call = dyn_cast<CallBase>(&instruction))
        if (const auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
          if (names_global(assembly->getAsmString(), ir))
            return true;
  return false;
}

} // namespace burnish
