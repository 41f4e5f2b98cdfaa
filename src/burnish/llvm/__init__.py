"""LLVM as a library: what the tasks on its modules and the drop-in compilers share."""
