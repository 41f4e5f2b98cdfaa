// From IR to machine code.
#pragma once

#include "module.h"

namespace llvm::legacy {
class PassManagerBase;
}

namespace burnish {

// Who takes part in a code generation.
class CodegenHook {
public:
  virtual ~CodegenHook() = default;
  // Called with the copy of the module that code is generated for, and where its passes are added; those of the
  // target are added to what it returns.
  virtual llvm::legacy::PassManagerBase &begin(llvm::Module &copy, llvm::TargetMachine &target,
                                               llvm::legacy::PassManagerBase &passes) = 0;
};

// The object file that clang's back end would write at the level ("O0" ... "Oz") for the CPU. The
// module is not changed.
std::string emit_object(const Module &module, const std::string &level, const std::string &cpu,
                        CodegenHook *hook = nullptr);

} // namespace burnish
