// Code without calls of the compiler's library, for programs that have their own, perhaps without these functions: boot
// loaders and kernels.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace burnish {

// Changes functions for which LLVM, because of `minsize`, would call a function of the compiler's library.
//
// In freestanding programs ("no-builtins") that are built as by GCC (GNU_EABI), loads and stores of 4 or 8 bytes that
// may not be aligned become aligned ones. This is for ARM's processors that can make no others (__aeabi_uread4, ...;
// ARMISelLowering.cpp).
//
// Where functions of the library are forbidden (forbid_builtins), functions lose `minsize` if they divide by a
// constant, or shift integers wider than a register.
void avoid_library_calls(llvm::Module &, llvm::TargetMachine &);

} // namespace burnish
