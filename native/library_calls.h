// Code without calls of the compiler's library, for programs that have their own, perhaps without these functions: boot
// loaders and kernels.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace burnish {

// Changes functions for which LLVM, because of `minsize`, would call a function of the compiler's library:
// - in freestanding programs ("no-builtins") that are built as by GCC (GNU_EABI), each load and store of 4 or 8 bytes
// at
//   an address that may not be aligned becomes aligned ones, for ARM's processors that can make no others
//   (__aeabi_uread4, ...; ARMISelLowering.cpp);
// - where functions of the library are forbidden (forbid_builtins), functions that divide by a constant, or shift what
// is
//   wider than a register, lose `minsize`.
void avoid_library_calls(llvm::Module &, llvm::TargetMachine &);

} // namespace burnish
