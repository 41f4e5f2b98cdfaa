#include "rewrite.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace burnish::outlining {

namespace {

// Keeps only flags and metadata that all places have, because others would be wrong at some place.
void keep_what_all_have(const Text &text, Instruction &copy, const Region &region, unsigned offset) {
  copy.dropDbgRecords();
  copy.setDebugLoc(DebugLoc());
  for (unsigned start : region.starts)
    copy.andIRFlags(&text.at(start + offset));
  SmallVector<std::pair<unsigned, MDNode *>> all;
  copy.getAllMetadataOtherThanDebugLoc(all);
  for (auto [kind, node] : all) {
    bool of_value = is_contained({LLVMContext::MD_tbaa, LLVMContext::MD_range, LLVMContext::MD_nonnull,
                                  LLVMContext::MD_noundef, LLVMContext::MD_align, LLVMContext::MD_invariant_load},
                                 kind);
    if (!of_value ||
        any_of(region.starts, [&](unsigned start) { return text.at(start + offset).getMetadata(kind) != node; }))
      copy.setMetadata(kind, nullptr);
  }
}

// An outlined function has no stack memory that callees could point into, so a last call may become a jump.
void describe_unwinding(Function &function, const Unwinding &unwinding) {
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction);
        call && call->getTailCallKind() == CallInst::TCK_None &&
        none_of(seq(call->arg_size()), [&](unsigned i) { return call->isByValArgument(i); }))
      call->setTailCall();
  if (!unwinding.throws)
    function.setDoesNotThrow();
  if (!unwinding.table)
    function.removeFnAttr(Attribute::UWTable);
}

// Returns the location of the region's first line, so that a debugger stops at the call. In a function with debug
// information every call needs a location, because it may be inlined.
DebugLoc location(const Text &text, unsigned start, unsigned length) {
  for (unsigned place = start; place < start + length; place++)
    if (DebugLoc found = text.at(place).getDebugLoc())
      return found;
  DISubprogram *of_caller = text.at(start).getFunction()->getSubprogram();
  return of_caller ? DebugLoc(DILocation::get(text.at(start).getContext(), 0, 0, of_caller)) : DebugLoc();
}

// The values of variables in a region of several blocks depend on the path through it. Declared variables stay
// declared; the others are unknown at the region's end.
SmallVector<DbgVariableRecord *> take_records(const Text &text, unsigned start, unsigned length) {
  MapVector<DebugVariable, DbgVariableRecord *> last;
  for (unsigned place = start; place < start + length; place++) {
    for (DbgVariableRecord &record : filterDbgVars(text.at(place).getDbgRecordRange())) {
      auto [found, added] = last.try_emplace(DebugVariable(&record), nullptr);
      if (!added)
        found->second->deleteRecord();
      found->second = record.clone();
    }
    text.at(place).dropDbgRecords();
  }
  SmallVector<DbgVariableRecord *> records;
  for (auto &[variable, record] : last) {
    if (!record->isDbgDeclare())
      record->setKillLocation();
    if (record->isDbgAssign())
      record->setKillAddress();
    records.push_back(record);
  }
  return records;
}

void erase(Text &text, unsigned start, unsigned length) {
  BasicBlock *first = text.at(start).getParent(), *exit = exit_of(text, start, length);
  // In one block the debug records move to the next instruction; LLVM marks records of erased values.
  auto records = first == exit ? SmallVector<DbgVariableRecord *>() : take_records(text, start, length);
  DebugLoc end = text.at(start + length - 1).getDebugLoc();
  SetVector<BasicBlock *> blocks;
  std::vector<Instruction *> erased;
  for (unsigned place = start; place < start + length; place++) {
    erased.push_back(&text.at(place));
    blocks.insert(text.at(place).getParent());
    text.at(place).dropAllReferences();
    text.erase(place);
  }
  for (Instruction *instruction : erased)
    instruction->eraseFromParent();
  if (first == exit)
    return;
  auto *branch = UncondBrInst::Create(exit, first);
  branch->setDebugLoc(end);
  for (DbgVariableRecord *record : records)
    first->insertDbgRecordBefore(record, branch->getIterator());
  for (BasicBlock *block : blocks)
    if (block != first && block != exit)
      block->eraseFromParent();
  MergeBlockIntoPredecessor(exit);
}

} // namespace

Function *make_function(llvm::Module &module, const Text &text, const Region &region, const Plan &plan) {
  LLVMContext &context = module.getContext();
  unsigned first = region.starts[0];
  std::vector<Type *> types;
  for (unsigned offset : plan.results)
    types.push_back(text.at(first + offset).getType());
  Type *result = types.empty()       ? Type::getVoidTy(context)
                 : types.size() == 1 ? types[0]
                                     : StructType::get(context, types);
  auto *function = Function::Create(FunctionType::get(result, plan.parameters, /*isVarArg=*/false),
                                    GlobalValue::InternalLinkage, "outlined", module);
  function->addFnAttrs(shared_attributes(*text.at(first).getFunction()));
  function->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);

  DenseMap<const BasicBlock *, BasicBlock *> blocks;
  std::vector<Instruction *> copies;
  for (unsigned offset = 0; offset < region.length; offset++) {
    Instruction &original = text.at(first + offset);
    BasicBlock *&block = blocks[original.getParent()];
    if (!block)
      block = BasicBlock::Create(context, "", function);
    Instruction *copy = original.clone();
    copy->insertInto(block, block->end());
    keep_what_all_have(text, *copy, region, offset);
    copies.push_back(copy);
  }
  BasicBlock *end = copies.back()->getParent(); // or the exit, where that is a block of its own
  size_t slot = 0;
  for (Instruction *copy : copies) {
    for (Use &use : copy->operands()) {
      if (auto *original = dyn_cast<BasicBlock>(use.get())) {
        BasicBlock *&block = blocks[original];
        if (!block)
          block = end = BasicBlock::Create(context, "", function);
        use.set(block);
        continue;
      }
      int operand = plan.operands[slot++];
      if (operand == Plan::WITHIN)
        use.set(copies[offset_of(text, use.get(), first, region.length)]);
      else if (operand != Plan::CONSTANT)
        use.set(function->getArg(operand));
    }
    if (auto *phi = dyn_cast<PHINode>(copy))
      for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
        phi->setIncomingBlock(i, blocks.lookup(phi->getIncomingBlock(i)));
  }
  IRBuilder<> builder(end);
  if (types.size() > 1) {
    Value *all = PoisonValue::get(result);
    for (unsigned i = 0; i < types.size(); i++)
      all = builder.CreateInsertValue(all, copies[plan.results[i]], i);
    builder.CreateRet(all);
  } else if (types.size() == 1) {
    builder.CreateRet(copies[plan.results[0]]);
  } else {
    builder.CreateRetVoid();
  }
  describe_unwinding(*function, unwinding(text, region, plan));
  return function;
}

void replace(Text &text, unsigned start, unsigned length, const Plan &plan, Function *function, bool tail) {
  std::vector<Value *> arguments(plan.parameters.size());
  size_t slot = 0;
  each_operand(text, start, length, [&](const Use &use, int) {
    if (int operand = plan.operands[slot++]; operand >= 0)
      arguments[operand] = use.get();
  });
  IRBuilder<> builder(&text.at(start));
  builder.SetCurrentDebugLocation(location(text, start, length));
  CallInst *call = builder.CreateCall(function, arguments);
  if (tail)
    call->setTailCall();
  for (unsigned i = 0; i < plan.results.size(); i++) {
    Value *result = plan.results.size() > 1 ? builder.CreateExtractValue(call, i) : call;
    text.at(start + plan.results[i]).replaceAllUsesWith(result);
  }
  erase(text, start, length);
}

} // namespace burnish::outlining
