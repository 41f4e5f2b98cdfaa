// From IR to machine code.
#pragma once

#include "module.h"

namespace llvm::legacy {
class PassManagerBase;
}

namespace burnish {

// What the compiler's command line tells the back end; all else is in the module.
// clang/lib/CodeGen/BackendUtil.cpp, initTargetOptions.
struct BackEnd {
  std::string level = "Oz";
  std::string cpu = "x86-64"; // of functions that do not name their own
  bool function_sections = false;
  bool data_sections = false;
  bool unique_section_names = true;
  bool address_significance = true; // the table by which linkers fold what is equal
  bool call_site_info = false;      // for debuggers, with debug information only
  std::string debugger;             // "gdb", "lldb", "sce", "dbx" or ""
};

// Who takes part in a code generation.
class CodegenHook {
public:
  virtual ~CodegenHook() = default;
  // Called with the copy of the module that code is generated for, and where its passes are added; those of the
  // target are added to what it returns.
  virtual llvm::legacy::PassManagerBase &begin(llvm::Module &copy, llvm::TargetMachine &target,
                                               llvm::legacy::PassManagerBase &passes) = 0;
};

// The object file that clang's back end would write. The module is not changed. Throws PipelineError.
std::string emit_object(const Module &module, const BackEnd &back_end, CodegenHook *hook = nullptr);

} // namespace burnish
