"""The commands that are about LLVM alone: drop-in compilers, corpora, the demo, what the system lacks."""
