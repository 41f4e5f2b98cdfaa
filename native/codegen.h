// Code generation, from IR to machine code.
#pragma once

#include "module.h"

namespace llvm::legacy {
class PassManagerBase;
}

namespace burnish {

// The back end's options from the compiler's command line; all others are in the module.
// clang/lib/CodeGen/BackendUtil.cpp, initTargetOptions.
struct BackEnd {
  std::string level = "Oz";
  std::string cpu; // for functions without their own; empty: the module's, or "x86-64"
  bool function_sections = false;
  bool data_sections = false;
  bool unique_section_names = true;
  bool zeros_in_bss = true;         // initialised data that is zero takes no bytes of the file
  bool address_significance = true; // the table by which linkers fold equal code
  bool call_site_info = false;      // for debuggers, with debug information only
  std::string debugger;             // "gdb", "lldb", "sce", "dbx" or ""
  bool assembly = false;            // the same code as text, in the place of an object file
  bool stack_usage = false;         // an ELF object gets a section with the lines of -fstack-usage: STACK_USAGE
};

// The name of that section. Its lines end with a function's name, its bytes of stack, and "static" or "dynamic".
inline constexpr char STACK_USAGE[] = ".burnish.stack_usage";

// An extension of a code generation.
class CodegenHook {
public:
  virtual ~CodegenHook() = default;
  // Called with the copy of the module for which code is generated, and with its pass manager. The target's passes are
  // added to the returned manager.
  virtual llvm::legacy::PassManagerBase &begin(llvm::Module &copy, llvm::TargetMachine &target,
                                               llvm::legacy::PassManagerBase &passes) = 0;
};

// Returns the object file, or the assembly, that clang's back end would write. The module is not changed. With a hook,
// the caller holds llvm_options_mutex(). Throws PipelineError.
std::string emit_object(const Module &module, const BackEnd &back_end, CodegenHook *hook = nullptr);

} // namespace burnish
