"""Commands for LLVM only: corpora, the inliner, exports of policies, the demo, the system check."""
