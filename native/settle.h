// What is put right in a module after passes.
#pragma once

namespace llvm {
class Module;
}

namespace burnish {

// Leaves a module that its own bitcode gives back, and that code generation can read:
// - Passes infer attributes of intrinsics too; the bitcode reader takes them back. They are taken back at once.
// - mem2reg of LLVM 23 leaves records of variables whose expression has more operands than the record has values:
//   where an assignment had several values (reassociate makes such), the value that was stored takes their place, and
//   the expression stays. No verifier sees it, and LiveDebugValues reads past the values. The variable is unknown
//   there from then on.
void settle(llvm::Module &);

} // namespace burnish
