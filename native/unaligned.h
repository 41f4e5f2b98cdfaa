// Accesses of memory at addresses that are not aligned, for ARM's processors that cannot make them.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace burnish {

// Splits each load and store of 4 or 8 bytes at an address that may not be aligned into aligned ones, in functions of
// freestanding programs ("no-builtins") that are built as by GCC (GNU_EABI). Otherwise, with `minsize`, LLVM calls the
// functions of ARM's EABI for them (__aeabi_uread4, ...; ARMISelLowering.cpp), which a boot loader or a kernel with a
// compiler library of its own lacks.
void split_unaligned(llvm::Module &, llvm::TargetMachine &);

} // namespace burnish
