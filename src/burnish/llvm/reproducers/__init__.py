"""`burnish validate` for tasks on LLVM modules: sanitizers, and reproducers for LLVM's bug tracker."""
