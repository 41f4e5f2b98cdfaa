"""LLVM as a library: the code that the tasks on LLVM modules and the drop-in compilers share."""
