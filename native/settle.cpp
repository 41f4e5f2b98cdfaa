#include "settle.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

void reset_intrinsics(llvm::Module &module) {
  for (Function &function : module)
    if (function.isIntrinsic())
      function.setAttributes(
          Intrinsic::getAttributes(module.getContext(), function.getIntrinsicID(), function.getFunctionType()));
}

void forget(DbgVariableRecord &record) {
  DIExpression *nothing = DIExpression::get(record.getContext(), {});
  if (auto part = record.getExpression()->getFragmentInfo())
    nothing = *DIExpression::createFragmentExpression(nothing, part->OffsetInBits, part->SizeInBits);
  record.setKillLocation();
  record.setExpression(nothing);
}

void forget_what_lacks_values(llvm::Module &module) {
  if (module.debug_compile_units().empty())
    return;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      for (DbgVariableRecord &record : filterDbgVars(instruction.getDbgRecordRange()))
        if (record.getExpression()->getNumLocationOperands() > record.getNumVariableLocationOps())
          forget(record);
}

} // namespace

void settle(llvm::Module &module) {
  reset_intrinsics(module);
  forget_what_lacks_values(module);
}

} // namespace burnish
