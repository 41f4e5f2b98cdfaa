// Corrections of a module after passes.
#pragma once

namespace llvm {
class Module;
}

namespace burnish {

// Changes a module so that reading its bitcode gives the same module, and code generation can read it:
// - Passes also infer attributes of intrinsics, which the bitcode reader removes. They are removed here at once.
// - mem2reg of LLVM 23 leaves debug records whose expression has more operands than the record has values: if an
//   assignment had several values (reassociate creates such), mem2reg replaces them by the stored value but keeps the
//   expression. The verifier accepts this, and LiveDebugValues reads past the values. So the variable becomes unknown
//   there.
void settle(llvm::Module &);

} // namespace burnish
